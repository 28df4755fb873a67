//! Events for tests: made by hand and at random.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::types::*;

pub(super) fn at(episode: u32, step: u32) -> At {
    At {
        episode: EpisodeNo(episode),
        step: StepNo(step),
        agent: "agent".into(),
        memory_root: format!("ep_{episode:02}").into(),
    }
}

pub(super) fn event(episode: u32, step: u32, body: Body) -> Event {
    Event {
        at: at(episode, step),
        body,
    }
}

pub(super) fn meta() -> RunMeta {
    RunMeta {
        id: RunId("0192a000-0000-7000-8000-000000000000".into()),
        created: "2026-11-29T20:00:00Z".into(),
        automem: "0.1.0".into(),
        world: WorldSpec {
            name: "crafter".into(),
            engine: "automem-native".into(),
            engine_version: "1.8.3".into(),
            task: "default".into(),
            actions: vec!["Noop".into(), "Move West".into()],
            instruction_prompt: "Play.".into(),
            fallback: "Noop".into(),
            step_limit: 10_000,
            command: None,
        },
        seeds: vec![42, u64::MAX],
        max_steps: 300,
        scaffold: ScaffoldRef {
            name: "crafter-v0".into(),
            version: "0".into(),
            parent: None,
            digest: Digest::of("scaffold"),
            files: BTreeMap::from([("scaffold.toml".into(), "name = \"crafter-v0\"\n".into())]),
        },
        model: ModelRef {
            name: "scripted".into(),
            backend: "scripted".into(),
            is_llm: false,
            details: BTreeMap::from([("threads".into(), "1".into())]),
        },
        specialist: None,
        sampling: Sampling::default(),
        workers: 2,
        exact: false,
        origin: Some(Origin {
            run: RunId("parent".into()),
            episode: EpisodeNo(1),
            step: StepNo(12),
            digest: Digest::of("frame"),
        }),
    }
}

pub(super) fn frame(seen: &str) -> Frame {
    Frame {
        long: format!("You see:\n- {seen}"),
        short: "Your status:\n- health: 9/9".into(),
        view: View::Tiles(TileView {
            set: "crafter".into(),
            width: 3,
            height: 2,
            cells: vec![0, 1, 2, 3, 18, 78],
            window: Rect {
                x: -4,
                y: -3,
                w: 9,
                h: 7,
            },
            player: (1, 1),
            facing: (0, 1),
            light: 0.1,
            asleep: false,
        }),
        reward: 1.0 / 22.0,
        terminated: false,
        truncated: false,
        progression: 1.0 / 22.0,
        info: serde_json::json!({"achievements": {"collect_wood": 1}, "x": 0.1}),
        digest: Digest::of(seen),
    }
}

pub(super) fn turn(phase: Phase, prompt: &str, response: &str) -> Turn {
    Turn {
        phase,
        turn: TurnNo(0),
        role: Role::Agent,
        model: "scripted".into(),
        prompt: prompt.into(),
        spans: Vec::new(),
        response: response.into(),
        tool_results: "1 hit".into(),
        prompt_tokens: 100,
        cached_tokens: 60,
        completion_tokens: 7,
        prompt_ms: 0.1,
        ms: 12.34,
        sampling: Sampling::default(),
        grammar: true,
        stop: StopReason::End,
    }
}

pub(super) fn op(step: u32, changes: Vec<MemoryChange>) -> MemoryOp {
    MemoryOp {
        phase: Phase::Log,
        turn: TurnNo(0),
        op: if changes.is_empty() { "READ" } else { "APPEND" }.into(),
        args: vec!["a.txt".into(), format!("line {step} | with a bar")],
        by: Author::Model,
        outcome: OpOutcome {
            status: OpStatus::Ok,
            text: "done".into(),
            cut: 0,
        },
        changes,
    }
}

pub(super) fn finished(reward: f64) -> Body {
    Body::StepFinished {
        reward,
        terminated: false,
        truncated: false,
        progression: reward / 22.0,
        state_patch: None,
        ms: 1.5,
    }
}

pub(super) fn acted(action: &str) -> Body {
    Body::ActionCommitted {
        raw: action.to_lowercase(),
        validated: action.into(),
        repaired: true,
        by: ActionBy::Model,
    }
}

