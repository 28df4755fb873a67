//! What lies over the screen: help, palette, lines of text, questions, the inspector.

use std::path::PathBuf;

use super::curate::SelectForm;
use super::data::LiveId;
use super::insight::InsightPanel;
use super::inspector::Inspector;
use super::keymap::{self, Action, Place};
use super::optimize::OptimizeForm;
use super::start::Form;
use super::state::State;
use super::take_over::TakeOver;
use super::widgets::list::Scroll;
use super::widgets::text;
use crate::agent::NO_SPECIALIST;
use crate::review::{Judgement, Reason, Seq};
use crate::types::StepNo;

/// Something over the screen; keys go to it alone.
#[derive(Debug)]
pub(crate) enum Overlay {
    /// The keys of this place.
    Help(Picker),
    /// Everything that can be done, by name.
    Palette(Picker),
    /// A line of text.
    Line(LinePrompt),
    /// A question.
    Confirm(Confirm),
    /// A summary before something that counts.
    Seal(Box<Seal>),
    /// Why a hunk is rejected.
    Reasons(Picker),
    /// The exact prompt and answer of a turn.
    Inspector(Box<Inspector>),
    /// The dialog that starts a run.
    Form(Box<Form>),
    /// The dialog that starts an optimization.
    Optimize(Box<OptimizeForm>),
    /// The dialog that makes a data selection.
    Select(Box<SelectForm>),
    /// The choice of columns; the selected one.
    Columns(usize),
    /// Steps to go to, and what they have in common.
    Steps(String, Picker),
    /// A memory file to edit, or the name of a new one.
    Files(Picker),
    /// The memory specialist that is to take over.
    Specialists(Picker),
    /// A person plays in the agent's place.
    TakeOver(Box<TakeOver>),
    /// Metrics, findings and faults.
    Insight(InsightPanel),
}

impl Overlay {
    /// Where keys hold while it is on top.
    pub(crate) fn places(&self) -> Vec<Place> {
        match self {
            Self::Help(_)
            | Self::Palette(_)
            | Self::Steps(..)
            | Self::Files(_)
            | Self::Specialists(_)
            | Self::Reasons(_) => {
                vec![Place::Picker, Place::Always]
            }
            Self::TakeOver(panel) if panel.walks => vec![Place::Walk, Place::TakeOver, Place::Always],
            Self::TakeOver(_) => vec![Place::TakeOver, Place::Always],
            Self::Insight(_) => vec![Place::Insight, Place::Global, Place::Always],
            Self::Line(_) => vec![Place::Line, Place::Always],
            Self::Confirm(_) => vec![Place::Confirm, Place::Always],
            Self::Seal(_) => vec![Place::Seal, Place::Always],
            Self::Inspector(_) => vec![Place::Inspector, Place::Global, Place::Always],
            Self::Form(_) => vec![Place::Form, Place::Always],
            Self::Optimize(_) => vec![Place::Optimize, Place::Always],
            Self::Select(_) => vec![Place::Select, Place::Always],
            Self::Columns(_) => vec![Place::Columns, Place::Global, Place::Always],
        }
    }
}

/// What an entry of a list does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// What a key does.
    Act(Action),
    /// Go to a step.
    GoTo(StepNo),
    /// Use a theme.
    UseTheme(String),
    /// Edit a memory file, which may be a new one.
    Edit(String),
    /// Reject for this reason.
    Reject(Reason),
    /// Exchange the memory specialist; `none` leaves all to the base.
    Exchange(String),
}

/// An entry of help or palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The place it belongs to.
    pub(crate) place: &'static str,
    /// Its keys.
    pub(crate) keys: String,
    /// What it does.
    pub(crate) help: String,
    /// The command.
    pub(crate) command: Command,
}

/// A list with a filter that is typed.
#[derive(Debug, Default)]
pub(crate) struct Picker {
    /// The filter.
    pub(crate) filter: String,
    /// Where it is scrolled to.
    pub(crate) scroll: Scroll,
    entries: Vec<Entry>,
    kind: PickerKind,
    /// A specialist can be exchanged: what is typed after the word may be one.
    exchanges: bool,
}

