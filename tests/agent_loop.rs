//! The loop end to end: real world, real store, real memory directory, a deterministic model.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use automem::agent::{self, AgentError, ControlState, RunHandle};
use automem::llm::LlmError;
use automem::store::Reader;
use automem::types::{ActionBy, Body, BudgetKind, EndReason, EpisodeNo, Event, OpStatus, Phase, StepNo, StepRecord};
use support::{FnModel, assert_same, busy, is_same, last, place, plan, play, step_of, without_times};

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn steps(run: &Path) -> Vec<StepRecord> {
    let reader = Reader::open(run).unwrap();
    reader.steps(EpisodeNo(0), StepNo(0)..StepNo(10_000)).unwrap()
}

fn bodies(run: &Path) -> Vec<Body> {
    steps(run).into_iter().flat_map(|step| step.events).collect()
}

/// The files of a memory directory on disk.
fn on_disk(folder: &Path) -> BTreeMap<String, String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

fn recorded_memory(run: &Path, step: u32) -> BTreeMap<String, String> {
    let state = Reader::open(run)
        .unwrap()
        .memory_at(EpisodeNo(0), StepNo(step))
        .unwrap();
    state
        .files
        .iter()
        .map(|(path, file)| (path.clone(), file.text.to_string()))
        .collect()
}

#[test]
fn events_come_in_the_promised_order_live_and_recorded() {
    let (_folder, out) = place();
    let handle = agent::start(plan(&out, FnModel::of(busy))).unwrap();
    let live: Vec<Event> = handle.events.iter().map(without_times).collect();
    let report = handle.wait().unwrap();
    assert_eq!(report.episodes[0].steps, 20);
    assert_eq!(report.episodes[0].end, Some(EndReason::StepLimit));

    let stored: Vec<Event> = live.iter().filter(|event| event.body.is_stored()).cloned().collect();
    assert!(matches!(stored[0].body, Body::RunStarted { .. }));
    assert!(matches!(stored.last().unwrap().body, Body::RunFinished));
    let reader = Reader::open(&out).unwrap();
    let recorded: Vec<Event> = reader
        .episode_events(EpisodeNo(0))
        .unwrap()
        .map(|event| without_times(event.unwrap()))
        .collect();
    // Live, the events of the step under way come as they happen, and once more when it is committed.
    let mut live_events = stored.iter();
    for event in &recorded {
        assert!(
            live_events.any(|shown| shown == event),
            "never shown: step {}",
            event.at.step
        );
    }
    assert!(live.iter().any(|event| matches!(event.body, Body::TurnStarted { .. })));

    for record in steps(&out) {
        check_order(&record);
    }
}

