//! Two models in an episode: the specialist logs and consults, the gameplay model commits; exchange, resume, refusals.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod support;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use automem::agent::{self, AgentError, Controls, RunPlan};
use automem::config::Workspace;
use automem::gate::{Key, reusable};
use automem::llm::{ChatModel, ChatRequest, LlmError, ModelOptions};
use automem::scaffold::Scaffold;
use automem::store::{Reader, Registry};
use automem::types::{ActionBy, Body, BudgetKind, ChatRole, EpisodeNo, Event, Phase, Role, StepNo, StepRecord};
use common::{run_fails, run_json, run_ok};
use proptest::prelude::*;
use support::{FnModel, assert_same, last, place, plan, play, scaffold, step_of};

type Asked = Arc<Mutex<Vec<ChatRequest>>>;

/// A model that keeps what it is asked.
fn keeping(name: &str, answer: impl Fn(&ChatRequest) -> String + Send + Sync + 'static) -> (Arc<dyn ChatModel>, Asked) {
    let asked = Asked::default();
    let kept = Arc::clone(&asked);
    let model = FnModel::named(name, move |request| {
        kept.lock().unwrap().push(request.clone());
        Ok(answer(request))
    });
    (model, asked)
}

fn two(out: &Path, base: Arc<dyn ChatModel>, specialist: Arc<dyn ChatModel>) -> RunPlan {
    RunPlan {
        specialist: Some(specialist),
        ..plan(out, base)
    }
}

fn steps(run: &Path) -> Vec<StepRecord> {
    let reader = Reader::open(run).unwrap();
    let mut steps = reader.steps(EpisodeNo(0), StepNo(0)..StepNo(10_000)).unwrap();
    // What was seen after the last action is no step.
    steps.retain(|step| step.outcome().is_some());
    steps
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn commits(_: &ChatRequest) -> String {
    "<|ACTION|>Do<|END|>".into()
}

/// Writes in LOG, looks once in PLAN, then would act.
fn consults(request: &ChatRequest) -> String {
    let step = step_of(request);
    match request.slot.phase {
        Phase::Log => format!(
            "<|APPEND|>actions_log.txt|step {step}: {}<|END|><|DONE|>",
            request.sampling.seed
        ),
        Phase::Plan if last(request).starts_with("RESULTS") => "<|ACTION|>Move West<|END|>".into(),
        Phase::Plan => "I look.\n<|SEARCH|>actions_log.txt|step<|END|>".into(),
    }
}

#[test]
fn the_specialist_logs_and_consults_and_the_gameplay_model_commits() {
    let (_folder, out) = place();
    let (base, by_base) = keeping("base", commits);
    let (specialist, by_specialist) = keeping("notes", consults);
    let mut plan = two(&out, base, specialist);
    plan.max_steps = 3;
    play(plan);
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.meta().players(), "base + notes");
    let steps = steps(&out);
    for (n, step) in steps.iter().enumerate() {
        let turns: Vec<_> = step
            .turns()
            .map(|turn| (turn.phase, turn.turn.0, turn.role, turn.model.as_str()))
            .collect();
        let log = (Phase::Log, 0, Role::Specialist, "notes");
        let plan = [
            (Phase::Plan, 0, Role::Specialist, "notes"),
            (Phase::Plan, 1, Role::Specialist, "notes"),
            (Phase::Plan, 2, Role::Gameplay, "base"),
        ];
        let wanted: Vec<_> = (n > 0).then_some(log).into_iter().chain(plan).collect();
        assert_eq!(turns, wanted, "step {n}");
        assert_eq!(
            step.action().map(|action| (action.1, action.3)),
            Some(("Do", ActionBy::Model))
        );
    }
    // Seeds are drawn a role, and repeat.
    let seeds: std::collections::BTreeSet<u64> = steps
        .iter()
        .flat_map(|step| step.turns())
        .map(|turn| turn.sampling.seed)
        .collect();
    assert_eq!(seeds.len(), 11);
    for request in by_base.lock().unwrap().iter() {
        assert_eq!((request.slot.role, request.slot.phase), (Role::Gameplay, Phase::Plan));
        let roles: Vec<ChatRole> = request.messages.iter().map(|message| message.role).collect();
        use ChatRole::{Assistant, System, User};
        assert_eq!(roles, [System, User, Assistant, User, Assistant, User]);
        assert_eq!(
            request.messages[2].content,
            "I look.\n<|SEARCH|>actions_log.txt|step<|END|>"
        );
        assert_eq!(request.messages[4].content, "(memory consultation complete)");
        assert_eq!(
            request.messages[5].content,
            "Memory has been consulted. Commit your action with <|ACTION|>...<|END|>, or look further first (4 answers left)."
        );
    }
    assert!(
        by_specialist
            .lock()
            .unwrap()
            .iter()
            .all(|request| request.slot.role == Role::Specialist)
    );
    assert!(agent::verify(&out, &Default::default(), &mut |_| {}).unwrap().ok);
}

