//! Behaviour metrics: what an agent does with its steps and its memory, in numbers.
//!
//! Owns the meter, which takes the events of an episode one at a time, and the definitions, which
//! `docs/METRICS.md` has in words. Must not read files.

mod course;
mod evidence;
mod meter;
mod shelf;
mod table;
mod tally;
pub(in crate::analysis) mod text;

use serde::{Deserialize, Serialize};

pub use self::course::Course;
pub(in crate::analysis) use self::evidence::{Evidence, FileStory, Sample, Spell, Status, Waste};
pub use self::meter::Meter;
pub(in crate::analysis) use self::shelf::{Came, Shelf, came_of};
pub use self::table::{ROWS, Row, Unit};
use self::tally::Totals;
pub use self::tally::{FileMetrics, Metrics, REWARD_STEPS};
use crate::types::EpisodeNo;

/// A run in numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunMetrics {
    /// Its file's name, or its id.
    pub run: String,
    /// Its scaffold's name.
    pub scaffold: String,
    /// Its model's name.
    pub model: String,
    /// The whole run.
    pub metrics: Metrics,
    /// Every episode.
    pub episodes: Vec<EpisodeMetrics>,
}

/// An episode in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeMetrics {
    /// Its place in the run.
    pub episode: EpisodeNo,
    /// The world's seed.
    pub seed: u64,
    /// Finished steps.
    pub steps: u64,
    /// Its numbers.
    pub metrics: Metrics,
}

/// The numbers of several episodes together.
pub(in crate::analysis) fn together<'a>(meters: impl IntoIterator<Item = &'a Meter>) -> Metrics {
    let mut totals = Totals::default();
    meters.into_iter().for_each(|meter| totals.add(meter.totals()));
    totals.metrics()
}
