//! What the screen costs: a frame of 200x60, the first frame of a run and of a large difference, scrolling a large
//! data selection, frames for
//! nothing, frames while eight episodes play.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Figure;
use crate::agent::{self, RunPlan};
use crate::config::Workspace;
use crate::llm::ModelOptions;
use crate::scaffold::Scaffold;
use crate::tui;
use crate::types::Sampling;

/// Episodes that play at once while frames are drawn.
const CROWD: u32 = 8;

/// Items of the data selection that is scrolled.
const ITEMS: u32 = 100_000;

/// Measures the screen.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run that is shown [default: one of the scripted player, made for this]
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// About how long frames are drawn
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    seconds: f64,
}

/// Measures all figures.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let run = match &args.run {
        Some(run) => run.clone(),
        None => played(folder.path())?,
    };
    let time = Duration::from_secs_f64(args.seconds.clamp(0.01, 600.0));
    let figures = tui::bench::measure(&run, time)?;
    let diff = tui::bench::diff()?;
    let curate = tui::bench::curate(ITEMS)?;
    let crowd = tui::bench::crowd(&Workspace::at(folder.path().join("crowd")), CROWD, time)?;
    Ok(vec![
        Figure::new("frame_200x60", figures.frame_ms, "ms").at_most(4.0),
        Figure::new("frame_200x60_slowest_of_100", figures.slow_frame_ms, "ms"),
        Figure::new("first_frame", figures.first_frame_ms, "ms").at_most(100.0),
        Figure::new("first_frame_of_a_100_kB_diff", diff, "ms").at_most(50.0),
        Figure::new("first_frame_of_100000_items", curate.open_ms, "ms").at_most(250.0),
        Figure::new("frame_scrolling_100000_items", curate.frame_ms, "ms").at_most(16.0),
        Figure::new(
            "frame_scrolling_100000_items_slowest_of_100",
            curate.slow_frame_ms,
            "ms",
        )
        .at_most(16.0),
        Figure::new("frames_when_nothing_changed", figures.idle_frames as f64, "frames").at_most(0.0),
        Figure::new("frames_for_1000_keys_at_once", figures.burst_frames as f64, "frames").at_most(1.0),
        Figure::new("frames_a_second_8_episodes_playing", crowd.frames_per_s, "frames/s"),
        Figure::new("frame_p95_8_episodes_playing", crowd.frame_p95_ms, "ms").at_most(16.0),
        Figure::new("steps_8_episodes_playing", crowd.steps_per_s, "steps/s"),
    ])
}

/// A run of the scripted player.
fn played(folder: &Path) -> anyhow::Result<PathBuf> {
    let workspace = Workspace::at(folder);
    let plan = RunPlan {
        world: "crafter".to_owned(),
        scaffold: Scaffold::named("crafter-v0", &workspace)?,
        model: agent::open_model("scripted", "crafter", &ModelOptions::in_workspace(&workspace))?,
        specialist: None,
        seeds: vec![42],
        max_steps: 300,
        workers: 1,
        sampling: Sampling::default(),
        exact: false,
        out: folder.join("bench.db"),
    };
    let handle = agent::start(plan)?;
    let run = handle.run.clone();
    handle.wait()?;
    Ok(run)
}
