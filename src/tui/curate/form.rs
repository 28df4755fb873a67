//! The state of the dialog that makes a data selection.
//!
//! Owns what is typed and chosen, and turning it into a request. Must not start anything.

use std::path::PathBuf;

use crate::tui::data::{RunEntry, RunState};
use crate::tui::fields::{Field, Fields};
use crate::tui::widgets::text;
use crate::tune::select::rules::Rules;
use crate::types::{Phase, Seeds};

/// A selection to make.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SelectRequest {
    /// The run files.
    pub(crate) runs: Vec<PathBuf>,
    /// By what is selected.
    pub(crate) rules: Rules,
    /// Seeds that must not be trained on.
    pub(crate) gate_seeds: Vec<u64>,
    /// Examples there should be at least.
    pub(crate) minimum: u32,
}

/// A field of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The runs.
    Runs,
    /// LOG, PLAN or both.
    Phases,
    /// Later reads at least.
    Reads,
    /// Share of episodes.
    Top,
    /// Items an episode gives at most.
    PerEpisode,
    /// Items in all at most.
    AtMost,
    /// Seeds of the gate.
    Gate,
    /// Examples there should be at least.
    Minimum,
}

impl Field for Pick {
    const ALL: &'static [Self] = &[
        Self::Runs,
        Self::Phases,
        Self::Reads,
        Self::Top,
        Self::PerEpisode,
        Self::AtMost,
        Self::Gate,
        Self::Minimum,
    ];

    fn place(self) -> usize {
        self as usize
    }

    fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Phases => "phases",
            Self::Reads => "later reads",
            Self::Top => "top episodes %",
            Self::PerEpisode => "per episode",
            Self::AtMost => "at most",
            Self::Gate => "gate seeds",
            Self::Minimum => "minimum",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Runs => "all, a scaffold's name for all its runs, or names of run files",
            Self::Phases => "LOG, PLAN, or both",
            Self::Reads => "times that what was written was read again, at least",
            Self::Top => "share of episodes that are taken, the best first",
            Self::PerEpisode => "items an episode gives at most; empty for any number",
            Self::AtMost => "items in all at most; empty for any number",
            Self::Gate => "seeds that are evaluated on and must not be trained on: 42..51",
            Self::Minimum => "examples the set should have at least",
        }
    }

    fn step(self) -> i64 {
        match self {
            Self::Minimum | Self::AtMost => 50,
            Self::Top => 10,
            _ => 1,
        }
    }

    fn least(self) -> u64 {
        u64::from(self != Self::Reads)
    }
}

/// The dialog.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SelectForm {
    /// What is written.
    pub(crate) fields: Fields<Pick>,
    /// Runs that can be read: file, scaffold.
    runs: Vec<(PathBuf, String)>,
}

impl SelectForm {
    /// The dialog with the priors of the rules.
    pub(crate) fn new() -> Self {
        let rules = Rules::default();
        let texts = [
            "all".to_owned(),
            "LOG PLAN".to_owned(),
            rules.min_later_reads.to_string(),
            format!("{:.0}", rules.top_episodes_percent),
            String::new(),
            String::new(),
            "42..51".to_owned(),
            "300".to_owned(),
        ];
        Self {
            fields: Fields::new(texts),
            runs: Vec::new(),
        }
    }

    /// The runs there are. Those that are played still can be read as far as they are.
    pub(crate) fn know(&mut self, entries: &[RunEntry]) {
        let whole = entries
            .iter()
            .filter(|entry| !matches!(entry.state, RunState::Broken(_)));
        self.runs = whole
            .map(|entry| (entry.path.clone(), entry.scaffold.clone()))
            .collect();
    }

    /// What there is to choose from, where there is a choice.
    pub(crate) fn choices(&self, field: Pick) -> Vec<&str> {
        match field {
            Pick::Runs => {
                let mut names = vec!["all"];
                for (_, scaffold) in &self.runs {
                    if !names.contains(&scaffold.as_str()) {
                        names.push(scaffold);
                    }
                }
                names
            }
            Pick::Phases => vec!["LOG PLAN", "LOG", "PLAN"],
            _ => Vec::new(),
        }
    }

    /// The next choice, or a number that is larger or smaller.
    pub(crate) fn choose(&mut self, by: i32) {
        let choices: Vec<String> = self
            .choices(self.fields.field())
            .into_iter()
            .map(str::to_owned)
            .collect();
        self.fields.choose(by, &choices);
    }

    /// The selection that is wished for. What cannot be is said in `error`, at its field.
    pub(crate) fn request(&mut self) -> Option<SelectRequest> {
        let made = self.checked();
        self.fields.settled(made)
    }

