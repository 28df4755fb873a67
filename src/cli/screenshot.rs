//! `automem screenshot`: draws one screen of a run without a terminal.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::output;
use crate::config::Workspace;
use crate::tui::{self, Depth, Format, Shot, ShotScreen};
use crate::types::{EpisodeNo, StepNo};

/// Arguments of `automem screenshot`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file (the list of runs needs none)
    run: Option<PathBuf>,
    /// Episode
    #[arg(long, default_value_t = 0)]
    episode: u32,
    /// Step
    #[arg(long, default_value_t = 0)]
    step: u32,
    /// Screen
    #[arg(long, default_value = "watch", value_parser = ["watch", "runs", "review", "curate"])]
    screen: String,
    /// The proposal that is open, with `--screen review`
    #[arg(long, value_name = "ID")]
    proposal: Option<String>,
    /// Columns and rows
    #[arg(long, default_value = "160x48", value_parser = size)]
    size: (u16, u16),
    /// Form; without it the ending of `--out` decides, else txt
    #[arg(long, value_parser = ["txt", "ansi", "svg"])]
    format: Option<String>,
    /// How many colours the terminal would have
    #[arg(long, default_value = "true", value_parser = ["true", "256", "16", "none"])]
    colors: String,
    /// Colours: name or path of a theme (dark, light, colorblind, monochrome, or your own)
    #[arg(long, default_value = "dark")]
    theme: String,
    /// The pane that has the focus
    #[arg(long, value_parser = ["game", "memory", "actions", "scaffold", "timeline"])]
    pane: Option<String>,
    /// What the game pane shows
    #[arg(long, value_parser = ["agent", "map", "text"])]
    view: Option<String>,
    /// How the game is drawn
    #[arg(long, value_parser = ["halfblocks", "letters", "mono"])]
    pictures: Option<String>,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Draws it.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let screen = match args.screen.as_str() {
        "runs" => ShotScreen::Runs,
        "review" => ShotScreen::Review,
        "curate" => ShotScreen::Curate,
        _ => ShotScreen::Watch,
    };
    if args.run.is_none() && screen == ShotScreen::Watch {
        output::print_error(&anyhow::anyhow!(
            "no run was named; `automem screenshot RUN`, or `--screen runs` for the list"
        ));
        return Ok(ExitCode::from(2));
    }
    let shot = Shot {
        run: args.run,
        proposal: args.proposal,
        episode: EpisodeNo(args.episode),
        step: StepNo(args.step),
        screen,
        size: args.size,
        format: match (&args.format, &args.out) {
            (Some(format), _) => Format::of_name(&format!("x.{format}")),
            (None, Some(out)) => Format::of_name(&out.to_string_lossy()),
            (None, None) => Format::Text,
        },
        colors: match args.colors.as_str() {
            "256" => Depth::Ansi256,
            "16" => Depth::Ansi16,
            "none" => Depth::Mono,
            _ => Depth::True,
        },
        pictures: args.pictures,
        theme: args.theme,
        pane: args.pane,
        view: args.view,
    };
    let text = tui::shoot(&shot, &Workspace::find()?)?;
    match args.out {
        Some(path) => std::fs::write(&path, text).with_context(|| format!("{} was not written", path.display()))?,
        None => output::print_text(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `160x48`.
fn size(text: &str) -> Result<(u16, u16), String> {
    let wrong = || format!("`{text}` is no size: write COLUMNSxROWS, such as 160x48 (up to 500x200)");
    let (columns, rows) = text.split_once('x').ok_or_else(wrong)?;
    let size: (u16, u16) = (
        columns.parse().map_err(|_| wrong())?,
        rows.parse().map_err(|_| wrong())?,
    );
    if (1..=500).contains(&size.0) && (1..=200).contains(&size.1) {
        Ok(size)
    } else {
        Err(wrong())
    }
}
