//! What the screen asks of the edge, as data: effects and their requests.
//!
//! Must not say how they are carried out: that is the edge's.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::curate::{SelectRequest, TalkWish};
use super::data::LiveId;
use super::entries::StartRequest;
use super::filter::Filter;
use super::memory_diff::DiffWish;
use super::optimize::OptimizeRequest;
use super::pictures::Wanted;
use super::theme::Depth;
use super::widgets::diff::Side;
use crate::review::{Item, Judgement, PartId, ProposalId, Seq, What};
use crate::types::{Action, Digest, EpisodeNo, StepNo};

/// What the edge is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Leave.
    Quit,
    /// Suspend to the shell.
    Suspend,
    /// Draw everything anew.
    ClearScreen,
    /// Look for runs.
    ListRuns,
    /// Open a run; `None` as step means the end of a live run, the start of another.
    Open {
        /// Its file.
        path: PathBuf,
        /// Episode.
        episode: EpisodeNo,
        /// Where the cursor goes.
        step: Option<StepNo>,
    },
    /// Load what the cursor needs.
    Load(LoadRequest),
    /// Look for finished steps from this one on.
    LoadTimeline {
        /// Episode.
        episode: EpisodeNo,
        /// The first step that is not known.
        from: StepNo,
    },
    /// Load what the agent has seen of the map, and where it was.
    LoadMap {
        /// Episode.
        episode: EpisodeNo,
        /// The last step.
        step: StepNo,
    },
    /// Find out who wrote the lines of a memory file.
    LoadBlame {
        /// Episode.
        episode: EpisodeNo,
        /// The step as of which.
        step: StepNo,
        /// The file.
        path: String,
    },
    /// Count how memory files are used in the steps before `upto`.
    LoadHeat {
        /// Episode.
        episode: EpisodeNo,
        /// Steps to count.
        upto: StepNo,
    },
    /// Compare the memory of two steps.
    LoadMemoryDiff(DiffWish),
    /// Watch the memory directory of a live run, or stop to.
    Lookout(Option<PathBuf>),
    /// Find the steps of the run that a filter lets something of through.
    Filter {
        /// Its file.
        path: PathBuf,
        /// The filter.
        filter: Filter,
    },
    /// The same for new steps.
    Sift {
        /// Episode.
        episode: EpisodeNo,
        /// Steps.
        steps: Range<StepNo>,
        /// The filter.
        filter: Filter,
    },
    /// Stop looking for what a filter lets through.
    CancelFilter,
    /// Search the run.
    Search {
        /// Its file.
        path: PathBuf,
        /// What is looked for.
        text: String,
    },
    /// Stop searching.
    CancelSearch,
    /// Measure the run as far as it was not measured yet.
    Analyse {
        /// Its file.
        path: PathBuf,
        /// The episode whose numbers are wanted over its steps.
        episode: EpisodeNo,
    },
    /// Stop measuring.
    CancelAnalysis,
    /// Compare the scaffold with another; `None` gives the parent or the first other one.
    Diff {
        /// Name of the other.
        against: Option<String>,
    },
    /// Steer an agent.
    Control(LiveId, ControlRequest),
    /// Play a person's action as the next step of an episode that waits.
    Act(LiveId, EpisodeNo, Action),
    /// Tell the agent something in the next prompt of an episode.
    Say(LiveId, EpisodeNo, String),
    /// Load a memory specialist and let it take over in a run; `None` leaves all to the base.
    Exchange(LiveId, Option<String>),
    /// Give the terminal to a person's editor, with a memory file of an episode that waits or a hunk.
    Edit(EditRequest),
    /// Take the terminal back from the editor.
    TakeBack,
    /// Something about scaffolds and optimizations.
    Lab(LabAsk),
    /// Something about proposals.
    Review(Ask),
    /// Read the conversations of some items, the first one first; what was asked for before is not needed any more.
    Talk(TalkWish),
    /// Make a data selection from runs.
    Select(SelectRequest),
    /// Stop making one, or certifying.
    StopSelecting,
    /// Find the colours of some lines.
    Colour(ColourRequest),
    /// Start something new.
    Start(StartRequest),
    /// Go on with a run that was interrupted.
    Resume(PathBuf),
    /// Put a run into the trash.
    Delete(PathBuf),
    /// Forget a run that lies elsewhere; its file stays.
    Forget(PathBuf),
    /// Bring the run back that was deleted last.
    Undo,
    /// Look for deleted runs that a session which broke off left behind.
    LookForLeftovers,
    /// Bring them back, or remove them for good.
    Leftovers {
        /// Bring them back.
        restore: bool,
    },
    /// Let a run go that was open.
    Close(PathBuf),
    /// Fetch the model, then start the run.
    PullModel(StartRequest),
    /// Open a run that is shipped with the program.
    OpenSample,
    /// Load a theme.
    LoadTheme(ThemeRequest),
    /// Encode a picture of the game.
    Picture(Wanted),
    /// Put text on the clipboard.
    Copy(String),
    /// Save the screen under this file name.
    SaveScreen(String),
}