fn check_order(record: &StepRecord) {
    let step = record.step.0;
    let letters: String = record
        .events
        .iter()
        .filter_map(|body| match body {
            Body::EpisodeStarted { .. } => Some('s'),
            Body::Observed { .. } => Some('o'),
            Body::TurnFinished { turn } if turn.phase == Phase::Log => Some('L'),
            Body::TurnFinished { .. } => Some('P'),
            Body::MemoryOp { op } if op.phase == Phase::Log => Some('l'),
            Body::MemoryOp { .. } => Some('p'),
            Body::ActionCommitted { .. } => Some('a'),
            Body::StepFinished { .. } => Some('f'),
            Body::EpisodeFinished { .. } => Some('e'),
            Body::BudgetExceeded { .. } | Body::Annotated { .. } => None,
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    let form = match step {
        0 => "^so(Pp*)+af$",
        20 => "^oe$",
        _ => "^o(Ll*)+(Pp*)+af$",
    };
    assert!(
        regex::Regex::new(form).unwrap().is_match(&letters),
        "step {step}: {letters}"
    );
}

#[test]
fn the_record_and_the_directory_agree_at_every_pause() {
    let (_folder, out) = place();
    let handle = agent::start(plan(&out, FnModel::of(busy))).unwrap();
    let controls = handle.controls.clone();
    controls.pause();
    wait_until("the pause", || controls.waiting() == 1);
    let folder = agent::memory_folder(&out).join("ep_00");
    for _ in 0..12 {
        controls.step();
        wait_until("the step", || {
            handle
                .events
                .try_iter()
                .any(|event| matches!(event.body, Body::StepFinished { .. }))
        });
        wait_until("the next pause", || controls.waiting() == 1);
        let done = Reader::open(&out).unwrap().episodes().unwrap()[0].steps;
        assert_eq!(recorded_memory(&out, done - 1), on_disk(&folder));
    }
    assert!(!on_disk(&folder).is_empty());
    controls.stop();
    let report = handle.wait().unwrap();
    assert_eq!(report.episodes[0].end, Some(EndReason::Stopped));
    assert!(!agent::memory_folder(&out).exists(), "a closed run is one file");
    let words: Vec<String> = bodies(&out)
        .into_iter()
        .filter_map(|body| match body {
            Body::Controlled { control } => Some(control),
            _ => None,
        })
        .collect();
    assert_eq!(words.first().map(String::as_str), Some("paused"));
    assert_eq!(words.last().map(String::as_str), Some("stopped"));
    assert_eq!(words.iter().filter(|word| *word == "stepped").count(), 12);
}

#[test]
fn the_same_run_twice_is_the_same() {
    let (_a, first) = place();
    let (_b, second) = place();
    play(plan(&first, FnModel::of(busy)));
    play(plan(&second, FnModel::of(busy)));
    assert_same(&first, &second, 0);
    let (_c, other) = place();
    let mut third = plan(&other, FnModel::of(busy));
    third.sampling.seed = 7;
    play(third);
    assert!(!is_same(&first, &other, 0));
}

#[test]
fn workers_share_the_seeds_and_change_nothing() {
    let (_a, one) = place();
    let (_b, three) = place();
    for (out, workers) in [(&one, 1), (&three, 3)] {
        let mut plan = plan(out, FnModel::of(busy));
        plan.seeds = (42..47).collect();
        plan.workers = workers;
        let report = play(plan);
        assert_eq!(report.episodes.len(), 5);
        assert!(report.episodes.iter().all(|episode| episode.steps == 20));
    }
    for episode in 0..5 {
        assert_same(&one, &three, episode);
    }
}

#[test]
fn pause_holds_and_resume_goes_on() {
    let (_folder, out) = place();
    let handle = agent::start(plan(&out, FnModel::of(busy))).unwrap();
    handle.controls.pause();
    wait_until("the pause", || handle.controls.waiting() == 1);
    let before = Reader::open(&out)
        .unwrap()
        .episodes()
        .unwrap()
        .first()
        .map_or(0, |e| e.steps);
    std::thread::sleep(Duration::from_millis(50));
    let after = Reader::open(&out)
        .unwrap()
        .episodes()
        .unwrap()
        .first()
        .map_or(0, |e| e.steps);
    assert_eq!(before, after);
    handle.controls.resume();
    assert_eq!(handle.controls.state(), ControlState::Running);
    let report = handle.wait().unwrap();
    assert_eq!(report.episodes[0].end, Some(EndReason::StepLimit));
}

/// Starts a run and leaves it in the middle of a step.
fn leave_after(plan: automem::agent::RunPlan, least: usize) {
    let handle = agent::start(plan).unwrap();
    let finished = |event: &Event| matches!(event.body, Body::StepFinished { .. });
    let mut seen = 0;
    while seen < least {
        seen += usize::from(finished(&handle.events.recv().unwrap()));
    }
    handle.controls.abort();
    handle.wait().unwrap();
}

#[test]
fn an_aborted_run_resumed_equals_an_uninterrupted_one() {
    let (_a, whole) = place();
    let (_b, broken) = place();
    let mut first = plan(&whole, FnModel::of(busy));
    first.max_steps = 60;
    first.seeds = vec![42, 43];
    play(first.clone());
    first.out = broken.clone();
    leave_after(first, 17);
    let open = Reader::open(&broken).unwrap();
    assert!(!open.is_finished());
    drop(open);
    // The projection is rebuilt from the record, whatever has become of it.
    let folder = agent::memory_folder(&broken).join("ep_00");
    std::fs::write(folder.join("actions_log.txt"), "ruined").unwrap();
    let handle = agent::resume(&broken, FnModel::of(busy), None).unwrap();
    let report = handle.wait().unwrap();
    assert_eq!(report.episodes.len(), 2);
    for episode in 0..2 {
        assert_same(&whole, &broken, episode);
    }
    let resumed = bodies(&broken)
        .iter()
        .any(|body| matches!(body, Body::EpisodeResumed { .. }));
    assert!(resumed);
    assert!(agent::verify(&broken, &Default::default(), &mut |_| {}).unwrap().ok);
    let again = agent::resume(&broken, FnModel::of(busy), None).unwrap_err();
    assert!(matches!(again, AgentError::Finished(_)), "{again}");
}

#[test]
fn a_copy_taken_in_the_middle_resumes_too() {
    let (_a, whole) = place();
    play(plan(&whole, FnModel::of(busy)));
    let (_b, live) = place();
    let handle = agent::start(plan(&live, FnModel::of(busy))).unwrap();
    handle.controls.pause();
    wait_until("the pause", || handle.controls.waiting() == 1);
    for _ in 0..5 {
        handle.controls.step();
        wait_until("the step", || {
            handle
                .events
                .try_iter()
                .any(|event| matches!(event.body, Body::StepFinished { .. }))
        });
    }
    wait_until("the pause", || handle.controls.waiting() == 1);
    let (_c, copy) = place();
    for suffix in ["", "-wal"] {
        let from = format!("{}{suffix}", live.display());
        if Path::new(&from).exists() {
            std::fs::copy(from, format!("{}{suffix}", copy.display())).unwrap();
        }
    }
    handle.controls.abort();
    handle.wait().unwrap();
    agent::resume(&copy, FnModel::of(busy), None).unwrap().wait().unwrap();
    assert_same(&whole, &copy, 0);
}

#[test]
fn a_viewer_that_goes_away_or_sleeps_stops_nothing() {
    let (_folder, out) = place();
    let mut long = plan(&out, FnModel::of(busy));
    long.max_steps = 600;
    let handle = agent::start(long).unwrap();
    let RunHandle { controls, events, .. } = &handle;
    // Nobody reads: the run waits for its viewer, but obeys.
    wait_until("a full channel", || {
        events.is_full() || controls.state() == ControlState::Finished
    });
    controls.stop();
    wait_until("the end", || handle.is_over());
    handle.wait().unwrap();
}

#[test]
fn an_invalid_action_is_told_in_the_next_log() {
    let (_folder, out) = place();
    let mut short = plan(
        &out,
        FnModel::of(|request| match request.slot.phase {
            Phase::Log => "<|DONE|>".into(),
            Phase::Plan if step_of(request) == 0 => "<|ACTION|>Fly\u{1b}[31m home<|END|>".into(),
            Phase::Plan if step_of(request) == 1 => "no tags at all".into(),
            Phase::Plan => "ACTION: move west".into(),
        }),
    );
    short.max_steps = 4;
    play(short);
    let steps = steps(&out);
    let (raw, validated, repaired, by) = steps[0].action().unwrap();
    assert!(raw.starts_with("Fly"));
    assert_eq!((validated, repaired, by), ("Noop", false, ActionBy::Fallback));
    let prompt = |n: usize| steps[n].turns().next().unwrap().prompt.clone();
    assert!(
        prompt(1).contains("PREVIOUS ACTION: Noop\nPREVIOUS ACTION INVALID: you wrote \"Fly"),
        "{}",
        prompt(1)
    );
    assert!(!prompt(1).contains('\u{1b}'));
    assert!(prompt(2).contains("you committed no action"));
    assert!(!prompt(3).contains("INVALID"));
    let (raw, validated, repaired, by) = steps[2].action().unwrap();
    assert_eq!(
        (raw, validated, repaired, by),
        ("move west", "Move West", true, ActionBy::Model)
    );
    let turns = |body: &Body| {
        matches!(
            body,
            Body::BudgetExceeded {
                budget: BudgetKind::Turns,
                ..
            }
        )
    };
    assert!(steps[1].events.iter().any(turns));
}

#[test]
fn plan_cannot_write() {
    let (_folder, out) = place();
    let mut short = plan(
        &out,
        FnModel::of(|request| match request.slot.phase {
            Phase::Plan if !last(request).starts_with("RESULTS") => "<|APPEND|>strategy.txt|x<|END|>".into(),
            Phase::Plan => {
                assert!(
                    last(request).contains("APPEND strategy.txt: refused"),
                    "{}",
                    last(request)
                );
                "<|ACTION|>Noop<|END|>".into()
            }
            Phase::Log => "<|DONE|>".into(),
        }),
    );
    short.max_steps = 2;
    play(short);
    let steps = steps(&out);
    let op = steps[0].ops().next().unwrap();
    assert_eq!(op.outcome.status, OpStatus::Refused);
    assert!(op.changes.is_empty());
    assert_eq!(recorded_memory(&out, 1)["strategy.txt"], "");
}

#[test]
fn an_outside_edit_is_found_before_the_next_operation() {
    let (_folder, out) = place();
    let handle = agent::start(plan(&out, FnModel::of(busy))).unwrap();
    handle.controls.pause();
    wait_until("the pause", || handle.controls.waiting() == 1);
    let folder = agent::memory_folder(&out).join("ep_00");
    std::fs::write(folder.join("map_notes.txt"), "a person was here\n").unwrap();
    handle.controls.resume();
    handle.wait().unwrap();
    let edits = bodies(&out)
        .into_iter()
        .filter_map(|body| match body {
            Body::HumanEdited { changes } => Some(changes),
            _ => None,
        })
        .flatten()
        .collect::<Vec<_>>();
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0].path, "map_notes.txt");
    assert_eq!(recorded_memory(&out, 19)["map_notes.txt"], "a person was here\n");
}

