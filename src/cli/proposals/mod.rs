//! `automem proposals`: what waits for a decision, deciding, applying, undoing, and the log of it all.

mod decide;
mod gate;
mod print;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use serde_json::json;

use super::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::review::{Content, Desk, Draft, ProposalId, RevisionContent, State, What, person, read_draft, write_draft};
use crate::scaffold::{self, MANIFEST, Scaffold, digest_of};

/// Arguments of `automem proposals`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List what waits, and what became of the rest
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show a proposal: why, the steps it rests on, its parts with their digests, its gate
    Show {
        /// Which, such as p1
        id: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Propose the difference between two scaffolds (or two folders of a reference scaffold in Python)
    New {
        /// The scaffold as it is: a name or a folder
        #[arg(long)]
        from: String,
        /// The scaffold as it should be: a name or a folder
        #[arg(long)]
        to: String,
        /// Name under which it is used when it is promoted [default: the first's, when it is in the workspace, else NAME-auto]
        #[arg(long)]
        line: Option<String>,
        /// One line that says what it does
        #[arg(long)]
        title: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write a proposal to a file, to hand it on
    Export {
        /// The proposal
        id: String,
        /// The file, which must not exist
        file: PathBuf,
    },
    /// Put a proposal from a file on the desk (`-` for stdin)
    Import {
        /// The file
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Decide on parts; when none is left, the decisions are committed and the result is checked
    Decide(decide::Decide),
    /// Split a part into its lines
    Split {
        /// The proposal
        id: String,
        /// The part
        part: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Say something about a part or the whole; a meta-LLM that goes on reads it
    Comment {
        /// The proposal
        id: String,
        /// What to say
        text: String,
        /// The part
        #[arg(long)]
        part: Option<String>,
    },
    /// Play the result and its parent on the same seeds
    Gate(gate::Gate),
    /// Make the result the head of its line
    Apply {
        /// The proposal
        id: String,
        /// Why, when its gate is missing or says no
        #[arg(long, value_name = "REASON", default_value = "")]
        overrule: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Take the last thing back: a promotion, the commitment, a decision, a split, a comment
    Undo {
        /// The proposal [default: where something happened last]
        id: Option<String>,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Close a proposal that is not wanted; it stays in the list
    Discard {
        /// The proposal
        id: String,
        /// Why
        reason: String,
    },
    /// Show the log: who decided what and when
    Log {
        /// Only this proposal
        id: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    let mut desk = Desk::open(&workspace)?;
    let by = person();
    match args.verb {
        Verb::List { json } => {
            let all = desk.list()?;
            if json {
                print_json(&json!({ "proposals": all.iter().map(print::head).collect::<Vec<_>>() }))?;
            } else {
                print_text(&clean(&print::list(&all)))?;
            }
        }
        Verb::Show { id, json } => print::dossier(&desk.dossier(&id_of(&id))?, json)?,
        Verb::New {
            from,
            to,
            line,
            title,
            json,
        } => {
            let draft = drafted(&workspace, &from, &to, line, title)?;
            let id = desk.propose(draft, &by)?;
            print::dossier(&desk.dossier(&id)?, json)?;
        }
        Verb::Export { id, file } => {
            let text = write_draft(&desk.dossier(&id_of(&id))?.proposal.draft);
            let mut out = std::fs::File::create_new(&file)
                .with_context(|| format!("{} could not be made (is it there already?)", file.display()))?;
            out.write_all(text.as_bytes())
                .with_context(|| format!("{} could not be written", file.display()))?;
        }
        Verb::Import { file, json } => {
            let draft = read_draft(&file.display().to_string(), &read_text(&file)?)?;
            let id = desk.propose(draft, &by)?;
            print::dossier(&desk.dossier(&id)?, json)?;
        }
        Verb::Decide(args) => return decide::run(&mut desk, &by, args),
        Verb::Gate(args) => return gate::run(&mut desk, &by, args),
        Verb::Split { id, part, json } => {
            let id = id_of(&id);
            let seen = desk.dossier(&id)?.standing.seq;
            let part = part.as_str().into();
            desk.append(&id, seen, &by, What::Split { part })?;
            print::dossier(&desk.dossier(&id)?, json)?;
        }
        Verb::Comment { id, text, part } => {
            let id = id_of(&id);
            let dossier = desk.dossier(&id)?;
            if let Some(part) = &part
                && !dossier.standing.parts.iter().any(|slot| *slot.part.id.0 == **part)
            {
                bail!("{id} has no part `{part}`; `automem proposals show {id}` lists them");
            }
            let part = part.as_deref().map(Into::into);
            desk.append(&id, dossier.standing.seq, &by, What::Commented { part, text })?;
        }
        Verb::Apply { id, overrule, json } => {
            let id = id_of(&id);
            desk.promote(&id, &by, &overrule, None)?;
            print::dossier(&desk.dossier(&id)?, json)?;
        }
        Verb::Undo { id, reason, json } => {
            let id = match (id, desk.log()?.last()) {
                (Some(id), _) => id_of(&id),
                (None, Some(last)) => last.proposal.clone(),
                (None, None) => bail!("there is nothing to take back: there are no proposals yet"),
            };
            undo(&mut desk, &id, &by, &reason)?;
            print::dossier(&desk.dossier(&id)?, json)?;
        }
        Verb::Discard { id, reason } => {
            let id = id_of(&id);
            let seen = desk.dossier(&id)?.standing.seq;
            desk.append(&id, seen, &by, What::Discarded { why: reason })?;
        }
        Verb::Log { id, json } => {
            let mut log = match id {
                Some(id) => desk.dossier(&id_of(&id))?.entries,
                None => desk.log()?,
            };
            log.sort_by_key(|entry| entry.seq);
            if json {
                print_json(&json!({ "log": log }))?;
            } else {
                print_text(&clean(&print::log(&log)))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn id_of(text: &str) -> ProposalId {
    // `4` is as good as `p4`.
    match text.parse::<u64>() {
        Ok(number) => ProposalId(format!("p{number}").into()),
        Err(_) => text.into(),
    }
}

fn undo(desk: &mut Desk, id: &ProposalId, by: &str, reason: &str) -> anyhow::Result<()> {
    let dossier = desk.dossier(id)?;
    if dossier.standing.state == State::Promoted {
        desk.demote(id, by, reason)?;
        return Ok(());
    }
    let Some(seq) = dossier.standing.last_undoable(&dossier.entries) else {
        bail!("there is nothing to take back in {id}; `automem proposals log {id}` shows what happened");
    };
    desk.append(id, dossier.standing.seq, by, What::Undone { seq })?;
    Ok(())
}

fn drafted(
    workspace: &Workspace,
    from: &str,
    to: &str,
    line: Option<String>,
    title: Option<String>,
) -> anyhow::Result<Draft> {
    let base = Scaffold::files_named(from, workspace)?;
    let files = Scaffold::files_named(to, workspace)?;
    let playable = base.contains_key(MANIFEST) && files.contains_key(MANIFEST);
    let name = match Scaffold::from_files(base.clone()) {
        Ok(scaffold) => scaffold.manifest().name.clone(),
        Err(error) if playable => return Err(error.into()),
        Err(_) => from.to_owned(),
    };
    let line = match line {
        _ if !playable => String::new(),
        Some(line) => line,
        None => scaffold::line_of(&name, workspace),
    };
    let method = files.get("METHOD.md").cloned().unwrap_or_default();
    Ok(Draft {
        author: "person".to_owned(),
        title: title.unwrap_or_else(|| format!("{to} in the place of {from}")),
        rationale: method,
        evidence: Vec::new(),
        usage: crate::llm::Usage::default(),
        origin: None,
        content: Content::Revision(Box::new(RevisionContent {
            line,
            parent: if playable { name } else { from.to_owned() },
            parent_digest: digest_of(&base),
            base,
            files,
        })),
    })
}

/// A file to read a text from, `-` for stdin.
fn read_text(path: &PathBuf) -> anyhow::Result<String> {
    if path.as_os_str() == "-" {
        return std::io::read_to_string(std::io::stdin()).context("stdin could not be read");
    }
    std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))
}
