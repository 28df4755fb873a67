//! A plan: stages in their order, as a TOML file holds them.

use serde::{Deserialize, Serialize};

use crate::review::Policy;
use crate::types::Seeds;

/// Stages at most, repeats included.
const MOST_STAGES: usize = 100;

/// A plan. What stands above the stages holds for all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name.
    #[serde(default = "name")]
    pub name: String,
    /// The world.
    #[serde(default = "env")]
    pub env: String,
    /// The scaffold to begin with.
    #[serde(default = "scaffold")]
    pub scaffold: String,
    /// Who plays: the gameplay model, which is also the base of adapters.
    pub model: String,
    /// The specialist to begin with.
    #[serde(default)]
    pub specialist: Option<String>,
    /// The gate's seeds, of all stages: `42..51`.
    #[serde(default = "seeds")]
    pub seeds: String,
    /// Steps an episode may take.
    #[serde(default = "max_steps")]
    pub max_steps: u32,
    /// Episodes at once.
    #[serde(default = "workers")]
    pub workers: u32,
    /// Who decides in a person's place; left out, a person does.
    #[serde(default)]
    pub policy: Option<Policy>,
    /// How often the stages are gone through.
    #[serde(default = "once")]
    pub repeat: u32,
    /// The stages.
    #[serde(rename = "stage")]
    pub stages: Vec<Stage>,
}

/// Which loop a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// Loop 1.
    Optimize,
    /// Loop 2.
    Tune,
}

impl StageKind {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Optimize => "optimize",
            Self::Tune => "tune",
        }
    }
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Which loop.
    pub kind: StageKind,
    /// Its iterations.
    #[serde(default = "iterations")]
    pub iterations: u32,
    /// Who writes revisions, or recipes.
    #[serde(default = "rules")]
    pub meta: String,
    /// Name of the scaffold line, or of the specialist; left out, one is made from the scaffold's name.
    #[serde(default)]
    pub line: Option<String>,
    /// Tuning: episodes played for traces.
    #[serde(default)]
    pub episodes: Option<u32>,
    /// Tuning: who plays them.
    #[serde(default)]
    pub player: Option<String>,
    /// Tuning: file of the first recipe.
    #[serde(default)]
    pub recipe: Option<String>,
    /// Tuning: its training configurations instead, in the one-line form.
    #[serde(default)]
    pub train: Vec<String>,
    /// Tuning: examples a set must have at least.
    #[serde(default)]
    pub minimum: Option<u32>,
    /// Tuning: `native` or `llamafactory`.
    #[serde(default)]
    pub backend: Option<String>,
    /// Tuning: the base model for LLaMA-Factory.
    #[serde(default)]
    pub hf_model: Option<String>,
}

fn name() -> String {
    "improve".to_owned()
}

fn env() -> String {
    "crafter".to_owned()
}

fn scaffold() -> String {
    "crafter-v0".to_owned()
}

fn seeds() -> String {
    "42..51".to_owned()
}

fn rules() -> String {
    "rules".to_owned()
}

fn max_steps() -> u32 {
    300
}

fn workers() -> u32 {
    1
}

fn once() -> u32 {
    1
}

fn iterations() -> u32 {
    5
}

/// Why a plan cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct PlanError {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// With the line and what goes instead.
    pub fn read(text: &str) -> Result<Self, PlanError> {
        let wrong = |what: String, hint: &str| {
            Err(PlanError {
                what,
                hint: hint.to_owned(),
            })
        };
        let plan: Self = match toml::from_str(text) {
            Ok(plan) => plan,
            Err(error) => {
                return wrong(
                    error.to_string().trim_end().to_owned(),
                    "a plan has `model = ...` and one or more [[stage]] tables with `kind = \"optimize\"` or `\"tune\"`",
                );
            }
        };
        if let Err(why) = plan.seeds.parse::<Seeds>() {
            return wrong(why, "these are the gate's seeds");
        }
        if plan.stages.is_empty() || plan.repeat == 0 {
            return wrong(
                "the plan has nothing to do".to_owned(),
                "give it a [[stage]], and `repeat` of 1 or more",
            );
        }
        if plan.stages.len().saturating_mul(plan.repeat as usize) > MOST_STAGES {
            return wrong(
                format!("the plan has more than {MOST_STAGES} stages"),
                "give fewer, or a smaller `repeat`",
            );
        }
        if plan.stages.iter().any(|stage| stage.iterations == 0) {
            return wrong("a stage has no iterations".to_owned(), "give `iterations` of 1 or more");
        }
        for stage in &plan.stages {
            let given = [
                ("episodes", stage.episodes.is_some()),
                ("player", stage.player.is_some()),
                ("recipe", stage.recipe.is_some()),
                ("train", !stage.train.is_empty()),
                ("minimum", stage.minimum.is_some()),
                ("backend", stage.backend.is_some()),
                ("hf_model", stage.hf_model.is_some()),
            ];
            let stray = given.iter().find(|(_, is_there)| *is_there);
            if let (StageKind::Optimize, Some((key, _))) = (stage.kind, stray) {
                return wrong(
                    format!("`{key}` is of no use to a stage of kind \"optimize\""),
                    "it belongs to a stage of kind \"tune\"",
                );
            }
        }
        Ok(plan)
    }

    /// The stage at a place, repeats counted through; `None` past the end.
    pub fn stage(&self, at: usize) -> Option<&Stage> {
        if at >= self.len() {
            return None;
        }
        self.stages.get(at % self.stages.len().max(1))
    }

    /// Stages in all, repeats included.
    pub fn len(&self) -> usize {
        self.stages.len() * self.repeat as usize
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::improve) const PAPER: &str = "model = \"tiny\"\nseeds = \"1..2\"\nrepeat = 2\n[[stage]]\nkind = \
        \"optimize\"\niterations = 1\n[[stage]]\nkind = \"tune\"\nepisodes = 4\n";

    #[test]
    fn a_plan_is_gone_through_as_often_as_it_says() {
        let plan = Plan::read(PAPER).unwrap();
        let kinds: Vec<&str> = (0..)
            .map_while(|at| plan.stage(at))
            .map(|stage| stage.kind.word())
            .collect();
        assert_eq!(kinds, ["optimize", "tune", "optimize", "tune"]);
        assert_eq!((plan.env.as_str(), plan.stages[1].iterations), ("crafter", 5));
    }

    #[test]
    fn bad_plans_are_told_with_what_goes() {
        for (text, said) in [
            ("", "model"),
            ("model = \"x\"\nstage = []", "nothing to do"),
            ("model = \"x\"\n[[stage]]\nkind = \"dream\"", "dream"),
            (
                "model = \"x\"\n[[stage]]\nkind = \"tune\"\niterations = 0",
                "iterations",
            ),
            (
                "model = \"x\"\nseeds = \"b\"\n[[stage]]\nkind = \"tune\"",
                "`b` is no seed",
            ),
            (
                "model = \"x\"\n[[stage]]\nkind = \"optimize\"\nepisodes = 3",
                "`episodes`",
            ),
            (
                "model = \"x\"\nrepeat = 1000\n[[stage]]\nkind = \"tune\"",
                "more than 100",
            ),
            ("model = \"x\"\npolicy = \"maybe\"\n[[stage]]\nkind = \"tune\"", "maybe"),
            ("model = \"x\"\nfoo = 1\n[[stage]]\nkind = \"tune\"", "foo"),
        ] {
            let error = Plan::read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
