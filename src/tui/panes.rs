//! What each pane of the watch screen remembers between frames.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::data::{BlameView, MapView, MemoryView, ScaffoldDiff};
use super::memory_diff::{Against, DiffWish, MemoryDiff};
use super::widgets::document::Document;
use super::widgets::list::Scroll;
use super::widgets::tree::{self, Node};
use crate::analysis::Heat;
use crate::types::{EpisodeNo, StepNo, View};

/// What the game pane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum GameView {
    /// What the agent sees.
    #[default]
    Agent,
    /// The whole map with the agent's trail.
    Map,
    /// The text the model saw.
    Text,
}

impl GameView {
    /// The next in the circle; only a map of tiles is more than what the agent sees.
    pub(crate) fn next(self, shown: &View) -> Self {
        match (self, shown) {
            (Self::Agent, View::Tiles(_)) => Self::Map,
            (Self::Agent | Self::Map, _) => Self::Text,
            (Self::Text, _) => Self::Agent,
        }
    }

    /// In words.
    pub(crate) fn word(self, shown: &View) -> &'static str {
        match (self, shown) {
            (Self::Text, _) | (_, View::Text) => "text the model saw",
            (_, View::Grid(_)) => "screen",
            (_, View::Picture(_)) => "picture",
            (Self::Agent, View::Tiles(_)) => "agent's view",
            (Self::Map, View::Tiles(_)) => "whole map",
        }
    }
}

/// The game pane.
#[derive(Debug, Default)]
pub(crate) struct GamePane {
    /// What it shows.
    pub(crate) view: GameView,
    /// Where the text is scrolled to.
    pub(crate) text: Scroll,
    /// What is known of the map.
    pub(crate) map: Option<Box<MapView>>,
    /// The step whose map was asked for.
    pub(crate) map_asked: Option<(EpisodeNo, StepNo)>,
    /// How far the map is moved from the player, in map cells.
    pub(crate) pan: (i32, i32),
}

/// A text in a pane, wrapped and coloured once for what it shows.
#[derive(Debug, Default)]
pub(crate) struct OpenText {
    /// What the document was made of.
    pub(crate) key: Option<(PathBuf, u64, u16)>,
    /// The document.
    pub(crate) document: Document,
    /// Where it is scrolled to.
    pub(crate) scroll: Scroll,
}

/// The memory pane.
#[derive(Debug, Default)]
pub(crate) struct MemoryPane {
    /// The tree.
    pub(crate) tree: Scroll,
    /// Folded folders.
    pub(crate) folded: BTreeSet<String>,
    /// The file a person chose; without one the last changed file is open.
    pub(crate) chosen: Option<String>,
    /// The file has the focus, not the tree.
    pub(crate) in_file: bool,
    /// The open file.
    pub(crate) open: OpenText,
    /// Who wrote the lines of the open file, as far as known.
    pub(crate) blame: Option<BlameView>,
    /// What was asked for last.
    pub(crate) blame_asked: Option<(EpisodeNo, StepNo, String)>,
    /// The step whose changes were scrolled to.
    pub(crate) scrolled_for: Option<(EpisodeNo, StepNo)>,
    /// A line that the cursor went after: selected once its step is here.
    pub(crate) wanted_line: Option<String>,
    /// Reads, writes and growth, as far as they are counted.
    pub(crate) heat: Option<Arc<Heat>>,
    /// Steps that are counted.
    pub(crate) heat_upto: StepNo,
    /// What was asked for last.
    pub(crate) heat_asked: Option<(EpisodeNo, StepNo)>,
    /// The step that a person marked, to compare with.
    pub(crate) marked: Option<StepNo>,
    /// The difference shows in place of the open file.
    pub(crate) against: Option<Against>,
    /// The difference, as far as known.
    pub(crate) diff: Option<MemoryDiff>,
    /// What was asked for last.
    pub(crate) diff_asked: Option<DiffWish>,
    /// The lines of the difference.
    pub(crate) diff_text: DiffText,
    /// Files that were changed outside and are not recorded yet.
    pub(crate) outside: BTreeMap<String, Outside>,
    /// Files that show although the memory does not have them: gone ones, new ones outside.
    pub(crate) extra: BTreeSet<String>,
}

