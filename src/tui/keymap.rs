//! The one table of keys: it drives what keys do, the hint line, the help and the palette.
//!
//! Owns places, bindings and how keys are written. Must not do what an action means.

mod custom;
mod names;
mod table;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::state::State;
use super::take_over::Side;
pub use custom::KeyRow;
pub(crate) use custom::{Keymap, rows};
pub(crate) use table::TABLE;

/// Where a binding holds. A narrower place wins over a wider one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Even while something is typed.
    Always,
    /// On every screen.
    Global,
    /// The list of runs.
    Runs,
    /// The choice of what to start, in place of an empty list.
    Start,
    /// The dialog that starts a run.
    Form,
    /// The choice of columns.
    Columns,
    /// The watch screen, whatever has the focus.
    Watch,
    /// The game pane.
    Game,
    /// The tree of memory files.
    MemoryTree,
    /// The open memory file.
    MemoryFile,
    /// The stream of actions.
    Actions,
    /// The tree of the scaffold's files.
    ScaffoldTree,
    /// The open scaffold file.
    ScaffoldFile,
    /// The timeline.
    Timeline,
    /// The exact prompt and answer.
    Inspector,
    /// Metrics, findings and faults.
    Insight,
    /// A list with a filter that is typed: help, palette.
    Picker,
    /// A line of text: search, filter, file name.
    Line,
    /// A person plays in the agent's place.
    TakeOver,
    /// The same, with arrows that walk.
    Walk,
    /// Lab.
    Lab,
    /// The dialog that starts an optimization.
    Optimize,
    /// The list of proposals.
    Review,
    /// An open proposal, whatever has the focus.
    Proposal,
    /// A hunk of it that a verdict can be given on.
    Gate,
    /// The list of data selections.
    Curate,
    /// An open data selection, whatever has the focus.
    Selection,
    /// Its items, which verdicts can be given on.
    Items,
    /// The dialog that makes a data selection.
    Select,
    /// A summary before something that counts.
    Seal,
    /// A question.
    Confirm,
}

impl Place {
    /// The heading in the help.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::Global => "Everywhere",
            Self::Runs => "Runs",
            Self::Start => "Start",
            Self::Form => "New run",
            Self::Columns => "Columns",
            Self::Watch => "Watch",
            Self::Game => "Game",
            Self::MemoryTree => "Memory files",
            Self::MemoryFile => "Memory file",
            Self::Actions => "Actions",
            Self::ScaffoldTree => "Scaffold files",
            Self::ScaffoldFile => "Scaffold file",
            Self::Timeline => "Timeline",
            Self::Inspector => "Prompt and answer",
            Self::Insight => "Metrics and findings",
            Self::Picker => "List",
            Self::Line => "Text",
            Self::TakeOver => "Take over",
            Self::Walk => "Walking",
            Self::Lab => "Lab",
            Self::Optimize => "New optimization",
            Self::Review => "Review",
            Self::Proposal => "Proposal",
            Self::Gate => "Gate",
            Self::Curate => "Curate",
            Self::Selection => "Data selection",
            Self::Items => "Gate",
            Self::Select => "New selection",
            Self::Seal => "Summary",
            Self::Confirm => "Question",
        }
    }

    /// Whether letters are typed here, so that they are no keys.
    pub(crate) fn types(self) -> bool {
        matches!(
            self,
            Self::Picker | Self::Line | Self::Form | Self::TakeOver | Self::Walk | Self::Optimize | Self::Select
        )
    }
}

/// A screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Screen {
    /// The list of runs.
    Runs,
    /// One run, live or replayed.
    Watch,
    /// Scaffolds, gates, optimizations.
    Lab,
    /// Proposals and the decisions on them.
    Review,
    /// Data selections and the decisions on their items.
    Curate,
}

/// A kind of event on the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Any of them.
    All,
    /// A reward.
    Reward,
    /// A memory write.
    Write,
    /// An error or an invalid action.
    Error,
}

