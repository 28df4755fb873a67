//! From what a model wrote as its action to one of the world's actions.

use crate::types::Action;

/// A valid action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validated {
    /// The world's own name of it.
    pub action: Action,
    /// The model had written it differently.
    pub repaired: bool,
}

/// The action the text names: exactly, or up to case, blanks, `_` and `-` between words, and
/// quotes or punctuation around it. Nothing is guessed beyond that.
pub fn validate(text: &str, actions: &[Action]) -> Option<Validated> {
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
    let wanted = words(text);
    actions
        .iter()
        .find(|action| !wanted.is_empty() && words(action.as_str()) == wanted)
        .map(|action| Validated {
            action: action.clone(),
            repaired: true,
        })
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
        let check = |text: &str| validate(text, &actions).map(|found| (found.action.0, found.repaired));
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
}
