//! The state of what can be started: a few choices for the first minute, and the dialog with all.
//!
//! Owns what is typed and chosen, and turning it into a request. Must not start anything.

use super::data::{Here, StartRequest};
use super::fields::{Field, Fields};
use crate::agent::{NO_SPECIALIST, wanted};
use crate::config::RunSettings;
use crate::env;
use crate::types::Seeds;

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
    /// The dialog.
    More,
}

/// The name of the small model.
pub(crate) const SMALL_MODEL: &str = "smollm2-135m";
/// The scaffold it plays with.
const SMALL_SCAFFOLD: &str = "crafter-tiny";

/// The choice of what to start, in place of an empty list.
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
            choices: vec![Choice::Scripted, Choice::Pull, Choice::Sample, Choice::More],
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
        self.choices.push(Choice::More);
        self.selected = self
            .choices
            .iter()
            .position(|choice| Some(choice) == chosen.as_ref())
            .unwrap_or(0);
    }

    /// The run that the selected choice starts, if it starts one.
    pub(crate) fn request(&self, run: &RunSettings) -> Option<StartRequest> {
        let (model, scaffold) = match self.choices.get(self.selected)? {
            Choice::Scripted => ("scripted", run.scaffold.as_str()),
            Choice::Model(model) if model == SMALL_MODEL => (model.as_str(), SMALL_SCAFFOLD),
            Choice::Model(model) => (model.as_str(), run.scaffold.as_str()),
            Choice::Pull => (SMALL_MODEL, SMALL_SCAFFOLD),
            Choice::Sample | Choice::More => return None,
        };
        Some(StartRequest {
            world: run.env.clone(),
            model: model.to_owned(),
            specialist: None,
            scaffold: scaffold.to_owned(),
            seeds: self.seed.to_string(),
            max_steps: run.max_steps,
            workers: 1,
            show: true,
        })
    }
}

/// A field of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// World.
    World,
    /// Scaffold: a name or a folder.
    Scaffold,
    /// Model: `scripted`, a name, or anything that opens one.
    Model,
    /// The memory specialist; `none` for one model.
    Specialist,
    /// Seeds.
    Seeds,
    /// Steps an episode may take.
    Steps,
    /// Episodes at once.
    Workers,
}

impl Field for What {
    const ALL: &'static [Self] = &[
        Self::World,
        Self::Scaffold,
        Self::Model,
        Self::Specialist,
        Self::Seeds,
        Self::Steps,
        Self::Workers,
    ];

    fn place(self) -> usize {
        self as usize
    }

    fn name(self) -> &'static str {
        match self {
            Self::World => "world",
            Self::Scaffold => "scaffold",
            Self::Model => "model",
            Self::Specialist => "specialist",
            Self::Seeds => "seeds",
            Self::Steps => "steps",
            Self::Workers => "at once",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::World => "the game that is played",
            Self::Scaffold => "a name, or the path of a scaffold's folder",
            Self::Model => "scripted is a program; a model's name, FILE.gguf, recorded:FILE",
            Self::Specialist => "none, an adapter's name or file on the model, or a whole model",
            Self::Seeds => "one episode each: 42, or 42..45, or 1,2,9",
            Self::Steps => "steps an episode may take",
            Self::Workers => "episodes played at the same time",
        }
    }

    fn step(self) -> i64 {
        if self == Self::Steps { 100 } else { 1 }
    }

    fn least(self) -> u64 {
        u64::from(self != Self::Seeds)
    }
}

/// The dialog that starts a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    /// What is written.
    pub(crate) fields: Fields<What>,
    /// A run is being started.
    pub(crate) starting: bool,
    here: Here,
}

impl Form {
    /// The dialog with what was started last, else with the settings.
    pub(crate) fn new(run: &RunSettings, here: &Here) -> Self {
        let last = here.last.clone().unwrap_or_else(|| StartRequest {
            world: run.env.clone(),
            scaffold: run.scaffold.clone(),
            model: run.model.clone(),
            specialist: run.specialist.clone(),
            seeds: run.seeds.clone(),
            max_steps: run.max_steps,
            workers: run.workers,
            show: true,
        });
        Self {
            fields: Fields::new([
                last.world,
                last.scaffold,
                last.model,
                last.specialist.unwrap_or_else(|| NO_SPECIALIST.to_owned()),
                last.seeds,
                last.max_steps.to_string(),
                last.workers.to_string(),
            ]),
            starting: false,
            here: here.clone(),
        }
    }

    /// What is here now.
    pub(crate) fn know(&mut self, here: &Here) {
        self.here = here.clone();
    }

    /// What there is to choose from, where there is a choice.
    pub(crate) fn choices(&self, what: What) -> Vec<&str> {
        match what {
            What::World => self.here.worlds.iter().map(String::as_str).collect(),
            What::Scaffold => {
                let world = self.fields.text(What::World);
                let fits = self.here.scaffolds.iter().filter(|(_, env)| env::leads_to(world, env));
                fits.map(|(name, _)| name.as_str()).collect()
            }
            What::Model => {
                let mut models = vec!["scripted"];
                models.extend(self.here.models.iter().map(String::as_str));
                if !models.contains(&SMALL_MODEL) {
                    models.push(SMALL_MODEL);
                }
                models
            }
            What::Specialist => {
                let adapters = self.here.adapters.iter().map(String::as_str);
                std::iter::once(NO_SPECIALIST).chain(adapters).collect()
            }
            What::Seeds | What::Steps | What::Workers => Vec::new(),
        }
    }