#[test]
fn results_of_the_last_look_and_a_scaffolds_own_words_are_handed_over() {
    let (_folder, out) = place();
    let (base, asked) = keeping("base", commits);
    let acts_at_once = |request: &ChatRequest| match request.slot.phase {
        Phase::Log => "<|DONE|>".into(),
        Phase::Plan if step_of(request) == 0 => "<|TAIL|>goals.txt|1<|END|>\n<|ACTION|>Noop<|END|>".into(),
        Phase::Plan => "<|ACTION|>Noop<|END|>".into(),
    };
    let mut files = scaffold().files().clone();
    files.insert(
        "prompts/handoff.md".into(),
        "NOW {{ step }}/{{ turn }}/{{ turns_left }} [{{ results }}]\n".into(),
    );
    files.insert("prompts/consulted.md".into(), "looked at step {{ step }}\n".into());
    let own = Scaffold::from_files(files).unwrap();
    assert_eq!(own.problems(), []);
    let mut plan = two(&out, base, FnModel::of(acts_at_once));
    plan.max_steps = 2;
    plan.scaffold = own;
    play(plan);
    let asked = asked.lock().unwrap();
    let (first, second) = (&asked[0].messages, &asked[1].messages);
    assert_eq!(first[2].content, "<|TAIL|>goals.txt|1<|END|>");
    assert!(
        first[3].content.starts_with("NOW 0/2/4 [") && first[3].content.contains("TAIL goals.txt"),
        "{first:?}"
    );
    assert_eq!(second[2].content, "looked at step 1");
    assert_eq!(second[3].content, "NOW 1/2/4 []");
}

#[test]
fn each_has_a_budget_and_without_an_action_the_fallback_is_played() {
    let (_folder, out) = place();
    let looks = |_: &ChatRequest| "<|READ|>goals.txt<|END|>".to_owned();
    let writes = |request: &ChatRequest| match last(request).starts_with("Memory") {
        true => "<|APPEND|>goals.txt|x<|END|>".to_owned(),
        false => "<|READ|>goals.txt<|END|>".to_owned(),
    };
    let mut plan = two(&out, FnModel::of(writes), FnModel::of(looks));
    plan.max_steps = 2;
    play(plan);
    for step in steps(&out) {
        let of = |role| {
            step.turns()
                .filter(|turn| turn.phase == Phase::Plan && turn.role == role)
                .count()
        };
        assert_eq!((of(Role::Specialist), of(Role::Gameplay)), (4, 4));
        assert_eq!(step.action().map(|action| action.3), Some(ActionBy::Fallback));
        let budgets = step.events.iter().filter(|body| {
            matches!(
                body,
                Body::BudgetExceeded {
                    phase: Phase::Plan,
                    budget: BudgetKind::Turns,
                    limit: 4,
                    asked: 5,
                    ..
                }
            )
        });
        assert_eq!(budgets.count(), 1, "only the gameplay model ran out");
        assert!(
            step.ops()
                .filter(|op| op.phase == Phase::Plan)
                .all(|op| op.changes.is_empty())
        );
    }
}

