//! `automem scaffold new` and `log`: beginning a scaffold, and where scaffolds come from.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::scaffold::{self, Lineage, MANIFEST, Node, Scaffold, Versions, sound_name};
use crate::store::Registry;

/// Copies a scaffold under another name, with the copied one as its parent.
pub(super) fn new(name: &str, from: &str, workspace: &Workspace) -> anyhow::Result<ExitCode> {
    if !sound_name(name) {
        bail!("`{name}` cannot be a scaffold's name; use letters, digits, `-`, `_` and `.`");
    }
    let parent = Scaffold::named(from, workspace)?;
    if Scaffold::list(workspace).iter().any(|known| known.name == name) {
        bail!("there is a scaffold `{name}` already; choose another name, or edit that one");
    }
    let folder = workspace.scaffolds_dir().join(name);
    if folder.exists() {
        bail!("{} is in the way; choose another name, or move it", folder.display());
    }
    let mut files = parent.files().clone();
    if let Some(manifest) = files.get_mut(MANIFEST) {
        *manifest = with_head(
            manifest,
            &[
                ("name", name),
                ("version", "0.1.0"),
                ("parent", &parent.manifest().name),
            ],
        );
    }
    let method = format!(
        "# {name}\n\nMade from {}.\n\n## What changed, and why\n\n",
        parent.manifest().name
    );
    files.insert("METHOD.md".to_owned(), method);
    let versions = Versions::open(workspace)?;
    let note = format!("copied from {}", parent.manifest().name);
    let digest = versions.keep(&files, name, Some(parent.digest()), &note)?;
    versions.install(name, digest, None)?;
    print_text(&format!(
        "{}\nEdit it, then: automem scaffold check {name} && automem watch --scaffold {name}\n",
        folder.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The manifest with these keys at its top. Comments and everything else stay as they are.
pub(super) fn with_head(manifest: &str, keys: &[(&str, &str)]) -> String {
    let mut head: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = \"{value}\"")).collect();
    let mut in_table = false;
    let rest = manifest.lines().filter(|line| {
        in_table |= line.trim_start().starts_with('[');
        let key = line.split('=').next().unwrap_or_default().trim();
        in_table || !keys.iter().any(|(known, _)| *known == key)
    });
    head.extend(rest.map(str::to_owned));
    head.join("\n") + "\n"
}

/// The scaffolds, each after those it was made from, with their versions and how their runs went.
pub(super) fn log(only: Option<&str>, workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let lineage = scaffold::lineage(workspace, &Registry::open(workspace)?.runs()?)?;
    let mut names: Vec<String> = match only {
        None => lineage.nodes.iter().map(|node| node.line.clone()).collect(),
        Some(name) => {
            let chain = lineage.ancestry(name);
            if chain.is_empty() {
                let known: BTreeSet<&str> = lineage.nodes.iter().map(|node| node.line.as_str()).collect();
                let known: Vec<&str> = known.into_iter().collect();
                bail!("there is no scaffold `{name}`; there are: {}", known.join(", "));
            }
            chain
        }
    };
    names.sort_by_key(|name| (lineage.ancestry(name).len(), name.clone()));
    names.dedup();
    if as_json {
        let rows: Vec<Value> = names.iter().filter_map(|name| as_row(&lineage, name)).collect();
        print_json(&json!({ "scaffolds": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let text: String = names.iter().filter_map(|name| as_text(&lineage, name)).collect();
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// What a name stands for now, or its last version where its folder is gone.
fn front<'a>(lineage: &'a Lineage, name: &'a str) -> Option<&'a Node> {
    lineage.head(name).or_else(|| lineage.of_line(name).last())
}

fn as_row(lineage: &Lineage, name: &str) -> Option<Value> {
    let node = front(lineage, name)?;
    let versions: Vec<Value> = lineage
        .of_line(name)
        .map(|node| {
            json!({
                "digest": node.digest, "version": node.version, "parent_digest": node.parent, "head": node.head,
                "note": node.note, "kept": node.kept, "runs": node.runs.len(),
                "episodes": node.progression().len(), "mean_progression": node.mean().map(|(mean, _)| mean),
                "standard_error": node.mean().map(|(_, error)| error),
            })
        })
        .collect();
    Some(json!({
        "name": node.line, "version": node.version, "parent": node.parent_name, "digest": node.digest.short(),
        "method": node.method, "runs": played(node), "episodes": node.progression().len(),
        "mean_progression": node.mean().map(|(mean, _)| mean), "installed": node.head, "versions": versions,
    }))
}

/// Runs with an episode that is over.
fn played(node: &Node) -> usize {
    node.runs.iter().filter(|run| !run.progression.is_empty()).count()
}

fn as_text(lineage: &Lineage, name: &str) -> Option<String> {
    let node = front(lineage, name)?;
    let from = node
        .parent_name
        .as_ref()
        .map_or("the first".to_owned(), |parent| format!("from {parent}"));
    let gone = if node.head { "" } else { ", not installed now" };
    let mut text = format!(
        "{} {} ({}, {from}{gone})\n",
        node.line,
        node.version,
        node.digest.short()
    );
    match node.mean() {
        Some((mean, error)) => text.push_str(&format!(
            "  runs: {}, episodes: {}, mean progression {:.1} % (standard error {:.1})\n",
            played(node),
            node.progression().len(),
            mean * 100.0,
            error * 100.0
        )),
        None => text.push_str("  no runs yet\n"),
    }
    for told in node.method.lines() {
        text.push_str(&format!("  {told}\n"));
    }
    let versions: Vec<&Node> = lineage.of_line(name).collect();
    if versions.len() > 1 || versions.iter().any(|version| !version.note.is_empty()) {
        text.push_str("  versions:\n");
        for version in versions {
            text.push_str(&version_text(version));
        }
    }
    text.push('\n');
    Some(text)
}

fn version_text(node: &Node) -> String {
    let mark = if node.head { '*' } else { ' ' };
    let from = node
        .parent
        .map_or_else(String::new, |parent| format!(" from {}", parent.short()));
    let kept = node
        .kept
        .as_deref()
        .map_or("never kept", |time| time.get(..16).unwrap_or(time));
    let mean = node
        .mean()
        .map_or_else(String::new, |(mean, _)| format!("  {:.1} %", mean * 100.0));
    let note = if node.note.is_empty() {
        String::new()
    } else {
        format!("  {}", node.note)
    };
    format!(
        "    {mark} {} {}{from}  {kept}{mean}{note}\n",
        node.digest.short(),
        node.version
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_its_own_head_and_the_rest_as_it_was() {
        let old = "# mine\nname = \"a\"\nversion = \"3\"\nenv = \"crafter\"\n\n[files.\"n.txt\"]\n# name = kept\nabout = \"x\"\n";
        let new = with_head(old, &[("name", "b"), ("version", "0.1.0"), ("parent", "a")]);
        assert_eq!(
            new,
            "name = \"b\"\nversion = \"0.1.0\"\nparent = \"a\"\n# mine\nenv = \"crafter\"\n\n[files.\"n.txt\"]\n# name = kept\nabout = \"x\"\n"
        );
    }
}
