//! The rehearsal of a scaffold: twenty steps with an actor that tries everything once.
//!
//! The [`Actor`] is no language model and no player: it uses every operation of the vocabulary with
//! arguments that fit, commits valid and invalid actions in turn, and so leads a scaffold's prompts,
//! rules and script through what a run will ask of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::AgentError;
use super::run::{self, RunPlan};
use crate::env;
use crate::jobs::Cancel;
use crate::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use crate::protocol::{DONE, print_action, print_op};
use crate::scaffold::hooks::{HOOKS, place_in_script};
use crate::scaffold::{Entry, ProblemAt, Scaffold};
use crate::store::Reader;
use crate::types::{Body, EndReason, ModelRef, Phase, Sampling, SpannedText, StopReason};

/// Steps of a rehearsal.
pub const REHEARSAL_STEPS: u32 = 20;

/// Plays the scaffold in its world; what it gives is what went wrong, each thing once. A world that is none of this
/// program's cannot be opened by its name: for one, nothing is played ([`rehearse_in`] does).
///
/// # Errors
/// When the rehearsal could not be held: no world of that name, no room for its record.
pub fn rehearse(scaffold: &Scaffold) -> Result<Vec<ProblemAt>, AgentError> {
    let name = &scaffold.manifest().env;
    if !env::WORLDS.contains(&name.as_str()) {
        return Ok(Vec::new());
    }
    rehearse_in(scaffold, name)
}

