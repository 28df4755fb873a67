//! The numbers as people read them: one line each, in order, with the paper's change beside them.

use super::Metrics;

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share from 0 to 1, shown in percent.
    Share,
    /// Something for each step, each search, each call.
    Each,
    /// A whole number.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
}

/// One number.
pub struct Row {
    /// Its name in JSON.
    pub name: &'static str,
    /// What people are shown.
    pub label: &'static str,
    /// How it is written.
    pub unit: Unit,
    /// The number.
    pub get: fn(&Metrics) -> Option<f64>,
    /// How it changed in the paper from the first scaffold to the evolved one; empty where it does not say.
    pub paper: &'static str,
}

macro_rules! rows {
    ($($name:ident $label:literal $unit:ident $paper:literal,)*) => {
        &[$(Row {
            name: stringify!($name),
            label: $label,
            unit: Unit::$unit,
            get: |metrics| number(metrics.$name),
            paper: $paper,
        },)*]
    };
}

/// Every number but those of files.
pub const ROWS: &[Row] = rows! {
    steps "steps" Count "",
    progression "progression" Share "",
    total_return "return" Each "",
    unproductive_rate "unproductive actions" Share "-32..-65 %",
    stuck_rate "  nothing changed" Share "",
    oscillating_rate "  back and forth" Share "",
    invalid_action_rate "invalid actions" Share "",
    rejected_action_rate "actions sent back" Share "",
    redundant_write_rate "redundant writes" Share "-68..-83 %",
    redundant_writes_per_step "redundant writes a step" Each "",
    writes_per_step "writes a step" Each "",
    chars_written_per_step "characters written a step" Each "map: 138 -> 6",
    writes_per_search "LOG writes a search" Each "0.84 -> 0.39 (Crafter), 2.89 -> 0.82 (MiniHack), 4.66 -> 1.31 (NetHack)",
    writes_per_retrieval "LOG writes a retrieval" Each "",
    retrievals_per_step "retrievals a step" Each "",
    empty_retrieval_rate "empty retrievals" Share "",
    empty_retrievals "empty retrievals, number" Count "",
    empty_search_rate "empty searches" Share "-13..-50 %",
    hit_rate "retrievals that found" Share "",
    failed_op_rate "failed operations" Share "",
    written_line_read_rate "written lines read later" Share "",
    informed_step_rate "steps with own notes shown" Share "",
    unproductive_after_read_rate "unproductive with notes shown" Share "",
    reward_after_read "reward in 10 steps, notes shown" Each "",
    reward_after_no_read "reward in 10 steps, none shown" Each "",
    memory_context_share "prompts that are memory" Share "",
    context_efficiency "prompts that are memory and used" Share "",
    unsupported_fact_rate "unsupported facts" Share "",
    prompt_tokens_per_step "prompt tokens a step" Each "-3..-30 % (all tokens)",
    cached_tokens_per_step "cached tokens a step" Each "",
    completion_tokens_per_step "answer tokens a step" Each "",
    calls_per_step "model calls a step" Each "",
    context_overflows "prompts too long" Count "",
    ms_per_step "time of a step" Milliseconds "",
    ms_per_call "time of a call" Milliseconds "",
    memory_bytes "memory at the end" Bytes "",
    memory_growth_per_step "memory growth a step" Bytes "",
};

/// Numbers of every type the fields have.
trait Number {
    fn number(self) -> Option<f64>;
}

impl Number for f64 {
    fn number(self) -> Option<f64> {
        Some(self)
    }
}

impl Number for Option<f64> {
    fn number(self) -> Option<f64> {
        self
    }
}

impl Number for u64 {
    fn number(self) -> Option<f64> {
        Some(self as f64)
    }
}

fn number(number: impl Number) -> Option<f64> {
    number.number()
}

impl Unit {
    /// A number as people read it.
    pub fn show(self, number: Option<f64>) -> String {
        let Some(number) = number else {
            return "-".to_owned();
        };
        match self {
            Self::Share => format!("{:.1} %", number * 100.0),
            Self::Each if number.abs() >= 100.0 => format!("{number:.0}"),
            Self::Each => format!("{number:.2}"),
            Self::Count => format!("{number:.0}"),
            Self::Bytes if number.abs() >= 100.0 => format!("{number:.0} B"),
            Self::Bytes => format!("{number:.1} B"),
            Self::Milliseconds if number.abs() >= 100.0 => format!("{number:.0} ms"),
            Self::Milliseconds => format!("{number:.2} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_row_and_a_place_in_the_documentation() {
        let json = serde_json::to_value(Metrics::default()).unwrap();
        let named = |field: &str| match field {
            "return" => "total_return".to_owned(),
            other => other.to_owned(),
        };
        let documentation = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/METRICS.md")).unwrap();
        for field in json.as_object().unwrap().keys().filter(|field| *field != "files") {
            assert!(ROWS.iter().any(|row| row.name == named(field)), "{field} has no row");
            assert!(
                documentation.contains(&format!("`{field}`")),
                "docs/METRICS.md lacks {field}"
            );
        }
        assert_eq!(ROWS.len(), json.as_object().unwrap().len() - 1);
        let file = serde_json::to_value(super::super::FileMetrics::default()).unwrap();
        for field in file.as_object().unwrap().keys() {
            assert!(
                documentation.contains(&format!("`{field}`")),
                "docs/METRICS.md lacks {field}"
            );
        }
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(Unit::Share.show(Some(0.1234)), "12.3 %");
        assert_eq!(Unit::Each.show(Some(1234.5)), "1234");
        assert_eq!(Unit::Each.show(None), "-");
    }
}
