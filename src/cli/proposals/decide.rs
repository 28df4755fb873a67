//! `automem proposals decide`: on one part or many, by hand or by a policy that is written down.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

use super::print;
use crate::review::{Desk, PartId, PartStanding, Reason, State, Verdict, What};
use crate::types::Digest;

/// Decide on parts of a proposal.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["part", "all", "commit"]))]
#[command(group = clap::ArgGroup::new("verdict").args(["accept", "reject", "edit"]))]
pub(super) struct Decide {
    /// The proposal
    id: String,
    /// The part, as `proposals show` names it
    #[arg(long, requires = "verdict")]
    part: Option<String>,
    /// All parts that wait
    #[arg(long, requires = "verdict")]
    all: bool,
    /// Only commit what is decided already
    #[arg(long)]
    commit: bool,
    /// Take it
    #[arg(long)]
    accept: bool,
    /// Leave it: unsupported, harmful, too-broad, unneeded, unclear or other, and after a colon more words
    #[arg(long, value_name = "REASON")]
    reject: Option<String>,
    /// Take the text of this file in its place (`-` for stdin)
    #[arg(long, value_name = "FILE", requires = "part")]
    edit: Option<PathBuf>,
    /// Words beside the verdict
    #[arg(long, default_value = "")]
    comment: String,
    /// Digest of the part as it was shown; another one is refused
    #[arg(long)]
    digest: Option<Digest>,
    /// The policy that decides in a person's place, in words; it is recorded with every decision
    #[arg(long)]
    policy: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Writes the decisions down; the last one commits.
pub(super) fn run(desk: &mut Desk, by: &str, args: Decide) -> anyhow::Result<ExitCode> {
    let id = super::id_of(&args.id);
    let dossier = desk.dossier(&id)?;
    let chosen: Vec<PartStanding> = if let Some(part) = &args.part {
        let part: PartId = part.as_str().into();
        let found = dossier.standing.parts.iter().find(|slot| slot.part.id == part);
        let Some(found) = found else {
            let ids: Vec<String> = dossier
                .standing
                .parts
                .iter()
                .map(|slot| slot.part.id.to_string())
                .collect();
            bail!("{id} has no part `{part}`; it has: {}", ids.join(", "));
        };
        vec![found.clone()]
    } else if args.all {
        let waiting = dossier.standing.parts.iter().filter(|slot| slot.decision.is_none());
        waiting.cloned().collect()
    } else {
        Vec::new()
    };
    if args.digest.is_some() && args.part.is_none() {
        bail!("--digest is about one part; give --part with it");
    }
    let (verdict, comment) = match (&args.reject, &args.edit) {
        (Some(reason), _) => {
            let (reason, words) = Reason::read(reason);
            let comment = [words, args.comment.clone()]
                .into_iter()
                .filter(|text| !text.is_empty());
            (Verdict::Reject { reason }, comment.collect::<Vec<_>>().join("; "))
        }
        (None, Some(file)) => (
            Verdict::Edit {
                text: super::read_text(file)?,
            },
            args.comment.clone(),
        ),
        (None, None) => (Verdict::Accept, args.comment.clone()),
    };
    let decided = chosen.iter().map(|slot| What::Decided {
        part: slot.part.id.clone(),
        digest: args.digest.unwrap_or(slot.part.digest),
        verdict: verdict.clone(),
        comment: comment.clone(),
        policy: args.policy.clone(),
    });
    let seen = dossier.standing.seq;
    let written = desk.append_all(&id, seen, by, decided.collect())?;
    // What somebody else writes from here on must not be committed unseen.
    let seen = written.last().map_or(seen, |entry| entry.seq);
    let dossier = desk.dossier(&id)?;
    if dossier.standing.state == State::Pending && (args.commit || dossier.standing.waiting() == 0) {
        desk.commit(&id, seen, by)?;
        desk.check(&id, by)?;
    }
    print::dossier(&desk.dossier(&id)?, args.json)?;
    Ok(ExitCode::SUCCESS)
}
