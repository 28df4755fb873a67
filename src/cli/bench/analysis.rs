//! `automem bench analysis`: how long metrics, findings and faults of a run take.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;

use super::Figure;
use super::store::synthetic_run;
use crate::analysis::analyse;
use crate::jobs::Cancel;

/// Measures the analysis of runs.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Steps of the long run
    #[arg(long, default_value_t = 100_000)]
    steps: u32,
    /// Measure this run instead of made-up ones
    #[arg(long, value_name = "RUN")]
    run: Option<PathBuf>,
}

/// Measures all figures.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    if let Some(run) = &args.run {
        let (steps, seconds) = timed(run)?;
        return Ok(vec![
            Figure::new("steps", steps as f64, ""),
            Figure::new("metrics, findings and faults", seconds, "s"),
        ]);
    }
    let folder = tempfile::tempdir().context("there is no place for temporary files; set TMPDIR")?;
    let mut figures = Vec::new();
    for (name, steps, like_the_reference, most) in [
        ("2,000 steps like the reference's", 2000, true, 2.0),
        ("the long run", args.steps, false, 60.0),
    ] {
        let path = folder.path().join(format!("{steps}.db"));
        synthetic_run(&path, steps, like_the_reference)?;
        let (steps, seconds) = timed(&path)?;
        figures.push(Figure::new(format!("{name}: steps"), steps as f64, ""));
        figures.push(Figure::new(format!("{name}: metrics, findings and faults"), seconds, "s").at_most(most));
    }
    Ok(figures)
}

/// Analyses a run: its steps, and the seconds it took.
fn timed(run: &Path) -> anyhow::Result<(u64, f64)> {
    let begin = Instant::now();
    let analysis = analyse(run, &Cancel::new(), &mut |_| {})?;
    Ok((analysis.metrics.metrics.steps, begin.elapsed().as_secs_f64()))
}