fn backend_error(retryable: bool) -> LlmError {
    LlmError::Backend {
        backend: "test",
        message: "the line is dead; plug it in".into(),
        retryable,
    }
}

#[test]
fn a_failing_model_is_tried_again_and_then_given_up() {
    let (_folder, out) = place();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let once = FnModel::fallible(move |request| {
        if counted.fetch_add(1, Ordering::Relaxed) == 2 {
            return Err(backend_error(true));
        }
        Ok(busy(request))
    });
    assert_eq!(play(plan(&out, once)).episodes[0].end, Some(EndReason::StepLimit));
    let retried = |body: &Body| matches!(body, Body::ModelFailed { retried: true, .. });
    assert_eq!(bodies(&out).iter().filter(|body| retried(body)).count(), 1);

    let (_folder, out) = place();
    let never = FnModel::fallible(|_| Err(backend_error(false)));
    let report = play(plan(&out, never));
    assert_eq!(
        (report.episodes[0].steps, report.episodes[0].end),
        (3, Some(EndReason::Failed))
    );
    let all = bodies(&out);
    let causes = all
        .iter()
        .filter(|body| matches!(body, Body::ModelFailed { message, .. } if message.contains("plug it in")));
    assert_eq!(causes.count(), 3);
    assert!(
        all.iter()
            .any(|body| matches!(body, Body::Annotated { text } if text.contains("3 steps in a row")))
    );
}