/// What a key does, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub(crate) enum Action {
    Quit,
    Back,
    Suspend,
    Redraw,
    Help,
    Palette,
    Show(Screen),
    Copy,
    SaveScreen,
    NextTheme,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    NewRun,
    Filter,
    ClearFilter,
    OnlyThis,
    Readers,
    MemoryDiff,
    Mark,
    FoldAll,
    Sort,
    Reload,
    Columns,
    Toggle,
    StopRun,
    ResumeRun,
    Delete,
    Undo,
    Sample,
    ChoiceBy(i32),
    Background,
    Forget,
    Remove,
    FocusNext,
    FocusPrevious,
    StepBy(i32),
    EpisodeBy(i32),
    First,
    Last,
    EventBy(i32),
    EventKind(Kind),
    PlayPause,
    OneStep,
    Faster,
    Slower,
    NormalSpeed,
    Follow,
    TakeOver,
    Walk(Side),
    EditMemory,
    Tell,
    Specialist,
    Search,
    Insight,
    HitBy(i32),
    View,
    Picture,
    PanBy(i32),
    Zoom,
    Diff,
    Fold,
    Unfold,
    TurnBy(i32),
    Part,
    Cancel,
    Accept,
    Erase,
    EraseWord,
    EraseAll,
    Yes,
    No,
    Optimize,
    StopOptimization,
    ResumeOptimization,
    ParentRun,
    HunkBy(i32),
    AcceptHunk,
    RejectHunk,
    RejectBecause,
    SplitHunk,
    EditHunk,
    Comment,
    Range,
    Everything,
    Commit,
    Seal,
    Check,
    Promote,
    Discard,
    WhyNot,
    Beside,
    NewSelection,
    ReadAt,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding {
    /// Where it holds.
    pub(crate) place: Place,
    /// Keys, as written by [`name`].
    pub(crate) keys: &'static [&'static str],
    /// What it does.
    pub(crate) action: Action,
    /// One or two words for the hint line.
    pub(crate) label: &'static str,
    /// What it does, in a sentence.
    pub(crate) help: &'static str,
    /// Rank in the hint line, 1 first; 0 stays out of it.
    pub(crate) rank: u8,
    /// Whether it can do anything now.
    pub(crate) when: fn(&State) -> bool,
}

/// How a key is written in the table; `None` for keys that nothing is bound to.
pub(crate) fn name(key: &KeyEvent) -> Option<String> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER) {
        return None;
    }
    let plain = match key.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::BackTab => "S-Tab".to_owned(),
        KeyCode::Tab if key.modifiers.contains(KeyModifiers::SHIFT) => "S-Tab".to_owned(),
        KeyCode::Tab => "Tab".to_owned(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        KeyCode::Backspace => "Backspace".to_owned(),
        KeyCode::Left => "Left".to_owned(),
        KeyCode::Right => "Right".to_owned(),
        KeyCode::Up => "Up".to_owned(),
        KeyCode::Down => "Down".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::F(n) => format!("F{n}"),
        _ => return None,
    };
    Some(if control { format!("C-{plain}") } else { plain })
}

/// How a key of the table is shown to people.
pub(crate) fn shown(key: &str) -> String {
    match key {
        "Left" => "←".into(),
        "Right" => "→".into(),
        "Up" => "↑".into(),
        "Down" => "↓".into(),
        "Space" => "space".into(),
        "S-Tab" => "Shift-Tab".into(),
        _ => match key.strip_prefix("C-") {
            Some("Left") => "Ctrl-←".into(),
            Some("Right") => "Ctrl-→".into(),
            Some(rest) => format!("Ctrl-{rest}"),
            None => key.to_owned(),
        },
    }
}

/// The rows of a place that can do something now, each with its keys.
fn here(place: Place, state: &State) -> impl Iterator<Item = (&'static Binding, &[String])> {
    TABLE
        .iter()
        .enumerate()
        .filter(move |(_, binding)| binding.place == place && (binding.when)(state))
        .map(|(row, binding)| (binding, state.keymap.keys(row)))
}

/// The binding of a key at the places that hold now (narrowest first).
pub(crate) fn find(key: &str, places: &[Place], state: &State) -> Option<&'static Binding> {
    places.iter().find_map(|place| {
        here(*place, state)
            .find(|(_, keys)| keys.iter().any(|own| own == key))
            .map(|(binding, _)| binding)
    })
}

/// The bindings that can be used now, each with the keys that no narrower place takes away.
pub(crate) fn available<'a>(places: &[Place], state: &'a State) -> Vec<(&'static Binding, Vec<&'a str>)> {
    let mut taken: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    for place in places {
        let here: Vec<_> = here(*place, state)
            .map(|(binding, keys)| {
                let free = keys.iter().map(String::as_str).filter(|key| !taken.contains(key));
                (binding, free.collect::<Vec<_>>())
            })
            .filter(|(_, keys)| !keys.is_empty())
            .collect();
        taken.extend(here.iter().flat_map(|(_, keys)| keys.iter().copied()));
        out.extend(here);
    }
    out
}

/// The hint line: keys and their label, most useful first. Bindings of one place and label share
/// an entry (`←→ move`).
pub(crate) fn hints(places: &[Place], state: &State) -> Vec<(String, &'static str)> {
    let mut ranked: Vec<(u8, Place, String, &'static str)> = Vec::new();
    for (binding, keys) in available(places, state) {
        if binding.rank == 0 {
            continue;
        }
        let Some(key) = keys.first().map(|key| shown(key)) else {
            continue;
        };
        let mate = ranked
            .iter_mut()
            .find(|(_, place, _, label)| *place == binding.place && *label == binding.label);
        match mate {
            Some((_, _, keys, _)) => {
                let apart = key.is_ascii();
                if apart {
                    keys.push(' ');
                }
                keys.push_str(&key);
            }
            None => ranked.push((binding.rank, binding.place, key, binding.label)),
        }
    }
    ranked.sort_by_key(|(rank, ..)| *rank);
    ranked.into_iter().map(|(_, _, keys, label)| (keys, label)).collect()
}
