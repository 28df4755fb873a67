//! `automem curate show` and `certify`: a selection as it stands, and its training set.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::protocol::sanitize::{clean, clean_line};
use crate::review::{Desk, Dossier, Item, ProposalId};
use crate::store::Reader;
use crate::tune::conversation;
use crate::tune::filter::Filter;
use crate::tune::postprocess;

/// Items that the table shows.
const SHOWN: usize = 60;

/// Show a data selection.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The selection, such as p1
    id: String,
    /// Only the items that all terms hold for, such as 'phase:LOG reads>0 waiting'
    #[arg(long, value_name = "TERMS", default_value = "")]
    filter: String,
    /// One item with its conversation, and what the postprocess cuts of it
    #[arg(long)]
    item: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Make the training set.
#[derive(Debug, clap::Args)]
pub(super) struct Certify {
    /// The selection, such as p1
    id: String,
    /// Folder for the set [default: the workspace's datasets]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// `4` is as good as `p4`.
pub(super) fn id_of(text: &str) -> ProposalId {
    match text.parse::<u64>() {
        Ok(number) => ProposalId(format!("p{number}").into()),
        Err(_) => text.into(),
    }
}

/// An item with what was decided on it.
struct Row<'a> {
    item: &'a Item,
    accepted: Option<bool>,
}

impl Row<'_> {
    fn word(&self) -> &'static str {
        match self.accepted {
            Some(true) => "accepted",
            Some(false) => "rejected",
            None => "waiting",
        }
    }
}

