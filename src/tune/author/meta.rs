//! Recipes by a meta-LLM: it is shown what came of the rounds so far and hands a recipe in.
//!
//! Owns the conversation. What a recipe must be is [`crate::tune::recipe`]'s.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Author, Suggestion, Task};
use crate::jobs::Cancel;
use crate::llm::{LlmError, Prices, ToolAnswer, ToolMessage, ToolModel, ToolRequest, ToolResult, ToolSpec, Usage};
use crate::protocol::sanitize::clean;
use crate::tune::TuneError;
use crate::tune::recipe::{DataSource, Recipe, read, write};
use crate::tune::session::Round;

/// Answers it may give for one recipe.
const ROUNDS: u32 = 12;
/// The tools.
const PROPOSE: &str = "propose";
const GIVE_UP: &str = "give_up";

const SYSTEM: &str = "\
You choose how a small memory specialist is trained. An agent plays a long game and keeps its memory as text files; a LoRA \
adapter is trained on single turns in which the agent wrote (LOG) or looked up (PLAN) its memory, and the adapter then \
answers those turns while the unchanged base model plays. A recipe says which turns are selected and how the adapter is \
trained. You see the recipes that were tried, their data, their losses, and how the game went with the adapter against \
what was there before, on the same seeds. Hand in one recipe that is worth trying next, with the tool `propose`: all of \
recipe.toml, and in a few sentences why. Change few things at a time, and only where what you see speaks for it. \
`data.source = { reuse = \"pN\" }` trains on a set that stands already, `\"regenerate\"` selects anew by the rules and the \
brief in the recipe. A person decides on what you hand in.";

/// See the module.
pub struct MetaAuthor {
    model: Arc<dyn ToolModel>,
    max_tokens: u32,
    prices: Prices,
}

impl MetaAuthor {
    /// An author over a model; an answer may have so many tokens.
    pub fn new(model: Arc<dyn ToolModel>, max_tokens: u32, prices: Prices) -> Self {
        Self {
            model,
            max_tokens,
            prices,
        }
    }

    fn ask(&self, request: &ToolRequest, cancel: &Cancel, says: &mut dyn FnMut(&str)) -> Result<ToolAnswer, TuneError> {
        let mut sink = |text: &str| says(&clean(text));
        match self.model.answer(request, cancel, &mut sink) {
            Ok(answer) => Ok(answer),
            Err(LlmError::Cancelled) => Err(TuneError::Cancelled),
            Err(error) => Err(TuneError::data(
                error.to_string(),
                "go on with `automem tune --resume` when it answers again",
            )),
        }
    }
}

impl Author for MetaAuthor {
    fn spec(&self) -> String {
        self.model.spec()
    }

