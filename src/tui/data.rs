//! What the edge hands to the screen.
//!
//! Owns events as data, and the views that panels draw from. Must not load anything. What the screen
//! asks of the edge is in `effects`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui::crossterm::event::KeyEvent;

use super::curate::{CurateNews, Talk};
pub(crate) use super::effects::{ControlRequest, EditRequest, Effect, LoadRequest, ThemeRequest};
pub(crate) use super::entries::{Here, RunEntry, RunState, StartRequest};
use super::filter::{Filter, Match};
use super::insight::InsightNews;
use super::lab::LabData;
use super::memory_diff::MemoryDiff;
use super::pictures::{Graphics, Ready};
use super::rules::Rules;
use super::take_over::Edited;
use super::theme::Theme;
use super::trainings::Training;
use super::widgets::diff::Side;
use super::widgets::syntax::Spans;
use crate::analysis::Heat;
use crate::review::{Dossier, Item, ProposalId, Standing};
use crate::store::{FileState, StepMark};
use crate::types::{Digest, EpisodeNo, EpisodeSummary, Event as RunEvent, RunMeta, StepNo, StepRecord};

/// Something that reaches the screen.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize(u16, u16),
    /// The replay goes on.
    Tick,
    /// A run that this process plays goes on.
    Live(LiveId, RunEvent),
    /// The state of an agent changed.
    Control(LiveId, ControlView),
    /// Steps a second of the episodes that this process plays.
    Rates(Vec<(LiveId, EpisodeNo, f64)>),
    /// What the terminal can show besides text, once it said so.
    Graphics(Option<Graphics>),
    /// Something that was asked for is here.
    Data(Data),
    /// A signal asks the program to end.
    Terminate,
    /// A signal asks the program to suspend.
    Suspend,
    /// The program goes on after it was suspended.
    Resumed,
}

/// A run of this process, by the order in which they were started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct LiveId(pub(crate) u32);

/// How the agent that this process runs is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlView {
    /// It plays.
    Running,
    /// It waits for a person.
    Paused,
    /// It stops after this step.
    Stopping,
    /// It is over.
    Finished,
}

/// What came from the loader, from a job or from the edge.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// The list of runs, and what runs can be started with.
    Runs {
        /// Runs.
        entries: Vec<RunEntry>,
        /// What is here.
        here: Here,
    },
    /// A run was opened.
    Opened(Box<Opened>),
    /// A run could not be opened: cause and next step.
    OpenFailed(String),
    /// More of the timeline.
    Timeline(Timeline),
    /// A step.
    Step {
        /// Episode.
        episode: EpisodeNo,
        /// The step.
        record: Arc<StepRecord>,
    },
    /// The memory at a step.
    Memory {
        /// Episode.
        episode: EpisodeNo,
        /// The memory.
        view: Arc<MemoryView>,
    },
    /// What the agent has seen of the map, and where it was.
    Map(Box<MapView>),
    /// A picture of the game.
    Picture(Ready),
    /// Who wrote the lines of a memory file.
    Blame(Box<BlameView>),
    /// How memory files were used, from step 0 to before `upto`.
    Heat {
        /// Episode.
        episode: EpisodeNo,
        /// Steps that are counted.
        upto: StepNo,
        /// Reads, writes, growth.
        heat: Arc<Heat>,
    },
    /// The difference of the memory between two steps.
    MemoryDiff(Box<MemoryDiff>),
    /// What the files of a live run's memory hold on disk.
    OnDisk {
        /// The directory.
        root: PathBuf,
        /// Digests by path.
        files: BTreeMap<String, Digest>,
    },
    /// A person's editor has ended.
    Edited(Box<Edited>),
    /// A search goes on.
    Search(SearchNews),
    /// A look for what a filter lets through goes on.
    Filter(FilterNews),
    /// Measuring a run goes on.
    Insight(InsightNews),
    /// The difference between two scaffolds.
    Diff(Box<ScaffoldDiff>),
    /// A run of this process was started.
    Started {
        /// Its number.
        id: LiveId,
        /// Its file.
        path: PathBuf,
        /// The player is a program, so that it is slowed down to be watched.
        paced: bool,
        /// It shall be shown at once.
        show: bool,
    },
    /// A run could not be started: cause and next step.
    StartFailed(String),
    /// A run went to the trash.
    Deleted {
        /// Where it was.
        path: PathBuf,
        /// How many can be brought back.
        deleted: usize,
    },
    /// A run came back from the trash.
    Restored {
        /// Where it is.
        path: PathBuf,
        /// How many more can be brought back.
        deleted: usize,
    },
    /// A run was taken off the list; its file stays.
    Forgotten(PathBuf),
    /// Deleted runs that a session which broke off left behind.
    Leftovers(Vec<PathBuf>),
    /// They were brought back or removed.
    LeftoversDone(String),
    /// A run that shall be shown.
    Show(PathBuf),
    /// Progress of a long job.
    Progress {
        /// What it does.
        what: String,
        /// Done and all, in the job's own unit.
        done: u64,
        /// 0 when unknown.
        total: u64,
    },
    /// A model was pulled; the run it was pulled for can start.
    Pulled(StartRequest),
    /// Another theme, or the same one read anew.
    Theme {
        /// The theme.
        theme: Box<Theme>,
        /// Names of all themes.
        names: Vec<String>,
        /// The files of the theme that shows had changed.
        reloaded: bool,
    },
    /// News of Lab.
    Lab(LabNews),
    /// All proposals.
    Proposals(Vec<Standing>),
    /// A proposal that was opened, or that goes on.
    Dossier(Arc<Dossier>),
    /// The items of a data selection that is about to be opened.
    Items(ProposalId, Arc<Vec<Item>>),
    /// The conversation of an item, or why there is none.
    Talk {
        /// The selection.
        proposal: ProposalId,
        /// Place of the item in it.
        at: u32,
        /// What was recorded, and what the postprocess cuts.
        talk: Result<Arc<Talk>, String>,
    },
    /// News of a data selection that is made or certified.
    Curate(CurateNews),
    /// A proposal that shall be opened.
    ShowProposal(ProposalId),
    /// A proposal that cannot be opened: cause and next step.
    NoDossier(String),
    /// Colours of lines of a proposal's file.
    Colours {
        /// The proposal.
        proposal: ProposalId,
        /// Index of the file.
        file: usize,
        /// Which text.
        side: Side,
        /// The first line.
        from: usize,
        /// Line by line.
        spans: Vec<Spans>,
    },
    /// Another memory specialist takes over.
    Exchanged(String),
    /// Something went well.
    Note(String),
    /// Something went wrong.
    Failed(String),
}

