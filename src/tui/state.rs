//! Everything the screen knows. A value: no files, clocks, threads or terminals.
//!
//! Owns the state and questions about it. How it changes is in `update`.

use std::path::Path;
use std::time::Duration;

use ratatui::layout::Rect;

use super::curate::{CurateScreen, OpenSelection};
use super::data::{LiveId, RunState};
use super::keymap::{Keymap, Place, Screen};
use super::lab::{LabPane, LabScreen};
use super::layout::{self, Pane, ReviewPane};
use super::live::LiveRun;
use super::overlay::{Confirm, Overlay};
use super::pictures::Pictures;
use super::review::ReviewScreen;
use super::runs::RunsScreen;
use super::theme::{Theme, Themes};
use super::watch::{Speed, Watch};
use crate::review::{Standing, State as Standings};

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Something went well.
    Good,
    /// A notice.
    Info,
    /// Something went wrong.
    Bad,
}

/// A line for the person, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// What it says.
    pub(crate) text: String,
    /// What it is about.
    pub(crate) mood: Mood,
}

/// Progress of a long job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// What it does.
    pub(crate) what: String,
    /// Done.
    pub(crate) done: u64,
    /// All; 0 when unknown.
    pub(crate) total: u64,
}

/// How runs are shown when they are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opens {
    /// The speed of a replay.
    pub(crate) speed: Speed,
    /// Milliseconds a step of a scripted player takes at normal speed.
    pub(crate) step_ms: u64,
}

impl Default for Opens {
    fn default() -> Self {
        Self {
            speed: Speed::default(),
            step_ms: Speed::NORMAL_MS as u64,
        }
    }
}

/// The screen's whole state.
#[derive(Debug)]
pub(crate) struct State {
    /// Columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    /// Colours.
    pub(crate) theme: Theme,
    /// Keys in force.
    pub(crate) keymap: Keymap,
    /// How runs are shown when they are opened.
    pub(crate) opens: Opens,
    /// Names of all themes.
    pub(crate) themes: Vec<String>,
    /// The screen that shows.
    pub(crate) screen: Screen,
    /// Where `q` leads before it quits.
    pub(crate) home: Screen,
    /// The list of runs.
    pub(crate) runs: RunsScreen,
    /// Scaffolds, gates, optimizations.
    pub(crate) lab: LabScreen,
    /// Proposals.
    pub(crate) review: ReviewScreen,
    /// Data selections.
    pub(crate) curate: CurateScreen,
    /// Where Esc leads from a run that was opened as evidence.
    pub(crate) came_from: Option<Screen>,
    /// The open run.
    pub(crate) watch: Option<Box<Watch>>,
    /// The run that this process plays: the open one, else the one that was started last.
    pub(crate) live: Option<LiveRun>,
    /// Further runs that this process plays.
    pub(crate) behind: Vec<LiveRun>,
    /// How the game is drawn.
    pub(crate) pictures: Pictures,
    /// What lies over the screen, the last on top.
    pub(crate) overlays: Vec<Overlay>,
    /// A line for the person.
    pub(crate) message: Option<Message>,
    /// A long job under way.
    pub(crate) job: Option<Job>,
    /// A run whose opening was asked for.
    pub(crate) opening: bool,
    /// Something changed since the last drawing.
    pub(crate) redraw: bool,
}

impl State {
    /// The state before anything is known.
    pub(crate) fn new(size: (u16, u16), theme: Theme, screen: Screen) -> Self {
        Self {
            size,
            theme,
            keymap: Keymap::default(),
            opens: Opens::default(),
            themes: Themes::default().names(),
            screen,
            home: screen,
            runs: RunsScreen::default(),
            lab: LabScreen::default(),
            review: ReviewScreen::default(),
            curate: CurateScreen::default(),
            came_from: None,
            watch: None,
            live: None,
            behind: Vec::new(),
            pictures: Pictures::default(),
            overlays: Vec::new(),
            message: None,
            job: None,
            opening: false,
            redraw: true,
        }
    }

