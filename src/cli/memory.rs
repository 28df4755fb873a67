//! `automem memory`: the agent's files as they were in a step.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::output;
use crate::protocol::sanitize::clean;
use crate::store::{FileState, Reader, StoreError};
use crate::types::{EpisodeNo, StepNo};

/// Show the agent's memory as it was in a step, after its LOG and PLAN.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// Episode, from 0
    #[arg(long, default_value_t = 0)]
    episode: u32,
    /// Step, from 0
    #[arg(long)]
    step: u32,
    /// Only this file
    #[arg(long)]
    file: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (episode, step) = (EpisodeNo(args.episode), StepNo(args.step));
    let state = Reader::open(&args.run)?.memory_at(episode, step)?;
    let wanted = |path: &String| args.file.as_ref().is_none_or(|file| file == path);
    let files: Vec<(&String, &FileState)> = state.files.iter().filter(|(path, _)| wanted(path)).collect();
    if let (Some(file), true) = (&args.file, files.is_empty()) {
        let there = match state.files.keys().map(String::as_str).collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "it is empty".to_owned(),
            names => format!("its files are {names}"),
        };
        return Err(StoreError::NoFile {
            file: file.clone(),
            episode,
            step,
            there,
        }
        .into());
    }
    if args.json {
        let files: Vec<Value> = files.iter().map(|(path, file)| as_json(path, file)).collect();
        output::print_json(&json!({ "step": step, "files": files }))?;
    } else {
        let mut out = String::new();
        for (path, file) in files {
            let touched = match file.touched {
                Some(step) => format!("changed in step {step}"),
                None => "as the episode found it".to_owned(),
            };
            let (lines, bytes) = (file.text.lines().count(), file.text.len());
            let _ = write!(
                out,
                "── {path} ({lines} lines, {bytes} bytes, {touched})\n{}",
                file.text
            );
            if !file.text.is_empty() && !file.text.ends_with('\n') {
                out.push('\n');
            }
        }
        output::print_text(&clean(&out))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(path: &str, file: &FileState) -> Value {
    json!({
        "path": path,
        "bytes": file.text.len(),
        "lines": file.text.lines().count(),
        "last_step": file.touched,
        "text": file.text,
    })
}
