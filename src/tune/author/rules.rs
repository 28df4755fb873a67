//! Recipes by rules: what the last round shows decides what is changed next.

use super::{Author, Suggestion, Task};
use crate::jobs::Cancel;
use crate::llm::Usage;
use crate::tune::TuneError;
use crate::tune::recipe::{DataSource, Recipe, read, write};
use crate::tune::session::Round;

/// Least share of the episodes that is still selected from, in percent.
const LEAST_EPISODES: f64 = 10.0;
/// Most epochs that are tried.
const MOST_EPOCHS: u32 = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct RulesAuthor;

/// A change, and what suggests it.
type Change = (Recipe, String);

impl Author for RulesAuthor {
    fn spec(&self) -> String {
        "rules".to_owned()
    }

    fn next(&mut self, task: &Task<'_>, _: &Cancel, _: &mut dyn FnMut(&str)) -> Result<Option<Suggestion>, TuneError> {
        let mut tried = vec![task.pristine.clone()];
        for round in task.rounds.iter().filter(|round| !round.text.is_empty()) {
            tried.push(read(&round.text)?);
        }
        let Some(last) = task.rounds.last() else {
            return Ok(None);
        };
        let current = tried.last().unwrap_or(task.pristine).clone();
        let is_new = |(recipe, _): &Change| !tried.iter().any(|old| write(old) == write(recipe));
        let change = changes(task.pristine, &current, last).into_iter().find(is_new);
        Ok(change.map(|(recipe, why)| Suggestion {
            base: Some(current),
            recipe,
            why,
            author: self.spec(),
            usage: Usage::default(),
        }))
    }
}

/// What could be changed after a round, the best idea first.
fn changes(pristine: &Recipe, current: &Recipe, last: &Round) -> Vec<Change> {
    if last.data.is_none() {
        return vec![wider(pristine, &last.why)];
    }
    let mut all = Vec::new();
    if last.is_better() {
        all.extend(longer(current, last));
    } else {
        all.extend(held_out_says(current, last));
        all.push(stricter(pristine, current));
    }
    all.push(gentler(current, last));
    all
}

/// More candidates: the set did not come together.
fn wider(pristine: &Recipe, why: &str) -> Change {
    let mut recipe = pristine.clone();
    let rules = &mut recipe.data.rules;
    recipe.data.source = DataSource::Regenerate;
    rules.top_episodes_percent = 100.0;
    rules.min_later_reads = 0;
    rules.min_advantage = None;
    rules.max_redundant += 1;
    rules.max_empty += 1;
    rules.similarity = (rules.similarity + 1.0) / 2.0;
    (
        recipe,
        format!("The last round had no training set ({why}): the rules are widened."),
    )
}

/// The better half of the episodes, and only what was read again.
fn stricter(pristine: &Recipe, current: &Recipe) -> Change {
    let mut recipe = pristine.clone();
    recipe.data = current.data.clone();
    recipe.data.source = DataSource::Regenerate;
    let rules = &mut recipe.data.rules;
    rules.top_episodes_percent = (rules.top_episodes_percent / 2.0).max(LEAST_EPISODES);
    rules.min_later_reads = rules.min_later_reads.max(1);
    (
        recipe,
        format!(
            "The specialist was not better: the data is selected anew, from the best {:.0} % of the episodes and only \
             where what was written was read again; the training is the pristine one.",
            rules_percent(current)
        ),
    )
}

fn rules_percent(current: &Recipe) -> f64 {
    (current.data.rules.top_episodes_percent / 2.0).max(LEAST_EPISODES)
}

/// The same data for longer: it helped.
fn longer(current: &Recipe, last: &Round) -> Option<Change> {
    let mut recipe = reusing(current, last)?;
    let config = recipe.train.first_mut()?;
    config.epochs = (config.epochs + 1).min(MOST_EPOCHS);
    recipe.train.truncate(1);
    Some((
        recipe,
        "The specialist was better: the same set is trained on for one more epoch.".to_owned(),
    ))
}

/// The held-out loss is above the training loss by far: shorter.
fn held_out_says(current: &Recipe, last: &Round) -> Option<Change> {
    let (adapter, _) = last.adapters.last()?;
    let held_out = adapter.held_out?;
    if held_out < adapter.loss * 1.5 {
        return None;
    }
    let mut recipe = reusing(current, last)?;
    let config = recipe.train.first_mut()?;
    config.epochs = (config.epochs / 2).max(1);
    recipe.train.truncate(1);
    Some((
        recipe,
        format!(
            "The held-out loss ({held_out:.3}) is well above the training loss ({:.3}): the same set is trained on for \
             half as long.",
            adapter.loss
        ),
    ))
}