#[test]
fn a_specialist_that_is_down_or_full_does_not_take_the_game_with_it() {
    let (_folder, out) = place();
    let broken = FnModel::named("notes", |request| match (request.slot.phase, step_of(request)) {
        (Phase::Log, 2) => Err(LlmError::Backend {
            backend: "test",
            message: "gone; start it".into(),
            retryable: false,
        }),
        (Phase::Plan, 0) => Err(LlmError::ContextOverflow {
            needed: 2000,
            available: 1000,
        }),
        _ => Ok(consults(request)),
    });
    let (base, asked) = keeping("base", commits);
    let mut plan = two(&out, base, broken);
    plan.max_steps = 4;
    let report = play(plan);
    assert_eq!(report.episodes[0].steps, 4);
    let by: Vec<ActionBy> = steps(&out).iter().map(|step| step.action().unwrap().3).collect();
    use ActionBy::{Fallback, Model};
    // What did not fit the specialist may fit the other one; one that is down ends the step at once.
    assert_eq!(by, [Model, Model, Fallback, Model]);
    let first = &asked.lock().unwrap()[0].messages;
    assert_eq!(first[2].content, "(memory consultation complete)");
}

#[test]
fn resumed_it_equals_an_uninterrupted_run() {
    let (_a, whole) = place();
    let (_b, broken) = place();
    let slow = |answer: fn(&ChatRequest) -> String| {
        move |request: &ChatRequest| {
            std::thread::sleep(Duration::from_millis(1));
            answer(request)
        }
    };
    let models = || (keeping("base", slow(draws)).0, keeping("notes", slow(consults)).0);
    let begin = |out: &Path| {
        let (base, specialist) = models();
        RunPlan {
            max_steps: 40,
            ..two(out, base, specialist)
        }
    };
    play(begin(&whole));
    let handle = agent::start(begin(&broken)).unwrap();
    let finished = |event: &Event| matches!(event.body, Body::StepFinished { .. });
    let mut seen = 0;
    while seen < 11 {
        seen += usize::from(finished(&handle.events.recv().unwrap()));
    }
    handle.controls.abort();
    handle.wait().unwrap();
    // Its name is all that the record of a test's model has.
    let (base, specialist) = models();
    let error = agent::open_recorded_specialist(&broken, &base, None, &ModelOptions::default())
        .err()
        .unwrap();
    assert!(matches!(error, AgentError::Specialist { .. }), "{error}");
    assert!(error.to_string().contains("--specialist none"), "{error}");
    agent::resume(&broken, base, Some(specialist)).unwrap().wait().unwrap();
    assert_same(&whole, &broken, 0);
}

fn draws(request: &ChatRequest) -> String {
    let actions = ["Move West", "Move East", "Do", "Noop"];
    format!("<|ACTION|>{}<|END|>", actions[request.sampling.seed as usize % 4])
}

#[test]
fn resumed_with_another_one_the_record_says_so() {
    let (_folder, out) = place();
    let left = |plan: RunPlan| {
        let handle = agent::start(plan).unwrap();
        handle.controls.pause();
        wait_until("the pause", || handle.controls.waiting() == 1);
        handle.controls.abort();
        handle.wait().unwrap();
    };
    let (base, specialist) = (
        FnModel::of(commits),
        FnModel::named("notes", |request| Ok(consults(request))),
    );
    left(RunPlan {
        max_steps: 30,
        ..two(&out, Arc::clone(&base), Arc::clone(&specialist))
    });
    let exchanges = || -> Vec<Option<String>> {
        let reader = Reader::open(&out).unwrap();
        let events = reader.episode_events(EpisodeNo(0)).unwrap().map(Result::unwrap);
        events
            .filter_map(|event| match event.body {
                Body::AdapterChanged { adapter } => Some(adapter),
                _ => None,
            })
            .collect()
    };
    let resumed = |specialist: Option<Arc<dyn ChatModel>>| {
        let handle = agent::resume(&out, Arc::clone(&base), specialist).unwrap();
        handle.controls.pause();
        wait_until("the pause", || handle.controls.waiting() == 1);
        handle.controls.step();
        wait_until("a step", || {
            handle
                .events
                .try_iter()
                .any(|event| matches!(event.body, Body::StepFinished { .. }))
        });
        handle.controls.abort();
        handle.wait().unwrap();
    };
    resumed(Some(Arc::clone(&specialist)));
    assert_eq!(exchanges(), Vec::<Option<String>>::new());
    resumed(None);
    assert_eq!(exchanges(), [None]);
    resumed(None);
    assert_eq!(exchanges(), [None]);
    let opened = agent::open_recorded_specialist(&out, &base, None, &ModelOptions::default()).unwrap();
    assert!(opened.is_none(), "it went on with one model");
    resumed(Some(FnModel::named("other", |request| Ok(consults(request)))));
    assert_eq!(exchanges(), [None, Some("other".to_owned())]);
}