/// As [`rehearse`], in the world of an [`Address`](crate::env::Address).
///
/// # Errors
/// As [`rehearse`].
pub fn rehearse_in(scaffold: &Scaffold, address: &str) -> Result<Vec<ProblemAt>, AgentError> {
    let folder = tempfile::tempdir().map_err(|source| AgentError::Folder {
        path: std::env::temp_dir(),
        source,
    })?;
    let out = folder.path().join("rehearsal.db");
    let plan = RunPlan {
        world: address.to_owned(),
        scaffold: scaffold.clone(),
        model: Arc::new(Actor::new(scaffold, address)),
        specialist: None,
        seeds: vec![1],
        max_steps: REHEARSAL_STEPS,
        workers: 1,
        sampling: Sampling::default(),
        exact: false,
        out: out.clone(),
    };
    let report = run::start(plan)?.wait()?;
    let reader = Reader::open(&out)?;
    let mut found = BTreeSet::new();
    for episode in &report.episodes {
        for event in reader.episode_events(episode.episode)? {
            found.extend(trouble(event?.body));
        }
    }
    let migrating = scaffold.rehearse_migration();
    Ok(found
        .into_iter()
        .map(|trouble| ProblemAt {
            file: trouble.file.to_owned(),
            line: trouble.line,
            column: trouble.column,
            message: trouble.message,
            hint: "seen in a rehearsal of 20 steps".to_owned(),
        })
        .chain(migrating)
        .collect())
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Trouble {
    file: &'static str,
    line: u32,
    column: u32,
    message: String,
}

fn trouble(body: Body) -> Option<Trouble> {
    let whole = |file, message| Trouble {
        file,
        line: 0,
        column: 0,
        message,
    };
    Some(match body {
        Body::HookFailed { hook, message } => {
            let (line, column, message) = place_in_script(&message);
            Trouble {
                file: HOOKS,
                line,
                column,
                message: format!("the event `{hook}` failed: {message}"),
            }
        }
        Body::WorldFailed { message } => whole("scaffold.toml", message),
        Body::ContextOverflow { needed, available, .. } => whole(
            "prompts",
            format!("a prompt needs {needed} tokens, the scaffold's own budget allows {available}"),
        ),
        Body::EpisodeFinished { end: EndReason::Failed } => {
            whole("prompts", "the episode could not be played on".to_owned())
        }
        Body::Annotated { text } if text.contains("a prompt could not be made") => whole("prompts", text),
        _ => return None,
    })
}

/// Tries everything once; see the module.
struct Actor {
    log: Vec<String>,
    plan: Vec<String>,
    actions: Vec<String>,
    calls: AtomicUsize,
}

impl Actor {
    fn new(scaffold: &Scaffold, address: &str) -> Self {
        let manifest = scaffold.manifest();
        let file = manifest.files.keys().next().map_or("notes.txt", String::as_str);
        let written = |allowed: &[&'static str]| -> Vec<String> {
            scaffold
                .vocabulary()
                .iter()
                .filter(|op| allowed.contains(&op.syntax.name))
                .filter_map(|op| Some(print_op(op.syntax.name, &arguments(op, file)?)))
                .collect()
        };
        Self {
            log: written(&manifest.log_ops),
            plan: written(&manifest.plan_ops),
            actions: env::open(address)
                .map(|world| world.spec().actions.iter().map(|action| action.0.clone()).collect())
                .unwrap_or_default(),
            calls: AtomicUsize::new(0),
        }
    }

    fn answer(&self, phase: Phase) -> String {
        let n = self.calls.fetch_add(1, Ordering::Relaxed);
        let of = |list: &[String]| list.get(n % list.len().max(1)).cloned().unwrap_or_default();
        match (phase, n % 3) {
            (Phase::Log, _) => format!("{}{DONE}", of(&self.log)),
            (Phase::Plan, 0) => of(&self.plan),
            (Phase::Plan, 1) if n % 5 == 1 => print_action("An action that no game has"),
            (Phase::Plan, _) => print_action(&of(&self.actions)),
        }
    }
}

/// Arguments that fit an operation; `None` when none of the usual ones does.
fn arguments(op: &Entry, file: &str) -> Option<Vec<String>> {
    const TRIED: &[&str] = &[
        "a note",
        "1",
        "1,2",
        "3,-4",
        "1 2",
        "1:2",
        "tree",
        "x",
        "north",
        "key",
        "notes.txt",
        "key=value",
        "a: b",
        "1.5",
    ];
    let args: Vec<String> = op
        .syntax
        .args
        .iter()
        .enumerate()
        .map(|(at, name)| match name.trim_end_matches('?') {
            "file" => Some(file.to_owned()),
            "new_file" => Some("rehearsal.txt".to_owned()),
            "n" => Some("3".to_owned()),
            _ => {
                let pattern = op.custom.as_ref().and_then(|custom| custom.patterns.get(at));
                let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else {
                    return Some("a note".to_owned());
                };
                let regex = regex::Regex::new(&format!(r"\A(?:{pattern})\z")).ok()?;
                TRIED
                    .iter()
                    .find(|text| regex.is_match(text))
                    .map(|text| (*text).to_owned())
            }
        })
        .collect::<Option<_>>()?;
    Some(args)
}

impl ChatModel for Actor {
    fn describe(&self) -> ModelRef {
        ModelRef {
            name: "rehearsal".into(),
            backend: "rehearsal".into(),
            is_llm: false,
            details: std::collections::BTreeMap::new(),
        }
    }

    fn context_length(&self) -> Option<u32> {
        None
    }

    /// So that the rehearsal makes them too, as a run with a real model would.
    fn takes_grammars(&self) -> bool {
        true
    }

    fn chat(&self, request: &ChatRequest, _: &Cancel, _: &mut dyn FnMut(ChatProgress)) -> Result<ChatAnswer, LlmError> {
        let mut prompt = SpannedText::default();
        for message in &request.messages {
            prompt.message(message.role, &message.content);
        }
        Ok(ChatAnswer {
            prompt: prompt.text,
            spans: prompt.spans,
            text: self.answer(request.slot.phase),
            prompt_tokens: 0,
            cached_tokens: 0,
            completion_tokens: 0,
            prompt_ms: 0.0,
            ms: 0.0,
            stop: StopReason::End,
        })
    }
}

#[cfg(test)]
mod place_tests {
    use crate::scaffold::hooks::place_in_script;

    #[test]
    fn the_place_of_an_error_is_told_apart_from_its_message() {
        assert_eq!(
            place_in_script("hooks.star:3:37: Floor division by zero: 1 // 0"),
            (3, 37, "Floor division by zero: 1 // 0")
        );
        for other in ["it took too long", "hooks.star: gone", "hooks.star:x:1: y"] {
            assert_eq!(place_in_script(other), (0, 0, other));
        }
    }
}
