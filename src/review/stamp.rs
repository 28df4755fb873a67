//! The head of a revision's manifest: name of the line, next version, parent. Not part of what is decided on.

use std::collections::BTreeMap;

use crate::scaffold::MANIFEST;
use crate::types::Digest;

/// The files with name, version and parent of the next version of a line. A folder without a manifest stays.
pub(super) fn stamped(
    mut files: BTreeMap<String, String>,
    line: &str,
    parent: &str,
    parent_digest: Digest,
) -> BTreeMap<String, String> {
    if let Some(manifest) = files.get_mut(MANIFEST) {
        let version = bumped(&value(manifest, "version").unwrap_or_default());
        let parent = if line == parent {
            format!("{parent}@{}", parent_digest.short())
        } else {
            parent.to_owned()
        };
        *manifest = with_head(manifest, [("name", line), ("version", &version), ("parent", &parent)]);
    }
    files
}

/// The files with the head they are compared by: that of `base`.
pub(super) fn like(mut files: BTreeMap<String, String>, base: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    if let (Some(manifest), Some(old)) = (files.get_mut(MANIFEST), base.get(MANIFEST)) {
        let keys = ["name", "version", "parent"];
        let values = keys.map(|key| value(old, key));
        let mut head: Vec<(&str, &str)> = Vec::new();
        for (key, value) in keys.iter().zip(&values) {
            if let Some(value) = value {
                head.push((key, value));
            }
        }
        let without: Vec<&str> = keys
            .into_iter()
            .filter(|key| !head.iter().any(|(k, _)| k == key))
            .collect();
        *manifest = with_head(manifest, head);
        for key in without {
            *manifest = manifest
                .split_inclusive('\n')
                .filter(|line| key_of(line) != Some(key))
                .collect();
        }
    }
    files
}

/// The key that a line before the first table sets.
fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    Some(key.trim())
}

/// Lines before the first table, and the rest.
fn head_of(manifest: &str) -> (Vec<&str>, &str) {
    let mut at = 0;
    let mut head = Vec::new();
    for line in manifest.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            break;
        }
        head.push(line);
        at += line.len();
    }
    (head, &manifest[at..])
}

fn value(manifest: &str, key: &str) -> Option<String> {
    let table: toml::Table = head_of(manifest).0.concat().parse().ok()?;
    table.get(key)?.as_str().map(str::to_owned)
}

/// A manifest with other values of some keys in its head; those it does not have follow the one before.
fn with_head<'a>(manifest: &str, values: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let (head, rest) = head_of(manifest);
    let mut lines: Vec<String> = head.into_iter().map(str::to_owned).collect();
    let mut after = 0;
    for (key, value) in values {
        let text = format!("{key} = {}\n", toml::Value::from(value));
        match lines.iter().position(|line| key_of(line) == Some(key)) {
            Some(at) => {
                lines[at] = text;
                after = at + 1;
            }
            None => {
                lines.insert(after, text);
                after += 1;
            }
        }
    }
    lines.concat() + rest
}

/// The next version: the last number one higher.
fn bumped(version: &str) -> String {
    let start = version
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_digit())
        .last()
        .map_or(version.len(), |(at, _)| at);
    match version[start..].parse::<u64>() {
        Ok(number) => format!("{}{}", &version[..start], number.saturating_add(1)),
        Err(_) if version.is_empty() => "0.1.1".to_owned(),
        Err(_) => format!("{version}.1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(MANIFEST.to_owned(), text.to_owned())])
    }

    #[test]
    fn a_revision_has_its_lines_name_and_the_next_version() {
        let base =
            "# mine\nname = \"a\"\nversion = \"0.1.9\"\nenv = \"crafter\"\n[budgets]\n# name = x\nlog_turns = 3\n";
        let digest = Digest::of("x");
        let first = stamped(manifest(base), "a-auto", "a", digest);
        assert_eq!(
            first[MANIFEST],
            "# mine\nname = \"a-auto\"\nversion = \"0.1.10\"\nparent = \"a\"\nenv = \"crafter\"\n[budgets]\n# name = x\nlog_turns = 3\n"
        );
        let next = stamped(first.clone(), "a-auto", "a-auto", digest);
        assert!(next[MANIFEST].contains(&format!("parent = \"a-auto@{}\"", digest.short())));
        assert_eq!(like(next, &first), first);
        assert_eq!(like(first, &manifest(base)), manifest(base));
    }

    #[test]
    fn versions_count_up() {
        for (old, new) in [
            ("1", "2"),
            ("0.9", "0.10"),
            ("", "0.1.1"),
            ("beta", "beta.1"),
            ("v3", "v4"),
        ] {
            assert_eq!(bumped(old), new);
        }
    }
}
