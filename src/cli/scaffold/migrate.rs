//! `automem scaffold migrate`: what a scaffold's `migrate(files)` would do to the memory of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use super::hunks_text;
use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::scaffold::{self, FileFate, FileMove, ProblemAt, Scaffold};
use crate::store::Reader;
use crate::types::{EpisodeNo, StepNo};

/// Arguments of `automem scaffold migrate`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A scaffold's name, folder, or `NAME@DIGEST`
    scaffold: String,
    /// The run whose memory is tried
    #[arg(long)]
    run: PathBuf,
    /// Only this episode, from 0 (else all)
    #[arg(long)]
    episode: Option<u32>,
    /// The memory of this step (else of each episode's last)
    #[arg(long)]
    step: Option<u32>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

struct Tried {
    episode: EpisodeNo,
    step: StepNo,
    outcome: Result<(Vec<FileMove>, Vec<String>), ProblemAt>,
}

/// Runs the verb. Nothing is written.
pub(super) fn run(args: &Args, workspace: &Workspace) -> anyhow::Result<ExitCode> {
    let scaffold = Scaffold::named(&args.scaffold, workspace)?;
    let reader = Reader::open(&args.run)?;
    let episodes: Vec<EpisodeNo> = match args.episode {
        Some(episode) => vec![EpisodeNo(episode)],
        None => reader.episodes()?.iter().map(|summary| summary.episode).collect(),
    };
    let mut tried = Vec::new();
    for episode in episodes {
        let step = match args.step {
            Some(step) => Some(StepNo(step)),
            None => reader.last_step(episode)?,
        };
        // An episode without a step has written nothing.
        let Some(step) = step else { continue };
        let memory = reader.memory_at(episode, step)?;
        let before: BTreeMap<String, String> = memory
            .files
            .iter()
            .map(|(path, file)| (path.clone(), file.text.to_string()))
            .collect();
        let outcome = scaffold
            .migrate(&before)
            .map(|after| (scaffold::moves(&before, &after.files), after.notes));
        tried.push(Tried { episode, step, outcome });
    }
    if tried.is_empty() {
        bail!(
            "{} has no steps yet, so it has no memory to migrate",
            args.run.display()
        );
    }
    let ok = tried.iter().all(|tried| tried.outcome.is_ok());
    if args.json {
        print_json(&json!({
            "run": args.run, "scaffold": scaffold.manifest().name, "digest": scaffold.digest(),
            "migrates": scaffold.migrates(), "ok": ok,
            "episodes": tried.iter().map(|tried| as_json(tried, &scaffold)).collect::<Vec<_>>(),
        }))?;
    } else {
        print_text(&clean(&as_text(&tried, &scaffold)))?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Files of the memory that the scaffold does not plan and leaves as they are.
fn unknown<'a>(moved: &'a [FileMove], scaffold: &Scaffold) -> Vec<&'a str> {
    moved
        .iter()
        .filter(|file| file.fate == FileFate::Same && !scaffold.manifest().files.contains_key(&file.path))
        .map(|file| file.path.as_str())
        .collect()
}

fn as_json(tried: &Tried, scaffold: &Scaffold) -> Value {
    let mut row = json!({ "episode": tried.episode, "step": tried.step });
    match &tried.outcome {
        Ok((files, notes)) => {
            let lost: usize = files.iter().map(|file| file.fate.lost()).sum();
            row["files"] = json!(files);
            row["notes"] = json!(notes);
            row["unknown_files"] = json!(unknown(files, scaffold));
            row["lost_lines"] = json!(lost);
        }
        Err(problem) => row["problem"] = json!(problem),
    }
    row
}

fn as_text(tried: &[Tried], scaffold: &Scaffold) -> String {
    let name = &scaffold.manifest().name;
    let mut text = if scaffold.migrates() {
        format!("What migrate(files) of {name} would do; nothing is written.\n")
    } else {
        format!(
            "{name} has no migrate(files): memory stays as it is. Write the function in hooks.star to move its text.\n"
        )
    };
    for tried in tried {
        text.push_str(&format!("\nepisode {}, step {}\n", tried.episode, tried.step));
        match &tried.outcome {
            Err(problem) => text.push_str(&format!("  fails: {problem}\n")),
            Ok((files, notes)) => {
                for file in files {
                    text.push_str(&told(file));
                }
                let unknown = unknown(files, scaffold);
                if !unknown.is_empty() {
                    let list = unknown.join(", ");
                    text.push_str(&format!("  {name} does not know, and leaves as they are: {list}\n"));
                }
                for note in notes {
                    text.push_str(&format!("  it says: {note}\n"));
                }
            }
        }
    }
    text
}

fn told(file: &FileMove) -> String {
    let path = &file.path;
    match &file.fate {
        FileFate::Same => String::new(),
        FileFate::Made { lines } => format!("  made      {path} ({lines} lines)\n"),
        FileFate::Renamed { from } => format!("  renamed   {from} -> {path}\n"),
        FileFate::Changed { lost, hunks } => {
            let lost = if *lost == 0 {
                String::new()
            } else {
                format!(" ({lost} of its lines stand in no file afterwards)")
            };
            format!("  changed   {path}{lost}\n{}", indented(&hunks_text(hunks)))
        }
        FileFate::Removed { lines: 0, .. } => format!("  removed   {path} (it was empty)\n"),
        FileFate::Removed { lines, lost: 0 } => {
            format!("  removed   {path} (all its {lines} lines stand in other files)\n")
        }
        FileFate::Removed { lines, lost } => {
            format!("  VANISHES  {path}: a file in use; {lost} of its {lines} lines stand in no file afterwards\n")
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("      {line}\n")).collect()
}
