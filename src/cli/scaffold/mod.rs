//! `automem scaffold`: checks, shows, lists and compares scaffolds.

mod lineage;
mod show;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use crate::agent;
use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::scaffold::{self, ProblemAt, Scaffold, ScaffoldError, Source};

/// Arguments of `automem scaffold`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Begin a scaffold of your own as a copy of another
    New {
        /// Name of the new scaffold
        name: String,
        /// The scaffold it is made from
        #[arg(long, default_value = "crafter-v0")]
        from: String,
    },
    /// Find what cannot work in a scaffold, and rehearse it for 20 steps
    Check {
        /// A scaffold's folder or name
        scaffold: String,
        /// Leave the rehearsal out
        #[arg(long)]
        no_rehearsal: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show a scaffold's files, what its templates may use, and what it adds
    Show {
        /// A scaffold's folder or name
        scaffold: String,
        /// Only this file
        #[arg(long)]
        file: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// List the scaffolds that can be used by name
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show where scaffolds come from, what changed in each, and how its runs went
    Log {
        /// Only this scaffold and those it was made from
        scaffold: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show what must be done to one scaffold to get another
    Diff {
        /// The first
        old: String,
        /// The second
        new: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match args.verb {
        Verb::New { name, from } => lineage::new(&name, &from, &workspace),
        Verb::Log { scaffold, json } => lineage::log(scaffold.as_deref(), &workspace, json),
        Verb::Check {
            scaffold,
            no_rehearsal,
            json,
        } => check(&scaffold, &workspace, !no_rehearsal, json),
        Verb::Show { scaffold, file, json } => show::show(&scaffold, file.as_deref(), &workspace, json),
        Verb::List { json } => list(&workspace, json),
        Verb::Diff { old, new, json } => diff(&old, &new, &workspace, json),
    }
}

/// The files of a scaffold by name or folder, also of one that lacks its manifest.
fn files(name: &str, workspace: &Workspace) -> Result<BTreeMap<String, String>, ScaffoldError> {
    match Scaffold::files_named(name, workspace) {
        Err(ScaffoldError::Unknown { .. }) if Path::new(name).is_dir() => scaffold::read_folder(Path::new(name)),
        other => other,
    }
}

fn check(name: &str, workspace: &Workspace, with_rehearsal: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let files = files(name, workspace)?;
    let mut problems: Vec<ProblemAt> = scaffold::check(&files);
    if problems.is_empty() && with_rehearsal {
        problems = agent::rehearse(&Scaffold::from_files(files)?)?;
    }
    let ok = problems.is_empty();
    if as_json {
        print_json(&json!({ "ok": ok, "problems": problems }))?;
    } else if ok {
        print_text(&format!("{}: nothing is wrong\n", clean(name)))?;
    } else {
        let lines: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
        print_text(&clean(&lines))?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn list(workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    for found in Scaffold::list(workspace) {
        let source = match &found.source {
            Source::Workspace(folder) => folder.display().to_string(),
            Source::Shipped => "shipped".to_owned(),
        };
        let scaffold = Scaffold::named(&found.name, workspace);
        rows.push(match scaffold {
            Ok(scaffold) => {
                let manifest = scaffold.manifest();
                json!({
                    "name": found.name, "version": manifest.version, "parent": manifest.parent, "env": manifest.env,
                    "digest": scaffold.digest(), "source": source, "ok": true,
                })
            }
            Err(error) => json!({ "name": found.name, "source": source, "ok": false, "error": error.to_string() }),
        });
    }
    if as_json {
        print_json(&json!({ "scaffolds": rows }))?;
    } else {
        let cell = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
        let text: String = rows
            .iter()
            .map(|row| {
                let state = if row["ok"] == true {
                    ""
                } else {
                    "  cannot be used: see `automem scaffold check`"
                };
                format!(
                    "{:<24} {:<10} {:<10} {}{state}\n",
                    cell(row, "name"),
                    cell(row, "version"),
                    cell(row, "env"),
                    cell(row, "source")
                )
            })
            .collect();
        print_text(&clean(&text))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn diff(old: &str, new: &str, workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let found = scaffold::diff(&files(old, workspace)?, &files(new, workspace)?);
    if as_json {
        print_json(&json!({ "files": found }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for file in &found {
        let what = match (file.added, file.removed) {
            (true, _) => " (new)",
            (_, true) => " (gone)",
            _ => "",
        };
        text.push_str(&format!("--- {}{what}\n", file.path));
        for (n, hunk) in file.hunks.iter().enumerate() {
            if n > 0 {
                text.push_str("  ...\n");
            }
            for line in hunk {
                text.push_str(&format!("{} {}\n", line.tag.sign(), line.text));
            }
        }
    }
    if found.is_empty() {
        text.push_str("the two are the same\n");
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}