#[test]
fn a_prompt_beyond_the_context_plays_the_fallback() {
    let (_folder, out) = place();
    let model = FnModel::fallible(|request| match request.slot.phase {
        Phase::Plan => Err(LlmError::ContextOverflow {
            needed: 9000,
            available: 2048,
        }),
        Phase::Log => Ok("<|DONE|>".into()),
    });
    let report = play(plan(&out, model));
    assert_eq!(report.episodes[0].end, Some(EndReason::StepLimit));
    let steps = steps(&out);
    assert_eq!(steps[3].action().unwrap().3, ActionBy::Fallback);
    let overflow = |body: &Body| matches!(body, Body::ContextOverflow { needed: 9000, .. });
    assert!(steps[3].events.iter().any(overflow));
}

#[test]
fn hostile_text_does_not_end_the_episode() {
    let huge = "x".repeat(10 << 20);
    let texts: Vec<String> = vec![
        huge,
        format!(
            "<|APPEND|>strategy.txt|{0}<|END|><|ACTION|>{0}<|END|>",
            "y".repeat(1 << 20)
        ),
        "<|READ|>../../etc/passwd<|END|><|WRITE|>/etc/passwd|x<|END|><|CREATE|>a/../../b|x<|END|>".into(),
        "<|APPEND|>strategy.txt|\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m<|END|>".into(),
        "<|APPEND|>strategy.txt|never closed".into(),
        "<|<|<|END|><|END|>|>ACTION|><|ACTION|".into(),
        "<think><|ACTION|>Noop<|END|>".into(),
        "\u{0}\u{feff}\u{202e}<|ACTION|>\u{0}<|END|>".into(),
        "<|READ|>".repeat(20_000),
        "{{ 7 * 7 }}{% for x in range(100000) %}".into(),
    ];
    let count = texts.len() as u32;
    let (_folder, out) = place();
    let mut long = plan(
        &out,
        FnModel::of(move |request| texts[(step_of(request) as usize) % texts.len()].clone()),
    );
    long.max_steps = count;
    let report = play(long);
    assert_eq!(report.episodes[0].end, Some(EndReason::StepLimit), "{report:?}");
    assert_eq!(report.episodes[0].steps, count);
    for path in recorded_memory(&out, count - 1).keys() {
        assert!(!path.contains("..") && !path.starts_with('/'), "{path}");
    }
    let refused = bodies(&out).iter().any(|body| {
        matches!(body, Body::MemoryOp { op } if op.args.first().is_some_and(|arg| arg.contains("etc/passwd"))
            && op.outcome.status != OpStatus::Ok && !op.outcome.text.contains("root:"))
    });
    assert!(refused);
}

