use super::*;
use crate::protocol::OpSyntax;
use crate::types::{ActionBy, BudgetKind, StopReason, TurnNo};

fn syntax(name: &'static str, args: &'static [&'static str]) -> OpSyntax {
    OpSyntax {
        name,
        aliases: &[],
        args,
        rest: args.len() > 1,
    }
}

fn rules(phase: Phase) -> Rules {
    Rules {
        phase,
        turns: 2,
        ops_per_turn: 2,
        order: OpsOrder::Written,
        vocabulary: Arc::new(vec![syntax("READ", &["file"]), syntax("APPEND", &["file", "text"])]),
        allowed: Arc::new(match phase {
            Phase::Log => vec!["READ", "APPEND"],
            Phase::Plan => vec!["READ"],
        }),
        actions: Arc::new(vec![Action::from("Noop"), Action::from("Move West")]),
        fallback: Action::from("Noop"),
        mending: Arc::default(),
        gated: false,
        rejections: 2,
    }
}

/// Plays a phase against fixed answers; every operation gives back its name.
fn play(rules: &Rules, answers: &[&str]) -> Vec<Effect> {
    play_part(Machine::new(rules), answers)
}

fn play_part(mut machine: Machine<'_>, answers: &[&str]) -> Vec<Effect> {
    let mut seen = Vec::new();
    let mut answers = answers.iter();
    let mut todo = std::collections::VecDeque::from(machine.step(Input::Begin));
    while let Some(effect) = todo.pop_front() {
        match &effect {
            Effect::CallModel { .. } => todo.extend(match answers.next() {
                Some(text) => machine.step(Input::Answered {
                    text,
                    stop: StopReason::End,
                }),
                None => machine.step(Input::NoAnswer),
            }),
            Effect::RunOps { ops, .. } => {
                let results = ops.iter().map(|op| op.name.as_str()).collect::<Vec<_>>().join(",");
                todo.extend(machine.step(Input::OpsRan { results }));
            }
            _ => {}
        }
        seen.push(effect);
    }
    seen
}

fn ran(effects: &[Effect]) -> Vec<&OpCall> {
    effects
        .iter()
        .flat_map(|effect| match effect {
            Effect::RunOps { ops, .. } => ops.iter().collect(),
            _ => Vec::new(),
        })
        .collect()
}

fn asks(effects: &[Effect]) -> Vec<&Ask> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::CallModel { ask, .. } => Some(ask),
            _ => None,
        })
        .collect()
}

#[test]
fn log_ends_with_done_after_its_operations() {
    let rules = rules(Phase::Log);
    let effects = play(&rules, &["<|APPEND|>a.txt|one<|END|><|DONE|>"]);
    assert_eq!(ran(&effects).len(), 1);
    assert_eq!(asks(&effects).len(), 1);
    assert_eq!(effects.last(), Some(&Effect::Over));
}

#[test]
fn log_goes_on_with_results_and_stops_at_its_budget() {
    let rules = rules(Phase::Log);
    let effects = play(&rules, &["<|READ|>a.txt<|END|>", "<|READ|>b.txt<|END|>", "never asked"]);
    assert_eq!(
        asks(&effects)[1],
        &Ask::Continue {
            results: "READ".into(),
            notices: vec![]
        }
    );
    assert_eq!(asks(&effects).len(), 2);
    assert_eq!(effects.last(), Some(&Effect::Over));
}

#[test]
fn log_ignores_an_action_and_says_so() {
    let rules = rules(Phase::Log);
    let effects = play(&rules, &["<|ACTION|>Move West<|END|>", "<|DONE|>"]);
    let Ask::Continue { notices, .. } = asks(&effects)[1] else {
        panic!()
    };
    assert!(notices[0].contains("LOG commits no action"));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Commit { .. })));
}

#[test]
fn an_unclosed_tag_is_reported_in_the_next_turn() {
    for phase in [Phase::Log, Phase::Plan] {
        let rules = rules(phase);
        let effects = play(&rules, &["<|READ|>a.txt"]);
        assert!(ran(&effects).is_empty());
        let Ask::Continue { notices, .. } = asks(&effects)[1] else {
            panic!()
        };
        assert!(!notices.is_empty(), "{phase:?}");
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Note(_))));
    }
}

#[test]
fn plan_commits_what_the_model_chose() {
    let rules = rules(Phase::Plan);
    let effects = play(&rules, &["<|READ|>a.txt<|END|>", "thinking <|ACTION|>move west<|END|>"]);
    assert_eq!(
        effects.last(),
        Some(&Effect::Commit {
            raw: "move west".into(),
            action: Action::from("Move West"),
            repaired: true,
            by: ActionBy::Model,
        })
    );
}

#[test]
fn an_invalid_action_plays_the_fallback() {
    let rules = rules(Phase::Plan);
    let effects = play(&rules, &["<|ACTION|>Fly<|END|>"]);
    let Some(Effect::Commit { raw, action, by, .. }) = effects.last() else {
        panic!()
    };
    assert_eq!(
        (raw.as_str(), action.as_str(), *by),
        ("Fly", "Noop", ActionBy::Fallback)
    );
}

#[test]
fn no_action_within_the_budget_plays_the_fallback_and_counts() {
    let rules = rules(Phase::Plan);
    let effects = play(&rules, &["hmm", "<|DONE|>"]);
    assert!(effects.contains(&Effect::Budget {
        turn: TurnNo(1),
        budget: BudgetKind::Turns,
        limit: 2,
        asked: 3
    }));
    let Some(Effect::Commit { raw, by, .. }) = effects.last() else {
        panic!()
    };
    assert_eq!((raw.as_str(), *by), ("", ActionBy::Fallback));
}

