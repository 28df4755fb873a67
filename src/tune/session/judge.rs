//! The gate of an adapter: base and specialist against what was best before, on the same seeds.

use super::driver::{HAND, Session};
use super::error::SessionError;
use super::news::News;
use super::state::{Event, Verdict};
use crate::agent;
use crate::gate;
use crate::gate::ledger::{Head, Kind, Ledger, Row};
use crate::review::{GateReport, What};
use crate::types::Digest;

impl Session {
    /// Plays the last adapter and what is to be beaten, and writes down how that went.
    pub(super) fn judge(&mut self, config: usize, news: &mut dyn FnMut(News)) -> Result<(), SessionError> {
        let Some((adapter, _)) = self.state.round.adapters.get(config).cloned() else {
            return self.end("it has no adapter to judge".to_owned(), news);
        };
        let setup = &self.state.setup;
        let before = match &self.state.best {
            Some(best) => Some(best.file.display().to_string()),
            None => setup.specialist.clone(),
        };
        let (env, models) = (&setup.env, &self.backends.models);
        let (model, parent) = agent::open_models(&setup.model, before.as_deref(), env, models)?;
        let spec = adapter.file.display().to_string();
        let specialist = agent::open_specialist(&model, &spec, env, models)?;
        let what = before.as_deref().map_or("base", |_| "before");
        let parent = self.plan(
            model.clone(),
            parent,
            self.runs(&format!("i{}-{what}", self.state.iteration)),
        )?;
        let (parent, reused) = gate::reusing(parent, &self.workspace)?;
        let out = self.runs(&format!(
            "i{}-c{}-{}",
            self.state.iteration,
            config + 1,
            adapter.digest.short()
        ));
        let plan = self.plan(model, Some(specialist), out)?;
        let report = gate::compare(&parent, reused, &plan, &self.cancel, &mut |gate| {
            news(News::Gate { gate });
        })?;
        news(News::Judged {
            adapter: spec.clone(),
            report: Box::new(report.clone()),
        });
        self.record(&adapter.digest, &spec, before.as_deref(), &report)?;
        self.note(Event::Judged {
            verdict: Verdict {
                parent_mean: report.parent_mean,
                mean: report.revision_mean,
                outcome: report.outcome,
                run: report.revision_run,
            },
        })
    }

    /// The gate's row and the recipe's entry are written before anything follows from them.
    fn record(
        &mut self,
        digest: &Digest,
        adapter: &str,
        before: Option<&str>,
        report: &GateReport,
    ) -> Result<(), SessionError> {
        let Some(recipe) = self.state.round.recipe.clone() else {
            return Ok(());
        };
        let origin = self.origin();
        let parent = before.unwrap_or(&self.state.setup.model);
        let parent_digest = match &self.state.best {
            Some(best) => best.digest,
            None => Digest::of(parent),
        };
        let head = Head {
            origin: &origin,
            kind: Kind::Specialist,
            proposal: &recipe,
            parent: (short(parent), parent_digest),
            revision: (short(adapter), *digest),
            cost: (0, None),
        };
        Ledger::of(&self.workspace).add(&Row::of(&head, report))?;
        let standing = self.desk.dossier(&recipe)?.standing;
        if standing.gate.as_deref() != Some(report) {
            let report = Box::new(report.clone());
            self.desk.append(&recipe, standing.seq, HAND, What::Gated { report })?;
        }
        Ok(())
    }
}

/// A file's name without folder and ending; other names as they are.
fn short(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.strip_suffix(".gguf").unwrap_or(name)
}
