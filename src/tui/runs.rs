//! The state of the list of runs: what is listed, in which order, what shows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::columns::Column;
use super::data::{Here, RunEntry, RunState};
use super::start::{Form, StartPanel};
use super::widgets::list::Scroll;
use crate::config::{RunSettings, Settings};

/// The column that the list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sort {
    /// Newest first.
    #[default]
    Newest,
    /// Best progression first.
    Score,
    /// Most steps first.
    Steps,
    /// By the model's name.
    Model,
    /// By the world's name.
    World,
    /// What plays first, then what is open, done, broken.
    State,
}

impl Sort {
    const ALL: [Self; 6] = [
        Self::Newest,
        Self::Score,
        Self::Steps,
        Self::Model,
        Self::World,
        Self::State,
    ];

    /// The next in the circle.
    pub(crate) fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// By its name in `config.toml`.
    pub(crate) fn named(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|sort| sort.name() == name);
        found.unwrap_or_default()
    }

    /// Its name in `config.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Score => "score",
            Self::Steps => "steps",
            Self::Model => "model",
            Self::World => "world",
            Self::State => "state",
        }
    }

    /// In words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Newest => "newest first",
            Self::Score => "best first",
            Self::Steps => "longest first",
            Self::Model => "by model",
            Self::World => "by world",
            Self::State => "by state",
        }
    }
}

/// One row: a run with one episode, a run with several, or one of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunRow {
    /// Index into the entries.
    pub(crate) entry: usize,
    /// Index into its episodes; `None` for a run with none or with several.
    pub(crate) episode: Option<usize>,
    /// It stands below its run.
    pub(crate) below: bool,
}

/// The list of runs.
#[derive(Debug)]
pub(crate) struct RunsScreen {
    /// They have been looked for.
    pub(crate) loaded: bool,
    /// All of them.
    pub(crate) entries: Vec<RunEntry>,
    /// The rows that show.
    pub(crate) rows: Vec<RunRow>,
    /// Where the list is scrolled to.
    pub(crate) scroll: Scroll,
    /// Only rows that contain this.
    pub(crate) filter: String,
    /// The order.
    pub(crate) sort: Sort,
    /// Runs whose episodes show.
    pub(crate) unfolded: BTreeSet<PathBuf>,
    /// Columns that were chosen; none leaves them to the width.
    pub(crate) columns: Vec<Column>,
    /// The choice of what to start.
    pub(crate) start: StartPanel,
    /// The dialog as it was left; `None` before it was opened.
    pub(crate) form: Option<Form>,
    /// What runs can be started with.
    pub(crate) here: Here,
    /// What a run is started with unless a person says otherwise.
    pub(crate) run: RunSettings,
    /// Runs that were deleted and can be brought back.
    pub(crate) deleted: usize,
    /// Deleted runs that a session which broke off left behind.
    pub(crate) leftovers: Vec<PathBuf>,
    /// These have been looked for.
    pub(crate) looked_for_leftovers: bool,
    /// The list is out of date.
    pub(crate) stale: bool,
    /// Runs are being looked for.
    pub(crate) looking: bool,
}

impl Default for RunsScreen {
    fn default() -> Self {
        Self {
            loaded: false,
            entries: Vec::new(),
            rows: Vec::new(),
            scroll: Scroll::default(),
            filter: String::new(),
            sort: Sort::default(),
            unfolded: BTreeSet::new(),
            columns: Vec::new(),
            start: StartPanel::default(),
            form: None,
            here: Here::default(),
            run: Settings::default().run,
            deleted: 0,
            leftovers: Vec::new(),
            looked_for_leftovers: false,
            stale: false,
            looking: false,
        }
    }
}

impl RunsScreen {
    /// Takes in the list; the selection stays with its run.
    pub(crate) fn take(&mut self, entries: Vec<RunEntry>) {
        let selected = self.selected().map(|(entry, row)| (entry.path.clone(), row.episode));
        self.entries = entries;
        self.loaded = true;
        self.looking = false;
        self.unfolded
            .retain(|path| self.entries.iter().any(|entry| entry.path == *path));
        self.arrange();
        let again = selected.and_then(|(path, episode)| {
            self.rows
                .iter()
                .position(|row| self.entries[row.entry].path == path && row.episode == episode)
        });
        self.scroll.selected = again.unwrap_or(0);
    }

    /// Filters and sorts anew.
    pub(crate) fn arrange(&mut self) {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let mut order: Vec<usize> = (0..self.entries.len())
            .filter(|&index| words.iter().all(|word| fits(&self.entries[index], word)))
            .collect();
        let entries = &self.entries;
        order.sort_by(|&a, &b| {
            let (a, b) = (&entries[a], &entries[b]);
            let newest = || b.created.cmp(&a.created).then_with(|| b.path.cmp(&a.path));
            match self.sort {
                Sort::Newest => newest(),
                Sort::Score => best(b).total_cmp(&best(a)).then_with(newest),
                Sort::Steps => steps(b).cmp(&steps(a)).then_with(newest),
                Sort::Model => a.model.cmp(&b.model).then_with(newest),
                Sort::World => a.world.cmp(&b.world).then_with(newest),
                Sort::State => rank(a).cmp(&rank(b)).then_with(newest),
            }
        });
        self.rows.clear();
        for entry in order {
            let count = entries[entry].episodes.len();
            self.rows.push(RunRow {
                entry,
                episode: (count == 1).then_some(0),
                below: false,
            });
            if count > 1 && self.unfolded.contains(&entries[entry].path) {
                self.rows.extend((0..count).map(|episode| RunRow {
                    entry,
                    episode: Some(episode),
                    below: true,
                }));
            }
        }
        self.scroll.selected = self.scroll.selected.min(self.rows.len().saturating_sub(1));
    }

