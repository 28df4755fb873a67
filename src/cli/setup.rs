//! `automem setup`: installs the games that are not part of this program. Progress on stderr, the result on stdout.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use serde_json::json;

use super::bar::{Bar, bytes_text};
use super::{interrupt, output};
use crate::env::nethack::install;
use crate::env::setup::{Boxoban, Part, Wish, packages, set_up};

/// Arguments of `automem setup`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    game: Game,
}

#[derive(Debug, Subcommand)]
enum Game {
    /// NetHack and MiniHack: fetch the pinned packages through pip, check them, and unpack what is needed
    Nethack(NethackArgs),
}

/// Arguments of `automem setup nethack`.
#[derive(Debug, clap::Args)]
struct NethackArgs {
    /// The engine: `balrog-nle` (BALROG's seeds give BALROG's levels), `nle` (newer; the same seeds give other levels),
    /// or `all`
    #[arg(long, value_name = "ENGINE", default_value = "balrog-nle", value_parser = ["balrog-nle", "nle", "all"])]
    engine: String,
    /// Take the packages' files from this folder instead of fetching them; they are checked all the same. docs/NETHACK.md
    /// names them
    #[arg(long, value_name = "DIR")]
    offline: Option<PathBuf>,
    /// The levels of the two Boxoban tasks: a copy of their repository, or `github` to fetch it
    #[arg(long, value_name = "DIR|github")]
    boxoban: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.game {
        Game::Nethack(args) => nethack(args),
    }
}

fn nethack(args: NethackArgs) -> anyhow::Result<ExitCode> {
    let data = install::data_dir()?;
    let packages = packages::for_engine(&args.engine).context("there is no such engine")?;
    let wish = Wish {
        packages: packages.to_vec(),
        offline: args.offline,
        boxoban: args.boxoban.map(|from| match from.as_str() {
            "github" => Boxoban::Github,
            folder => Boxoban::Folder(PathBuf::from(folder)),
        }),
    };
    let cancel = interrupt::cancel_on_signals()?;
    let mut bar = Bar::new();
    let result = set_up(&wish, &data, &cancel, &mut |progress| {
        let label = format!("{} {}", progress.stage.word(), progress.part);
        bar.draw(&label, progress.done, progress.total);
    });
    bar.clear();
    let parts = result?;
    if args.json {
        let parts: Vec<_> = parts.iter().map(part_json).collect();
        output::print_json(&json!({"data": data.display().to_string(), "parts": parts}))?;
    } else {
        output::print_text(&report(&data, &parts))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn part_json(part: &Part) -> serde_json::Value {
    json!({
        "name": part.name,
        "folder": part.folder.display().to_string(),
        "bytes": part.bytes,
        "already": part.already,
    })
}

fn report(data: &Path, parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        let what = if part.already {
            "is there already, and right"
        } else {
            "is ready"
        };
        let bytes = bytes_text(part.bytes);
        text.push_str(&format!("{} {what}: {} ({bytes})\n", part.name, part.folder.display()));
    }
    if !data.join(crate::env::setup::BOXOBAN).is_dir() {
        text.push_str(
            "the two Boxoban tasks of MiniHack need levels that are not here: give `--boxoban github`, or \
             `--boxoban DIR` with a copy of the repository\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told_and_what_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let part = |already| Part {
            name: "nle-1.3.0",
            folder: dir.path().join("nle-1.3.0"),
            bytes: 4_800_000,
            already,
        };
        let text = report(dir.path(), &[part(false), part(true)]);
        assert!(
            text.contains("nle-1.3.0 is ready: ") && text.contains("(4.8 MB)"),
            "{text}"
        );
        assert!(
            text.contains("already, and right") && text.contains("--boxoban github"),
            "{text}"
        );
        std::fs::create_dir(dir.path().join("boxoban")).unwrap();
        assert!(!report(dir.path(), &[part(true)]).contains("Boxoban"));
    }
}
