//! `automem curate decide`: on the items that a filter means, by hand or by a policy that is written down.

use std::process::ExitCode;

use anyhow::bail;

use super::show;
use crate::config::Workspace;
use crate::review::{Desk, Judgement, Places, Reason, What, person};
use crate::tune::filter::Filter;

/// Decide on items of a data selection.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("verdict").args(["accept", "reject"]))]
#[command(group = clap::ArgGroup::new("which").args(["filter", "item"]))]
pub(super) struct Decide {
    /// The selection, such as p1
    id: String,
    /// Take the items
    #[arg(long, requires = "which")]
    accept: bool,
    /// Leave them: unsupported, harmful, too-broad, unneeded, unclear or other, and after a colon more words
    #[arg(long, value_name = "REASON", requires = "which")]
    reject: Option<String>,
    /// The items that all terms hold for, such as 'phase:LOG reads>0 op:APPEND ep:3 selected'
    #[arg(long, value_name = "TERMS")]
    filter: Option<String>,
    /// One item, as `curate show` names it
    #[arg(long)]
    item: Option<String>,
    /// Words beside the verdict
    #[arg(long, default_value = "")]
    comment: String,
    /// The policy that decides in a person's place, in words; it is recorded with the decision. Without a verdict it
    /// accepts what was selected
    #[arg(long)]
    policy: Option<String>,
    /// Commit the decisions; items that wait are left out
    #[arg(long)]
    commit: bool,
    /// Commit though fewer items are accepted than the selection's minimum, for this reason
    #[arg(long, value_name = "REASON", requires = "commit")]
    fewer: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Writes the decisions down.
pub(super) fn run(args: Decide) -> anyhow::Result<ExitCode> {
    let mut desk = Desk::open(&Workspace::find()?)?;
    let by = person();
    let id = show::id_of(&args.id);
    let dossier = desk.dossier(&id)?;
    let items = desk.items(&dossier)?;
    let verdict = match (args.accept, &args.reject, &args.policy) {
        (true, ..) => Some(None),
        (false, Some(reason), _) => Some(Some(Reason::read(reason))),
        (false, None, Some(_)) => Some(None),
        (false, None, None) => None,
    };
    let mut seen = dossier.standing.seq;
    let mut decided = 0;
    match verdict {
        None if !args.commit => {
            bail!("nothing is decided without --accept, --reject REASON or a --policy; --commit commits what is")
        }
        None if args.filter.is_some() || args.item.is_some() => {
            bail!("say what of them: --accept, or --reject REASON")
        }
        None => {}
        Some(reject) => {
            let filter = match (&args.item, &args.filter) {
                (Some(_), _) => String::new(),
                (None, Some(filter)) => filter.clone(),
                (None, None) => "selected".to_owned(),
            };
            let places: Places = match &args.item {
                Some(name) => {
                    let Some(at) = items.iter().position(|item| item.id == *name) else {
                        bail!("{id} has no item `{name}`; `automem curate show {id}` lists them");
                    };
                    Places::one(u32::try_from(at)?)
                }
                None => {
                    let parsed = Filter::parse(&filter).map_err(anyhow::Error::msg)?;
                    let verdicts = dossier.standing.items.as_ref();
                    let matching = items.iter().enumerate().filter(|(at, item)| {
                        let verdict = verdicts.and_then(|all| all.verdicts.get(*at).copied().flatten());
                        parsed.matches(item, verdict.map(|verdict| verdict.accepted))
                    });
                    matching.filter_map(|(at, _)| u32::try_from(at).ok()).collect()
                }
            };
            if places.is_empty() {
                bail!(
                    "no item of {id} is meant by `{filter}`; `automem curate show {id} --filter TERMS` tries a filter"
                );
            }
            decided = places.len();
            let (reason, words) = match reject {
                None => (None, String::new()),
                Some((reason, words)) => (Some(reason), words),
            };
            let comment = [words, args.comment.clone()];
            let comment: Vec<String> = comment.into_iter().filter(|text| !text.is_empty()).collect();
            let judgement = Judgement {
                items: places,
                reject: reason,
                comment: comment.join("; "),
                filter,
                policy: args.policy.clone(),
            };
            seen = desk.judge(&id, seen, &by, &items, judgement)?.seq;
        }
    }
    if args.commit {
        let now = desk.dossier(&id)?;
        let accepted = now.standing.items.as_ref().map_or(0, |all| all.accepted);
        let minimum = now.selection()?.minimum;
        if accepted < minimum {
            let Some(why) = args.fewer.as_deref().filter(|why| !why.trim().is_empty()) else {
                bail!(
                    "{accepted} items are accepted, {minimum} are wanted at least; accept more, or commit all the same with --fewer REASON"
                );
            };
            let text = format!("{accepted} examples in the place of {minimum}: {why}");
            seen = desk.append(&id, seen, &by, What::Commented { part: None, text })?.seq;
        }
        desk.commit(&id, seen, &by)?;
    }
    show::told(&desk, &id, Some(decided), args.json)?;
    Ok(ExitCode::SUCCESS)
}