    fn next(
        &mut self,
        task: &Task<'_>,
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<Option<Suggestion>, TuneError> {
        let mut request = ToolRequest {
            system: SYSTEM.to_owned(),
            messages: vec![ToolMessage::User { text: told(task) }],
            tools: tools(),
            max_tokens: self.max_tokens,
        };
        let mut usage = Usage::default();
        for _ in 0..ROUNDS {
            if usage.prompt + usage.completion >= task.token_budget {
                break;
            }
            let mut answer = self.ask(&request, cancel, says)?;
            answer.usage.dollars = self.prices.dollars(&answer.usage);
            usage += answer.usage;
            let mut results = Vec::new();
            for call in &answer.calls {
                let taken = match call.name.as_str() {
                    PROPOSE => taken(&call.arguments, task),
                    GIVE_UP => return Ok(None),
                    other => Err(format!(
                        "There is no tool `{other}`; there are `{PROPOSE}` and `{GIVE_UP}`."
                    )),
                };
                match taken {
                    Ok((recipe, why)) => {
                        return Ok(Some(Suggestion {
                            base: Some(base_of(task)?),
                            recipe,
                            why,
                            author: self.spec(),
                            usage,
                        }));
                    }
                    Err(text) => results.push(ToolResult {
                        id: call.id.clone(),
                        text,
                        failed: true,
                    }),
                }
            }
            request.messages.push(ToolMessage::Model {
                text: answer.text,
                calls: answer.calls,
                raw: answer.raw,
            });
            request.messages.push(match results.is_empty() {
                true => ToolMessage::User {
                    text: format!("Hand a recipe in with the tool `{PROPOSE}`, or call `{GIVE_UP}`."),
                },
                false => ToolMessage::Results { results },
            });
        }
        Err(TuneError::data(
            format!(
                "{} handed in no recipe that can be used, in {} tokens",
                self.spec(),
                usage.prompt + usage.completion
            ),
            "give a larger --meta-tokens, another --meta, or --meta rules",
        ))
    }
}

/// What was handed in, if it can be proposed.
fn taken(arguments: &Value, task: &Task<'_>) -> Result<(Recipe, String), String> {
    let text = |name: &str| arguments[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let Some(recipe) = text("recipe") else {
        return Err("The argument `recipe` is missing: all of recipe.toml, as a text.".to_owned());
    };
    let recipe = read(recipe).map_err(|error| format!("The recipe cannot be used: {error}"))?;
    if recipe.env != task.pristine.env {
        return Err(format!("`env` must stay `{}`.", task.pristine.env));
    }
    if let DataSource::Reuse(of) = &recipe.data.source {
        let mut sets = task.rounds.iter().filter_map(|round| round.data.as_ref());
        if !sets.any(|data| *data.selection.0 == **of) {
            return Err(format!(
                "There is no certified set of `{of}`; the sets that stand are listed above."
            ));
        }
    }
    let same = |round: &&Round| read(&round.text).is_ok_and(|old| old == recipe);
    if recipe == *task.pristine || task.rounds.iter().any(|round| same(&round)) {
        return Err("This recipe was tried already; change something.".to_owned());
    }
    let why = text("why").ok_or("The argument `why` is missing.")?;
    Ok((recipe, clean(why).into_owned()))
}

/// What a suggestion is compared with: the last recipe.
fn base_of(task: &Task<'_>) -> Result<Recipe, TuneError> {
    match task.rounds.iter().rev().find(|round| !round.text.is_empty()) {
        Some(round) => read(&round.text),
        None => Ok(task.pristine.clone()),
    }
}

fn tools() -> Vec<ToolSpec> {
    vec![
        ToolSpec {
            name: PROPOSE.to_owned(),
            description: "Hands in the next recipe. It is checked; what is wrong with it is told.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "recipe": { "type": "string", "description": "all of recipe.toml" },
                    "why": { "type": "string", "description": "what changes against the last one, and what speaks for it" },
                },
                "required": ["recipe", "why"],
            }),
        },
        ToolSpec {
            name: GIVE_UP.to_owned(),
            description: "Says that no recipe is worth trying any more. The tuning ends.".to_owned(),
            schema: json!({ "type": "object", "properties": {} }),
        },
    ]
}

/// What it is told of the rounds so far.
fn told(task: &Task<'_>) -> String {
    let mut text = format!(
        "The recipe that this tuning began with:\n```toml\n{}```\n",
        write(task.pristine)
    );
    for (at, round) in (1..).zip(task.rounds) {
        let _ = writeln!(text, "\n## Round {at}");
        if !round.text.is_empty() {
            let _ = writeln!(text, "recipe.toml as it was decided:\n```toml\n{}```", round.text);
        }
        match &round.data {
            Some(data) => {
                let _ = writeln!(
                    text,
                    "data: the certified set of {}, {} examples",
                    data.selection, data.examples
                );
            }
            None => text.push_str("data: none came together\n"),
        }
        for (adapter, verdict) in &round.adapters {
            let _ = write!(text, "adapter: training loss {:.4}", adapter.loss);
            if let Some(held_out) = adapter.held_out {
                let _ = write!(text, ", held-out loss {held_out:.4}");
            }
            if let Some(verdict) = verdict {
                let _ = write!(
                    text,
                    "; in the game {}: mean progression {:.2} % against {:.2} % before",
                    verdict.outcome.word(),
                    verdict.mean * 100.0,
                    verdict.parent_mean * 100.0
                );
            }
            text.push('\n');
        }
        if !round.why.is_empty() {
            let _ = writeln!(text, "it ended early: {}", round.why);
        }
    }
    text
}