#[test]
fn an_exchange_holds_between_steps_and_is_recorded() {
    let (_folder, out) = place();
    let controls: Arc<OnceLock<Controls>> = Arc::default();
    let other = FnModel::named("second", |request| Ok(consults(request)));
    let first = {
        let (controls, other) = (Arc::clone(&controls), Arc::clone(&other));
        FnModel::named("first", move |request| {
            // In the middle of a step: nothing of it changes.
            if (request.slot.phase, step_of(request)) == (Phase::Log, 2) {
                while controls.get().is_none() {
                    std::thread::yield_now();
                }
                assert!(controls.get().unwrap().swap_specialist(Some(Arc::clone(&other))));
            }
            Ok(consults(request))
        })
    };
    let base = {
        let controls = Arc::clone(&controls);
        FnModel::named("base", move |request| {
            if step_of(request) == 4 {
                controls.get().unwrap().swap_specialist(None);
            }
            Ok(match request.slot.phase {
                Phase::Log => "<|DONE|>".to_owned(),
                Phase::Plan => "<|ACTION|>Noop<|END|>".to_owned(),
            })
        })
    };
    let mut plan = two(&out, base, first);
    plan.max_steps = 7;
    let handle = agent::start(plan).unwrap();
    controls.set(handle.controls.clone()).unwrap();
    let events = handle.events.clone();
    let shown = std::thread::spawn(move || events.iter().filter(|event| event.body.is_stored()).collect::<Vec<_>>());
    let run: PathBuf = handle.run.clone();
    wait_until("its end", || handle.is_over());
    handle.wait().unwrap();
    let shown = shown.join().unwrap();

    let players: Vec<Vec<(Role, String)>> = steps(&run)
        .iter()
        .map(|step| {
            let mut all: Vec<_> = step.turns().map(|turn| (turn.role, turn.model.clone())).collect();
            all.dedup();
            all
        })
        .collect();
    let pair = |name: &str| vec![(Role::Specialist, name.to_owned()), (Role::Gameplay, "base".to_owned())];
    let alone = vec![(Role::Agent, "base".to_owned())];
    assert_eq!(
        players,
        [
            pair("first"),
            pair("first"),
            pair("first"),
            pair("second"),
            pair("second"),
            alone.clone(),
            alone
        ]
    );
    let changed: Vec<(u32, Option<String>)> = steps(&run)
        .iter()
        .flat_map(|step| step.events.iter().map(|body| (step.step.0, body.clone())))
        .filter_map(|(step, body)| match body {
            Body::AdapterChanged { adapter } => Some((step, adapter)),
            _ => None,
        })
        .collect();
    assert_eq!(changed, [(3, Some("second".to_owned())), (5, None)]);
    // Played again, the record gives what was shown: each step comes complete when it is committed.
    let recorded: Vec<Event> = Reader::open(&run)
        .unwrap()
        .episode_events(EpisodeNo(0))
        .unwrap()
        .map(|event| support::without_times(event.unwrap()))
        .collect();
    let shown: Vec<Event> = shown.into_iter().map(support::without_times).collect();
    assert!(recorded.iter().all(|event| shown.contains(event)));
    assert!(agent::verify(&run, &Default::default(), &mut |_| {}).unwrap().ok);
    assert!(
        controls.get().unwrap().models().is_none(),
        "models are let go at the end"
    );
}

