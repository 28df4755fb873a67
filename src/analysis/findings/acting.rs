//! Rules on what the agent does with its steps.

use super::{Case, Place, Problem, Severity, Steps, counted, percent};
use crate::analysis::metrics::{Spell, Waste};
use crate::types::EpisodeNo;

/// An action that failed, was written down as failed, and was tried again in the same situation.
pub(super) fn repeated_failure(case: &Case<'_>) -> Vec<Problem> {
    let mut steps = Steps::default();
    let mut files: Vec<String> = Vec::new();
    let mut worst: Option<(u64, String)> = None;
    for (episode, evidence) in case.evidence() {
        let mut again: Vec<_> = evidence
            .failures
            .iter()
            .filter(|(_, failed)| failed.again.count > 0)
            .collect();
        again.sort_by_key(|(_, failed)| (std::cmp::Reverse(failed.again.count), failed.first));
        for ((_, action), failed) in again {
            steps.count += failed.again.count;
            let Some((recorded, file)) = &failed.recorded else {
                continue;
            };
            steps.show(episode, failed.first);
            failed
                .again
                .steps
                .iter()
                .take(3)
                .for_each(|step| steps.show(episode, *step));
            if !files.contains(file) {
                files.push(file.clone());
            }
            if worst.as_ref().is_none_or(|(count, _)| *count < failed.again.count) {
                let told = format!(
                    "`{action}` changed nothing in step {} of episode {episode}, which LOG wrote into {file} in step \
                     {recorded}; it was tried {} more in the same situation.",
                    failed.first,
                    counted(failed.again.count, "time", "times")
                );
                worst = Some((failed.again.count, told));
            }
        }
    }
    let Some((_, detail)) = worst.filter(|_| steps.count >= 3) else {
        return Vec::new();
    };
    vec![Problem {
        of: String::new(),
        severity: Severity::High,
        title: format!(
            "Actions are repeated after their failure was written down, {}",
            counted(steps.count, "time", "times")
        ),
        detail,
        steps: steps.places,
        files,
        advice: "Have PLAN search for the action it means to take before it commits it, or let the scaffold's gate send \
                 back an action that has just failed in the same place.",
    }]
}

/// Spells of one kind, the longest first.
fn spells<'a>(case: &'a Case<'_>, waste: Waste) -> Vec<(EpisodeNo, &'a Spell)> {
    let mut spells: Vec<_> = case
        .evidence()
        .flat_map(|(episode, evidence)| evidence.all_spells().map(move |spell| (episode, spell)))
        .filter(|(_, spell)| spell.waste == waste)
        .collect();
    spells.sort_by_key(|(episode, spell)| (std::cmp::Reverse(spell.steps()), *episode, spell.from));
    spells
}

fn of_spells(case: &Case<'_>, waste: Waste, title: &str, advice: &'static str) -> Vec<Problem> {
    let spells = spells(case, waste);
    let steps: u64 = spells.iter().map(|(_, spell)| u64::from(spell.steps())).sum();
    let Some(&(episode, longest)) = spells.first() else {
        return Vec::new();
    };
    let share = steps as f64 / case.metrics.steps.max(1) as f64;
    vec![Problem {
        of: String::new(),
        severity: match () {
            () if share >= 0.2 || longest.steps() >= 50 => Severity::High,
            () if share >= 0.05 || longest.steps() >= 10 => Severity::Medium,
            () => Severity::Low,
        },
        title: format!("{title} in {} of {} steps", steps, case.metrics.steps),
        detail: format!(
            "{}; the longest goes from step {} to step {} of episode {episode} ({}), beginning with `{}`. Memory was \
             written in {} of its steps, and its own notes were shown to PLAN in {}.",
            counted(spells.len() as u64, "spell", "spells"),
            longest.from,
            longest.to,
            percent(f64::from(longest.steps()) / case.metrics.steps.max(1) as f64),
            longest.action,
            longest.writes,
            longest.informed
        ),
        steps: spells
            .iter()
            .take(super::MOST_STEPS)
            .map(|(episode, spell)| Place {
                episode: *episode,
                step: spell.from,
            })
            .collect(),
        files: Vec::new(),
        advice,
    }]
}

/// Spells in which the observation stays as it is.
pub(super) fn stuck(case: &Case<'_>) -> Vec<Problem> {
    of_spells(
        case,
        Waste::Stuck,
        "Nothing changes",
        "Tell PLAN how long the observation has been the same (the variable `unchanged`), have LOG write that the action \
         failed here, and have PLAN choose another one.",
    )
}

/// Spells of going back and forth.
pub(super) fn oscillation(case: &Case<'_>) -> Vec<Problem> {
    of_spells(
        case,
        Waste::Oscillating,
        "The agent goes back and forth",
        "Keep the goal in a file that PLAN is always shown, have it written when it changes and why, and say so when \
         the last moves undo each other.",
    )
}

/// Steps without a valid action.
pub(super) fn invalid_actions(case: &Case<'_>) -> Vec<Problem> {
    let Some(rate) = case.metrics.invalid_action_rate.filter(|rate| *rate >= 0.05) else {
        return Vec::new();
    };
    let steps = Steps::of(case.evidence().map(|(episode, evidence)| (episode, &evidence.invalid)));
    vec![Problem {
        of: String::new(),
        severity: if rate >= 0.2 { Severity::High } else { Severity::Medium },
        title: format!("{} of the steps have no valid action", percent(rate)),
        detail: format!("The fallback was played in {}.", counted(steps.count, "step", "steps")),
        steps: steps.places,
        files: Vec::new(),
        advice: "List the valid actions last in the PLAN prompt, or turn on the grammar where the model is local.",
    }]
}

/// Prompts that do not fit.
pub(super) fn context_overflow(case: &Case<'_>) -> Vec<Problem> {
    let steps = Steps::of(
        case.evidence()
            .map(|(episode, evidence)| (episode, &evidence.overflows)),
    );
    if steps.count == 0 {
        return Vec::new();
    }
    vec![Problem {
        of: String::new(),
        severity: Severity::High,
        title: format!("{} did not fit the context", counted(steps.count, "prompt", "prompts")),
        detail: "The fallback was played in those steps.".to_owned(),
        steps: steps.places,
        files: Vec::new(),
        advice: "Bound what is read: fewer lines a TAIL, SEARCH instead of READ, a smaller budget of a tool result, \
                 files that are pruned.",
    }]
}
