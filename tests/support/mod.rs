//! A deterministic stand-in for a model, and what tests of runs share.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use automem::agent::{RunPlan, RunReport};
use automem::config::Workspace;
use automem::jobs::Cancel;
use automem::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError};
use automem::scaffold::Scaffold;
use automem::store::Reader;
use automem::types::{Body, EpisodeNo, Event, ModelRef, Phase, Sampling, SpannedText, StopReason};

type Answer = dyn Fn(&ChatRequest) -> Result<String, LlmError> + Send + Sync;

/// A model that is a function of the request.
pub(crate) struct FnModel(Box<Answer>, String);

impl FnModel {
    pub(crate) fn of(answer: impl Fn(&ChatRequest) -> String + Send + Sync + 'static) -> Arc<dyn ChatModel> {
        Self::fallible(move |request| Ok(answer(request)))
    }

    pub(crate) fn fallible(
        answer: impl Fn(&ChatRequest) -> Result<String, LlmError> + Send + Sync + 'static,
    ) -> Arc<dyn ChatModel> {
        Self::named("function", answer)
    }

    pub(crate) fn named(
        name: &str,
        answer: impl Fn(&ChatRequest) -> Result<String, LlmError> + Send + Sync + 'static,
    ) -> Arc<dyn ChatModel> {
        Arc::new(Self(Box::new(answer), name.to_owned()))
    }
}

impl ChatModel for FnModel {
    fn describe(&self) -> ModelRef {
        ModelRef {
            name: self.1.clone(),
            backend: "test".into(),
            is_llm: false,
            details: Default::default(),
        }
    }

    fn context_length(&self) -> Option<u32> {
        None
    }

    fn chat(
        &self,
        request: &ChatRequest,
        cancel: &Cancel,
        sink: &mut dyn FnMut(ChatProgress),
    ) -> Result<ChatAnswer, LlmError> {
        if cancel.is_cancelled() {
            return Err(LlmError::Cancelled);
        }
        sink(ChatProgress::Waiting);
        let text = (self.0)(request)?;
        sink(ChatProgress::Text(text.clone()));
        let mut seen = SpannedText::default();
        for message in &request.messages {
            seen.message(message.role, &message.content);
            seen.push("\n");
        }
        let SpannedText { text: prompt, spans } = seen;
        Ok(ChatAnswer {
            prompt_tokens: (prompt.len() / 4) as u32,
            cached_tokens: 0,
            completion_tokens: (text.len() / 4) as u32,
            prompt,
            spans,
            text,
            prompt_ms: 0.0,
            ms: 0.0,
            stop: StopReason::End,
        })
    }
}

pub(crate) fn last(request: &ChatRequest) -> &str {
    &request.messages.last().unwrap().content
}

pub(crate) fn step_of(request: &ChatRequest) -> u32 {
    let first = &request.messages[1].content;
    let line = first.lines().find_map(|line| line.strip_prefix("STEP: ")).unwrap();
    line.parse().unwrap()
}

/// Uses every part of the loop; what it does depends on step, phase and the draw's seed only.
pub(crate) fn busy(request: &ChatRequest) -> String {
    const MOVES: [&str; 6] = ["Move West", "Move East", "move north", "Move South", "Do", "Noop"];
    let step = step_of(request);
    let continued = last(request).starts_with("RESULTS");
    let draw = request.sampling.seed;
    match request.slot.phase {
        Phase::Log if continued => "<|DONE|>".into(),
        Phase::Log if step.is_multiple_of(7) => {
            format!("<|WRITE|>strategy.txt|goal {draw}<|END|>\n<|READ|>actions_log.txt<|END|>")
        }
        Phase::Log if step.is_multiple_of(11) => {
            format!(
                "<|CREATE|>extra_{step}.txt|drawn {draw}<|END|><|DELETE|>extra_{}.txt<|END|><|DONE|>",
                step - 11
            )
        }
        Phase::Log => format!("<|APPEND|>actions_log.txt|step {step}: drew {draw}<|END|><|DONE|>"),
        Phase::Plan if step % 3 == 1 && !continued => "<|SEARCH|>actions_log.txt|step<|END|>".into(),
        Phase::Plan if step % 13 == 5 => "<|ACTION|>Fly away<|END|>".into(),
        Phase::Plan => format!("<|ACTION|>{}<|END|>", MOVES[(draw % 6) as usize]),
    }
}

pub(crate) fn scaffold() -> Scaffold {
    Scaffold::named("crafter-v0", &Workspace::at("/nonexistent")).unwrap()
}

pub(crate) fn plan(out: &Path, model: Arc<dyn ChatModel>) -> RunPlan {
    RunPlan {
        world: "crafter".into(),
        scaffold: scaffold(),
        model,
        specialist: None,
        seeds: vec![42],
        max_steps: 20,
        workers: 1,
        sampling: Sampling::default(),
        exact: false,
        out: out.to_owned(),
    }
}

/// Everything an episode recorded, without what no two runs share: times, and marks of interruptions.
pub(crate) fn essence(run: &Path, episode: u32) -> Vec<Event> {
    let reader = Reader::open(run).unwrap();
    let events = reader.episode_events(EpisodeNo(episode)).unwrap();
    events
        .map(|event| event.unwrap())
        .filter(|event| !matches!(event.body, Body::EpisodeResumed { .. } | Body::Controlled { .. }))
        .map(without_times)
        .collect()
}

/// The event without the milliseconds, which are rounded in the record and differ between runs.
pub(crate) fn without_times(mut event: Event) -> Event {
    match &mut event.body {
        Body::StepFinished { ms, .. } => *ms = 0.0,
        Body::TurnFinished { turn } => {
            turn.ms = 0.0;
            turn.prompt_ms = 0.0;
        }
        _ => {}
    }
    event
}

/// Plays a plan to its end, reading no events.
pub(crate) fn play(plan: RunPlan) -> RunReport {
    automem::agent::start(plan).unwrap().wait().unwrap()
}

/// A run file in a fresh folder that goes away with the guard.
pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.db");
    (folder, out)
}

/// Asserts that two runs recorded the same of an episode, and names the first event that differs.
pub(crate) fn assert_same(one: &Path, other: &Path, episode: u32) {
    let (a, b) = (essence(one, episode), essence(other, episode));
    let differs = a.iter().zip(&b).position(|(a, b)| a != b);
    let brief = |event: &Event| {
        let text = format!("{:?}", event.body);
        format!("step {}: {}", event.at.step, text.chars().take(300).collect::<String>())
    };
    if let Some(n) = differs {
        panic!("episode {episode}, event {n}:\n  {}\n  {}", brief(&a[n]), brief(&b[n]));
    }
    assert_eq!(a.len(), b.len(), "episode {episode}: one record is longer");
}

/// Whether two runs recorded the same of an episode.
pub(crate) fn is_same(one: &Path, other: &Path, episode: u32) -> bool {
    essence(one, episode) == essence(other, episode)
}
