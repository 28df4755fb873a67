//! `automem env`: plays given actions in a world, without an agent, and writes down every state; checks workers.

mod check;
mod crafter;
mod game;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

/// Arguments of `automem env`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Crafter, native; the trace has the form of the recorded oracle (JSON lines)
    Crafter(crafter::Args),
    /// NetHack, the challenge of BALROG; one JSON object a frame
    Nethack(game::Args),
    /// MiniHack's tasks of BALROG; one JSON object a frame
    Minihack(game::Args),
    /// Check a worker of your own against the contract: `automem env check -- python3 my_world.py`
    Check(check::Args),
}

/// Plays, or checks.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.what {
        What::Crafter(args) => crafter::run(&args),
        What::Nethack(args) => game::run("nethack", &args),
        What::Minihack(args) => game::run("minihack", &args),
        What::Check(args) => check::run(args),
    }
}

/// The text of a file of actions; `-` is stdin.
fn read_actions(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_string(&mut text)
    } else {
        File::open(path).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.with_context(|| format!("{}: the actions could not be read", path.display()))?;
    Ok(text)
}

fn write_line(out: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn is_broken_pipe(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::BrokenPipe
}
