//! From what a model wrote as its action to one of the world's actions.

use std::collections::BTreeMap;

use crate::types::Action;

/// A valid action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validated {
    /// The world's own name of it.
    pub action: Action,
    /// The model had written it differently.
    pub repaired: bool,
}

/// A scaffold's own ways of mending; see `[actions]` of its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mending {
    /// Beginnings that are cut away, in lower case.
    pub strip: Vec<String>,
    /// What is written, in lower case, and the action that is meant.
    pub repair: BTreeMap<String, String>,
}

/// The action the text names: exactly, or up to case, blanks, `_` and `-` between words, and
/// quotes or punctuation around it, or as the scaffold mends it. Nothing is guessed beyond that.
pub fn validate(text: &str, actions: &[Action], mending: &Mending) -> Option<Validated> {
    if let Some(action) = actions.iter().find(|action| action.as_str() == text) {
        return Some(Validated {
            action: action.clone(),
            repaired: false,
        });
    }
    // No action is anywhere near this long; a huge text need not be taken apart.
    if text.len() > 200 {
        return None;
    }
    let lower = text.trim().to_lowercase();
    let cut = mending
        .strip
        .iter()
        .find_map(|start| lower.strip_prefix(start.as_str()));
    [Some(lower.as_str()), cut]
        .into_iter()
        .flatten()
        .find_map(|text| named(text, actions).or_else(|| named(mending.repair.get(text.trim())?, actions)))
        .map(|action| Validated {
            action: action.clone(),
            repaired: true,
        })
}

fn named<'a>(text: &str, actions: &'a [Action]) -> Option<&'a Action> {
    let wanted = words(text);
    actions
        .iter()
        .find(|action| !wanted.is_empty() && words(action.as_str()) == wanted)
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-'))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mends_spelling_and_nothing_else() {
        let actions = [
            Action::from("Noop"),
            Action::from("Move West"),
            Action::from("Make Wood Pickaxe"),
        ];
        let check =
            |text: &str| validate(text, &actions, &Mending::default()).map(|found| (found.action.0, found.repaired));
        assert_eq!(check("Move West"), Some(("Move West".into(), false)));
        for text in [
            " move  west ",
            "MOVE_WEST",
            "\"Move West\".",
            "move-west",
            "`Move West`",
        ] {
            assert_eq!(check(text), Some(("Move West".into(), true)), "{text}");
        }
        for text in [
            "",
            "Move",
            "West",
            "Move West and then Do",
            "Mve West",
            "...",
            &"x".repeat(300),
        ] {
            assert_eq!(check(text), None, "{text}");
        }
    }

    #[test]
    fn a_scaffold_mends_in_its_own_way() {
        let actions = [Action::from("north"), Action::from("far north")];
        let mending = Mending {
            strip: vec!["go ".to_owned()],
            repair: BTreeMap::from([("northwest".to_owned(), "north".to_owned())]),
        };
        let check = |text: &str| validate(text, &actions, &mending).map(|found| (found.action.0, found.repaired));
        assert_eq!(check("Go north"), Some(("north".into(), true)));
        assert_eq!(check("go NORTHWEST"), Some(("north".into(), true)));
        assert_eq!(check("north"), Some(("north".into(), false)));
        assert_eq!(check("go up"), None);
    }
}