/// Half the learning rate on the same data.
fn gentler(current: &Recipe, last: &Round) -> Change {
    let mut recipe = reusing(current, last).unwrap_or_else(|| current.clone());
    for config in &mut recipe.train {
        config.learning_rate /= 2.0;
    }
    (recipe, "The same set with half the learning rate.".to_owned())
}

fn reusing(current: &Recipe, last: &Round) -> Option<Recipe> {
    let data = last.data.as_ref()?;
    let mut recipe = current.clone();
    recipe.data.source = DataSource::Reuse(data.selection.to_string());
    Some(recipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::Outcome;
    use crate::tune::recipe::prior;
    use crate::tune::session::{Adapter, Data, Verdict};
    use crate::types::Digest;

    fn round(recipe: &Recipe, outcome: Option<Outcome>, loss: f64, held_out: f64) -> Round {
        let adapter = Adapter {
            file: "a.gguf".into(),
            digest: Digest::of("a"),
            loss,
            held_out: Some(held_out),
        };
        let verdict = outcome.map(|outcome| Verdict {
            parent_mean: 0.1,
            mean: 0.2,
            outcome,
            run: "r.db".into(),
        });
        Round {
            recipe: Some("p1".into()),
            text: write(recipe),
            data: outcome.map(|_| Data {
                selection: "p2".into(),
                file: "d.json".into(),
                digest: Digest::of("d"),
                examples: 300,
            }),
            adapters: match outcome {
                Some(_) => vec![(adapter, verdict)],
                None => Vec::new(),
            },
            why: match outcome {
                Some(_) => String::new(),
                None => "the set is too small".to_owned(),
            },
        }
    }

    fn next(pristine: &Recipe, rounds: &[Round]) -> Option<Suggestion> {
        let task = Task {
            name: "t",
            pristine,
            rounds,
            runs: &[],
            token_budget: 0,
        };
        RulesAuthor.next(&task, &Cancel::new(), &mut |_| {}).unwrap()
    }

    #[test]
    fn what_the_round_shows_decides() {
        let pristine = prior("crafter", 135_000_000);
        let better = next(&pristine, &[round(&pristine, Some(Outcome::Better), 0.5, 0.6)]).unwrap();
        assert_eq!(better.recipe.data.source, DataSource::Reuse("p2".into()));
        assert_eq!(better.recipe.train[0].epochs, pristine.train[0].epochs + 1);
        let worse = next(&pristine, &[round(&pristine, Some(Outcome::NotBetter), 0.5, 0.6)]).unwrap();
        assert_eq!(worse.recipe.data.source, DataSource::Regenerate);
        assert_eq!(
            (
                worse.recipe.data.rules.top_episodes_percent,
                worse.recipe.data.rules.min_later_reads
            ),
            (50.0, 1)
        );
        assert!(worse.why.contains("best 50 %"), "{}", worse.why);
        let overfit = next(&pristine, &[round(&pristine, Some(Outcome::NotBetter), 0.1, 0.9)]).unwrap();
        assert!(
            overfit.recipe.train[0].epochs < pristine.train[0].epochs,
            "{}",
            overfit.why
        );
        let small = next(&pristine, &[round(&pristine, None, 0.0, 0.0)]).unwrap();
        assert!(small.recipe.data.rules.max_redundant > pristine.data.rules.max_redundant);
        assert!(small.why.contains("the set is too small"), "{}", small.why);
    }

    #[test]
    fn nothing_is_tried_twice_and_it_comes_to_an_end() {
        let pristine = prior("crafter", 135_000_000);
        let mut rounds = vec![round(&pristine, None, 0.0, 0.0)];
        let mut seen = vec![write(&pristine)];
        while let Some(suggestion) = next(&pristine, &rounds) {
            let text = write(&suggestion.recipe);
            assert!(!seen.contains(&text), "{text}");
            seen.push(text);
            rounds.push(round(&suggestion.recipe, None, 0.0, 0.0));
            assert!(rounds.len() < 20, "it never ends");
        }
        assert_eq!(rounds.len(), 2);
    }
}