#[test]
fn plan_refuses_to_write() {
    let rules = rules(Phase::Plan);
    let effects = play(&rules, &["<|APPEND|>a.txt|x<|END|>", "<|ACTION|>Noop<|END|>"]);
    let op = ran(&effects)[0];
    assert!(matches!(&op.verdict, Verdict::Refuse(why) if why.contains("not allowed in PLAN")));
}

#[test]
fn operations_beyond_the_budget_are_dropped_with_a_notice() {
    let rules = rules(Phase::Log);
    let many = "<|READ|>a<|END|>".repeat(5);
    let effects = play(&rules, &[&many, "<|DONE|>"]);
    assert_eq!(ran(&effects).len(), 2);
    assert!(effects.contains(&Effect::Budget {
        turn: TurnNo(0),
        budget: BudgetKind::Ops,
        limit: 2,
        asked: 5
    }));
    let Ask::Continue { notices, .. } = asks(&effects)[1] else {
        panic!()
    };
    assert!(notices[0].contains("only the first 2"));
}

#[test]
fn without_an_answer_log_ends_and_plan_falls_back() {
    assert_eq!(play(&rules(Phase::Log), &[]).last(), Some(&Effect::Over));
    let plan = rules(Phase::Plan);
    let effects = play(&plan, &[]);
    assert!(matches!(
        effects.last(),
        Some(Effect::Commit {
            by: ActionBy::Fallback,
            ..
        })
    ));
}

#[test]
fn grouped_order_sorts_by_kind() {
    let mut rules = rules(Phase::Log);
    rules.order = OpsOrder::Grouped;
    let effects = play(&rules, &["<|APPEND|>a|1<|END|><|READ|>a<|END|><|DONE|>"]);
    let names: Vec<&str> = ran(&effects).iter().map(|op| op.name.as_str()).collect();
    assert_eq!(names, ["READ", "APPEND"]);
}

#[test]
fn nothing_follows_the_end() {
    let rules = rules(Phase::Log);
    let mut machine = Machine::new(&rules);
    machine.step(Input::Begin);
    machine.step(Input::NoAnswer);
    assert!(machine.step(Input::Begin).is_empty());
}

#[test]
fn a_specialist_consults_and_hands_over_whatever_it_writes() {
    let mut rules = rules(Phase::Plan);
    rules.turns = 3;
    let read = "<|READ|>a<|END|>";
    let acts = format!("{read}<|ACTION|>Noop<|END|>");
    // What it answers, the calls it gets, and what the gameplay model is handed.
    let table: &[(&[&str], usize, &str)] = &[
        (&[read, "<|ACTION|>Noop<|END|>", "never"], 2, ""),
        (&[&acts, "never"], 1, "READ"),
        (&["Nothing to look up.", "never"], 1, ""),
        (&["<|DONE|>", "never"], 1, ""),
        (&["<|ACTION|>Fly<|END|>", "never"], 1, ""),
        (&[read, read, read, "never"], 3, "READ"),
        (&["<|READ|>a", read, "so"], 3, ""),
        (&[], 1, ""),
        (&[read], 2, ""),
    ];
    for (answers, calls, handed) in table {
        let effects = play_part(Machine::consulting(&rules), answers);
        assert_eq!(asks(&effects).len(), *calls, "{answers:?}");
        let Some(Effect::HandOver { turn, results }) = effects.last() else {
            panic!("{answers:?}: {effects:?}");
        };
        assert_eq!(results, handed, "{answers:?}");
        assert!(turn.0 as usize >= answers.len().min(*calls), "{answers:?}");
        assert!(
            !effects.iter().any(|effect| matches!(
                effect,
                Effect::Commit { .. } | Effect::Budget { .. } | Effect::Gate { .. }
            )),
            "{answers:?}"
        );
    }
}

#[test]
fn the_gameplay_model_has_a_budget_of_its_own() {
    let mut rules = rules(Phase::Plan);
    rules.gated = true;
    let committing = || Machine::committing(&rules, TurnNo(2), "found".to_owned());
    let effects = play_part(committing(), &["<|READ|>a<|END|>", "<|READ|>b<|END|>", "never"]);
    assert_eq!(
        asks(&effects)[0],
        &Ask::HandOff {
            results: "found".into()
        }
    );
    let turns: Vec<(u32, u32)> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::CallModel { turn, turns_left, .. } => Some((turn.0, *turns_left)),
            _ => None,
        })
        .collect();
    assert_eq!(turns, [(2, 2), (3, 1)]);
    assert!(effects.contains(&Effect::Budget {
        turn: TurnNo(3),
        budget: BudgetKind::Turns,
        limit: 2,
        asked: 3
    }));
    assert!(matches!(
        effects.last(),
        Some(Effect::Commit {
            by: ActionBy::Fallback,
            ..
        })
    ));
    // Its action passes the gate.
    let effects = play_part(committing(), &["<|ACTION|>move west<|END|>"]);
    assert!(matches!(effects.last(), Some(Effect::Gate { .. })));
    // Writing is refused to it as in any PLAN.
    let effects = play_part(committing(), &["<|APPEND|>a|x<|END|>"]);
    assert!(matches!(ran(&effects)[0].verdict, Verdict::Refuse(_)));
}