/// A plain step: look, log a line, act. `files` is the memory, kept up to date.
pub(super) fn step(episode: u32, number: u32, files: &mut MemoryFiles) -> Vec<Event> {
    let prompt = format!("system rules that are always the same, a long line\nstep {number}: what now?\n");
    let mut bodies = vec![Body::Observed {
        frame: Arc::new(frame(&format!("tree {number} steps away"))),
    }];
    if number > 0 {
        let before = files.get("log.txt").cloned();
        let after = format!("{}step {number}: moved\n", before.as_deref().unwrap_or(""));
        let change = MemoryChange::between("log.txt", before.as_deref(), Some(&after)).unwrap();
        change.apply(files).unwrap();
        bodies.push(Body::TurnFinished {
            turn: Box::new(turn(Phase::Log, &prompt, "<|APPEND|>log.txt|...<|END|>")),
        });
        bodies.push(Body::MemoryOp {
            op: Box::new(op(number, vec![change])),
        });
    }
    bodies.push(Body::TurnFinished {
        turn: Box::new(turn(Phase::Plan, &prompt, "<|ACTION|>Move West<|END|>")),
    });
    bodies.push(acted("Move West"));
    bodies.push(finished(if number.is_multiple_of(10) { 1.0 } else { 0.0 }));
    bodies.into_iter().map(|body| event(episode, number, body)).collect()
}

/// Any event that is stored with a step, without memory changes.
pub(super) fn any_body() -> impl Strategy<Value = Body> {
    let text = || "[a-z \"\\\\\n\u{1}é漢🦀]{0,20}";
    let number = || {
        prop_oneof![
            Just(0.0),
            -10.0..10.0f64,
            Just(f64::MIN_POSITIVE),
            Just(1e300),
            Just(1.0 / 22.0)
        ]
    };
    // Durations are kept to four digits.
    let duration = || (0u32..10_000, -2i32..4).prop_map(|(digits, tens)| f64::from(digits) * 10f64.powi(tens));
    let duration = move || duration().prop_map(|ms| format!("{ms:.3e}").parse::<f64>().unwrap());
    let phase = || prop_oneof![Just(Phase::Log), Just(Phase::Plan)];
    prop_oneof![
        (any::<u64>(), text(), text()).prop_map(|(seed, path, file)| Body::EpisodeStarted {
            seed,
            inherited: MemoryFiles::from([(path, file.into())]),
        }),
        (text(), number()).prop_map(|(seen, number)| {
            let mut frame = frame(&seen);
            frame.reward = number;
            frame.info = serde_json::json!({ "n": number });
            Body::Observed { frame: Arc::new(frame) }
        }),
        (phase(), text(), text(), any::<u32>(), duration()).prop_map(|(phase, prompt, response, tokens, ms)| {
            let mut turn = turn(phase, &prompt.repeat(10), &response);
            turn.prompt_tokens = tokens;
            turn.ms = ms;
            Body::TurnFinished { turn: Box::new(turn) }
        }),
        any::<u32>().prop_map(|step| Body::MemoryOp {
            op: Box::new(op(step, Vec::new()))
        }),
        text().prop_map(|text| acted(&text)),
        (text(), text()).prop_map(|(raw, reason)| Body::ActionRejected { raw, reason }),
        number().prop_map(finished),
        (number(), duration(), text()).prop_map(|(reward, ms, text)| Body::StepFinished {
            reward,
            terminated: true,
            truncated: true,
            progression: 0.5,
            state_patch: Some(serde_json::json!({ "text": text, "gone": null })),
            ms,
        }),
        Just(Body::StepFinished {
            reward: 0.0,
            terminated: true,
            truncated: false,
            progression: 0.0,
            state_patch: Some(serde_json::Value::Null),
            ms: 0.0,
        }),
        (phase(), any::<u64>()).prop_map(|(phase, limit)| Body::BudgetExceeded {
            phase,
            turn: TurnNo(1),
            budget: BudgetKind::ResultBytes,
            limit,
            asked: limit / 2,
        }),
        text().prop_map(|text| Body::Annotated { text }),
        text().prop_map(|action| Body::HumanActed { action }),
        text().prop_map(|text| Body::HumanSaid { text }),
        Just(Body::EpisodeFinished {
            end: EndReason::StepLimit
        }),
    ]
}