    /// Says something to the person.
    pub(crate) fn say(&mut self, mood: Mood, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            mood,
        });
        self.redraw = true;
    }

    /// Where keys hold now, narrowest first.
    pub(crate) fn places(&self) -> Vec<Place> {
        match self.overlays.last() {
            Some(overlay) => return overlay.places(),
            None if layout::too_small(self.size) => return vec![Place::Global, Place::Always],
            None => {}
        }
        match self.screen {
            Screen::Runs if self.shows_start() => vec![Place::Start, Place::Global, Place::Always],
            Screen::Runs => vec![Place::Runs, Place::Global, Place::Always],
            Screen::Lab => vec![Place::Lab, Place::Global, Place::Always],
            Screen::Review => self.review_places(),
            Screen::Curate => self.curate_places(),
            Screen::Watch => match &self.watch {
                Some(watch) => vec![watch.place(), Place::Watch, Place::Global, Place::Always],
                None => vec![Place::Global, Place::Always],
            },
        }
    }

    /// Whether the list of runs is empty, so that the choice of what to start shows in its place.
    pub(crate) fn shows_start(&self) -> bool {
        self.runs.loaded && self.runs.entries.is_empty()
    }

    /// Whether something of Lab can be folded.
    pub(crate) fn folds_in_lab(&self) -> bool {
        matches!(self.lab.pane, LabPane::Lineage | LabPane::Gates)
    }

    /// Whether a gate is selected.
    pub(crate) fn selects_gate(&self) -> bool {
        self.lab.pane == LabPane::Gates && self.lab.selected_gate().is_some()
    }

    /// Whether this process works on an optimization.
    pub(crate) fn is_optimizing(&self) -> bool {
        self.lab.working.as_ref().is_some_and(|working| !working.stopping)
    }

    /// The selected optimization, if this process can go on with it.
    pub(crate) fn resumable_optimization(&self) -> Option<&str> {
        let free = self.lab.working.is_none() && self.lab.pane == LabPane::Optimizations;
        let one = self.lab.selected_optimization().filter(|one| free && !one.over)?;
        Some(&one.name)
    }

    /// Whether there is such a one.
    pub(crate) fn can_resume_optimization(&self) -> bool {
        self.resumable_optimization().is_some()
    }

    fn review_places(&self) -> Vec<Place> {
        match &self.review.open {
            None => vec![Place::Review, Place::Global, Place::Always],
            // A verdict is about a hunk that is on the screen.
            Some(open) if layout::review(self.size, open.focus).inner(ReviewPane::Diff).area() > 0 => {
                vec![Place::Gate, Place::Proposal, Place::Global, Place::Always]
            }
            Some(_) => vec![Place::Proposal, Place::Global, Place::Always],
        }
    }

    fn curate_places(&self) -> Vec<Place> {
        match &self.curate.open {
            None => vec![Place::Curate, Place::Global, Place::Always],
            Some(_) => vec![Place::Items, Place::Selection, Place::Global, Place::Always],
        }
    }

    /// Whether there are data selections.
    pub(crate) fn lists_selections(&self) -> bool {
        !self.curate.list.is_empty()
    }

    /// Whether a selection is being made.
    pub(crate) fn selects_data(&self) -> bool {
        self.curate.selecting
    }

    /// The open data selection, if it is as asked.
    fn selection(&self, fits: impl Fn(&OpenSelection) -> bool) -> bool {
        self.curate.open.as_ref().is_some_and(|open| fits(open))
    }

    /// Whether verdicts are taken on the items of the open selection.
    pub(crate) fn judges_items(&self) -> bool {
        self.selection(OpenSelection::is_gate)
    }

    /// Whether no more verdicts are taken on them.
    pub(crate) fn judges_no_items(&self) -> bool {
        !self.judges_items()
    }

    /// Whether only some of its items show.
    pub(crate) fn filters_items(&self) -> bool {
        self.selection(|open| !open.filter.is_empty())
    }

    /// Whether the current item was read at a later step.
    pub(crate) fn has_later_read(&self) -> bool {
        self.selection(|open| open.current().is_some_and(|(_, item)| item.facts.first_read.is_some()))
    }

    /// Whether the accepted items can be certified.
    pub(crate) fn can_certify(&self) -> bool {
        let states = [Standings::Decided, Standings::Certified];
        self.curate.working.is_none() && self.selection(|open| states.contains(&open.standing().state))
    }

    /// Whether the open selection can be discarded.
    pub(crate) fn can_discard_selection(&self) -> bool {
        self.selection(|open| open.standing().state.is_open())
    }

    /// Whether there are proposals.
    pub(crate) fn lists_proposals(&self) -> bool {
        !self.review.list.is_empty()
    }

    /// The standing of the open proposal.
    fn proposal(&self) -> Option<&Standing> {
        self.review.open.as_ref().map(|open| open.standing())
    }

    /// Whether verdicts are taken on the open proposal.
    pub(crate) fn in_gate(&self) -> bool {
        self.review.open.as_ref().is_some_and(|open| open.is_gate())
    }

    /// Whether no more verdicts are taken on it.
    pub(crate) fn is_decided(&self) -> bool {
        !self.in_gate()
    }

    /// Whether the reasons of a proposal have the focus.
    pub(crate) fn reads_why(&self) -> bool {
        let open = self.review.open.as_ref();
        open.is_some_and(|open| open.focus == ReviewPane::Why)
    }

    /// Whether the open proposal's result can be checked.
    pub(crate) fn can_check(&self) -> bool {
        self.proposal()
            .is_some_and(|standing| matches!(standing.state, Standings::Decided | Standings::CheckFailed))
    }

    /// Whether the open proposal's result can become the head.
    pub(crate) fn can_promote(&self) -> bool {
        self.proposal().is_some_and(|standing| {
            standing.kind == "revision" && matches!(standing.state, Standings::Checked | Standings::Gated)
        })
    }

    /// Whether the open proposal can be discarded.
    pub(crate) fn can_discard(&self) -> bool {
        self.proposal().is_some_and(|standing| {
            standing.state == Standings::Stale
                || standing.state.is_open() && !matches!(standing.state, Standings::Gating | Standings::Applying)
        })
    }

    /// Whether a run is open.
    pub(crate) fn has_watch(&self) -> bool {
        self.watch.is_some()
    }

    /// Whether the open run has several episodes.
    pub(crate) fn has_episodes(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.episodes.len() > 1)
    }

    /// Whether a search found something.
    pub(crate) fn has_hits(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| !watch.search.hits.is_empty())
    }

    /// What a search found and is marked wherever it shows.
    pub(crate) fn searched(&self) -> Option<&str> {
        let search = &self.watch.as_ref()?.search;
        (!search.hits.is_empty()).then_some(search.text.as_str())
    }

    /// Whether the stream is filtered.
    pub(crate) fn has_filter(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.filtering.is_some())
    }

    /// Whether the terminal can show pictures.
    pub(crate) fn has_pictures(&self) -> bool {
        self.theme.depth() > super::theme::Depth::Mono
    }

    /// Whether the game pane shows something that can be moved: the whole map, or a terminal's screen.
    pub(crate) fn shows_map(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.moves())
    }

    /// The run of this process, if it is the open one and not over.
    pub(crate) fn live_here(&self) -> Option<&LiveRun> {
        let live = self.live.as_ref().filter(|live| !live.is_over())?;
        self.watch.as_ref().filter(|watch| watch.path == live.path)?;
        Some(live)
    }

    /// The runs of this process that are not over.
    pub(crate) fn lives(&self) -> impl Iterator<Item = &LiveRun> {
        self.live.iter().chain(&self.behind).filter(|live| !live.is_over())
    }

    /// A run of this process, over or not.
    pub(crate) fn live_mut(&mut self, id: LiveId) -> Option<&mut LiveRun> {
        self.live.iter_mut().chain(&mut self.behind).find(|live| live.id == id)
    }

    /// The run of this process with this file, if it is not over.
    pub(crate) fn live_of(&self, path: &Path) -> Option<&LiveRun> {
        self.lives().find(|live| live.path == path)
    }

    /// Whether a run is being played by this process.
    pub(crate) fn is_playing_a_run(&self) -> bool {
        self.lives().next().is_some()
    }

    /// The run comes to the front; the one that was there goes on behind it, unless it is over.
    pub(crate) fn bring_to_front(&mut self, path: &Path) {
        if self.live.as_ref().is_some_and(|live| live.path == path) {
            return;
        }
        if let Some(at) = self.behind.iter().position(|live| live.path == path) {
            let run = self.behind.remove(at);
            self.put_in_front(run);
        }
    }

    /// A run that was just started is in front.
    pub(crate) fn put_in_front(&mut self, run: LiveRun) {
        let before = self.live.replace(run);
        self.behind.extend(before.filter(|live| !live.is_over()));
    }

    /// Whether the run in front is over or there is none.
    pub(crate) fn is_front_free(&self) -> bool {
        self.live.as_ref().is_none_or(LiveRun::is_over)
    }

    /// The run of this process that is selected in the list.
    pub(crate) fn selected_live(&self) -> Option<&LiveRun> {
        let (entry, _) = self.runs.selected()?;
        self.live_of(&entry.path)
    }

    /// Whether a run of this process is selected.
    pub(crate) fn selects_live(&self) -> bool {
        self.selected_live().is_some()
    }

    /// Whether a run is selected.
    pub(crate) fn selects_run(&self) -> bool {
        self.runs.selected().is_some()
    }

    /// Whether the selected run was interrupted and can be resumed.
    pub(crate) fn selects_resumable(&self) -> bool {
        self.runs
            .selected()
            .is_some_and(|(entry, _)| entry.state == RunState::Open && self.live_of(&entry.path).is_none())
    }

    /// Whether the selected run has episodes to unfold.
    pub(crate) fn selects_several(&self) -> bool {
        self.runs.selected().is_some_and(|(entry, _)| entry.episodes.len() > 1)
    }

    /// Whether deleted runs can be brought back.
    pub(crate) fn can_undo(&self) -> bool {
        self.runs.deleted > 0 || !self.runs.leftovers.is_empty()
    }

    /// Whether the question is about a run that lies elsewhere.
    pub(crate) fn asks_to_forget(&self) -> bool {
        matches!(
            self.overlays.last(),
            Some(Overlay::Confirm(Confirm::DeleteElsewhere(_)))
        )
    }

    /// Whether the question is about runs that were left in the trash.
    pub(crate) fn asks_about_leftovers(&self) -> bool {
        matches!(self.overlays.last(), Some(Overlay::Confirm(Confirm::Leftovers(_))))
    }

    /// Whether play and step steer the agent: the open run is live and the cursor at its end.
    pub(crate) fn plays_live(&self) -> bool {
        self.live_here().is_some() && self.watch.as_ref().is_some_and(|watch| watch.at_end())
    }

    /// Whether play and step move through what is recorded.
    pub(crate) fn replays(&self) -> bool {
        self.has_watch() && !self.plays_live()
    }

    /// Whether the open run can still grow.
    pub(crate) fn can_follow(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| !watch.finished)
    }

    /// How often the replay goes on; `None` while it does not play.
    pub(crate) fn tick_every(&self) -> Option<Duration> {
        let watch = self.watch.as_ref().filter(|watch| watch.playing)?;
        (self.screen == Screen::Watch).then(|| watch.speed.tick())
    }

    /// Columns and rows inside a pane of the watch screen; zero while it does not show.
    pub(crate) fn inner(&self, pane: Pane) -> Rect {
        match &self.watch {
            Some(watch) => layout::watch(self.size, watch).inner(pane),
            None => Rect::default(),
        }
    }
}
