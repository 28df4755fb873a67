//! Both sides of a gate: the parent, played or found, then the revision for as long as it can win.

use std::path::PathBuf;

use super::key::{Key, reusable};
use super::play::{GateError, GateNews, Side, evaluate};
use super::stats::{can_still_win, report};
use crate::agent::{AgentError, RunPlan};
use crate::config::Workspace;
use crate::env;
use crate::jobs::Cancel;
use crate::review::{GateReport, Pair, Score};

/// A plan that reads an earlier evaluation where an equal one is there; and whether it does.
///
/// # Errors
/// When the world cannot be opened or the runs cannot be listed.
pub fn reusing(plan: RunPlan, workspace: &Workspace) -> Result<(RunPlan, bool), GateError> {
    let world = env::open(&plan.world).map_err(AgentError::from)?;
    let earlier = match plan.out.exists() {
        true => None,
        false => reusable(workspace, &Key::of_plan(&plan, world.spec()))?,
    };
    let reused = earlier.is_some();
    let out = earlier.unwrap_or_else(|| plan.out.clone());
    Ok((RunPlan { out, ..plan }, reused))
}

/// Plays what is missing of both plans, which have the same seeds, and compares. `reused` says that the parent's run is
/// an earlier evaluation.
///
/// # Errors
/// See [`evaluate`].
pub fn compare(
    parent: &RunPlan,
    reused: bool,
    revision: &RunPlan,
    cancel: &Cancel,
    news: &mut dyn FnMut(GateNews),
) -> Result<GateReport, GateError> {
    let before = evaluate(parent, Side::Parent, &|_| true, cancel, news)?;
    let pairs = |scores: &[Option<Score>]| -> Vec<Pair> {
        let sides = parent.seeds.iter().zip(&before.scores).zip(scores);
        sides
            .map(|((seed, parent), revision)| Pair {
                seed: *seed,
                parent: *parent,
                revision: *revision,
            })
            .collect()
    };
    let goes_on = |scores: &[Option<Score>]| can_still_win(&pairs(scores));
    let after = evaluate(revision, Side::Revision, &goes_on, cancel, news)?;
    let shown = |run: PathBuf| run.display().to_string();
    Ok(report(
        pairs(&after.scores),
        shown(before.run),
        shown(after.run),
        reused,
    ))
}
