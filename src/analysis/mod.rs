//! What a run's events mean: who wrote which line of memory, and who read it since.
//!
//! Owns folds over events. Must not touch files or know where events come from: a live feed and a
//! record give the same answers.

mod finding;
mod heat;
mod lines;
mod provenance;

pub use finding::{Finding, Place, Severity};
pub use heat::{Heat, Touches};
pub use lines::{Line, Origin};
pub use provenance::{Blame, BlameLine};