/// What is listed, and so what can be typed besides a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PickerKind {
    /// Commands: a number goes to that step.
    #[default]
    Commands,
    /// Memory files: a name makes a new one.
    Files,
    /// Reasons: other words are one, too.
    Reasons,
    /// Specialists: a file or a model is one, too.
    Specialists,
}

impl Picker {
    /// Everything that can be done at the places that hold now.
    pub(crate) fn of_keys(places: &[Place], state: &State) -> Self {
        let entries = keymap::available(places, state)
            .into_iter()
            .map(|(binding, keys)| Entry {
                place: binding.place.title(),
                keys: keys.iter().map(|key| keymap::shown(key)).collect::<Vec<_>>().join(" "),
                help: binding.help.to_owned(),
                command: Command::Act(binding.action),
            })
            .collect();
        Self {
            entries,
            ..Self::default()
        }
    }

    /// The same, and what has no key.
    pub(crate) fn of_commands(places: &[Place], state: &State) -> Self {
        let mut picker = Self::of_keys(places, state);
        picker.exchanges = state.plays_live();
        if picker.exchanges {
            picker.entries.extend(specialists(&state.runs.here.adapters));
        }
        picker.entries.extend(state.themes.iter().cloned().map(|name| Entry {
            place: "Theme",
            keys: String::new(),
            help: format!("Use the theme {name}"),
            command: Command::UseTheme(name),
        }));
        picker
    }

    /// Entries of any kind.
    pub(crate) fn of_entries(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            ..Self::default()
        }
    }

    /// Memory files.
    pub(crate) fn of_files(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            kind: PickerKind::Files,
            ..Self::default()
        }
    }

    /// Memory specialists.
    pub(crate) fn of_specialists(adapters: &[String]) -> Self {
        Self {
            entries: specialists(adapters),
            kind: PickerKind::Specialists,
            exchanges: true,
            ..Self::default()
        }
    }

    /// The adapters of the workspace are these now.
    pub(crate) fn know_adapters(&mut self, adapters: &[String]) {
        self.entries = specialists(adapters);
    }

    /// Reasons.
    pub(crate) fn of_reasons(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            kind: PickerKind::Reasons,
            ..Self::default()
        }
    }

    /// What can be done, while nothing is typed.
    pub(crate) fn advice(&self) -> &'static str {
        match self.kind {
            PickerKind::Commands => "type to filter; Enter runs, Esc closes",
            PickerKind::Files => "type to filter, or the name of a new file; Enter edits, Esc closes",
            PickerKind::Specialists => "type to filter, or a file or a model; Enter takes it, Esc closes",
            PickerKind::Reasons => "type to filter, or your own words; Enter goes on, Esc leaves it",
        }
    }

    /// The file that what is typed would make.
    fn new_file(&self, name: &str) -> Option<Entry> {
        let known = |entry: &Entry| entry.command == Command::Edit(name.to_owned());
        let new = self.kind == PickerKind::Files && !name.is_empty() && !self.entries.iter().any(known);
        new.then(|| Entry {
            place: "",
            keys: "new file".to_owned(),
            help: text::clean(name).into_owned(),
            command: Command::Edit(name.to_owned()),
        })
    }

    /// The specialist that is named by what is typed: alone, or among commands after the word.
    fn named_specialist(&self, filter: &str) -> Option<Entry> {
        let named = match self.kind {
            PickerKind::Specialists => filter,
            PickerKind::Commands => filter.strip_prefix("specialist ")?.trim(),
            _ => return None,
        };
        let listed = |entry: &Entry| entry.command == Command::Exchange(named.to_owned());
        let new = self.exchanges && !named.is_empty() && !self.entries.iter().any(listed);
        new.then(|| Entry {
            place: SPECIALIST,
            keys: String::new(),
            help: format!("Take {} as the memory specialist", text::clean(named)),
            command: Command::Exchange(named.to_owned()),
        })
    }

    /// The entries that contain every word of the filter. A number goes to that step.
    pub(crate) fn matches(&self) -> Vec<Entry> {
        let filter = self.filter.trim();
        let commands = self.kind == PickerKind::Commands;
        let step = filter.parse().ok().filter(|_| commands).map(|step| Entry {
            place: "Watch",
            keys: String::new(),
            help: format!("Go to step {step}"),
            command: Command::GoTo(StepNo(step)),
        });
        let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |entry: &&Entry| {
            let text = format!("{} {}", entry.place, entry.help).to_lowercase();
            words
                .iter()
                .all(|word| text.contains(word) || entry.keys.to_lowercase() == *word)
        };
        // The specialist that is named in full comes before what else speaks of one.
        let exact = filter
            .strip_prefix("specialist ")
            .map(|name| Command::Exchange(name.trim().to_owned()));
        let (first, others): (Vec<Entry>, Vec<Entry>) = self
            .entries
            .iter()
            .filter(fits)
            .cloned()
            .partition(|entry| commands && Some(&entry.command) == exact.as_ref());
        step.into_iter()
            .chain(first)
            .chain(others)
            .chain(self.new_file(filter))
            .chain(self.named_specialist(filter))
            .collect()
    }
}

