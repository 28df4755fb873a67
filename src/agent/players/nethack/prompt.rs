//! Reading a prompt: phase, step, previous action, observation, results of memory operations.
//!
//! Tolerant of whatever else the prompt says: things are found by the lines that introduce them.

use crate::types::{ChatRole, Message, Phase};

use super::notes::{Notes, TRIES, WALKED};
use super::screen::Screen;

/// What the messages of a chat say.
#[derive(Debug)]
pub(super) struct Prompt<'a> {
    pub(super) phase: Phase,
    pub(super) step: u32,
    pub(super) previous: &'a str,
    pub(super) screen: Option<Screen<'a>>,
    /// What memory operations gave; `None` in the first turn of a phase.
    pub(super) results: Option<&'a str>,
    /// The scaffold writes down itself what was walked.
    pub(super) keeps_walked: bool,
    /// The scaffold notes stairs itself, one line a place.
    pub(super) keeps_stairs: bool,
    /// The task is a puzzle of boulders.
    pub(super) is_boxoban: bool,
    actions: Option<&'a str>,
    opening: &'a str,
}

impl<'a> Prompt<'a> {
    /// Reads a chat.
    pub(super) fn read(messages: &'a [Message]) -> Self {
        let users = || {
            messages
                .iter()
                .rev()
                .filter(|message| message.role == ChatRole::User)
                .map(|message| message.content.as_str())
        };
        let system = messages
            .iter()
            .find(|message| message.role == ChatRole::System)
            .map_or("", |message| message.content.as_str());
        let last = users().next().unwrap_or("");
        let opening = users().find(|text| text.contains("PHASE:")).unwrap_or(last);
        let headline = opening.lines().find(|line| line.contains("PHASE:")).unwrap_or("");
        let kept = |file: &str| {
            system
                .lines()
                .any(|line| line.contains(file) && line.contains("for you"))
        };
        Self {
            phase: if headline.contains("LOG") {
                Phase::Log
            } else {
                Phase::Plan
            },
            step: value_of(opening, "STEP:")
                .and_then(|value| value.split(' ').next()?.parse().ok())
                .unwrap_or(0),
            previous: value_of(opening, "PREVIOUS ACTION:")
                .map_or("", |value| value.split(" (").next().unwrap_or(value)),
            screen: users().find_map(Screen::read),
            results: last.starts_with("RESULTS").then_some(last),
            keeps_walked: kept(WALKED),
            keeps_stairs: kept("map.txt"),
            is_boxoban: system.contains("Boxoban"),
            actions: system
                .split_once("# Actions\n")
                .and_then(|(_, rest)| rest.lines().next())
                .filter(|line| line.contains(", ")),
            opening,
        }
    }

    /// Whether the notes have to be read before anything can be said.
    pub(super) fn needs_notes(&self) -> bool {
        self.screen.is_some() && (self.lists(WALKED) || self.lists(TRIES))
    }

    /// Whether there is a memory file of this name.
    pub(super) fn lists(&self, file: &str) -> bool {
        self.opening
            .lines()
            .filter_map(|line| line.strip_prefix("- ")?.strip_prefix(file))
            .any(|rest| rest.starts_with(' '))
    }

    /// The level, as far as the screen shows it.
    pub(super) fn level(&self) -> u32 {
        self.screen
            .as_ref()
            .and_then(|screen| screen.status)
            .map_or(1, |status| status.level)
    }

    /// The player's notes for this level.
    pub(super) fn notes(&self) -> Notes {
        Notes::read(self.results.unwrap_or(""), self.level())
    }

    /// Whether the world takes an action, as far as is told.
    pub(super) fn can(&self, action: &str) -> bool {
        self.actions
            .is_none_or(|list| list.split(", ").any(|name| name.trim() == action))
    }
}

/// What stands behind a word that begins a line.
fn value_of<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(word))
        .map(|value| value.trim().trim_matches('"'))
}
