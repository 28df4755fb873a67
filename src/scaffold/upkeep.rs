//! What a scaffold's rules make of a memory file: one line a key, no line twice, no more lines than planned.
//!
//! Pure: text in, text out. The agent's loop applies it after LOG and records it as the scaffold's doing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::manifest::{FileSpec, Policy, Prune};

/// What upkeep made of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The new text.
    pub text: String,
    /// Lines that went.
    pub gone: u32,
    /// Which rules did that, for people: `upsert`, `duplicates`, `oldest`.
    pub rules: Vec<&'static str>,
}

impl FileSpec {
    /// The text as the file's rules want it; `None` when it is so already.
    pub fn upkeep(&self, text: &str) -> Option<Kept> {
        let mut lines: Vec<&str> = text.lines().collect();
        let before = lines.len();
        let mut rules = Vec::new();
        if self.policy == Policy::Upsert
            && let Some(key) = self.key.as_deref().and_then(|key| regex::Regex::new(key).ok())
        {
            let found = |line: &'_ str| key.find(line).map(|found| found.as_str().to_owned());
            keep_last(&mut lines, found, "upsert", &mut rules);
        }
        if self.prune == Some(Prune::Duplicates) {
            let whole = |line: &'_ str| (!line.trim().is_empty()).then(|| line.trim().to_owned());
            keep_last(&mut lines, whole, "duplicates", &mut rules);
        }
        let mut notice = None;
        if let Some(over) = self.lines_over(&lines) {
            rules.push("oldest");
            notice = self.notice(&lines[..over], over);
            lines.drain(..over);
        }
        if rules.is_empty() {
            return None;
        }
        let gone = u32::try_from(before.saturating_sub(lines.len())).unwrap_or(u32::MAX);
        let mut kept: String = notice
            .into_iter()
            .chain(lines.iter().map(|line| (*line).to_owned()))
            .fold(String::new(), |mut text, line| {
                text.push_str(&line);
                text.push('\n');
                text
            });
        if kept == "\n" {
            kept.clear();
        }
        Some(Kept {
            text: kept,
            gone,
            rules,
        })
    }

    /// How many of the first lines are too many.
    fn lines_over(&self, lines: &[&str]) -> Option<usize> {
        let room = usize::from(self.prune_notice.is_some());
        let mut over = 0;
        if let Some(most) = self.max_lines
            && lines.len() > most as usize
        {
            let keep = self.keep_lines.unwrap_or(most) as usize;
            over = lines.len() - keep.saturating_sub(room).min(lines.len());
        }
        if let Some(most) = self.max_bytes {
            let mut bytes: u64 = lines[over..].iter().map(|line| line.len() as u64 + 1).sum();
            let told = self.prune_notice.as_ref().map_or(0, |notice| notice.len() as u64 + 8);
            while over < lines.len() && bytes + if over > 0 { told } else { 0 } > most {
                bytes -= lines[over].len() as u64 + 1;
                over += 1;
            }
        }
        (over > 0).then_some(over)
    }

    /// The line in the place of what went. A notice that was among it is counted with what it stood for.
    fn notice(&self, gone: &[&str], over: usize) -> Option<String> {
        let form = self.prune_notice.as_deref()?;
        let (before, after) = form.split_once("{n}").unwrap_or((form, ""));
        let earlier: usize = gone
            .iter()
            .filter_map(|line| line.strip_prefix(before)?.strip_suffix(after)?.parse::<usize>().ok())
            .map(|n| n.saturating_sub(1))
            .sum();
        Some(form.replace("{n}", &(over + earlier).to_string()))
    }
}

/// Keeps the last line of each key, at the place of that last line.
fn keep_last(
    lines: &mut Vec<&str>,
    key: impl Fn(&str) -> Option<String>,
    rule: &'static str,
    rules: &mut Vec<&'static str>,
) {
    let mut last: HashMap<String, usize> = HashMap::new();
    let mut gone = vec![false; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        let Some(key) = key(line) else { continue };
        match last.entry(key) {
            Entry::Occupied(mut earlier) => gone[earlier.insert(at)] = true,
            Entry::Vacant(place) => {
                place.insert(at);
            }
        }
    }
    if gone.contains(&true) {
        let mut gone = gone.into_iter();
        lines.retain(|_| !gone.next().unwrap_or(false));
        rules.push(rule);
    }
}

/// A file's text without the lines that begin with `prefix`, and with `line` at its end.
pub fn upserted(text: &str, prefix: &str, line: &str) -> String {
    let mut new: String = text.lines().filter(|old| !old.starts_with(prefix)).fold(
        String::with_capacity(text.len() + line.len()),
        |mut new, old| {
            new.push_str(old);
            new.push('\n');
            new
        },
    );
    if !line.is_empty() {
        new.push_str(line.trim_end());
        new.push('\n');
    }
    new
}

#[cfg(test)]
mod tests {
    use super::super::manifest::Retention;
    use super::*;
    use proptest::prelude::*;

    fn spec() -> FileSpec {
        FileSpec {
            about: String::new(),
            initial: String::new(),
            policy: Policy::Append,
            key: None,
            max_lines: None,
            max_bytes: None,
            prune: None,
            keep_lines: None,
            prune_notice: None,
            retention: Retention::Episode,
        }
    }

    #[test]
    fn one_line_a_key() {
        let map = FileSpec {
            policy: Policy::Upsert,
            key: Some(r"^-?\d+,-?\d+".to_owned()),
            ..spec()
        };
        let kept = map.upkeep("1,2 tree\nnote\n3,4 water\n1,2 table\n").unwrap();
        assert_eq!(kept.text, "note\n3,4 water\n1,2 table\n");
        assert_eq!((kept.gone, kept.rules), (1, vec!["upsert"]));
        assert_eq!(map.upkeep("1,2 tree\n3,4 water\n"), None);
    }

    #[test]
    fn the_oldest_lines_go_and_are_counted() {
        let log = FileSpec {
            max_lines: Some(4),
            keep_lines: Some(3),
            prune_notice: Some("[{n} older]".to_owned()),
            ..spec()
        };
        let once = log.upkeep("a\nb\nc\nd\ne\n").unwrap().text;
        assert_eq!(once, "[3 older]\nd\ne\n");
        let twice = log.upkeep(&format!("{once}f\ng\n")).unwrap().text;
        assert_eq!(twice, "[5 older]\nf\ng\n");
        let small = FileSpec {
            max_bytes: Some(5),
            ..spec()
        };
        assert_eq!(small.upkeep("aa\nbb\ncc\n").unwrap().text, "cc\n");
    }

    #[test]
    fn upserting_a_line() {
        assert_eq!(upserted("1,2: a\n3,4: b", "1,2:", "1,2: c"), "3,4: b\n1,2: c\n");
        assert_eq!(upserted("1,2: a\n", "1,2:", ""), "");
    }

    proptest! {
        #[test]
        fn upkeep_is_done_once(text in "([ab]{0,3}\n){0,12}", most in 1_u32..6, duplicates: bool) {
            let rules = FileSpec {
                max_lines: Some(most),
                prune: Some(if duplicates { Prune::Duplicates } else { Prune::Oldest }),
                ..spec()
            };
            if let Some(kept) = rules.upkeep(&text) {
                prop_assert!(kept.text.lines().count() <= most as usize);
                prop_assert_eq!(rules.upkeep(&kept.text), None);
            } else {
                prop_assert!(text.lines().count() <= most as usize);
            }
        }
    }
}