/// The heading of specialists.
const SPECIALIST: &str = "Specialist";

fn specialists(adapters: &[String]) -> Vec<Entry> {
    let entry = |help: String, name: &str| Entry {
        place: SPECIALIST,
        keys: String::new(),
        help,
        command: Command::Exchange(name.to_owned()),
    };
    let none = entry(
        "none: one model does all from the next step on".to_owned(),
        NO_SPECIALIST,
    );
    let adapters = adapters
        .iter()
        .map(|name| entry(format!("{}: an adapter of the workspace", text::clean(name)), name));
    std::iter::once(none).chain(adapters).collect()
}

/// What a line of text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFor {
    /// Search the run.
    Search,
    /// Filter the list of runs.
    Filter,
    /// Filter the stream of actions.
    Stream,
    /// Save the screen under this name.
    Save,
    /// Tell the agent something.
    Tell,
    /// Reject hunks: what else there is to say.
    Reject(Reason),
    /// Comment on a hunk or on the whole.
    Comment,
    /// Promote although the gate does not say so.
    Overrule,
    /// Discard a proposal.
    Discard,
    /// Take a promotion back.
    Demote,
    /// Show only some items.
    Items,
    /// Commit fewer items than there should be.
    Fewer,
}

/// A line of text that is being written.
#[derive(Debug)]
pub(crate) struct LinePrompt {
    /// What for.
    pub(crate) purpose: LineFor,
    /// The text so far.
    pub(crate) text: String,
}

impl LinePrompt {
    /// What stands before it.
    pub(crate) fn label(&self) -> &'static str {
        match self.purpose {
            LineFor::Search => "search the run",
            LineFor::Filter => "filter",
            LineFor::Stream => "show only (op: outcome: phase: role: file: by: invalid)",
            LineFor::Tell => "tell the agent in its next prompt",
            LineFor::Reject(_) => "rejected; what else shall its author know (may stay empty)",
            LineFor::Comment => "comment",
            LineFor::Overrule => "the gate does not say so: promote all the same, because",
            LineFor::Discard => "discard it, because",
            LineFor::Demote => "take the promotion back, because",
            LineFor::Items => "show only (selected waiting phase: op: ep: seed: reads>0 alike, or words)",
            LineFor::Fewer => "fewer than the minimum: commit all the same, because",
            LineFor::Save => "save the screen as (.txt .ansi .svg)",
        }
    }
}

/// What is done once its summary is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sealed {
    /// Commit the decisions.
    Commit,
    /// The same verdict on several items.
    Judge(Judgement),
    /// Commit decisions on items; why there are fewer than there should be.
    CommitItems {
        /// In words; empty when there are enough.
        fewer: String,
    },
    /// Make the result the head.
    Promote {
        /// Why against the gate; empty when it says so.
        overrule: String,
    },
    /// Discard the proposal.
    Discard {
        /// Why.
        why: String,
    },
    /// Take the promotion back.
    Demote {
        /// Why.
        why: String,
    },
}

/// A summary that is confirmed with a key of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seal {
    /// What is asked.
    pub(crate) question: String,
    /// What it means.
    pub(crate) details: Vec<String>,
    /// What the key does, in words.
    pub(crate) means: &'static str,
    /// What is done then.
    pub(crate) what: Sealed,
    /// The last entry of the log that the summary knows.
    pub(crate) seen: Seq,
}