    /// The next choice, or a number that is larger or smaller.
    pub(crate) fn choose(&mut self, by: i32) {
        let what = self.fields.field();
        let choices: Vec<String> = self.choices(what).into_iter().map(str::to_owned).collect();
        self.fields.choose(by, &choices);
        self.changed(what);
    }

    /// What follows from a choice: a scaffold of the world, the short one for the small model.
    fn changed(&mut self, what: What) {
        if what == What::Model
            && self.fields.text(What::Model) == SMALL_MODEL
            && self.choices(What::Scaffold).contains(&SMALL_SCAFFOLD)
        {
            self.fields.set(What::Scaffold, SMALL_SCAFFOLD);
        }
        if what == What::World {
            let scaffolds = self.choices(What::Scaffold);
            if !scaffolds.contains(&self.fields.text(What::Scaffold))
                && let Some(first) = scaffolds.first().map(|&name| name.to_owned())
            {
                self.fields.set(What::Scaffold, &first);
            }
        }
    }

    /// Whether the model must be fetched first.
    pub(crate) fn must_pull(&self) -> bool {
        let model = self.fields.trimmed(What::Model);
        model == SMALL_MODEL && !self.here.models.iter().any(|here| here == model)
    }

    /// The run that is wished for. What cannot be is said in `error`, at its field.
    pub(crate) fn request(&mut self, show: bool) -> Option<StartRequest> {
        let made = self.checked(show);
        self.fields.settled(made)
    }

    fn checked(&self, show: bool) -> Result<StartRequest, (What, String)> {
        let given = |what| self.fields.given(what);
        let seeds = given(What::Seeds)?;
        seeds.parse::<Seeds>().map_err(|error| (What::Seeds, error))?;
        Ok(StartRequest {
            world: given(What::World)?,
            scaffold: given(What::Scaffold)?,
            model: given(What::Model)?,
            specialist: wanted(Some(self.fields.text(What::Specialist))).map(str::to_owned),
            seeds,
            max_steps: self.fields.number(What::Steps, 10_000_000)?,
            workers: self.fields.number(What::Workers, 64)?,
            show,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::tui::fields::Erase;

    #[test]
    fn the_scripted_player_is_preselected_and_models_replace_the_pull() {
        let run = Settings::default().run;
        let mut start = StartPanel::default();
        assert_eq!(start.request(&run).unwrap().model, "scripted");
        start.know_models(&[SMALL_MODEL.to_owned()]);
        assert_eq!(start.choices.len(), 4);
        assert!(!start.choices.contains(&Choice::Pull));
        start.selected = 1;
        assert_eq!(start.request(&run).unwrap().scaffold, "crafter-tiny");
    }

    fn form() -> Form {
        let here = Here {
            models: vec!["big".into()],
            adapters: vec!["notes-1".into()],
            worlds: vec!["crafter".into(), "other".into()],
            scaffolds: vec![
                ("crafter-tiny".into(), "crafter".into()),
                ("crafter-v0".into(), "crafter".into()),
                ("other-v0".into(), "other".into()),
            ],
            last: None,
        };
        Form::new(&Settings::default().run, &here)
    }

    #[test]
    fn choices_go_round_and_follow_the_world() {
        let mut form = form();
        form.choose(1);
        assert_eq!(
            (form.fields.text(What::World), form.fields.text(What::Scaffold)),
            ("other", "other-v0")
        );
        form.choose(1);
        assert_eq!(
            (form.fields.text(What::World), form.fields.text(What::Scaffold)),
            ("crafter", "crafter-tiny")
        );
        form.fields.go(2);
        form.choose(-1);
        assert_eq!(form.fields.text(What::Model), SMALL_MODEL);
        assert!(form.must_pull());
        form.fields.erase(Erase::All);
        "big".chars().for_each(|c| form.fields.write(c));
        assert!(!form.must_pull());
        form.fields.go(1);
        assert_eq!(form.fields.text(What::Specialist), "none");
        form.choose(1);
        assert_eq!(form.request(true).unwrap().specialist.as_deref(), Some("notes-1"));
        form.choose(1);
        assert_eq!(form.request(true).unwrap().specialist, None);
        form.fields.go(1);
        form.choose(1);
        assert_eq!(form.fields.text(What::Seeds), "43");
        form.fields.go(1);
        form.choose(-1);
        form.choose(-1);
        form.choose(-1);
        form.choose(-1);
        assert_eq!(form.fields.text(What::Steps), "1");
        let request = form.request(true).unwrap();
        assert_eq!((request.model.as_str(), request.max_steps), ("big", 1));
    }

    #[test]
    fn what_cannot_be_is_said_at_its_field() {
        let mut form = form();
        form.fields.go(4);
        form.fields.write('x');
        form.fields.go(-4);
        assert!(form.request(true).is_none());
        assert_eq!(form.fields.field(), What::Seeds);
        assert!(form.fields.error.as_ref().unwrap().contains("no seed"));
        form.fields.erase(Erase::Letter);
        form.fields.go(2);
        "99".chars().for_each(|c| form.fields.write(c));
        assert!(form.request(true).is_none());
        assert!(form.fields.error.as_ref().unwrap().contains("1 to 64"));
        form.fields.erase(Erase::All);
        assert!(form.request(true).is_none());
        assert!(form.fields.error.as_ref().unwrap().contains("empty"));
    }
}
