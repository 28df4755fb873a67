//! Reads a run at random places and measures that.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;

use super::super::Figure;
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
    let start = Instant::now();
    let reader = Reader::open(path)?;
    let episode = reader
        .episodes()?
        .first()
        .map(|summary| summary.episode)
        .unwrap_or_default();
    let timeline = reader.timeline(episode, StepNo(0))?;
    reader.step(episode, StepNo(0))?;
    let open = ms(start);
    let last = timeline.last().context("the run has no steps")?.step;
    let mut random = Random(0x5eed);
    let mut steps = Vec::new();
    let mut files = Vec::new();
    let mut walk = Vec::new();
    for _ in 0..READS {
        let step = StepNo(random.below(last.0 + 1));
        let start = Instant::now();
        reader.step(episode, step)?;
        steps.push(ms(start));
        let step = StepNo(random.below(last.0 + 1));
        let start = Instant::now();
        reader.memory_at(episode, step)?;
        files.push(ms(start));
    }
    for back in 0..READS as u32 {
        let step = StepNo(last.0.saturating_sub(back));
        let start = Instant::now();
        one_step(&reader, episode, step)?;
        walk.push(ms(start));
    }
    let mut figures = vec![Figure::new("open, with timeline and first step", open, "ms").at_most(100.0)];
    for (name, times) in [
        ("any step", &mut steps),
        ("all files at any step", &mut files),
        ("a step back, with files", &mut walk),
    ] {
        times.sort_by(f64::total_cmp);
        figures.push(Figure::new(format!("{name}, median"), at(times, 0.5), "ms"));
        figures.push(Figure::new(format!("{name}, 95%"), at(times, 0.95), "ms").at_most(5.0));
        figures.push(Figure::new(format!("{name}, slowest"), at(times, 1.0), "ms"));
    }
    if let Some(peak) = peak_memory() {
        figures.push(Figure::new("memory needed, peak", peak, "MB").at_most(150.0));
    }
    Ok(figures)
}

fn one_step(reader: &Reader, episode: EpisodeNo, step: StepNo) -> anyhow::Result<()> {
    reader.step(episode, step)?;
    reader.memory_at(episode, step)?;
    Ok(())
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// The most memory this process has had, in MB; only Linux tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
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
