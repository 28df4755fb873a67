//! Reads a run at random places and measures that.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use super::super::Figure;
use super::stopwatch::Stopwatch;
use crate::cli::output;
use crate::store::Reader;
use crate::types::{EpisodeNo, StepNo};

/// Places that are read.
const READS: usize = 400;

pub(super) fn run(path: &Path) -> anyhow::Result<ExitCode> {
    output::print_json(&measure(path)?)?;
    Ok(ExitCode::SUCCESS)
}

fn measure(path: &Path) -> anyhow::Result<Vec<Figure>> {
    let start = Stopwatch::start();
    let reader = Reader::open(path)?;
    let episode = reader
        .episodes()?
        .first()
        .map(|summary| summary.episode)
        .unwrap_or_default();
    let timeline = reader.timeline(episode, StepNo(0))?;
    reader.step(episode, StepNo(0))?;
    let open = (start.wall(), start.cpu());
    let last = timeline.last().context("the run has no steps")?.step;
    let mut random = Random(0x5eed);
    let mut steps = Times::default();
    let mut files = Times::default();
    let mut walk = Times::default();
    for _ in 0..READS {
        let step = StepNo(random.below(last.0 + 1));
        steps.take(|| Ok(reader.step(episode, step).map(|_| ())?))?;
        let step = StepNo(random.below(last.0 + 1));
        files.take(|| Ok(reader.memory_at(episode, step).map(|_| ())?))?;
    }
    for back in 0..READS as u32 {
        let step = StepNo(last.0.saturating_sub(back));
        walk.take(|| one_step(&reader, episode, step))?;
    }
    let mut figures = vec![
        Figure::new("open, with timeline and first step", open.0, "ms").at_most(100.0),
        Figure::new("the same, processor time", open.1, "ms"),
    ];
    for (name, mut times) in [
        ("any step", steps),
        ("all files at any step", files),
        ("a step back, with files", walk),
    ] {
        figures.push(Figure::new(format!("{name}, median"), at(&mut times.wall, 0.5), "ms"));
        figures.push(Figure::new(format!("{name}, 95%"), at(&mut times.wall, 0.95), "ms").at_most(5.0));
        let each = times.cpu / times.wall.len() as f64;
        figures.push(Figure::new(format!("{name}, processor time of each"), each, "ms"));
    }
    if let Some(peak) = crate::jobs::memory::peak().map(|bytes| bytes as f64 / 1e6) {
        figures.push(Figure::new("memory needed, peak", peak, "MB").at_most(150.0));
    }
    Ok(figures)
}

/// What many reads took, in milliseconds.
#[derive(Default)]
struct Times {
    wall: Vec<f64>,
    cpu: f64,
}

impl Times {
    fn take(&mut self, read: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let start = Stopwatch::start();
        read()?;
        self.wall.push(start.wall());
        self.cpu += start.cpu();
        Ok(())
    }
}

fn one_step(reader: &Reader, episode: EpisodeNo, step: StepNo) -> anyhow::Result<()> {
    reader.step(episode, step)?;
    reader.memory_at(episode, step)?;
    Ok(())
}

/// The time that `share` of the reads stayed within.
fn at(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let place = (times.len().saturating_sub(1) as f64 * share).round() as usize;
    times.get(place).copied().unwrap_or(f64::NAN)
}

/// Repeatable random numbers (xorshift).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(n.max(1))) as u32
    }
}
