//! `automem bench curate`: how long it takes to list and select the candidates of many episodes.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;

use super::Figure;
use super::store::synthetic_episodes;
use crate::jobs::Cancel;
use crate::tune::harvest::harvest;
use crate::tune::propose;
use crate::tune::select::rules::{Rules, select};

/// Measures candidates and their selection.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Episodes of the made-up run
    #[arg(long, default_value_t = 100)]
    episodes: u32,
    /// Steps of each
    #[arg(long, default_value_t = 500)]
    steps: u32,
    /// Measure these runs instead
    #[arg(long, value_name = "RUN", num_args = 1..)]
    runs: Vec<PathBuf>,
}

/// Measures all figures.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir().context("there is no place for temporary files; set TMPDIR")?;
    let mut runs = args.runs.clone();
    if runs.is_empty() {
        let path = folder.path().join("episodes.db");
        synthetic_episodes(&path, args.episodes, args.steps)?;
        runs.push(path);
    }
    let begin = Instant::now();
    let found = harvest(&runs, &Cancel::new(), &mut |_| {})?;
    let listed = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let choices = select(&found, &Rules::default(), &[]);
    let selected = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let (_, items) = propose::selection(&found, &choices, "", &[], 300, "rules");
    let proposed = begin.elapsed().as_secs_f64();
    Ok(vec![
        Figure::new("candidates", items.len() as f64, ""),
        Figure::new(
            "selected",
            choices.iter().filter(|choice| choice.selected).count() as f64,
            "",
        ),
        Figure::new("candidates listed", listed, "s").at_most(5.0),
        Figure::new("selected by rules", selected, "s"),
        Figure::new("made a proposal", proposed, "s"),
    ])
}