/// A run that was opened.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Its constants.
    pub(crate) meta: Arc<RunMeta>,
    /// What its scaffold allows.
    pub(crate) rules: Arc<Rules>,
    /// Its episode's timeline.
    pub(crate) timeline: Timeline,
    /// Where the cursor goes.
    pub(crate) step: Option<StepNo>,
}

/// Finished steps of an episode from one on, and the episodes in numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// The step of the first mark.
    pub(crate) from: StepNo,
    /// A mark a step.
    pub(crate) marks: Vec<StepMark>,
    /// All episodes.
    pub(crate) episodes: Vec<EpisodeSummary>,
    /// Nothing will be added any more.
    pub(crate) finished: bool,
}

/// The memory at a step as it is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MemoryView {
    /// Step.
    pub(crate) step: StepNo,
    /// Files by path.
    pub(crate) files: BTreeMap<String, FileView>,
    /// Files that this step deleted.
    pub(crate) gone: Vec<String>,
}

/// A memory file as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileView {
    /// Its text.
    pub(crate) text: Arc<str>,
    /// Lines.
    pub(crate) lines: usize,
    /// The step that changed it last.
    pub(crate) touched: Option<StepNo>,
    /// Lines that this step wrote.
    pub(crate) changed: Vec<Range<usize>>,
    /// Lines of the step before that are gone or were overwritten.
    pub(crate) removed: usize,
}

impl MemoryView {
    /// The memory at `step`, with what it changed against the memory before it.
    pub(crate) fn new(
        step: StepNo,
        before: Option<&BTreeMap<String, FileState>>,
        now: &BTreeMap<String, FileState>,
    ) -> Self {
        let files = now
            .iter()
            .map(|(path, file)| {
                let old = before.map(|files| files.get(path).map_or("", |file| &*file.text));
                let (changed, removed) = match old {
                    Some(old) if *old != *file.text => changed_lines(old, &file.text),
                    _ => (Vec::new(), 0),
                };
                let view = FileView {
                    lines: file.text.lines().count(),
                    text: Arc::clone(&file.text),
                    touched: file.touched,
                    changed,
                    removed,
                };
                (path.clone(), view)
            })
            .collect();
        let gone = before
            .into_iter()
            .flat_map(BTreeMap::keys)
            .filter(|path| !now.contains_key(*path))
            .cloned()
            .collect();
        Self { step, files, gone }
    }

    /// The file that was changed last.
    pub(crate) fn newest(&self) -> Option<&str> {
        self.files
            .iter()
            .max_by_key(|(path, file)| (!file.changed.is_empty(), file.touched, std::cmp::Reverse(*path)))
            .map(|(path, _)| path.as_str())
    }
}

/// Line ranges of `new` that are not in `old`, and how many lines of `old` are gone.
fn changed_lines(old: &str, new: &str) -> (Vec<Range<usize>>, usize) {
    if let Some(added) = new.strip_prefix(old)
        && (old.is_empty() || old.ends_with('\n'))
    {
        let first = old.lines().count();
        return (std::iter::once(first..first + added.lines().count()).collect(), 0);
    }
    let (mut changed, mut removed) = (Vec::new(), 0);
    for op in similar::TextDiff::from_lines(old, new).ops() {
        if op.tag() != similar::DiffTag::Equal {
            removed += op.old_range().len();
            if !op.new_range().is_empty() {
                changed.push(op.new_range());
            }
        }
    }
    (changed, removed)
}