#[test]
fn a_run_with_an_exchange_is_no_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(folder.path());
    std::fs::create_dir_all(workspace.runs_dir()).unwrap();
    let world = automem::env::open("crafter").unwrap();
    let played = |name: &str, exchanged: bool| {
        let out = workspace.runs_dir().join(name);
        let slow = |request: &ChatRequest| {
            std::thread::sleep(Duration::from_millis(2));
            consults(request)
        };
        let plan = RunPlan {
            max_steps: 12,
            ..two(&out, FnModel::of(commits), keeping("notes", slow).0)
        };
        let key = Key::of_plan(&plan, world.spec());
        let handle = agent::start(plan).unwrap();
        if exchanged {
            handle.controls.swap_specialist(Some(keeping("others", consults).0));
        }
        handle.wait().unwrap();
        Registry::open(&workspace).unwrap().register(&out).unwrap();
        key
    };
    let key = played("exchanged.db", true);
    assert_eq!(reusable(&workspace, &key).unwrap(), None);
    assert_eq!(played("plain.db", false), key);
    let found = reusable(&workspace, &key).unwrap().unwrap();
    assert_eq!(found.file_name().unwrap(), "plain.db");
    let alone = Key {
        specialist: None,
        ..key
    };
    assert_eq!(reusable(&workspace, &alone).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever the two write: memory changes in LOG alone, before the step's action is known, and the first step has no
    /// LOG. So nothing is written about an action's outcome before the world's answer to it was seen.
    #[test]
    fn nothing_is_written_before_the_world_has_answered(picks in prop::collection::vec(0_usize..8, 40)) {
        const SAID: [&str; 8] = [
            "<|APPEND|>actions_log.txt|a<|END|>",
            "<|APPEND|>actions_log.txt|b<|END|><|ACTION|>Do<|END|>",
            "<|WRITE|>goals.txt|c<|END|><|DONE|>",
            "<|ACTION|>Move West<|END|><|APPEND|>goals.txt|d<|END|>",
            "<|READ|>goals.txt<|END|>",
            "<|DONE|>",
            "ACTION: Noop\n<|CREATE|>new.txt|e<|END|>",
            "<|ACTION|>Do",
        ];
        let (_folder, out) = place();
        let next = Arc::new(Mutex::new(picks.into_iter().cycle()));
        let says = |next: &Arc<Mutex<_>>| {
            let next: Arc<Mutex<std::iter::Cycle<std::vec::IntoIter<usize>>>> = Arc::clone(next);
            move |_: &ChatRequest| SAID[next.lock().unwrap().next().unwrap()].to_owned()
        };
        let (base, asked) = keeping("base", says(&next));
        let mut plan = two(&out, base, FnModel::of(says(&next)));
        plan.max_steps = 6;
        play(plan);
        for step in steps(&out) {
            let mut committed = false;
            for body in &step.events {
                match body {
                    Body::ActionCommitted { .. } => committed = true,
                    Body::MemoryOp { op } if !op.changes.is_empty() => {
                        prop_assert!(!committed && op.phase == Phase::Log && step.step > StepNo(0), "{op:?}");
                    }
                    _ => {}
                }
            }
            prop_assert!(committed);
            prop_assert!(step.turns().all(|turn| (turn.role == Role::Gameplay) <= (turn.phase == Phase::Plan)));
        }
        for request in asked.lock().unwrap().iter() {
            let specialist = request.messages.iter().take_while(|message| !message.content.contains("Memory has been consulted"));
            for message in specialist.filter(|message| message.role == ChatRole::Assistant) {
                prop_assert!(!message.content.contains("ACTION"), "{}", message.content);
            }
        }
    }
}

