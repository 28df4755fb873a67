//! Taking over: the panel in which a person plays in the agent's place, and what their editor did.
//!
//! Owns the panel's own state as a value. What its keys do is in `update`, the editor is `editor`'s.

use std::path::PathBuf;
use std::sync::Arc;

use super::data::{ControlView, EditRequest};
use super::state::State;
use super::widgets::list::Scroll;
use crate::types::{Action, StepNo};

/// A side to walk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// Left.
    West,
    /// Right.
    East,
    /// Up.
    North,
    /// Down.
    South,
}

impl Side {
    /// Words that worlds use for it, the best one first.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::West => &["west", "left"],
            Self::East => &["east", "right"],
            Self::North => &["north", "up"],
            Self::South => &["south", "down"],
        }
    }

    /// The action of a world that walks to this side: named so, or a move with that word.
    pub(crate) fn action(self, actions: &[Action]) -> Option<&Action> {
        let fits = |action: &&Action, word: &str| {
            let name = action.0.to_lowercase();
            let mut parts = name
                .split(|c: char| !c.is_alphanumeric())
                .filter(|part| !part.is_empty());
            match (parts.next(), parts.next(), parts.next()) {
                (Some(only), None, None) => only == word,
                (Some(verb), Some(side), None) => side == word && ["move", "walk", "go"].contains(&verb),
                _ => false,
            }
        };
        self.words()
            .iter()
            .find_map(|word| actions.iter().find(|action| fits(action, word)))
    }
}

/// The panel: which action is selected, and whether arrows walk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TakeOver {
    /// What is typed to find an action.
    pub(crate) filter: String,
    /// Where the list of actions is scrolled to.
    pub(crate) scroll: Scroll,
    /// Arrows walk instead of choosing.
    pub(crate) walks: bool,
}

impl TakeOver {
    /// The actions whose name contains every word of the filter; one that is named so comes first.
    pub(crate) fn matches<'a>(&self, actions: &'a [Action]) -> Vec<&'a Action> {
        let typed = self.filter.trim().to_lowercase();
        let words: Vec<&str> = typed.split_whitespace().collect();
        let mut found: Vec<&Action> = actions
            .iter()
            .filter(|action| {
                let name = action.0.to_lowercase();
                words.iter().all(|word| name.contains(word))
            })
            .collect();
        found.sort_by_key(|action| action.0.to_lowercase() != typed);
        found
    }

    /// A letter is typed.
    pub(crate) fn write(&mut self, c: char) {
        self.filter.push(c);
        self.scroll = Scroll::default();
    }

    /// Letters are erased.
    pub(crate) fn erase(&mut self, how: fn(&mut String)) {
        how(&mut self.filter);
        self.scroll = Scroll::default();
    }
}

/// Erases the last letter.
pub(crate) fn erase_letter(text: &mut String) {
    text.pop();
}

/// How the episode that shows stands to a person who would play it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits between two steps.
    Waits(StepNo),
    /// The run is paused, but this step is not over.
    Finishes(StepNo),
    /// It plays.
    Plays,
    /// It ends after its step.
    Stops,
    /// It is over.
    Over,
}

impl Standing {
    /// Of the episode that shows.
    pub(crate) fn of(state: &State) -> Self {
        let Some((live, watch)) = state.live_here().zip(state.watch.as_ref()) else {
            return Self::Over;
        };
        let episode = live.episodes.get(&watch.episode);
        if episode.is_some_and(|episode| episode.ended) {
            return Self::Over;
        }
        match (live.control, episode) {
            (ControlView::Finished, _) => Self::Over,
            (ControlView::Stopping, _) => Self::Stops,
            (ControlView::Running, _) => Self::Plays,
            (ControlView::Paused, None) => Self::Finishes(StepNo(0)),
            (ControlView::Paused, Some(episode)) => match episode.waits_at() {
                Some(step) => Self::Waits(step),
                None => Self::Finishes(episode.record.step),
            },
        }
    }
}

/// What became of a memory file that a person edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edited {
    /// What was asked for.
    pub(crate) request: EditRequest,
    /// What came of it.
    pub(crate) outcome: EditOutcome,
    /// How the editor ended, if not well.
    pub(crate) trouble: Option<String>,
}

/// What came of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditOutcome {
    /// Nothing was written.
    Unchanged,
    /// The file holds this text now.
    Saved(Arc<str>),
    /// The file is gone.
    Removed,
    /// What was written can be no memory: it lies beside, and the file is as it was.
    Refused {
        /// Why.
        why: String,
        /// Where it lies.
        kept: PathBuf,
    },
    /// There was no edit, or nobody knows what came of it: cause and next step.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(names: &[&str]) -> Vec<Action> {
        names.iter().map(|&name| Action::from(name)).collect()
    }

    #[test]
    fn arrows_find_the_moves_of_a_world() {
        let crafter = actions(&["Noop", "Move West", "Move East", "Move North", "Move South", "Do"]);
        assert_eq!(Side::West.action(&crafter), Some(&crafter[1]));
        assert_eq!(Side::South.action(&crafter), Some(&crafter[4]));
        let nethack = actions(&["far east", "northeast", "east", "up", "north"]);
        assert_eq!(Side::East.action(&nethack), Some(&nethack[2]));
        assert_eq!(Side::North.action(&nethack), Some(&nethack[4]));
        assert_eq!(Side::West.action(&nethack), None);
    }

    #[test]
    fn typing_finds_actions_and_a_whole_name_comes_first() {
        let all = actions(&["Noop", "Do nothing", "Place Table", "Do", "Place Stone"]);
        let mut panel = TakeOver::default();
        assert_eq!(panel.matches(&all).len(), 5);
        "do".chars().for_each(|c| panel.write(c));
        assert_eq!(panel.matches(&all), [&all[3], &all[1]]);
        panel.erase(String::clear);
        "pl ta".chars().for_each(|c| panel.write(c));
        assert_eq!(panel.matches(&all), [&all[2]]);
        panel.erase(crate::tui::overlay::erase_word);
        assert_eq!(panel.matches(&all).len(), 2);
    }
}