    fn checked(&self) -> Result<SelectRequest, (Pick, String)> {
        let limit = |field: Pick| match self.fields.trimmed(field) {
            "" => Ok(None),
            _ => self.fields.number(field, 10_000_000).map(Some),
        };
        let reads = self.fields.given(Pick::Reads)?;
        let min_later_reads = reads
            .parse::<u32>()
            .map_err(|_| (Pick::Reads, format!("`{reads}` is no number")))?;
        let gate_seeds = match self.fields.trimmed(Pick::Gate) {
            "" => Vec::new(),
            text => text.parse::<Seeds>().map_err(|error| (Pick::Gate, error))?.0,
        };
        Ok(SelectRequest {
            runs: self.meant()?,
            rules: Rules {
                phases: self.phases()?,
                min_later_reads,
                top_episodes_percent: f64::from(self.fields.number(Pick::Top, 100)?),
                per_episode: limit(Pick::PerEpisode)?,
                at_most: limit(Pick::AtMost)?,
                ..Rules::default()
            },
            gate_seeds,
            minimum: self.fields.number(Pick::Minimum, 10_000_000)?,
        })
    }

    fn phases(&self) -> Result<Vec<Phase>, (Pick, String)> {
        let text = self.fields.given(Pick::Phases)?;
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        words
            .map(|word| match word.to_ascii_uppercase().as_str() {
                "LOG" => Ok(Phase::Log),
                "PLAN" => Ok(Phase::Plan),
                _ => Err((Pick::Phases, format!("`{word}` is no phase: LOG, PLAN"))),
            })
            .collect()
    }

    fn meant(&self) -> Result<Vec<PathBuf>, (Pick, String)> {
        let text = self.fields.given(Pick::Runs)?;
        let of = |fits: &dyn Fn(&PathBuf, &str) -> bool| -> Vec<PathBuf> {
            let runs = self.runs.iter().filter(|(path, scaffold)| fits(path, scaffold));
            runs.map(|(path, _)| path.clone()).collect()
        };
        let found = match text.as_str() {
            "all" => of(&|_, _| true),
            name => of(&|_, scaffold| scaffold == name),
        };
        if !found.is_empty() {
            return Ok(found);
        }
        if text == "all" {
            let said =
                "there are no runs yet; `automem run --env crafter --scaffold crafter-v0 --seeds 100..119` plays some";
            return Err((Pick::Runs, said.to_owned()));
        }
        let mut files = Vec::new();
        for name in text.split_whitespace() {
            let named = |path: &PathBuf| {
                path.file_name().is_some_and(|file| file == name)
                    || path.file_stem().is_some_and(|stem| stem == name)
                    || path.as_os_str() == name
            };
            match of(&|path, _| named(path)) {
                found if found.is_empty() => {
                    let said =
                        format!("`{name}` is neither a scaffold that was played nor a run of the list; 1 shows them");
                    return Err((Pick::Runs, said));
                }
                found => files.extend(found),
            }
        }
        Ok(files)
    }

    /// What will happen.
    pub(crate) fn outlook(&self) -> String {
        let count = self.meant().map_or(0, |runs| runs.len() as u64);
        let runs = text::counted(count, "run");
        format!("reads {runs}: every LOG phase and PLAN consultation is listed, the rules say which are selected")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::fields::Erase;
    use crate::tui::testing;

    #[test]
    fn runs_are_meant_by_scaffold_or_by_name() {
        let mut form = SelectForm::new();
        assert!(form.request().is_none());
        assert!(
            form.fields.error.as_ref().unwrap().contains("automem run"),
            "{:?}",
            form.fields.error
        );
        form.know(&testing::entries());
        let all = form.request().unwrap();
        assert_eq!((all.runs.len(), all.minimum, all.gate_seeds.len()), (3, 300, 10));
        assert_eq!(all.rules, Rules::default());
        form.choose(1);
        form.choose(1);
        assert_eq!(form.fields.text(Pick::Runs), "crafter-v0");
        assert_eq!(
            form.request().unwrap().runs,
            [PathBuf::from("/home/ada/.automem/runs/b.db")]
        );
        form.fields.set(Pick::Runs, "a.db b");
        assert_eq!(form.request().unwrap().runs.len(), 2);
        form.fields.set(Pick::Runs, "nothing");
        assert!(form.request().is_none() && form.fields.field() == Pick::Runs);
        form.fields.set(Pick::Runs, "all");
        form.fields.go(1);
        form.choose(1);
        form.fields.go(1);
        form.choose(1);
        form.fields.go(4);
        form.fields.erase(Erase::All);
        let request = form.request().unwrap();
        assert_eq!(
            (request.rules.phases.as_slice(), request.rules.min_later_reads),
            (&[Phase::Log][..], 1)
        );
        assert!(request.gate_seeds.is_empty());
        form.fields.set(Pick::Phases, "LOG ACT");
        assert!(form.request().is_none());
        assert!(form.fields.error.as_ref().unwrap().contains("ACT"));
        form.fields.set(Pick::Phases, "log,plan");
        form.fields.set(Pick::Top, "101");
        assert!(form.request().is_none() && form.fields.field() == Pick::Top);
    }
}
