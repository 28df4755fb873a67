//! The run that this process plays: the step under way, folded from its events.
//!
//! Owns what is not in the record yet. Finished steps come from the record, as in a replay.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::data::{ControlView, LiveId, MemoryView};
use super::panes::Outside;
use crate::store::FileState;
use crate::types::{Body, Digest, EpisodeNo, Event, MemoryChange, MemoryFiles, StepNo, StepRecord};

/// A run that this process plays.
#[derive(Debug)]
pub(crate) struct LiveRun {
    /// Its number.
    pub(crate) id: LiveId,
    /// Its file.
    pub(crate) path: PathBuf,
    /// How the agent is doing.
    pub(crate) control: ControlView,
    /// The player is a program, so that it needs to be slowed down to be watched.
    pub(crate) paced: bool,
    /// Its episodes.
    pub(crate) episodes: BTreeMap<EpisodeNo, LiveEpisode>,
    /// The memory directory that is watched.
    pub(crate) lookout: Option<PathBuf>,
    /// Steps were finished that the timeline does not have yet.
    pub(crate) stale: bool,
}

/// An episode under way.
#[derive(Debug, Default)]
pub(crate) struct LiveEpisode {
    /// The step under way.
    pub(crate) record: StepRecord,
    /// It is over.
    pub(crate) ended: bool,
    /// Steps that were finished.
    pub(crate) steps: u32,
    /// The score so far, 0 to 1.
    pub(crate) progression: f64,
    /// Steps a second, lately.
    pub(crate) rate: f64,
    texts: MemoryFiles,
    touched: BTreeMap<String, StepNo>,
    /// Texts and touches as they were when the step began.
    before: (MemoryFiles, BTreeMap<String, StepNo>),
    knows_memory: bool,
    /// Name of its memory directory.
    pub(crate) root: Arc<str>,
    /// Files that somebody outside changed and that are not recorded yet.
    pub(crate) outside: BTreeMap<String, Outside>,
    /// The action that a person chose for a step.
    pub(crate) chosen: Option<(StepNo, String)>,
    /// What a person said and no prompt has told the agent yet.
    pub(crate) told: Vec<String>,
    /// Files as a person left them, until that is recorded; `None` for one that is gone.
    edited: BTreeMap<String, Option<Arc<str>>>,
    view: Option<Arc<MemoryView>>,
}

impl LiveRun {
    /// A run that has just been started.
    pub(crate) fn new(path: PathBuf, paced: bool) -> Self {
        Self {
            id: LiveId::default(),
            path,
            control: ControlView::Running,
            paced,
            episodes: BTreeMap::new(),
            lookout: None,
            stale: true,
        }
    }

    /// The same under another number.
    pub(crate) fn numbered(self, id: LiveId) -> Self {
        Self { id, ..self }
    }

    /// Whether nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.control == ControlView::Finished
    }

    /// Takes in the next event.
    pub(crate) fn take(&mut self, event: Event) {
        match event.body {
            Body::RunStarted { .. } => return,
            Body::RunFinished => {
                self.stale = true;
                return;
            }
            Body::StepFinished { .. } | Body::EpisodeFinished { .. } => self.stale = true,
            _ => {}
        }
        let episode = self.episodes.entry(event.at.episode).or_default();
        episode.root = event.at.memory_root;
        episode.take(event.at.step, event.body);
    }

    /// The first episode that is not over.
    pub(crate) fn running(&self) -> Option<EpisodeNo> {
        self.episodes
            .iter()
            .find(|(_, episode)| !episode.ended)
            .map(|(number, _)| *number)
    }
}