/// The lines of a difference, wrapped and coloured once.
#[derive(Debug, Default)]
pub(crate) struct DiffText {
    /// What the document was made of: theme, columns, steps.
    pub(crate) key: Option<(String, u16, DiffWish)>,
    /// The document.
    pub(crate) document: Document,
    /// Where it is scrolled to.
    pub(crate) scroll: Scroll,
}

/// What somebody outside did to a memory file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// Its text is another.
    Changed,
    /// The agent has no such file.
    Added,
    /// It is not there any more.
    Removed,
}

impl Outside {
    /// In words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

impl MemoryPane {
    /// Rows of the tree.
    pub(crate) fn rows(&self, memory: &MemoryView) -> Vec<Node> {
        if self.extra.is_empty() {
            return tree::rows(memory.files.keys().map(String::as_str), &self.folded);
        }
        let all: BTreeSet<&str> = memory.files.keys().chain(&self.extra).map(String::as_str).collect();
        tree::rows(all.into_iter(), &self.folded)
    }

    /// Forgets what belongs to one episode.
    pub(crate) fn forget(&mut self) {
        self.heat = None;
        self.heat_upto = StepNo(0);
        self.heat_asked = None;
        self.marked = None;
        self.diff = None;
        self.diff_asked = None;
        self.outside.clear();
        if matches!(self.against, Some(Against::Marked(_))) {
            self.against = None;
        }
    }

    /// The path of the file that is open.
    pub(crate) fn open_path<'a>(&'a self, memory: &'a MemoryView) -> Option<&'a str> {
        match &self.chosen {
            Some(path) if memory.files.contains_key(path) => Some(path),
            _ => memory.newest(),
        }
    }
}

impl MemoryPane {
    /// The path of the file whose text is on the screen.
    pub(crate) fn open_path_shown(&self) -> Option<&str> {
        self.open.key.as_ref()?.0.to_str()
    }
}

/// The actions pane.
#[derive(Debug, Default)]
pub(crate) struct ActionsPane {
    /// The selected row among those of the cursor's step.
    pub(crate) row: usize,
    /// A row that the cursor went after: selected once its step is here.
    pub(crate) wanted: Option<(StepNo, Wanted)>,
}

/// A row of a step that is gone to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The row of this event.
    Event(usize),
    /// The row that wrote a file.
    Write(String),
}

/// The scaffold pane.
#[derive(Debug, Default)]
pub(crate) struct ScaffoldPane {
    /// The tree.
    pub(crate) tree: Scroll,
    /// Folded folders.
    pub(crate) folded: BTreeSet<String>,
    /// The file that is open.
    pub(crate) path: Option<String>,
    /// The file has the focus, not the tree.
    pub(crate) in_file: bool,
    /// The open file.
    pub(crate) open: OpenText,
    /// The difference to another scaffold, in place of the files.
    pub(crate) diff: Option<ScaffoldDiff>,
    /// Where it is scrolled to.
    pub(crate) diff_scroll: Scroll,
}

impl ScaffoldPane {
    /// Rows of the tree.
    pub(crate) fn rows(&self, files: &BTreeMap<String, String>) -> Vec<Node> {
        tree::rows(files.keys().map(String::as_str), &self.folded)
    }

    /// Opens the file that says most: the first prompt of the plan, else the manifest, else any.
    pub(crate) fn open_first(&mut self, files: &BTreeMap<String, String>) {
        let wanted = ["prompts/plan.md", "prompts/log.md", "scaffold.toml"];
        let path = wanted
            .iter()
            .find(|path| files.contains_key(**path))
            .map(|path| (*path).to_owned())
            .or_else(|| files.keys().next().cloned());
        if let Some(path) = &path {
            let row = self.rows(files).iter().position(|node| node.path == *path);
            self.tree.selected = row.unwrap_or(0);
        }
        self.path = path;
    }
}
