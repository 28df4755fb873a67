//! What a tuning tells, as lines for people or as JSON lines.

use crate::cli::optimize::told::{gate_line, table};
use crate::cli::teller::{Lines, Told};
use crate::cli::train::words;
use crate::tune::session::News;
use crate::tune::train::TrainNews;

/// Tells.
pub(in crate::cli) type Teller = Lines<News>;

impl Told for News {
    fn is_fleeting(&self) -> bool {
        match self {
            Self::Gate { gate } => crate::cli::optimize::told::is_fleeting(gate),
            Self::Train { train } => matches!(train, TrainNews::Step { .. }),
            Self::Reading { .. } => true,
            _ => false,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Tuning { name, stage } => format!("{name}: {stage}"),
            Self::Tracing { run, episodes } => format!("playing {episodes} episodes for traces: {run}"),
            Self::Gate { gate } => gate_line(gate),
            Self::Recipe { proposal, why } => format!("recipe {proposal}: {why}"),
            Self::Reading { done, total } => format!("  reading the traces, {done} of {total}"),
            Self::Selecting { text } => format!("  {text}"),
            Self::Selection {
                proposal,
                count,
                selected,
            } => format!("selection {proposal}: {selected} of {count} candidates"),
            Self::Waiting { proposal, kind } => match *kind {
                "recipe" => format!(
                    "waiting for a decision on the recipe {proposal}: look with `automem proposals show {proposal}`, then\n  \
                     automem proposals decide {proposal} --all --accept"
                ),
                _ => format!(
                    "waiting for decisions on the selection {proposal}: on the Curate screen, or\n  automem curate decide \
                     {proposal} --accept --filter selected --commit"
                ),
            },
            Self::Decided { proposal, policy } => format!("  {proposal}: the policy {} decided", policy.word()),
            Self::Certified {
                proposal,
                dataset,
                examples,
            } => format!("{examples} examples of {proposal} are certified: {dataset}"),
            Self::Training { name, config } => format!("training {name}: {config}"),
            Self::Train { train } => train_line(train),
            Self::Judged { adapter, report } => {
                format!("{adapter}: {}\n{}", report.outcome.word(), table(report))
            }
            Self::Ended { iteration, why } => format!("iteration {iteration} ends: {why}"),
            Self::Over { why, best } => match best {
                Some(best) => format!("over: {why}; the best is {best}\nplay with it: automem run --specialist {best}"),
                None => format!("over: {why}; no adapter was better than what was there"),
            },
        }
    }
}

/// What a training tells, in a line; at its end with the adapter.
fn train_line(news: &TrainNews) -> String {
    match news {
        TrainNews::Done {
            steps,
            loss,
            held_out,
            adapter,
            seconds,
            ..
        } => format!(
            "  {}: {steps} updates in {seconds:.0} s, loss {loss:.4}{}",
            adapter.display(),
            held_out.map_or_else(String::new, |loss| format!(", held out {loss:.4}"))
        ),
        other => format!("  {}", words(other).0),
    }
}