impl LiveEpisode {
    /// Events come twice: as they happen (some may be lost on the way), and once more, complete,
    /// when the step is committed. A step begins with its first frame, so that the second telling
    /// begins anew.
    fn take(&mut self, step: StepNo, body: Body) {
        match &body {
            _ if step != self.record.step => {
                self.before = (self.texts.clone(), self.touched.clone());
                self.begin(step);
            }
            Body::EpisodeStarted { .. } => self.begin(step),
            Body::Observed { .. } if self.record.frame().is_some() => {
                (self.texts, self.touched) = self.before.clone();
                self.begin(step);
            }
            _ => {}
        }
        match &body {
            Body::EpisodeStarted { inherited, .. } => {
                self.texts = inherited.clone();
                self.touched.clear();
                self.before = (self.texts.clone(), self.touched.clone());
                self.knows_memory = true;
                self.ended = false;
                self.view = None;
            }
            Body::MemoryOp { op } => self.apply(step, &op.changes),
            Body::HumanEdited { changes } => self.apply(step, changes),
            Body::Observed { frame } => self.progression = frame.progression,
            Body::HumanSaid { text } => self.told.retain(|told| told != text),
            Body::StepFinished { .. } => self.steps = self.steps.max(step.0 + 1),
            Body::EpisodeFinished { .. } => {
                self.ended = true;
                self.rate = 0.0;
            }
            _ => {}
        }
        self.record.push(body);
    }

    fn begin(&mut self, step: StepNo) {
        self.record = StepRecord::new(step);
        self.view = None;
    }

    fn apply(&mut self, step: StepNo, changes: &[MemoryChange]) {
        for change in changes {
            self.view = None;
            // It is recorded now, or overwritten.
            self.outside.remove(&change.path);
            self.edited.remove(&change.path);
            // A change that does not fit means that events were missed: the record knows better.
            if change.apply(&mut self.texts).is_err() {
                self.knows_memory = false;
                return;
            }
            self.touched.insert(change.path.clone(), step);
        }
    }

    /// A person edited a file; it shows at once, and is recorded at the next step.
    pub(crate) fn edit(&mut self, path: &str, text: Option<Arc<str>>) {
        let known = self.texts.get(path);
        let what = match (known, &text) {
            (Some(known), Some(text)) if known == text => None,
            (None, None) => None,
            (None, Some(_)) => Some(Outside::Added),
            (Some(_), Some(_)) => Some(Outside::Changed),
            (Some(_), None) => Some(Outside::Removed),
        };
        self.view = None;
        match what {
            Some(what) => {
                self.outside.insert(path.to_owned(), what);
                self.edited.insert(path.to_owned(), text);
            }
            None => {
                self.outside.remove(path);
                self.edited.remove(path);
            }
        }
    }

    /// The files that a person edited and that are not recorded yet.
    pub(crate) fn edited(&self) -> impl Iterator<Item = &str> {
        self.edited.keys().map(String::as_str)
    }

    /// The step before which the episode waits, as far as its events tell: nothing but what it saw
    /// is known of that step, and no action was chosen for it.
    pub(crate) fn waits_at(&self) -> Option<StepNo> {
        let step = match self.record.outcome() {
            // What is seen next may have been lost on the way.
            Some(_) => self.record.step.next(),
            None => self.record.step,
        };
        let chosen = self.chosen.as_ref().is_some_and(|(chosen, _)| *chosen == step);
        let begun = |body: &Body| {
            !matches!(
                body,
                Body::EpisodeStarted { .. } | Body::EpisodeResumed { .. } | Body::Observed { .. }
            )
        };
        let between = step != self.record.step || (self.record.live.is_none() && !self.record.events.iter().any(begun));
        let known = self.record.frame().is_some() || step != self.record.step;
        (known && between && !chosen && !self.ended).then_some(step)
    }

    /// Compares the files on disk with the memory as it stands. Gives the paths that are another
    /// outside than was known.
    pub(crate) fn compare(&mut self, files: &BTreeMap<String, Digest>) -> Vec<String> {
        if !self.knows_memory || self.ended {
            return Vec::new();
        }
        let mut found = BTreeMap::new();
        for (path, digest) in files {
            match self.texts.get(path) {
                None => found.insert(path.clone(), Outside::Added),
                Some(text) if Digest::of(&**text) != *digest => found.insert(path.clone(), Outside::Changed),
                Some(_) => None,
            };
        }
        let gone = self.texts.keys().filter(|path| !files.contains_key(*path));
        found.extend(gone.map(|path| (path.clone(), Outside::Removed)));
        let before = std::mem::replace(&mut self.outside, found);
        let new = self
            .outside
            .iter()
            .filter(|(path, what)| before.get(*path) != Some(what));
        new.map(|(path, _)| path.clone()).collect()
    }