    /// Shows or hides the episodes of the selected run. Hiding leads to the run's row.
    pub(crate) fn fold(&mut self, open: bool) {
        let Some((entry, row)) = self.selected() else { return };
        if entry.episodes.len() < 2 {
            return;
        }
        let path = entry.path.clone();
        if open {
            self.unfolded.insert(path);
        } else {
            self.unfolded.remove(&path);
        }
        self.arrange();
        let run = self
            .rows
            .iter()
            .position(|other| other.entry == row.entry && !other.below);
        if let Some(run) = run.filter(|_| !open) {
            self.scroll.selected = run;
        }
    }

    /// A run is gone from the list, before it is looked for anew.
    pub(crate) fn remove(&mut self, path: &std::path::Path) {
        self.entries.retain(|entry| entry.path != path);
        self.arrange();
    }

    /// The selected row and its entry.
    pub(crate) fn selected(&self) -> Option<(&RunEntry, RunRow)> {
        let row = *self.rows.get(self.scroll.selected)?;
        Some((self.entries.get(row.entry)?, row))
    }
}

fn best(entry: &RunEntry) -> f64 {
    entry
        .episodes
        .iter()
        .map(|episode| episode.progression)
        .fold(-1.0, f64::max)
}

fn steps(entry: &RunEntry) -> u32 {
    entry.episodes.iter().map(|episode| episode.steps).max().unwrap_or(0)
}

fn rank(entry: &RunEntry) -> u8 {
    match entry.state {
        RunState::Running => 0,
        RunState::Paused => 1,
        RunState::Open => 2,
        RunState::Done => 3,
        RunState::Broken(_) => 4,
    }
}

/// Whether an entry fits a word of the filter: `seed:43`, `model:tiny`, or a part of anything.
fn fits(entry: &RunEntry, word: &str) -> bool {
    let holds = |text: &str, part: &str| text.to_lowercase().contains(part);
    match word.split_once(':') {
        Some(("world", part)) => holds(&entry.world, part),
        Some(("scaffold", part)) => holds(&entry.scaffold, part),
        Some(("model", part)) => holds(&entry.model, part),
        Some(("state", part)) => holds(entry.state.word(), part),
        Some(("seed", part)) => entry.episodes.iter().any(|episode| episode.seed.to_string() == part),
        _ => holds(&describe(entry), word),
    }
}

fn describe(entry: &RunEntry) -> String {
    let seeds: Vec<String> = entry.episodes.iter().map(|episode| episode.seed.to_string()).collect();
    let problem = match &entry.state {
        RunState::Broken(problem) => problem.as_str(),
        _ => "",
    };
    format!(
        "{} {} {} {} {} {} {problem}",
        entry.path.display(),
        entry.world,
        entry.scaffold,
        entry.model,
        seeds.join(" "),
        entry.state.word()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    fn names(runs: &RunsScreen) -> Vec<String> {
        let name = |row: &RunRow| {
            let name = runs.entries[row.entry].path.file_stem();
            let below = if row.below { "+" } else { "" };
            format!("{below}{}", name.unwrap_or_default().to_string_lossy())
        };
        runs.rows.iter().map(name).collect()
    }

    fn runs() -> RunsScreen {
        let mut runs = RunsScreen::default();
        runs.take(testing::entries());
        runs
    }

    #[test]
    fn words_of_the_filter_may_name_their_column() {
        let mut runs = runs();
        let mut filter = |text: &str| {
            text.clone_into(&mut runs.filter);
            runs.arrange();
            names(&runs).join(" ")
        };
        assert_eq!(filter("seed:43"), "b");
        assert_eq!(filter("seed:4"), "");
        assert_eq!(filter("world:craft model:smol"), "a c d");
        assert_eq!(filter("state:resumable"), "c");
        assert_eq!(filter("scaffold:v0"), "b");
        assert_eq!(filter("broken"), "d");
        assert_eq!(filter("RESUMABLE tiny"), "c");
    }

    #[test]
    fn episodes_unfold_below_their_run() {
        let mut runs = runs();
        assert_eq!(names(&runs), ["a", "b", "c", "d"]);
        runs.fold(true);
        assert_eq!(names(&runs).len(), 4);
        runs.scroll.selected = 1;
        runs.fold(true);
        assert_eq!(names(&runs), ["a", "b", "+b", "+b", "c", "d"]);
        runs.scroll.selected = 3;
        runs.fold(false);
        assert_eq!((names(&runs).len(), runs.scroll.selected), (4, 1));
    }

    #[test]
    fn every_order_has_a_name_and_the_circle_closes() {
        let mut sort = Sort::default();
        for _ in Sort::ALL {
            assert_eq!(Sort::named(sort.name()), sort);
            sort = sort.next();
        }
        assert_eq!(sort, Sort::default());
        let mut runs = runs();
        runs.sort = Sort::State;
        runs.arrange();
        assert_eq!(names(&runs), ["c", "a", "b", "d"]);
    }
}
