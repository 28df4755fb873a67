//! The state of the dialog that starts an optimization.
//!
//! Owns what is typed and chosen, and turning it into a request. Must not start anything.

use super::data::Here;
use super::fields::{Field, Fields};
use crate::config::RunSettings;
use crate::types::Seeds;

/// An optimization to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptimizeRequest {
    /// The scaffold it begins with.
    pub(crate) scaffold: String,
    /// The gate's seeds.
    pub(crate) seeds: String,
    /// Promotions at most.
    pub(crate) iterations: u32,
    /// Who writes revisions.
    pub(crate) meta: String,
    /// Who plays.
    pub(crate) model: String,
    /// Steps an episode may take.
    pub(crate) max_steps: u32,
    /// Episodes at once.
    pub(crate) workers: u32,
}

/// A field of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The scaffold.
    Scaffold,
    /// The seeds.
    Seeds,
    /// How many promotions.
    Iterations,
    /// Who writes revisions.
    Meta,
    /// Who plays.
    Model,
    /// Steps an episode may take.
    Steps,
    /// Episodes at once.
    Workers,
}

impl Field for Wish {
    const ALL: &'static [Self] = &[
        Self::Scaffold,
        Self::Seeds,
        Self::Iterations,
        Self::Meta,
        Self::Model,
        Self::Steps,
        Self::Workers,
    ];

    fn place(self) -> usize {
        self as usize
    }

    fn name(self) -> &'static str {
        match self {
            Self::Scaffold => "scaffold",
            Self::Seeds => "seeds",
            Self::Iterations => "iterations",
            Self::Meta => "meta",
            Self::Model => "model",
            Self::Steps => "steps",
            Self::Workers => "at once",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Scaffold => "the scaffold that is to become better",
            Self::Seeds => "parent and revision play the same: 42..51, or 1,2,9",
            Self::Iterations => "promotions at most; each has up to 3 attempts",
            Self::Meta => "who writes revisions: rules, anthropic:MODEL, openai:MODEL@URL, command:'...'",
            Self::Model => "who plays: scripted is a program; a model's name, FILE.gguf",
            Self::Steps => "steps an episode may take",
            Self::Workers => "episodes played at the same time",
        }
    }

    fn step(self) -> i64 {
        if self == Self::Steps { 100 } else { 1 }
    }
}

/// The dialog that starts an optimization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptimizeForm {
    /// What is written.
    pub(crate) fields: Fields<Wish>,
    here: Here,
}

impl OptimizeForm {
    /// The dialog with this scaffold, else with the settings'.
    pub(crate) fn new(scaffold: Option<&str>, run: &RunSettings, here: &Here) -> Self {
        Self {
            fields: Fields::new([
                scaffold.unwrap_or(&run.scaffold).to_owned(),
                "42..51".to_owned(),
                "5".to_owned(),
                "rules".to_owned(),
                run.model.clone(),
                run.max_steps.to_string(),
                run.workers.to_string(),
            ]),
            here: here.clone(),
        }
    }

    /// What is here now.
    pub(crate) fn know(&mut self, here: &Here) {
        self.here = here.clone();
    }

    /// Another scaffold is meant.
    pub(crate) fn mean(&mut self, scaffold: &str) {
        self.fields.set(Wish::Scaffold, scaffold);
    }

    /// What there is to choose from, where there is a choice.
    pub(crate) fn choices(&self, wish: Wish) -> Vec<&str> {
        match wish {
            Wish::Scaffold => self.here.scaffolds.iter().map(|(name, _)| name.as_str()).collect(),
            Wish::Meta => vec!["rules"],
            Wish::Model => {
                let models = self.here.models.iter().map(String::as_str);
                std::iter::once("scripted").chain(models).collect()
            }
            Wish::Seeds | Wish::Iterations | Wish::Steps | Wish::Workers => Vec::new(),
        }
    }

    /// The next choice, or a number that is larger or smaller.
    pub(crate) fn choose(&mut self, by: i32) {
        let choices: Vec<String> = self
            .choices(self.fields.field())
            .into_iter()
            .map(str::to_owned)
            .collect();
        self.fields.choose(by, &choices);
    }

    /// The optimization that is wished for. What cannot be is said in `error`, at its field.
    pub(crate) fn request(&mut self) -> Option<OptimizeRequest> {
        let made = self.checked();
        self.fields.settled(made)
    }

    fn checked(&self) -> Result<OptimizeRequest, (Wish, String)> {
        let given = |wish| self.fields.given(wish);
        let number = |wish, most| self.fields.number(wish, most);
        let seeds = given(Wish::Seeds)?;
        seeds.parse::<Seeds>().map_err(|error| (Wish::Seeds, error))?;
        Ok(OptimizeRequest {
            scaffold: given(Wish::Scaffold)?,
            seeds,
            iterations: number(Wish::Iterations, 1000)?,
            meta: given(Wish::Meta)?,
            model: given(Wish::Model)?,
            max_steps: number(Wish::Steps, 10_000_000)?,
            workers: number(Wish::Workers, 64)?,
        })
    }

    /// The command that does the same.
    pub(crate) fn command(&self) -> String {
        let of = |wish: Wish| self.fields.trimmed(wish).to_owned();
        let quoted = |text: String| if text.contains(' ') { format!("'{text}'") } else { text };
        format!(
            "automem optimize --scaffold {} --seeds {} --iterations {} --meta {} --model {} --max-steps {} --workers {}",
            of(Wish::Scaffold),
            of(Wish::Seeds),
            of(Wish::Iterations),
            quoted(of(Wish::Meta)),
            of(Wish::Model),
            of(Wish::Steps),
            of(Wish::Workers)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::tui::fields::Erase;

    #[test]
    fn what_is_written_becomes_a_request_and_faults_are_said_at_their_field() {
        let here = Here {
            models: vec!["big".into()],
            adapters: vec!["notes-1".into()],
            worlds: vec!["crafter".into()],
            scaffolds: vec![
                ("crafter-v0".into(), "crafter".into()),
                ("mine".into(), "crafter".into()),
            ],
            last: None,
        };
        let mut form = OptimizeForm::new(Some("mine"), &Settings::default().run, &here);
        assert_eq!(form.fields.text(Wish::Scaffold), "mine");
        form.choose(1);
        assert_eq!(form.fields.text(Wish::Scaffold), "crafter-v0");
        form.fields.go(2);
        form.choose(-1);
        form.fields.go(2);
        form.choose(1);
        let request = form.request().unwrap();
        assert_eq!(
            (request.iterations, request.model.as_str(), request.seeds.as_str()),
            (4, "big", "42..51")
        );
        assert!(
            form.command()
                .starts_with("automem optimize --scaffold crafter-v0 --seeds 42..51 --iterations 4")
        );
        form.fields.go(-3);
        form.fields.erase(Erase::All);
        form.fields.go(9);
        assert!(form.request().is_none());
        assert_eq!(form.fields.field(), Wish::Seeds);
        assert!(form.fields.error.as_ref().unwrap().contains("empty"));
        "1..x".chars().for_each(|c| form.fields.write(c));
        assert!(form.request().is_none() && form.fields.error.as_ref().unwrap().contains("no seed"));
    }
}
