//! What can be asked for.

use super::error::SessionError;
use super::state::Setup;
use crate::config::Workspace;
use crate::env;
use crate::llm::gguf::Header;
use crate::scaffold::{Scaffold, sound_name};
use crate::store::Reader;
use crate::tune::recipe;
use crate::tune::select::Selector;

impl Setup {
    /// Whether this can be asked for in a workspace.
    ///
    /// # Errors
    /// Why not, and what to give instead.
    pub fn check(&self, workspace: &Workspace) -> Result<(), SessionError> {
        let wrong = |what: String, hint: &str| Err(SessionError::setup(what, hint));
        if self.seeds.is_empty() {
            return wrong(
                "no gate seeds are given".to_owned(),
                "give --seeds 42..51: adapters are compared on them",
            );
        }
        if self.iterations == 0 || self.max_steps == 0 || self.workers == 0 {
            return wrong(
                "a tuning needs at least one iteration, one step and one worker".to_owned(),
                "give --iterations, --max-steps and --workers of 1 or more",
            );
        }
        if self.runs.is_empty() && self.episodes == 0 {
            return wrong(
                "there is nothing to take traces from".to_owned(),
                "give --episodes of 1 or more, or --runs FILE...",
            );
        }
        if !sound_name(&self.line) {
            return wrong(
                format!("`{}` is no name for a specialist", self.line),
                "letters, digits, - _ and . make one",
            );
        }
        if !(0.0..=0.5).contains(&self.held_out) {
            return wrong(
                format!("a share of {} cannot be kept back", self.held_out),
                "give --held-out between 0 and 0.5",
            );
        }
        self.check_runs()?;
        let scaffold = Scaffold::named(&self.scaffold, workspace)?;
        if !env::leads_to(&self.env, &scaffold.manifest().env) {
            return wrong(
                format!(
                    "the scaffold {} is for {}, not for {}",
                    self.scaffold,
                    scaffold.manifest().env,
                    self.env
                ),
                "choose a scaffold for this world (`automem scaffold list`)",
            );
        }
        let recipe = recipe::read(&self.recipe)?;
        if !env::leads_to(&self.env, &recipe.env) {
            return wrong(
                format!("the recipe is for {}, not for {}", recipe.env, self.env),
                "change `env` in the recipe, or give --env",
            );
        }
        if !Selector::knows(&recipe.data.selector) {
            return wrong(
                format!("nobody selects who is called `{}`", recipe.data.selector),
                "give rules, anthropic:MODEL, openai:MODEL@URL or recorded:FILE",
            );
        }
        Header::open(&self.base)?;
        Ok(())
    }

    /// Whether traces may be taken from the runs that were given.
    fn check_runs(&self) -> Result<(), SessionError> {
        for run in &self.runs {
            let reader = Reader::open(run)?;
            let (world, seeds) = (&reader.meta().world.name, &reader.meta().seeds);
            if !env::leads_to(&self.env, world) {
                return Err(SessionError::setup(
                    format!("{} was played in {world}, not in {}", run.display(), self.env),
                    "give runs of one world",
                ));
            }
            if let Some(seed) = seeds.iter().find(|seed| self.seeds.contains(seed)) {
                return Err(SessionError::setup(
                    format!(
                        "{} was played on seed {seed}, which is one of the gate's",
                        run.display()
                    ),
                    "what is trained on must not be what is measured: give other runs, or other --seeds",
                ));
            }
        }
        Ok(())
    }
}

/// The name of its claim.
pub(super) fn claim(name: &str) -> String {
    format!("tune-{name}")
}
