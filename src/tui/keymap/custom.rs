//! Keys as a person wants them: the table's own, with what `config.toml` changes.
//!
//! Owns checking changed keys: places and actions that exist, keys that a terminal can send, no key
//! twice in a place.

use std::collections::BTreeSet;

use super::{Action, Binding, Place, TABLE, shown};
use crate::config::position::hint_among;
use crate::config::{KeySetting, Problem};

/// The keys in force, row by row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keymap {
    keys: Vec<Vec<String>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let own = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect();
        Self {
            keys: TABLE.iter().map(|binding| own(binding.keys)).collect(),
        }
    }
}

impl Keymap {
    /// The keys of a row of the table.
    pub(crate) fn keys(&self, row: usize) -> &[String] {
        self.keys.get(row).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action as it is shown to people; empty when it has none.
    pub(crate) fn shown(&self, place: Place, action: Action) -> String {
        let row = TABLE
            .iter()
            .position(|binding| binding.place == place && binding.action == action);
        row.and_then(|row| self.keys(row).first())
            .map_or_else(String::new, |key| shown(key))
    }

    /// The table's keys with these changes; every problem found is in the list.
    pub(crate) fn with(changes: &[KeySetting]) -> Result<Self, Vec<Problem>> {
        let mut map = Self::default();
        let mut problems = Vec::new();
        let mut changed: Vec<(Place, &str, &KeySetting)> = Vec::new();
        for change in changes {
            let Some(place) = place_named(&change.place) else {
                let hint = hint_among(&change.place, &place_names());
                problems.push(change.place_problem(format!("unknown place `{}`", change.place), hint));
                continue;
            };
            let actions = action_names(place);
            let Some(action) = actions.iter().copied().find(|name| *name == change.action) else {
                let message = format!("`{}` has no action `{}`", change.place, change.action);
                problems.push(change.action_problem(message, hint_among(&change.action, &actions)));
                continue;
            };
            problems.extend(check(place, action, change));
            for (row, binding) in TABLE.iter().enumerate() {
                if binding.place == place && binding.action.name() == action {
                    map.keys[row].clone_from(&change.keys);
                }
            }
            changed.push((place, action, change));
        }
        for (place, action, change) in changed {
            problems.extend(map.clashes(place, action, change));
        }
        if problems.is_empty() { Ok(map) } else { Err(problems) }
    }

    /// Keys of a change that another action of the place has too.
    fn clashes(&self, place: Place, action: &str, change: &KeySetting) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (index, key) in change.keys.iter().enumerate() {
            // Two actions that share a key from the start never hold at the same time.
            let shared = |other: &Binding| {
                let mut own = TABLE
                    .iter()
                    .filter(|row| row.place == place && row.action.name() == action);
                other.keys.contains(&key.as_str()) && own.any(|row| row.keys.contains(&key.as_str()))
            };
            let other = TABLE.iter().enumerate().find(|(row, binding)| {
                binding.place == place
                    && binding.action.name() != action
                    && self.keys(*row).contains(key)
                    && !shared(binding)
            });
            if let Some((_, other)) = other {
                let name = other.action.name();
                let message = format!("`{key}` is the key of `{}.{name}` too", place.name());
                let hint = format!("choose another, or give `{name}` another key");
                problems.push(change.key_problem(index, message, hint));
            }
        }
        problems
    }
}

/// What is wrong with the keys of a change by themselves.
fn check(place: Place, action: &str, change: &KeySetting) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, key) in change.keys.iter().enumerate() {
        if let Err((message, hint)) = sound(key) {
            problems.push(change.key_problem(index, message, hint));
        } else if !seen.insert(key) {
            problems.push(change.key_problem(index, format!("`{key}` stands twice"), "leave one out"));
        } else if (place.types() || place == Place::Always) && is_letter(key) {
            let message = format!("`{key}` is typed as a letter in `{}`", place.name());
            problems.push(change.key_problem(index, message, "take a key such as F5 or C-x"));
        }
    }
    if place == Place::Always && action == "quit" && change.keys.is_empty() {
        problems.push(change.action_problem("`always.quit` needs a key", "without one there may be no way out"));
    }
    problems
}

fn is_letter(key: &str) -> bool {
    key == "Space" || key.chars().count() == 1
}

/// Names of keys that are no single letter.
const NAMED: &[&str] = &[
    "Space",
    "S-Tab",
    "Tab",
    "Enter",
    "Esc",
    "Backspace",
    "Left",
    "Right",
    "Up",
    "Down",
    "PgUp",
    "PgDn",
    "Home",
    "End",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
];

/// Keys with Ctrl that terminals send as another one.
const SENT_AS: &[(&str, &str)] = &[("C-i", "Tab"), ("C-m", "Enter"), ("C-[", "Esc"), ("C-h", "Backspace")];

