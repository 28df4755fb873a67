//! `automem scaffold`: checks, shows, lists, compares, migrates and moves scaffolds.

mod lineage;
mod migrate;
mod show;
mod transfer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use crate::agent;
use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::env;
use crate::protocol::sanitize::clean;
use crate::scaffold::{self, DiffLine, ProblemAt, Scaffold, Source};

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
        /// The world it is rehearsed in: a task (`minihack/MiniHack-Corridor-R3-v0`), or `worker:COMMAND`
        #[arg(long, conflicts_with = "no_rehearsal")]
        env: Option<String>,
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
    /// Show where scaffolds come from, their versions, what changed in each, and how its runs went
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
    /// Show what a scaffold's migrate(files) would do to the memory of a run; writes nothing
    Migrate(migrate::Args),
    /// Write a scaffold as a folder, or as one zip file
    Export {
        /// A scaffold's name, folder, or `NAME@DIGEST`
        scaffold: String,
        /// Where to: a new folder, or a file whose name ends in .zip
        #[arg(long)]
        to: PathBuf,
    },
    /// Take a scaffold from a folder or a zip file into the workspace, and check it
    Import {
        /// The folder or zip file
        from: PathBuf,
        /// The name it gets here (else its own)
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
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
            env,
            json,
        } => {
            let rehearsal = match env {
                _ if no_rehearsal => Rehearsal::None,
                Some(address) => Rehearsal::In(address),
                None => Rehearsal::Usual,
            };
            check(&scaffold, &workspace, &rehearsal, json)
        }
        Verb::Show { scaffold, file, json } => show::show(&scaffold, file.as_deref(), &workspace, json),
        Verb::List { json } => list(&workspace, json),
        Verb::Diff { old, new, json } => diff(&old, &new, &workspace, json),
        Verb::Migrate(args) => migrate::run(&args, &workspace),
        Verb::Export { scaffold, to } => transfer::export(&scaffold, &to, &workspace),
        Verb::Import { from, name, json } => transfer::import(&from, name.as_deref(), &workspace, json),
    }
}

/// Where a scaffold is rehearsed.
enum Rehearsal {
    None,
    /// In its own world.
    Usual,
    /// In the world of this address.
    In(String),
}

fn check(name: &str, workspace: &Workspace, rehearsal: &Rehearsal, as_json: bool) -> anyhow::Result<ExitCode> {
    let found = checked(Scaffold::any_named(name, workspace)?.files, workspace, rehearsal)?;
    let ok = found.problems.is_empty();
    if as_json {
        print_json(&json!({ "ok": ok, "problems": found.problems, "notices": found.notices }))?;
    } else {
        print_text(&found.told(name))?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a check found.
struct Checked {
    problems: Vec<ProblemAt>,
    /// What is no fault and should be known.
    notices: Vec<ProblemAt>,
}

impl Checked {
    fn told(&self, name: &str) -> String {
        let mut text = String::new();
        if self.problems.is_empty() {
            text.push_str(&format!("{name}: nothing is wrong\n"));
        }
        for problem in &self.problems {
            text.push_str(&format!("{problem}\n"));
        }
        for notice in &self.notices {
            text.push_str(&format!("to know: {notice}\n"));
        }
        clean(&text).into_owned()
    }
}

fn checked(files: BTreeMap<String, String>, workspace: &Workspace, rehearsal: &Rehearsal) -> anyhow::Result<Checked> {
    let mut problems: Vec<ProblemAt> = scaffold::check(&files);
    let mut notices = Vec::new();
    if problems.is_empty() {
        let scaffold = Scaffold::from_files(files)?;
        problems = match rehearsal {
            Rehearsal::None => problems,
            Rehearsal::Usual => agent::rehearse(&scaffold)?,
            Rehearsal::In(address) => agent::rehearse_in(&scaffold, address)?,
        };
        // A parent that is not here has nothing to compare with.
        let parent = scaffold.manifest().parent.as_ref();
        if let Some(parent) = parent.and_then(|name| Scaffold::named(name, workspace).ok()) {
            notices = scaffold::compare_files(&parent, &scaffold);
        }
        let world = &scaffold.manifest().env;
        if matches!(rehearsal, Rehearsal::Usual) && !env::WORLDS.contains(&world.as_str()) {
            notices.push(ProblemAt {
                file: scaffold::MANIFEST.to_owned(),
                line: 0,
                column: 0,
                message: format!("it was not rehearsed: `{world}` is none of this program's worlds"),
                hint: "`automem scaffold check SCAFFOLD --env \"worker:COMMAND\"` does it in a world of your own"
                    .to_owned(),
            });
        }
    }
    Ok(Checked { problems, notices })
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

/// Hunks of a difference as text.
fn hunks_text(hunks: &[Vec<DiffLine>]) -> String {
    let mut text = String::new();
    for (n, hunk) in hunks.iter().enumerate() {
        if n > 0 {
            text.push_str("  ...\n");
        }
        for line in hunk {
            text.push_str(&format!("{} {}\n", line.tag.sign(), line.text));
        }
    }
    text
}

fn diff(old: &str, new: &str, workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let sides = [old, new].map(|name| Scaffold::any_named(name, workspace));
    let [before, after] = sides;
    let (before, after) = (before?, after?);
    let found = scaffold::diff(&before.files, &after.files);
    let mut notes = Vec::new();
    for (name, side) in [(old, &before), (new, &after)] {
        notes.extend(show::notes(name, side));
    }
    if as_json {
        print_json(&json!({ "files": found, "notes": notes }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text: String = notes.iter().map(|note| format!("{note}\n")).collect();
    for file in &found {
        let what = match (file.added, file.removed) {
            (true, _) => " (new)",
            (_, true) => " (gone)",
            _ => "",
        };
        text.push_str(&format!("--- {}{what}\n", file.path));
        text.push_str(&hunks_text(&file.hunks));
    }
    if found.is_empty() {
        text.push_str("the two are the same\n");
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}
