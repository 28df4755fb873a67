//! `automem blame`: which step wrote each line of a memory file, and which steps read it.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::output;
use crate::analysis::{Blame, BlameLine};
use crate::protocol::sanitize::clean;
use crate::store::Reader;
use crate::types::{Author, EpisodeNo, StepNo};

/// Which step wrote each line of a memory file, and which steps read it until then.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Episode, from 0
    #[arg(long, default_value_t = 0)]
    episode: u32,
    /// The memory file
    #[arg(long)]
    file: String,
    /// Step, from 0; the file is taken as it was after this step's LOG and PLAN
    #[arg(long)]
    step: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (episode, step) = (EpisodeNo(args.episode), StepNo(args.step));
    let reader = Reader::open(&args.run)?;
    // Refuses a step that is not there, with what is.
    reader.memory_at(episode, step)?;
    let mut blame = Blame::new();
    for event in reader.episode_events(episode)? {
        let event = event?;
        if event.at.step > step {
            break;
        }
        blame.push(&event).with_context(|| {
            format!(
                "{}: the record of step {} is inconsistent",
                args.run.display(),
                event.at.step
            )
        })?;
    }
    let Some(lines) = blame.file(&args.file) else {
        let there: Vec<&str> = blame.paths().collect();
        bail!(
            "there is no file {:?} in episode {episode} at step {step}; there are: {}",
            args.file,
            if there.is_empty() {
                "none".to_owned()
            } else {
                there.join(", ")
            }
        );
    };
    if args.json {
        let lines: Vec<Value> = lines.iter().map(as_json).collect();
        output::print_json(&json!({ "path": args.file, "lines": lines }))?;
    } else {
        output::print_text(&clean(&as_table(&lines)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(line: &BlameLine) -> Value {
    json!({
        "line": line.line,
        "text": line.text,
        "step": line.step,
        "phase": line.phase,
        "by": line.by,
        "read_at": line.read_at,
    })
}

fn as_table(lines: &[BlameLine]) -> String {
    let mut out = String::new();
    for line in lines {
        let who = match (line.by, line.phase) {
            (Author::Model, Some(phase)) => phase.word(),
            (Author::Model, None) => "model",
            (Author::Scaffold, _) => "scaffold",
            (Author::Human, _) => "human",
        };
        let _ = writeln!(
            out,
            "{:>6} {who:<8} {:>4}x read │ {}",
            line.step,
            line.read_at.len(),
            line.text
        );
    }
    out
}
