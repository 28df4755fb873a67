//! What an optimization tells, as lines for people or as JSON lines.

use crate::cli::teller::{Lines, Told};
use crate::evolve::ReviserNews;
use crate::evolve::session::{Ending, News};
use crate::gate::GateNews;
use crate::review::GateReport;

/// Tells.
pub(in crate::cli) type Teller = Lines<News>;

impl Told for News {
    fn is_fleeting(&self) -> bool {
        match self {
            Self::Gate { gate } => is_fleeting(gate),
            Self::Reviser { reviser } => matches!(reviser, ReviserNews::Used { .. }),
            _ => false,
        }
    }

    fn line(&self) -> String {
        line(self)
    }

    fn piece(&self) -> Option<&str> {
        match self {
            Self::Reviser {
                reviser: ReviserNews::Says { text },
            } => Some(text),
            _ => None,
        }
    }
}

/// Whether news of a gate only show that it goes on.
pub(in crate::cli) fn is_fleeting(gate: &GateNews) -> bool {
    matches!(gate, GateNews::Episode { end: None, .. })
}

/// What a gate tells, in a line.
pub(in crate::cli) fn gate_line(gate: &GateNews) -> String {
    match gate {
        GateNews::Playing { side, run, resumed } => format!(
            "  {} of the {}: {run}",
            if *resumed { "going on with the run" } else { "run" },
            side.word()
        ),
        GateNews::Episode {
            side,
            seed,
            step,
            progression,
            end,
        } => format!(
            "  {} seed {seed} step {step} progression {}{}",
            side.word(),
            percent(*progression),
            end.map_or_else(String::new, |end| format!(": {end}"))
        ),
        GateNews::Trouble {
            side,
            seed,
            step,
            message,
        } => format!("  {} seed {seed} step {step}: {message}", side.word()),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn line(news: &News) -> String {
    match news {
        News::Optimizing { name, stage } => format!("{name}: {stage}"),
        News::Parent {
            iteration,
            scaffold,
            reused,
        } => match reused {
            Some(run) => format!("iteration {iteration}: {scaffold} was played with all the same before: {run}"),
            None => format!("iteration {iteration}: playing {scaffold}"),
        },
        News::Evaluated { mean, run } => format!("  mean progression {} ({run})", percent(*mean)),
        News::Gate { gate } => gate_line(gate),
        News::Revising {
            iteration,
            attempt,
            continuation,
        } => format!(
            "iteration {iteration}, attempt {attempt}{}: a revision is written",
            if *continuation {
                " (continued, with what became of it)"
            } else {
                ""
            }
        ),
        News::Reviser { reviser } => match reviser {
            ReviserNews::Called { what, outcome } => format!("  {what}: {outcome}"),
            ReviserNews::Used { usage } => format!("  {} tokens so far", usage.prompt + usage.completion),
            ReviserNews::Says { text } => text.clone(),
        },
        News::Failed { why } => format!("  no revision: {why}"),
        News::Proposed { proposal, title, parts } => format!("  {proposal} ({parts} parts): {title}"),
        News::Waiting { proposal, parts } => format!(
            "waiting for decisions on {proposal} ({parts} parts left): look with `automem proposals show {proposal}`, decide \
             with\n  automem proposals decide {proposal} --part PART --accept | --reject REASON | --edit FILE\n  automem proposals \
             decide {proposal} --all --accept"
        ),
        News::Decided { proposal, policy } => {
            format!("  {proposal}: the policy {} decided on every part", policy.word())
        }
        News::Gated { proposal, report } => format!("gate of {proposal}: {}\n{}", report.outcome.word(), table(report)),
        News::Settled {
            proposal,
            ending,
            outcome,
        } => match ending {
            Ending::Promoted => format!("{proposal} is promoted"),
            Ending::NotBetter => format!(
                "{proposal} is not promoted; against the gate: `automem proposals apply {proposal} --overrule REASON`"
            ),
            Ending::CheckFailed | Ending::Refused | Ending::Stale => format!("{proposal}: {outcome}"),
        },
        News::Over { why, promoted } => {
            let list: Vec<String> = promoted.iter().map(ToString::to_string).collect();
            let list = if list.is_empty() {
                "nothing was promoted".to_owned()
            } else {
                format!("promoted: {}", list.join(", "))
            };
            format!("over: {why}; {list}")
        }
    }
}

/// The paired table.
pub(in crate::cli) fn table(report: &GateReport) -> String {
    let mut text = format!(
        "{:>8} {:>9} {:>9} {:>8} {:>10} {:>10} {:>8} {:>8}\n",
        "seed", "parent", "revision", "diff", "tokens", "tokens", "s", "s"
    );
    for pair in &report.pairs {
        let score = |score: Option<crate::review::Score>| {
            score.map_or_else(|| "-".to_owned(), |score| percent(score.progression))
        };
        let diff = match (pair.parent, pair.revision) {
            (Some(parent), Some(revision)) => format!("{:+.1}", (revision.progression - parent.progression) * 100.0),
            _ => "-".to_owned(),
        };
        let tokens = |score: Option<crate::review::Score>| {
            score.map_or_else(|| "-".to_owned(), |score| score.tokens.to_string())
        };
        let seconds = |score: Option<crate::review::Score>| {
            score.map_or_else(|| "-".to_owned(), |score| format!("{:.1}", score.seconds))
        };
        text.push_str(&format!(
            "{:>8} {:>9} {:>9} {:>8} {:>10} {:>10} {:>8} {:>8}\n",
            pair.seed,
            score(pair.parent),
            score(pair.revision),
            diff,
            tokens(pair.parent),
            tokens(pair.revision),
            seconds(pair.parent),
            seconds(pair.revision)
        ));
    }
    text.push_str(&format!(
        "mean {} +- {} against {} +- {}; difference {:+.1} (95% {:+.1} to {:+.1}); {} better, {} worse, {} equal; sign test p {:.3}{}\n",
        percent(report.revision_mean),
        percent(report.revision_error),
        percent(report.parent_mean),
        percent(report.parent_error),
        report.difference * 100.0,
        report.interval.0 * 100.0,
        report.interval.1 * 100.0,
        report.wins,
        report.losses,
        report.ties,
        report.sign_p,
        if report.parent_reused {
            "; the parent's run is an earlier one"
        } else {
            ""
        },
    ));
    text
}