/// Something that happened at a place of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapMark {
    /// A reward.
    Reward,
    /// The end of the game.
    Death,
}

/// What the agent has seen of the map, and where it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MapView {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// The step it was asked for.
    pub(crate) step: StepNo,
    /// The step up to which it is folded so far.
    pub(crate) upto: StepNo,
    /// One entry a map cell, row by row.
    pub(crate) seen: Vec<bool>,
    /// The cells the agent came through last, oldest first.
    pub(crate) trail: Vec<(i32, i32)>,
    /// Where something happened, oldest first.
    pub(crate) marks: Vec<((i32, i32), MapMark)>,
}

/// Who wrote the lines of a memory file, as of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BlameView {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// Step.
    pub(crate) step: StepNo,
    /// File.
    pub(crate) path: String,
    /// One entry a line.
    pub(crate) lines: Vec<BlameLine>,
}

/// Who wrote a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlameLine {
    /// The step that wrote it; `None` when it was there from the start.
    pub(crate) step: Option<StepNo>,
    /// `L` or `P` for the phase, `H` for a person, `S` for the scaffold.
    pub(crate) by: char,
    /// How often it was read since.
    pub(crate) reads: usize,
    /// The last steps that read it, as runs of steps, first and last.
    pub(crate) read_at: Vec<(u32, u32)>,
}

/// News of a search.
#[derive(Debug, Clone)]
pub(crate) enum SearchNews {
    /// Steps looked at, and all.
    Progress(u64, u64),
    /// All places, in order.
    Found(Vec<Place>),
    /// It could not be done.
    Failed(String),
}

/// News of Lab, and of the optimization that this process works on.
#[derive(Debug, Clone)]
pub(crate) enum LabNews {
    /// Everything it shows but trainings.
    Loaded(Box<LabData>),
    /// All trainings.
    Trainings(Vec<Training>),
    /// The optimization has a name.
    Began(String),
    /// What it does, and how far that is; 0 of 0 when unknown.
    Does {
        /// In words.
        word: String,
        /// Done.
        done: u64,
        /// All.
        total: u64,
    },
    /// Something happened in it.
    Told(String),
    /// It is over, waits, or was stopped: what came of it.
    Ended(Result<String, String>),
}

/// News of a look for what a filter lets through.
#[derive(Debug, Clone)]
pub(crate) enum FilterNews {
    /// Steps looked at, and all.
    Progress(u64, u64),
    /// All steps of the run, in order, and up to which step of each episode was looked.
    Found {
        /// The filter.
        filter: Filter,
        /// Steps.
        matches: Vec<Match>,
        /// The first step of each episode that was not looked at.
        seen: BTreeMap<EpisodeNo, StepNo>,
    },
    /// More of them, in new steps of an episode.
    More {
        /// The filter.
        filter: Filter,
        /// Steps.
        matches: Vec<Match>,
        /// Episode.
        episode: EpisodeNo,
        /// The first step that was not looked at.
        seen: StepNo,
    },
    /// It could not be done.
    Failed(String),
}

/// A place that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// Step.
    pub(crate) step: StepNo,
    /// Which of the step's events holds it.
    pub(crate) event: usize,
    /// What part of the step it is in.
    pub(crate) what: String,
}

/// The difference of the scaffold in use against another.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScaffoldDiff {
    /// The other one's name.
    pub(crate) against: String,
    /// Names that `d` goes through.
    pub(crate) others: Vec<String>,
    /// Its lines.
    pub(crate) lines: Vec<DiffLine>,
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// A file begins.
    File(String),
    /// Lines were left out.
    Gap,
    /// In both.
    Same(String),
    /// Only in the scaffold in use.
    Added(String),
    /// Only in the other.
    Removed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> BTreeMap<String, FileState> {
        let state = FileState {
            text: text.into(),
            touched: Some(StepNo(3)),
        };
        BTreeMap::from([("a.txt".to_owned(), state)])
    }

    #[test]
    fn changed_lines_are_those_of_the_step() {
        let changed = |old, new| MemoryView::new(StepNo(3), Some(&files(old)), &files(new)).files["a.txt"].clone();
        assert_eq!(changed("a\nb\n", "a\nb\nc\n").changed, vec![2..3; 1]);
        let spliced = changed("a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(spliced.changed, vec![1..2; 1]);
        assert_eq!(spliced.removed, 1);
        assert!(changed("a\n", "a\n").changed.is_empty());
        let created = MemoryView::new(StepNo(0), Some(&BTreeMap::new()), &files("x\ny\n"));
        assert_eq!(created.files["a.txt"].changed, vec![0..2; 1]);
        let deleted = MemoryView::new(StepNo(0), Some(&files("x")), &BTreeMap::new());
        assert_eq!(deleted.gone, ["a.txt"]);
        let first = MemoryView::new(StepNo(0), None, &files("x"));
        assert!(first.files["a.txt"].changed.is_empty());
    }
}