/// Whether a terminal can send the key; else what is wrong and what to do.
fn sound(key: &str) -> Result<(), (String, String)> {
    if let Some((_, other)) = SENT_AS.iter().find(|(name, _)| *name == key) {
        return Err((format!("terminals send {other} for `{key}`"), format!("write {other}")));
    }
    let plain = key.strip_prefix("C-").filter(|plain| !plain.is_empty()).unwrap_or(key);
    let with_control = plain.len() < key.len();
    let mut letters = plain.chars();
    let sound = match (letters.next(), letters.next()) {
        (Some(letter), None) if with_control => letter.is_ascii_lowercase() || letter.is_ascii_digit(),
        (Some(letter), None) => !letter.is_control() && !letter.is_whitespace(),
        _ => NAMED.contains(&plain) && !(with_control && plain == "S-Tab"),
    };
    if sound {
        return Ok(());
    }
    let hint = if key.trim().is_empty() {
        "write Space".to_owned()
    } else if with_control && plain.chars().count() == 1 {
        "after C- stands a small letter or a digit".to_owned()
    } else {
        let hint = hint_among(plain, NAMED);
        format!("{hint}; or a letter, or C- and a letter")
    };
    Err((format!("there is no key `{}`", key.escape_debug()), hint))
}

fn place_named(name: &str) -> Option<Place> {
    TABLE
        .iter()
        .map(|binding| binding.place)
        .find(|place| place.name() == name)
}

fn place_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = TABLE.iter().map(|binding| binding.place.name()).collect();
    names.dedup();
    names
}

fn action_names(place: Place) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    TABLE
        .iter()
        .filter(|binding| binding.place == place && seen.insert(binding.action.name()))
        .map(|binding| binding.action.name())
        .collect()
}

/// An action with its keys, for people and for `config.toml`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct KeyRow {
    /// Name of the place.
    pub place: &'static str,
    /// Name of the action.
    pub action: &'static str,
    /// Its keys as `config.toml` writes them.
    pub keys: Vec<String>,
    /// What it does.
    pub help: &'static str,
}

/// Every action of every place.
pub(crate) fn rows(map: &Keymap) -> Vec<KeyRow> {
    let mut seen = BTreeSet::new();
    TABLE
        .iter()
        .enumerate()
        .filter(|(_, binding)| seen.insert((binding.place, binding.action.name())))
        .map(|(row, binding)| KeyRow {
            place: binding.place.name(),
            action: binding.action.name(),
            keys: map.keys(row).to_vec(),
            help: binding.help,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(place: &str, action: &str, keys: &[&str]) -> String {
        let problems = Keymap::with(&[KeySetting::for_test(place, action, keys)]).unwrap_err();
        problems[0].to_string()
    }

    #[test]
    fn a_change_replaces_the_keys_of_every_row_of_the_action() {
        let map = Keymap::with(&[KeySetting::for_test("watch", "play-pause", &["p", "F5"])]).unwrap();
        let rows: Vec<usize> = (0..TABLE.len())
            .filter(|row| TABLE[*row].place == Place::Watch && TABLE[*row].action == Action::PlayPause)
            .collect();
        assert!(rows.len() > 1);
        for row in rows {
            assert_eq!(map.keys(row), ["p", "F5"]);
        }
        assert_eq!(map.shown(Place::Watch, Action::PlayPause), "p");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        assert_eq!(
            wrong("wach", "zoom", &["x"]),
            "test:1:1: unknown place `wach` (did you mean `watch`?)"
        );
        assert_eq!(
            wrong("watch", "zom", &["x"]),
            "test:1:1: `watch` has no action `zom` (did you mean `zoom`?)"
        );
        assert!(wrong("watch", "zoom", &["f"]).contains("the key of `watch.follow` too"));
        assert!(wrong("watch", "zoom", &["x", "x"]).contains("stands twice"));
        assert!(wrong("watch", "zoom", &["Entr"]).contains("did you mean `Enter`?"));
        assert!(wrong("watch", "zoom", &["C-i"]).contains("terminals send Tab"));
        assert!(wrong("watch", "zoom", &["C-X"]).contains("a small letter"));
        assert!(wrong("watch", "zoom", &[" "]).contains("write Space"));
        assert!(wrong("watch", "zoom", &[""]).contains("no key"));
        assert!(wrong("text", "accept", &["a"]).contains("typed as a letter"));
        assert!(wrong("always", "quit", &[]).contains("needs a key"));
    }

    #[test]
    fn two_changes_may_swap_keys_and_one_may_take_them_away() {
        let map = Keymap::with(&[
            KeySetting::for_test("watch", "zoom", &["f"]),
            KeySetting::for_test("watch", "follow", &["z"]),
            KeySetting::for_test("watch", "diff", &[]),
        ])
        .unwrap();
        assert_eq!(map.shown(Place::Watch, Action::Zoom), "f");
        assert_eq!(map.shown(Place::Watch, Action::Diff), "");
    }

    #[test]
    fn the_own_keys_of_the_table_may_be_written_out() {
        let all: Vec<KeySetting> = rows(&Keymap::default())
            .iter()
            .map(|row| {
                let keys: Vec<&str> = row.keys.iter().map(String::as_str).collect();
                KeySetting::for_test(row.place, row.action, &keys)
            })
            .collect();
        assert_eq!(Keymap::with(&all).unwrap(), Keymap::default());
    }

    #[test]
    fn names_tell_the_actions_of_a_place_apart_and_every_key_of_the_table_is_sound() {
        for (n, a) in TABLE.iter().enumerate() {
            for key in a.keys {
                assert!(sound(key).is_ok(), "{key}");
            }
            for b in &TABLE[n + 1..] {
                if a.place == b.place && a.action != b.action {
                    assert_ne!(a.action.name(), b.action.name(), "at {:?}", a.place);
                }
            }
        }
    }
}