/// What Lab asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LabAsk {
    /// Read what it shows.
    Load,
    /// Start an optimization.
    Start(OptimizeRequest),
    /// Go on with one.
    Resume(String),
    /// Stop the one under way.
    Stop,
}

/// A theme to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThemeRequest {
    /// Name or path; `None` reads the one that shows anew if its files changed, else the next.
    pub(crate) key: Option<String>,
    /// The one that shows: its name or path, and the digest of its files.
    pub(crate) shows: (String, Digest),
    /// What the terminal can show.
    pub(crate) depth: Depth,
}

/// How the agent is steered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlRequest {
    /// Wait after this step.
    Pause,
    /// Go on.
    Resume,
    /// One step, then wait.
    Step,
    /// Milliseconds a step takes at least; 0 lets it run.
    Pace(u64),
    /// End every episode after its step; the run is over.
    Stop,
    /// Leave at once; what was committed stays, and the run can be resumed.
    Leave,
}

/// What the cursor needs and is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadRequest {
    /// Episode.
    pub(crate) episode: EpisodeNo,
    /// The cursor.
    pub(crate) step: StepNo,
    /// The step itself is missing.
    pub(crate) record: bool,
    /// Its memory is missing.
    pub(crate) memory: bool,
    /// Steps around it that are missing.
    pub(crate) around: Vec<Range<u32>>,
}

/// What is asked of whoever keeps proposals. Everything is written at once; `seen` is the last entry of the
/// proposal's log that the person had before them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ask {
    /// Look for proposals again.
    List,
    /// Put the one that comes with the program on the desk, and open it.
    Sample,
    /// Open one, or read it again.
    Open(ProposalId),
    /// It is not looked at any more.
    Close,
    /// Decide on items that were shown.
    Judge(ProposalId, Seq, Arc<Vec<Item>>, Judgement),
    /// Add these entries.
    Append(ProposalId, Seq, Vec<What>),
    /// Take back what was done last.
    Undo(ProposalId, Seq),
    /// Commit the decisions, then check what comes out.
    Commit(ProposalId, Seq),
    /// Commit the decisions on items, then certify what was accepted; why there are fewer than there should be.
    CommitItems(ProposalId, Seq, Option<String>),
    /// Check what came out; of a selection, certify it.
    Check(ProposalId),
    /// Make the result the head.
    Promote(ProposalId, String),
    /// Take the promotion back.
    Demote(ProposalId, String),
}

/// Lines of a file of a proposal whose colours are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColourRequest {
    /// The proposal.
    pub(crate) proposal: ProposalId,
    /// Index of the file in its difference.
    pub(crate) file: usize,
    /// Which text of it.
    pub(crate) side: Side,
    /// Its path.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: Arc<str>,
    /// The lines.
    pub(crate) lines: Range<usize>,
}

/// What a text to be edited is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditOf {
    /// A memory file of an episode that waits.
    Memory(LiveId, EpisodeNo),
    /// The text that comes in by a hunk.
    Hunk {
        /// The proposal.
        proposal: ProposalId,
        /// The last entry that the person had before them.
        seen: Seq,
        /// The hunk.
        part: PartId,
        /// Its digest.
        digest: Digest,
        /// The text before.
        text: String,
    },
}

/// A file to be edited by a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditRequest {
    /// What it is.
    pub(crate) of: EditOf,
    /// The directory it lies in; for a hunk the edge makes one.
    pub(crate) root: PathBuf,
    /// The file inside it; it may be a new one.
    pub(crate) path: String,
    /// Bytes that a file may have.
    pub(crate) most: u64,
}