/// A question that is answered with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confirm {
    /// Quit although a run is being played.
    QuitWhileLive,
    /// Quit although an optimization is under way.
    QuitWhileOptimizing,
    /// Stop a run for good.
    StopRun(LiveId),
    /// Delete a run of the workspace.
    DeleteRun(PathBuf),
    /// Delete a run that lies elsewhere, or take it off the list.
    DeleteElsewhere(PathBuf),
    /// What to do with deleted runs that a session which broke off left behind.
    Leftovers(Vec<PathBuf>),
}

impl Confirm {
    /// The question, and what the answers mean.
    pub(crate) fn text(&self) -> (String, Vec<String>) {
        let name = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            name.unwrap_or_default()
        };
        match self {
            Self::QuitWhileLive => (
                "A run is still running. Quit?".to_owned(),
                vec![
                    "The step under way is dropped; every step before it is saved.".to_owned(),
                    "`automem resume RUN` goes on with it later.".to_owned(),
                ],
            ),
            Self::QuitWhileOptimizing => (
                "An optimization is under way. Quit?".to_owned(),
                vec![
                    "What it did is kept: every finished step, every decision.".to_owned(),
                    "Lab, or `automem optimize --resume NAME`, goes on with it.".to_owned(),
                ],
            ),
            Self::StopRun(_) => (
                "Stop the run for good?".to_owned(),
                vec![
                    "Its episodes end after the step under way; what was played is kept.".to_owned(),
                    "To go on later, pause it instead, or quit and resume it.".to_owned(),
                ],
            ),
            Self::DeleteRun(path) => (
                format!("Delete {}?", name(path)),
                vec![
                    "The run file and its memory folder go to the workspace's trash.".to_owned(),
                    "Until the program ends it can be brought back.".to_owned(),
                ],
            ),
            Self::DeleteElsewhere(path) => (
                format!("Delete {}, or only forget it?", name(path)),
                vec![
                    format!("It does not lie in this workspace: {}", path.display()),
                    "Deleted, it can be brought back until the program ends.".to_owned(),
                    "Forgotten, it stays where it is and is only taken off the list.".to_owned(),
                ],
            ),
            Self::Leftovers(paths) => {
                let names: Vec<String> = paths.iter().take(3).map(name).collect();
                let more = if paths.len() > 3 { ", …" } else { "" };
                (
                    format!("Bring {} deleted runs back?", paths.len()),
                    vec![
                        format!("{}{more}", names.join(", ")),
                        "A session that broke off deleted them; they still lie in the trash.".to_owned(),
                        "Without an answer they stay there until the next time.".to_owned(),
                    ],
                )
            }
        }
    }

    /// The answers there are, and what they do.
    pub(crate) fn answers(&self) -> Vec<(Action, &'static str)> {
        match self {
            Self::QuitWhileLive => vec![(Action::Yes, "stop it and quit"), (Action::No, "stay here")],
            Self::QuitWhileOptimizing => vec![(Action::Yes, "stop it and quit"), (Action::No, "stay here")],
            Self::StopRun(_) => vec![(Action::Yes, "stop it"), (Action::No, "let it play")],
            Self::DeleteRun(_) => vec![(Action::Yes, "delete it"), (Action::No, "keep it")],
            Self::DeleteElsewhere(_) => vec![
                (Action::Yes, "delete the file"),
                (Action::Forget, "only forget it"),
                (Action::No, "keep it"),
            ],
            Self::Leftovers(_) => vec![
                (Action::Yes, "bring them back"),
                (Action::Remove, "remove them for good"),
                (Action::No, "leave them"),
            ],
        }
    }
}

/// Erases the last word.
pub(crate) fn erase_word(text: &mut String) {
    let kept = text.trim_end();
    let end = kept.rfind(' ').map_or(0, |blank| blank + 1);
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_erased_from_the_end() {
        let mut text = "one two ".to_owned();
        erase_word(&mut text);
        assert_eq!(text, "one ");
        erase_word(&mut text);
        assert_eq!(text, "");
    }
}
