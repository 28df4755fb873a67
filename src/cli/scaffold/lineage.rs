//! `automem scaffold new` and `log`: beginning a scaffold, and where scaffolds come from.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::json;

use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::scaffold::{MANIFEST, Scaffold, sound_name};
use crate::store::{Registry, RunContent};

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
        *manifest = renamed(manifest, name, &parent.manifest().name);
    }
    let method = format!(
        "# {name}\n\nMade from {}.\n\n## What changed, and why\n\n",
        parent.manifest().name
    );
    files.insert("METHOD.md".to_owned(), method);
    // Complete before it has its name: a scaffold is never half there.
    let scaffolds = workspace.scaffolds_dir();
    std::fs::create_dir_all(&scaffolds).with_context(|| format!("{} could not be made", scaffolds.display()))?;
    let draft = tempfile::tempdir_in(&scaffolds)?;
    for (path, text) in &files {
        write(draft.path(), path, text)?;
    }
    std::fs::rename(draft.keep(), &folder).with_context(|| format!("{} could not be made", folder.display()))?;
    print_text(&format!(
        "{}\nEdit it, then: automem scaffold check {name} && automem watch --scaffold {name}\n",
        folder.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn write(folder: &Path, path: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&path, text).with_context(|| format!("{} could not be written", path.display()))
}

/// The manifest with another name, the parent it was copied from, and the first version again.
/// Comments and everything else stay as they are.
fn renamed(manifest: &str, name: &str, parent: &str) -> String {
    let mut head = vec![
        format!("name = \"{name}\""),
        "version = \"0.1.0\"".to_owned(),
        format!("parent = \"{parent}\""),
    ];
    let mut in_table = false;
    let rest = manifest.lines().filter(|line| {
        in_table |= line.trim_start().starts_with('[');
        let key = line.split('=').next().unwrap_or_default().trim();
        in_table || !matches!(key, "name" | "version" | "parent")
    });
    head.extend(rest.map(str::to_owned));
    head.join("\n") + "\n"
}

struct Line {
    name: String,
    version: String,
    parent: Option<String>,
    digest: String,
    method: String,
    runs: usize,
    episodes: usize,
    progression: Option<f64>,
}

/// The scaffolds, each after those it was made from, with how their runs went.
pub(super) fn log(only: Option<&str>, workspace: &Workspace, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut lines = BTreeMap::new();
    for found in Scaffold::list(workspace) {
        if let Ok(scaffold) = Scaffold::named(&found.name, workspace) {
            lines.insert(found.name.clone(), line(&scaffold));
        }
    }
    for listed in Registry::open(workspace)?.runs()? {
        if let Ok(content) = listed.content {
            count(&mut lines, &content);
        }
    }
    let chosen = match only {
        None => lines.keys().cloned().collect(),
        Some(name) => ancestry(name, &lines)?,
    };
    let chosen: Vec<&Line> = in_order(&chosen, &lines);
    if as_json {
        let rows: Vec<_> = chosen
            .iter()
            .map(|line| {
                json!({
                    "name": line.name, "version": line.version, "parent": line.parent, "digest": line.digest,
                    "method": line.method, "runs": line.runs, "episodes": line.episodes,
                    "mean_progression": line.progression,
                })
            })
            .collect();
        print_json(&json!({ "scaffolds": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for line in chosen {
        let from = line
            .parent
            .as_ref()
            .map_or("the first".to_owned(), |parent| format!("from {parent}"));
        text.push_str(&format!("{} {} ({}, {from})\n", line.name, line.version, line.digest));
        match line.progression {
            Some(mean) => text.push_str(&format!(
                "  runs: {}, episodes: {}, mean progression {:.1} %\n",
                line.runs,
                line.episodes,
                mean * 100.0
            )),
            None => text.push_str("  no runs yet\n"),
        }
        for told in line.method.lines() {
            text.push_str(&format!("  {told}\n"));
        }
        text.push('\n');
    }
    print_text(&clean(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn line(scaffold: &Scaffold) -> Line {
    let manifest = scaffold.manifest();
    let method = scaffold.files().get("METHOD.md").map_or("", String::as_str);
    Line {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        parent: manifest.parent.clone(),
        digest: scaffold.digest().short().to_string(),
        method: first_paragraph(method),
        runs: 0,
        episodes: 0,
        progression: None,
    }
}

/// The first paragraph that is no heading.
fn first_paragraph(text: &str) -> String {
    text.split("\n\n")
        .map(str::trim)
        .find(|part| !part.is_empty() && !part.starts_with('#'))
        .unwrap_or_default()
        .to_owned()
}

/// Counts a run with the scaffold it was played with: the same name and the same bytes.
fn count(lines: &mut BTreeMap<String, Line>, content: &RunContent) {
    let used = &content.meta.scaffold;
    let Some(line) = lines.get_mut(&used.name) else { return };
    if line.digest != used.digest.short() {
        return;
    }
    let done = content.episodes.iter().filter(|episode| episode.end.is_some());
    let scores: Vec<f64> = done.map(|episode| episode.progression).collect();
    if scores.is_empty() {
        return;
    }
    let sum = line.progression.unwrap_or(0.0) * line.episodes as f64 + scores.iter().sum::<f64>();
    line.runs += 1;
    line.episodes += scores.len();
    line.progression = Some(sum / line.episodes as f64);
}

/// A scaffold and those it was made from.
fn ancestry(name: &str, lines: &BTreeMap<String, Line>) -> anyhow::Result<Vec<String>> {
    let mut chain = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(name) = next.filter(|name| !chain.contains(name)) {
        next = match lines.get(&name) {
            Some(line) => line.parent.clone(),
            // A parent that is not here is named by its child; the first must be here.
            None if chain.is_empty() => {
                let known: Vec<&str> = lines.keys().map(String::as_str).collect();
                bail!("there is no scaffold `{name}`; there are: {}", known.join(", "));
            }
            None => break,
        };
        chain.push(name);
    }
    Ok(chain)
}

/// Parents before children; scaffolds without a parent here by name.
fn in_order<'a>(chosen: &[String], lines: &'a BTreeMap<String, Line>) -> Vec<&'a Line> {
    let mut sorted: Vec<(usize, &Line)> = chosen
        .iter()
        .filter_map(|name| {
            let depth = ancestry(name, lines).ok()?.len();
            Some((depth, lines.get(name)?))
        })
        .collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.name.cmp(&b.1.name)));
    sorted.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_its_own_head_and_the_rest_as_it_was() {
        let old = "# mine\nname = \"a\"\nversion = \"3\"\nenv = \"crafter\"\n\n[files.\"n.txt\"]\n# name = kept\nabout = \"x\"\n";
        let new = renamed(old, "b", "a");
        assert_eq!(
            new,
            "name = \"b\"\nversion = \"0.1.0\"\nparent = \"a\"\n# mine\nenv = \"crafter\"\n\n[files.\"n.txt\"]\n# name = kept\nabout = \"x\"\n"
        );
    }
}
