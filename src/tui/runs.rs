//! The state of the list of runs, and of the choice of what to start.

use super::data::{RunEntry, RunState, StartRequest};
use super::widgets::list::Scroll;

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
}

impl Sort {
    /// The next in the circle.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Newest => Self::Score,
            Self::Score => Self::Steps,
            Self::Steps => Self::Model,
            Self::Model => Self::Newest,
        }
    }

    /// In words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Newest => "newest first",
            Self::Score => "best first",
            Self::Steps => "longest first",
            Self::Model => "by model",
        }
    }
}

/// One row: an entry and, where it has any, one of its episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunRow {
    /// Index into the entries.
    pub(crate) entry: usize,
    /// Index into its episodes.
    pub(crate) episode: Option<usize>,
}

/// The list of runs.
#[derive(Debug, Default)]
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
    /// The choice of what to start.
    pub(crate) start: StartPanel,
}

impl RunsScreen {
    /// Takes in the list; the selection stays with its run.
    pub(crate) fn take(&mut self, entries: Vec<RunEntry>) {
        let selected = self.selected().map(|(entry, row)| (entry.path.clone(), row.episode));
        self.entries = entries;
        self.loaded = true;
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
            .filter(|&index| {
                let text = describe(&self.entries[index]).to_lowercase();
                words.iter().all(|word| text.contains(word))
            })
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
            }
        });
        self.rows = order
            .into_iter()
            .flat_map(|entry| {
                let count = entries[entry].episodes.len();
                let whole = (count == 0).then_some(RunRow { entry, episode: None });
                let each = (0..count).map(move |episode| RunRow {
                    entry,
                    episode: Some(episode),
                });
                whole.into_iter().chain(each)
            })
            .collect();
        self.scroll.selected = self.scroll.selected.min(self.rows.len().saturating_sub(1));
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

/// One thing that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The program that plays by rules.
    Scripted,
    /// A model that is here.
    Model(String),
    /// The small model, which is not here yet.
    Pull,
    /// A run that comes with the program.
    Sample,
}

/// The name of the small model.
pub(crate) const SMALL_MODEL: &str = "smollm2-135m";

/// The choice of what to start.
#[derive(Debug, Clone)]
pub(crate) struct StartPanel {
    /// What there is to choose from.
    pub(crate) choices: Vec<Choice>,
    /// The one that is selected.
    pub(crate) selected: usize,
    /// The world's seed.
    pub(crate) seed: u64,
}

impl Default for StartPanel {
    fn default() -> Self {
        Self {
            choices: vec![Choice::Scripted, Choice::Pull, Choice::Sample],
            selected: 0,
            seed: 42,
        }
    }
}

impl StartPanel {
    /// The choices when these models are here.
    pub(crate) fn know_models(&mut self, models: &[String]) {
        let chosen = self.choices.get(self.selected).cloned();
        self.choices = vec![Choice::Scripted];
        self.choices.extend(models.iter().cloned().map(Choice::Model));
        if !models.iter().any(|model| model == SMALL_MODEL) {
            self.choices.push(Choice::Pull);
        }
        self.choices.push(Choice::Sample);
        self.selected = self
            .choices
            .iter()
            .position(|choice| Some(choice) == chosen.as_ref())
            .unwrap_or(0);
    }

    /// The run that the selected choice starts, if it starts one.
    pub(crate) fn request(&self) -> Option<StartRequest> {
        let (model, scaffold) = match self.choices.get(self.selected)? {
            Choice::Scripted => ("scripted", "crafter-v0"),
            Choice::Model(model) if model == SMALL_MODEL => (model.as_str(), "crafter-tiny"),
            Choice::Model(model) => (model.as_str(), "crafter-v0"),
            Choice::Pull => (SMALL_MODEL, "crafter-tiny"),
            Choice::Sample => return None,
        };
        Some(StartRequest {
            model: model.to_owned(),
            scaffold: scaffold.to_owned(),
            seed: self.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripted_player_is_preselected_and_models_replace_the_pull() {
        let mut start = StartPanel::default();
        assert_eq!(start.request().unwrap().model, "scripted");
        start.know_models(&[SMALL_MODEL.to_owned()]);
        assert_eq!(start.choices.len(), 3);
        assert!(!start.choices.contains(&Choice::Pull));
        start.selected = 1;
        assert_eq!(start.request().unwrap().scaffold, "crafter-tiny");
    }
}
