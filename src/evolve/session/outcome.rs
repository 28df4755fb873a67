//! What became of a proposal, in the words that whoever writes the next one is told.

use std::fmt::Write;

use super::state::Ending;
use crate::review::{GateReport, Standing, Verdict};

/// Seeds that are listed.
const SEEDS: usize = 40;

/// The outcome in words: what the check said, what the person wrote part by part, the gate's table.
pub(super) fn outcome(standing: &Standing, ending: Ending) -> String {
    let mut text = match ending {
        Ending::Promoted => "It was better and is the head now.".to_owned(),
        Ending::NotBetter => "It was played on the gate's seeds and was not better.".to_owned(),
        Ending::CheckFailed => "What came out of it cannot work.".to_owned(),
        Ending::Refused => "It was not accepted.".to_owned(),
        Ending::Stale => "Its parent was changed in the meantime.".to_owned(),
    };
    text.push('\n');
    if !standing.why.is_empty() && ending != Ending::Stale {
        let _ = writeln!(text, "Reason: {}", standing.why);
    }
    for problem in &standing.problems {
        let _ = writeln!(text, "- {problem}");
    }
    for slot in &standing.parts {
        let Some(decision) = &slot.decision else { continue };
        let said = match &decision.verdict {
            Verdict::Accept if decision.comment.is_empty() => continue,
            Verdict::Accept => "accepted".to_owned(),
            Verdict::Reject { reason } => format!("rejected ({})", reason.word()),
            Verdict::Edit { text } => format!("replaced by: {}", text.trim_end()),
        };
        let _ = write!(text, "- {} was {said}", slot.part.id);
        if !decision.comment.is_empty() {
            let _ = write!(text, "; {}", decision.comment);
        }
        text.push('\n');
    }
    for comment in &standing.comments {
        let about = comment
            .part
            .as_ref()
            .map_or_else(String::new, |part| format!(" on {part}"));
        let _ = writeln!(text, "- {} said{about}: {}", comment.by, comment.text);
    }
    if let Some(gate) = &standing.gate {
        text.push_str(&table(gate));
    }
    text
}

/// A gate's table in words.
fn table(gate: &GateReport) -> String {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let mut text = format!(
        "Gate ({}): mean progression {}% against the parent's {}%, difference {} (95% {} to {}), {} seeds better, \
         {} worse, {} equal.\n",
        gate.outcome.word(),
        percent(gate.revision_mean),
        percent(gate.parent_mean),
        percent(gate.difference),
        percent(gate.interval.0),
        percent(gate.interval.1),
        gate.wins,
        gate.losses,
        gate.ties,
    );
    for pair in gate.pairs.iter().take(SEEDS) {
        let side = |score: Option<crate::review::Score>| match score {
            Some(score) => format!("{}% in {} steps", percent(score.progression), score.steps),
            None => "not played".to_owned(),
        };
        let _ = writeln!(
            text,
            "- seed {}: parent {}, revision {}",
            pair.seed,
            side(pair.parent),
            side(pair.revision)
        );
    }
    let _ = writeln!(text, "Its run: {}", gate.revision_run);
    text
}