/// Runs `show`.
pub(super) fn run(args: Show) -> anyhow::Result<ExitCode> {
    let desk = Desk::open(&Workspace::find()?)?;
    let id = id_of(&args.id);
    let dossier = desk.dossier(&id)?;
    let items = desk.items(&dossier)?;
    let rows = rows(&dossier, &items);
    if let Some(name) = &args.item {
        let Some(row) = rows.iter().find(|row| row.item.id == *name) else {
            bail!("{id} has no item `{name}`; `automem curate show {id}` lists them");
        };
        one(&dossier, row, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let filter = Filter::parse(&args.filter).map_err(anyhow::Error::msg)?;
    let meant: Vec<&Row<'_>> = rows
        .iter()
        .filter(|row| filter.matches(row.item, row.accepted))
        .collect();
    if args.json {
        let mut value = head(&dossier, &rows)?;
        value["items"] = meant.iter().map(|row| item_json(row)).collect();
        print_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = summary(&dossier, &rows)?;
    let _ = writeln!(
        text,
        "\n{:<28}{:<10}{:<9}{:>7}  why; what happened later",
        "item", "verdict", "selected", "score"
    );
    for row in meant.iter().take(SHOWN) {
        let item = row.item;
        let _ = writeln!(
            text,
            "{:<28}{:<10}{:<9}{:>7.2}  {}; {}",
            item.id,
            row.word(),
            if item.selected { "yes" } else { "no" },
            item.score,
            clean_line(&item.reason),
            clean_line(&item.note)
        );
    }
    if meant.len() > SHOWN {
        let _ = writeln!(
            text,
            "and {} more; narrow --filter, or --json lists all",
            meant.len() - SHOWN
        );
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn rows<'a>(dossier: &Dossier, items: &'a [Item]) -> Vec<Row<'a>> {
    let verdicts = dossier.standing.items.as_ref();
    let row = |(at, item): (usize, &'a Item)| Row {
        item,
        accepted: verdicts
            .and_then(|all| all.verdicts.get(at).copied().flatten())
            .map(|verdict| verdict.accepted),
    };
    items.iter().enumerate().map(row).collect()
}

fn item_json(row: &Row<'_>) -> Value {
    let mut value = serde_json::to_value(row.item).unwrap_or_default();
    value["verdict"] = row.word().into();
    value
}

/// A selection without its items.
fn head(dossier: &Dossier, rows: &[Row<'_>]) -> anyhow::Result<Value> {
    let standing = &dossier.standing;
    let selection = dossier.selection()?;
    let items = standing.items.as_ref();
    let accepted = items.map_or(0, |all| all.accepted);
    let rejected = items.map_or(0, |all| all.rejected);
    Ok(json!({
        "id": standing.id,
        "state": standing.state.word(),
        "title": standing.title,
        "author": standing.author,
        "criteria": selection.criteria,
        "runs": selection.runs,
        "count": selection.count,
        "selected": selection.selected,
        "accepted": accepted,
        "rejected": rejected,
        "waiting": selection.count.saturating_sub(accepted + rejected),
        "minimum": selection.minimum,
        "warnings": warnings(dossier, rows)?,
        "dataset": standing.dataset.as_ref().map(|(file, digest, examples)| json!({
            "file": file, "digest": digest, "examples": examples,
        })),
    }))
}

/// What is against the set as it is accepted so far.
fn warnings(dossier: &Dossier, rows: &[Row<'_>]) -> anyhow::Result<Vec<String>> {
    let selection = dossier.selection()?;
    let accepted: Vec<&Item> = rows
        .iter()
        .filter(|row| row.accepted == Some(true))
        .map(|row| row.item)
        .collect();
    if accepted.is_empty() {
        return Ok(Vec::new());
    }
    let mut said = Vec::new();
    let on_gate = accepted
        .iter()
        .filter(|item| selection.gate_seeds.contains(&item.seed))
        .count();
    if on_gate > 0 {
        said.push(format!(
            "{on_gate} accepted items are on seeds of the gate; it cannot be certified with them"
        ));
    }
    if accepted.len() < selection.minimum as usize {
        said.push(format!(
            "{} are accepted, {} are wanted at least",
            accepted.len(),
            selection.minimum
        ));
    }
    let mut episodes: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let mut groups: BTreeMap<u32, usize> = BTreeMap::new();
    for item in &accepted {
        *episodes.entry((item.run, item.episode.0)).or_default() += 1;
        if let Some(group) = item.alike {
            *groups.entry(group).or_default() += 1;
        }
    }
    if let Some(((run, episode), count)) = episodes.iter().max_by_key(|(_, count)| **count)
        && count * 2 > accepted.len()
        && accepted.len() > 1
    {
        said.push(format!(
            "episode {episode} of run {run} gives {count} of {} accepted items",
            accepted.len()
        ));
    }
    let twins: usize = groups.values().map(|count| count - 1).sum();
    if twins > 0 {
        said.push(format!("{twins} accepted items have nearly the same answer as another"));
    }
    Ok(said)
}

fn summary(dossier: &Dossier, rows: &[Row<'_>]) -> anyhow::Result<String> {
    let head = head(dossier, rows)?;
    let number = |name: &str| head[name].as_u64().unwrap_or_default();
    let standing = &dossier.standing;
    let mut text = format!(
        "{} {}: {}\n{} items, {} selected by {}; accepted {}, rejected {}, waiting {}\n",
        standing.id,
        standing.state.word(),
        clean_line(&standing.title),
        number("count"),
        number("selected"),
        clean_line(&standing.author),
        number("accepted"),
        number("rejected"),
        number("waiting")
    );
    for said in warnings(dossier, rows)? {
        let _ = writeln!(text, "! {said}");
    }
    if let Some((file, _, examples)) = &standing.dataset {
        let _ = writeln!(text, "certified: {examples} examples in {file}");
    }
    Ok(text)
}

/// Tells how a selection stands after a decision.
pub(super) fn told(desk: &Desk, id: &ProposalId, decided: Option<usize>, as_json: bool) -> anyhow::Result<()> {
    let dossier = desk.dossier(id)?;
    let items = desk.items(&dossier)?;
    let rows = rows(&dossier, &items);
    if as_json {
        let mut value = head(&dossier, &rows)?;
        value["decided"] = decided.into();
        return print_json(&value);
    }
    let mut text = String::new();
    if let Some(decided) = decided.filter(|decided| *decided > 0) {
        let _ = writeln!(text, "decided on {decided} items");
    }
    text.push_str(&summary(&dossier, &rows)?);
    print_text(&clean(&text))
}

/// One item with its conversation.
fn one(dossier: &Dossier, row: &Row<'_>, as_json: bool) -> anyhow::Result<()> {
    let item = row.item;
    let run = dossier
        .selection()?
        .runs
        .get(item.run as usize)
        .context("the item is of no run")?;
    let reader = Reader::open(&run.path)?;
    let messages = conversation::read(&reader, item.episode, item.step, item.phase)?;
    let changed = conversation::digest_of(&messages) != item.digest;
    let cleaned = postprocess::clean(item.phase, &messages);
    if as_json {
        let mut value = item_json(row);
        value["conversation"] = serde_json::to_value(&messages)?;
        value["changed"] = changed.into();
        match &cleaned {
            Ok(cleaned) => value["cuts"] = serde_json::to_value(&cleaned.cuts)?,
            Err(why) => value["dropped"] = why.word().into(),
        }
        return print_json(&value);
    }
    let mut text = format!(
        "{} ({}): {}; {}\n",
        item.id,
        row.word(),
        clean_line(&item.reason),
        clean_line(&item.note)
    );
    if changed {
        text.push_str("! the run holds another text than the one that was proposed; it cannot be certified\n");
    }
    if let Err(why) = &cleaned {
        let _ = writeln!(text, "! the postprocess drops it: {}", why.words());
    }
    let cuts = cleaned.map(|cleaned| cleaned.cuts).unwrap_or_default();
    for (at, message) in messages.iter().enumerate() {
        let _ = writeln!(text, "\n--- {}", message.role.word());
        let mut from = 0;
        for cut in cuts.iter().filter(|cut| cut.message == at) {
            let part = |range: std::ops::Range<usize>| message.content.get(range).unwrap_or_default();
            let _ = write!(text, "{}[-{}-]", part(from..cut.start), part(cut.start..cut.end));
            from = cut.end;
        }
        let _ = writeln!(text, "{}", message.content.get(from..).unwrap_or_default());
    }
    if !cuts.is_empty() {
        text.push_str("\n[-what stands like this-] is cut before training\n");
    }
    print_text(&clean(&text))
}

/// Runs `certify`.
pub(super) fn certify(args: Certify) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    let mut desk = Desk::open(&workspace)?;
    let id = id_of(&args.id);
    let out = args.out.unwrap_or_else(|| workspace.datasets_dir());
    let certified = crate::tune::certify::certify(&mut desk, &id, &out, &Cancel::new())?;
    if args.json {
        print_json(&certified)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = &certified.report;
    let mut text = format!(
        "{}: {} of {} accepted items\n",
        certified.dataset.display(),
        report.output,
        report.raw
    );
    for (reason, count) in &report.dropped {
        let _ = writeln!(text, "dropped: {count} {reason}");
    }
    if certified.short > 0 {
        let _ = writeln!(text, "! {} fewer than the selection's minimum", certified.short);
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}
