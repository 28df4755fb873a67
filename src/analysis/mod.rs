//! What a run's events mean: who wrote which line of memory and who read it since, how the agent did in
//! numbers, what goes wrong, and what its failures go back to.
//!
//! Owns folds over events, and one pass over a record ([`analyse`]). The folds must not touch files or know
//! where events come from: a live feed and a record give the same answers.

mod analyse;
mod fault;
mod finding;
mod findings;
mod heat;
mod lines;
mod metrics;
mod provenance;
#[cfg(test)]
mod testing;
mod work;

pub use analyse::{Analysis, Analyst, analyse, conclude};
pub use fault::{Event as FaultEvent, Failure, Fault, Link, Verdict};
pub use finding::{Finding, Place, Severity};
pub use findings::rules;
pub use heat::{Heat, Touches};
pub use lines::{Line, Origin};
pub use metrics::{Course, EpisodeMetrics, FileMetrics, Meter, Metrics, REWARD_STEPS, ROWS, Row, RunMetrics, Unit};
pub use provenance::{Blame, BlameLine};
pub use work::{PhaseWork, Work};