    /// The memory as it stands; `None` when events were missed.
    pub(crate) fn memory(&mut self) -> Option<Arc<MemoryView>> {
        if !self.knows_memory {
            return None;
        }
        if self.view.is_none() {
            let before = states(&self.before.0, &self.before.1);
            let mut now = states(&self.texts, &self.touched);
            for (path, text) in &self.edited {
                let touched = Some(self.record.step);
                match text.clone() {
                    Some(text) => now.insert(path.clone(), FileState { text, touched }),
                    None => now.remove(path),
                };
            }
            let view = MemoryView::new(self.record.step, Some(&before), &now);
            self.view = Some(Arc::new(view));
        }
        self.view.clone()
    }
}

fn states(texts: &MemoryFiles, touched: &BTreeMap<String, StepNo>) -> BTreeMap<String, FileState> {
    let state = |(path, text): (&String, &Arc<str>)| {
        let state = FileState {
            text: Arc::clone(text),
            touched: touched.get(path).copied(),
        };
        (path.clone(), state)
    };
    texts.iter().map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn a_live_step_is_folded_and_its_memory_follows() {
        let mut live = LiveRun::new("a.db".into(), false);
        for event in testing::episode_events(3) {
            live.take(event);
        }
        let episode = live.episodes.get_mut(&EpisodeNo(0)).unwrap();
        assert_eq!(episode.record.step, StepNo(3));
        assert!(episode.ended);
        let memory = episode.memory().unwrap();
        assert!(memory.files.contains_key("notes/map.txt"), "{:?}", memory.files.keys());
        assert!(live.stale);
    }

    #[test]
    fn an_edit_from_outside_is_known_until_it_is_recorded() {
        let mut live = LiveRun::new("a.db".into(), false);
        let events = testing::episode_events(3);
        for event in events.into_iter().filter(|event| event.at.step < StepNo(2)) {
            live.take(event);
        }
        let episode = live.episodes.get_mut(&EpisodeNo(0)).unwrap();
        assert_eq!(&*episode.root, "ep_00");
        let mut disk: BTreeMap<String, Digest> = episode
            .texts
            .iter()
            .map(|(path, text)| (path.clone(), Digest::of(&**text)))
            .collect();
        assert!(episode.compare(&disk).is_empty());
        disk.insert("goals.txt".into(), Digest::of("another text"));
        disk.insert("new.txt".into(), Digest::of("new"));
        disk.remove("notes/map.txt");
        assert_eq!(episode.compare(&disk), ["goals.txt", "new.txt", "notes/map.txt"]);
        assert_eq!(episode.outside["new.txt"], Outside::Added);
        assert_eq!(episode.outside["notes/map.txt"], Outside::Removed);
        assert!(episode.compare(&disk).is_empty(), "what is known is not said again");
        let before = &episode.texts["goals.txt"].clone();
        let change = MemoryChange::between("goals.txt", Some(before), Some("another text")).unwrap();
        episode.take(StepNo(1), Body::HumanEdited { changes: vec![change] });
        assert!(!episode.outside.contains_key("goals.txt"));
    }

    #[test]
    fn a_step_that_is_told_twice_counts_once() {
        let mut live = LiveRun::new("a.db".into(), false);
        let events = testing::episode_events(3);
        let (first, second): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| event.at.step < StepNo(2));
        first.into_iter().for_each(|event| live.take(event));
        let step: Vec<_> = second.into_iter().filter(|event| event.at.step == StepNo(2)).collect();
        // As it happens, with something lost, then complete.
        step.iter()
            .take(4)
            .filter(|event| !matches!(event.body, Body::TurnFinished { .. }))
            .cloned()
            .for_each(|event| live.take(event));
        step.iter().cloned().for_each(|event| live.take(event));
        let episode = live.episodes.get_mut(&EpisodeNo(0)).unwrap();
        assert_eq!(episode.record, testing::record(2));
        let memory = episode.memory().unwrap();
        assert_eq!(memory.files["notes/map.txt"].lines, 2);
        assert_eq!(memory.files["notes/map.txt"].changed, vec![1..2; 1]);
    }
}