#[test]
fn plans_that_make_no_sense_are_refused_before_anything_is_written() {
    let (folder, out) = place();
    let model = || FnModel::of(busy);
    let mut wrong = plan(&out, model());
    wrong.exact = true;
    wrong.workers = 2;
    assert!(agent::start(wrong).unwrap_err().to_string().contains("--workers 1"));
    let mut wrong = plan(&out, model());
    wrong.seeds.clear();
    assert!(agent::start(wrong).is_err());
    let mut wrong = plan(&out, model());
    wrong.world = "minihack".into();
    assert!(agent::start(wrong).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    std::fs::write(&out, "mine").unwrap();
    let text = agent::start(plan(&out, model())).unwrap_err().to_string();
    assert!(text.contains("exists already") && text.contains("--out"), "{text}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    std::fs::remove_file(&out).unwrap();
    std::fs::create_dir(agent::memory_folder(&out)).unwrap();
    assert!(matches!(
        agent::start(plan(&out, model())).unwrap_err(),
        AgentError::MemoryExists(_)
    ));
}

#[test]
fn a_person_acts_speaks_and_edits_and_all_of_it_can_be_replayed() {
    let (_folder, out) = place();
    let model = FnModel::of(|request| {
        // Slow enough for a person to come in between.
        std::thread::sleep(Duration::from_millis(3));
        match request.slot.phase {
            Phase::Log => "<|DONE|>".into(),
            Phase::Plan => "<|ACTION|>Noop<|END|>".into(),
        }
    });
    let handle = agent::start(automem::agent::RunPlan {
        max_steps: 60,
        ..plan(&out, model)
    })
    .unwrap();
    let controls = handle.controls.clone();
    controls.pause();
    wait_until("the pause", || controls.waiting() == 1);
    let played = || {
        Reader::open(&out)
            .unwrap()
            .episodes()
            .unwrap()
            .first()
            .map_or(0, |episode| episode.steps)
    };
    let next = played();
    controls.act(EpisodeNo(0), "Do".into());
    controls.say(EpisodeNo(0), "mind the lava");
    controls.step();
    wait_until("the step", || controls.waiting() == 1 && played() == next + 1);
    controls.act(EpisodeNo(0), "Fly".into());
    controls.act(EpisodeNo(7), "Do".into());
    controls.resume();
    handle.wait().unwrap();

    let steps = steps(&out);
    let step = &steps[next as usize];
    assert_eq!(
        step.action().map(|action| (action.1, action.3)),
        Some(("Do", ActionBy::Human))
    );
    assert!(step.events.contains(&Body::HumanActed { action: "Do".into() }));
    let said = steps
        .iter()
        .flat_map(|step| &step.events)
        .position(|body| matches!(body, Body::HumanSaid { .. }));
    assert!(said.is_some());
    let prompts: Vec<&str> = steps
        .iter()
        .flat_map(|step| step.turns())
        .map(|turn| turn.prompt.as_str())
        .collect();
    assert_eq!(
        prompts.iter().filter(|prompt| prompt.contains("mind the lava")).count(),
        1
    );
    let after = &steps[next as usize + 1];
    assert_eq!(
        after.action().map(|action| action.3),
        Some(ActionBy::Model),
        "Fly is no action"
    );
    assert!(agent::verify(&out, &Default::default(), &mut |_| ()).unwrap().ok);
}

#[test]
fn a_person_plays_one_episode_while_the_others_wait() {
    let (_folder, out) = place();
    let model = FnModel::of(|request| {
        std::thread::sleep(Duration::from_millis(3));
        match request.slot.phase {
            Phase::Log => "<|DONE|>".into(),
            Phase::Plan => "<|ACTION|>Noop<|END|>".into(),
        }
    });
    let base = plan(&out, model);
    let handle = agent::start(automem::agent::RunPlan {
        max_steps: 40,
        seeds: vec![1, 2],
        workers: 2,
        ..base
    })
    .unwrap();
    let controls = handle.controls.clone();
    controls.pause();
    wait_until("the pause", || controls.waiting() == 2);
    assert!(controls.waits(EpisodeNo(0)) && controls.waits(EpisodeNo(1)) && !controls.waits(EpisodeNo(2)));
    // An episode of which nothing is committed yet is not listed.
    let played = |number: u32| {
        let episodes = Reader::open(&out).unwrap().episodes().unwrap();
        let episode = episodes.iter().find(|episode| episode.episode == EpisodeNo(number));
        episode.map_or(0, |episode| episode.steps)
    };
    let before = [played(0), played(1)];
    controls.act_now(EpisodeNo(1), "Do".into());
    wait_until("the step", || controls.waits(EpisodeNo(1)) && played(1) > before[1]);
    assert_eq!([played(0), played(1)], [before[0], before[1] + 1]);
    controls.resume();
    handle.wait().unwrap();
    let reader = Reader::open(&out).unwrap();
    let events: Vec<_> = reader
        .episode_events(EpisodeNo(1))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let acted = events
        .iter()
        .filter(|event| matches!(event.body, Body::HumanActed { .. }));
    assert_eq!(acted.map(|event| event.at.step.0).collect::<Vec<_>>(), [before[1]]);
    let stepped = |body: &Body| matches!(body, Body::Controlled { control } if control == "stepped");
    assert!(
        !bodies(&out).iter().any(stepped),
        "nobody asked for a step of the others"
    );
    assert!(agent::verify(&out, &Default::default(), &mut |_| ()).unwrap().ok);
}