#[test]
fn forms_of_a_specialist_and_refusals() {
    let dir = tempfile::tempdir().unwrap();
    let options = ModelOptions::in_workspace(&Workspace::at(dir.path()));
    let open = |model: &str, specialist: Option<&str>| agent::open_models(model, specialist, "crafter", &options);
    let error_of = |model: &str, specialist: &str| match open(model, Some(specialist)) {
        Ok(_) => panic!("{model} {specialist} opened"),
        Err(error) => error.to_string(),
    };
    assert!(open("scripted", None).unwrap().1.is_none());
    for none in ["none", "", " none "] {
        assert!(open("scripted", Some(none)).unwrap().1.is_none(), "{none:?}");
    }
    let (base, specialist) = open("scripted", Some("scripted")).unwrap();
    assert_eq!(base.describe(), specialist.unwrap().describe());
    let text = error_of("scripted", "nobody");
    assert!(
        text.contains("no adapters are in") && text.contains("adapter.gguf"),
        "{text}"
    );
    assert!(error_of("scripted", "no/such.gguf").contains("no/such.gguf"));
    // An adapter needs weights of this process.
    std::fs::create_dir_all(&options.adapters_dir).unwrap();
    let adapter = options.adapters_dir.join("notes-1.gguf");
    let pair = automem::llm::adapter::Pair {
        target: "blk.0.attn_q.weight".into(),
        inputs: 8,
        outputs: 8,
        rank: 2,
        a: vec![0.5; 16],
        b: vec![0.5; 16],
    };
    let file = automem::llm::adapter::AdapterFile {
        architecture: "llama".into(),
        alpha: 2.0,
        base: None,
        pairs: vec![pair],
    };
    automem::llm::adapter::write(&adapter, &file).unwrap();
    for spec in ["notes-1", adapter.to_str().unwrap()] {
        let text = error_of("scripted", spec);
        assert!(
            text.contains("an adapter goes with a local model alone, and `scripted` (scripted) is none"),
            "{text}"
        );
    }
    assert!(error_of("scripted", "yours").contains("are notes-1"));
}

fn answers(folder: &Path, name: &str, lines: &[(&str, &str, &str)]) -> String {
    let text: String = lines
        .iter()
        .map(|(role, phase, text)| {
            format!(
                "{}\n",
                serde_json::json!({ "role": role, "phase": phase, "text": text })
            )
        })
        .collect();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    format!("recorded:{}", path.display())
}

#[test]
fn two_recorded_models_play_from_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let act = "<|ACTION|>Move West<|END|>";
    let base = answers(
        home,
        "base.jsonl",
        &[("gameplay", "PLAN", act), ("gameplay", "PLAN", act)],
    );
    let log = "<|APPEND|>actions_log.txt|went<|END|><|DONE|>";
    let specialist = answers(
        home,
        "notes.jsonl",
        &[
            ("specialist", "PLAN", "<|ACTION|>Do<|END|>"),
            ("specialist", "LOG", log),
            ("specialist", "PLAN", "Nothing to look up."),
        ],
    );
    let out = home.join("run.db");
    let args = |more: &[&str]| -> Vec<String> {
        let fixed = [
            "run",
            "--env",
            "crafter",
            "--scaffold",
            "crafter-v0",
            "--seeds",
            "7",
            "--max-steps",
            "2",
        ];
        fixed.iter().chain(more).map(|word| (*word).to_owned()).collect()
    };
    let words = args(&[
        "--model",
        &base,
        "--specialist",
        &specialist,
        "--out",
        out.to_str().unwrap(),
        "--json",
    ]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let report = run_json(home, &words);
    assert_eq!(report["episodes"][0]["steps"], 2, "{report}");
    let shown = run_json(home, &["show", out.to_str().unwrap(), "--step", "1", "--json"]);
    let roles: Vec<_> = shown["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["role"].clone())
        .collect();
    assert_eq!(roles, ["specialist", "specialist", "gameplay"]);
    let text = run_ok(home, &["show", out.to_str().unwrap(), "--step", "1"]);
    assert!(
        text.contains("(gameplay, base)") && text.contains("(specialist, notes)"),
        "{text}"
    );
    // A specialist of the settings can be left out.
    std::fs::create_dir_all(home.join("workspace")).unwrap();
    std::fs::write(home.join("workspace/config.toml"), "[run]\nspecialist = \"nobody\"\n").unwrap();
    let words = args(&["--model", "scripted", "--json"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(run_fails(home, &words, 1).contains("nobody"));
    run_json(home, &[&words[..], &["--specialist", "none"]].concat());
}
