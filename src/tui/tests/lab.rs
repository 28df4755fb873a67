//! Lab: what it shows at both sizes, where its numbers lead, the dialog, the optimization under way.

use std::path::PathBuf;

use super::*;
use crate::gate::report;
use crate::review::{Outcome, Pair, Score, State as Standing};
use crate::scaffold::{Lineage, Node, RunScore, Source};
use crate::tui::data::LabNews;
use crate::tui::effects::{Ask, LabAsk};
use crate::tui::lab::{GateRow, LabData, LabPane, Optimized, Specialist, Suggested};
use crate::tui::trainings::{self, Training};
use crate::tune::recipe::{Schedule, Targets, TrainConfig};
use crate::tune::train::{TrainJob, TrainNews};
use crate::types::Digest;

fn node(line: &str, version: &str, depth: usize, scores: &[f64]) -> Node {
    let digest = Digest::of(format!("{line} {version}"));
    Node {
        line: line.into(),
        digest,
        version: version.into(),
        parent_name: (depth > 0).then(|| "crafter-v0".to_owned()),
        parent: None,
        head: true,
        source: Some(Source::Shipped),
        note: String::new(),
        kept: None,
        method: "Five append-only text files, one a topic.".into(),
        runs: vec![RunScore {
            path: PathBuf::from(format!("/runs/{line}-{version}.db")),
            id: format!("{line}-{version}"),
            progression: scores.to_vec(),
        }],
        depth,
    }
}

fn pairs(parent: &[f64], revision: &[f64]) -> Vec<Pair> {
    let score = |progression: &f64| Score {
        progression: *progression,
        total_reward: 3.0,
        steps: 900,
        tokens: 120_000,
        seconds: 61.0,
    };
    let both = parent.iter().zip(revision).zip(42..);
    both.map(|((parent, revision), seed)| Pair {
        seed,
        parent: Some(score(parent)),
        revision: Some(score(revision)),
    })
    .collect()
}

fn suggested(id: &str, title: &str, stage: Standing, revision: &[f64]) -> Suggested {
    let gate = (!revision.is_empty()).then(|| {
        let pairs = pairs(&[0.31, 0.36, 0.27, 0.40], revision);
        report(pairs, "/runs/parent.db".into(), format!("/runs/{id}.db"), true)
    });
    Suggested {
        id: id.into(),
        title: title.into(),
        author: "rules".into(),
        line: "crafter-v0-auto".into(),
        parent: Digest::of("crafter-v0 0.1.0"),
        result: None,
        stage,
        waits: stage == Standing::Pending,
        why: String::new(),
        gate,
    }
}

fn data() -> LabData {
    let mut auto = node("crafter-v0-auto", "0.2.0", 1, &[0.41, 0.45, 0.36, 0.50]);
    auto.source = Some(Source::Workspace("/home/ada/.automem/scaffolds/crafter-v0-auto".into()));
    auto.note = "p1".into();
    let mut promoted = suggested(
        "p1",
        "One line a place in map_notes.txt",
        Standing::Promoted,
        &[0.41, 0.45, 0.36, 0.50],
    );
    promoted.result = Some(auto.digest);
    let mut other = node("crafter-v1", "0.1.0", 1, &[]);
    other.runs.clear();
    LabData {
        lineage: Lineage {
            nodes: vec![node("crafter-v0", "0.1.0", 0, &[0.31, 0.36, 0.27, 0.40]), auto, other],
            broken: Vec::new(),
        },
        proposals: vec![
            suggested("p3", "Prune the survival log", Standing::Pending, &[]),
            suggested(
                "p2",
                "Write less in LOG",
                Standing::Discarded,
                &[0.31, 0.30, 0.27, 0.41],
            ),
            promoted,
        ],
        ledger: vec![GateRow {
            proposal: "p1".into(),
            time: "2026-11-29T20:37:00Z".into(),
            optimization: "crafter-v0-1".into(),
            iteration: 1,
            attempt: 1,
            reviser_tokens: 81_200,
            dollars: Some(0.41),
        }],
        specialists: vec![Specialist {
            name: "crafter-v0-memory-i1".into(),
            digest: Digest::of("adapter"),
            proposal: "p9".into(),
            tuning: ("crafter-v0-memory-1".into(), 1),
            mean: (0.44, 0.03),
            against: ("no specialist".into(), 0.41),
            seeds: 4,
            outcome: Outcome::Better,
            run: "/runs/specialist.db".into(),
        }],
        optimizations: vec![
            Optimized {
                name: "crafter-v0-2".into(),
                touched: "2026-11-29T21:00:00Z".into(),
                word: "seeing to p3".into(),
                proposal: Some("p3".into()),
                over: false,
                iteration: (1, 5),
                attempt: 1,
                scaffold: "crafter-v0".into(),
                line: "crafter-v0-auto".into(),
                seeds: 4,
                meta: "rules".into(),
                model: "scripted".into(),
                run: Some("/runs/parent.db".into()),
                promoted: 0,
                tokens: 0,
                dollars: None,
            },
            Optimized {
                name: "crafter-v0-1".into(),
                touched: "2026-11-29T20:37:00Z".into(),
                word: "over: 1 iterations are done".into(),
                proposal: None,
                over: true,
                iteration: (1, 1),
                attempt: 2,
                scaffold: "crafter-v0".into(),
                line: "crafter-v0-auto".into(),
                seeds: 4,
                meta: "anthropic:claude".into(),
                model: "scripted".into(),
                run: Some("/runs/parent.db".into()),
                promoted: 1,
                tokens: 81_200,
                dollars: Some(0.41),
            },
        ],
        episodes: [("/runs/p2.db".to_owned(), vec![(42, EpisodeNo(0)), (43, EpisodeNo(1))])].into(),
        faults: Vec::new(),
    }
}

fn told(state: &mut State, news: LabNews) {
    update(state, Event::Data(Data::Lab(news)));
    settle(state);
}

fn lab(size: (u16, u16), data: LabData) -> State {
    let mut state = testing::listing(size, testing::entries());
    let effects = press(&mut state, "5");
    assert_eq!(effects, [Effect::Lab(LabAsk::Load)]);
    assert_eq!(state.screen, Screen::Lab);
    told(&mut state, LabNews::Loaded(Box::new(data)));
    state
}

/// Lab before anything was played or optimized.
fn fresh() -> LabData {
    let mut data = data();
    data.proposals.clear();
    data.ledger.clear();
    data.optimizations.clear();
    data.specialists.clear();
    data.lineage.nodes.retain(|node| node.line != "crafter-v0-auto");
    data.lineage.nodes.iter_mut().for_each(|node| node.runs.clear());
    data
}

#[test]
fn lab_at_80_by_24() {
    let mut state = lab((80, 24), data());
    insta::assert_snapshot!("lab_80x24_lineage", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("lab_80x24_chart", text(&state));
    press(&mut state, "Tab j l");
    insta::assert_snapshot!("lab_80x24_gates", text(&state));
    press(&mut state, "Tab");
    insta::assert_snapshot!("lab_80x24_optimizations", text(&state));
    press(&mut state, "n");
    insta::assert_snapshot!("lab_80x24_dialog", text(&state));
}

#[test]
fn lab_at_160_by_48() {
    let mut state = lab((160, 48), data());
    told(&mut state, LabNews::Trainings(learned()));
    insta::assert_snapshot!("lab_160x48", text(&state));
}

/// One training under way, one that is done, one that cannot go on.
fn learned() -> Vec<Training> {
    let job = |name: &str| TrainJob {
        name: name.into(),
        base: "/models/qwen2.5-0.5b.gguf".into(),
        data: "/home/ada/.automem/datasets/p7.json".into(),
        config: TrainConfig {
            rank: 16,
            alpha: 32.0,
            dropout: 0.0,
            learning_rate: 2e-4,
            epochs: 3,
            batch: 1,
            accumulation: 8,
            cutoff: 1024,
            schedule: Schedule::Cosine,
            warmup: 0.05,
            save: false,
            gpus: 0,
            targets: Targets::Attn,
            seed: 1,
        },
        out: format!("/adapters/{name}.gguf").into(),
        folder: format!("/home/ada/.automem/trainings/{name}").into(),
        held_out: 0.1,
        threads: None,
        memory: None,
    };
    let mut running = Training::new("crafter-2".into());
    running.job = Some(job("crafter-2"));
    running.take(TrainNews::Planned {
        steps: 400,
        examples: 360,
        held_out: 40,
        too_long: 3,
        parameters: 1_843_200,
        memory: 1_800 << 20,
        checkpointing: true,
        done: 0,
        device: "cpu".into(),
    });
    for step in 1..=240 {
        let noise = f64::from(step * 7919 % 100) / 250.0;
        running.take(TrainNews::Step {
            step,
            of: 400,
            epoch: f64::from(step) / 133.0,
            loss: 0.8 + 2.0 / (1.0 + f64::from(step) / 40.0) + noise,
            lr: 2e-4 * (1.0 - f64::from(step) / 400.0),
            grad_norm: 0.7,
            tokens_per_second: 134.0,
        });
        if step % 60 == 0 {
            let loss = 1.0 + 2.0 / (1.0 + f64::from(step) / 40.0);
            running.take(TrainNews::HeldOut { step, loss });
        }
    }
    running.stage = trainings::Stage::Running;
    running.left = Some(420.0);
    let mut done = Training::new("crafter-1".into());
    done.job = Some(job("crafter-1"));
    done.take(TrainNews::Done {
        steps: 40,
        loss: 0.912,
        held_out: Some(1.034),
        adapter: "/adapters/crafter-1.gguf".into(),
        digest: Digest::of("adapter"),
        seconds: 611.0,
        peak_rss: 1_234 << 20,
    });
    done.stage = trainings::Stage::Done;
    let mut failed = Training::new("nan\u{1b}[31m".into());
    failed.fault = Some("the loss became NaN at update 12\u{7}".into());
    failed.stage = trainings::Stage::Failed;
    vec![running, done, failed]
}

#[test]
fn trainings_show_their_loss_and_what_they_are_trained_with() {
    let mut state = lab((80, 24), data());
    press(&mut state, "S-Tab");
    told(&mut state, LabNews::Trainings(learned()));
    insta::assert_snapshot!("lab_80x24_trainings", text(&state));
    press(&mut state, "Enter");
    insta::assert_snapshot!("lab_80x24_training_facts", text(&state));
    press(&mut state, "Enter j");
    assert!(text(&state).contains("peak 1,234 MiB"), "{}", text(&state));
    press(&mut state, "j");
    assert!(text(&state).contains("✗ the loss became NaN at update 12"));
    let harmless = drawn(&state)
        .content
        .iter()
        .all(|cell| !cell.symbol().chars().any(char::is_control));
    assert!(harmless);
    // The selection stays with its training when another one comes to the front.
    let mut others = learned();
    others.rotate_left(2);
    told(&mut state, LabNews::Trainings(others));
    assert_eq!(state.lab.selected_training().unwrap().stage, trainings::Stage::Failed);
}

#[test]
fn an_empty_lab_says_what_to_do() {
    insta::assert_snapshot!("lab_fresh_160x48", text(&lab((160, 48), fresh())));
    let mut state = lab((80, 24), fresh());
    for keys in ["Tab", "Tab", "Tab", "Tab"] {
        press(&mut state, keys);
        let screen = text(&state);
        assert!(
            ["automem run", "automem optimize", "automem train"]
                .iter()
                .any(|command| screen.contains(command)),
            "{screen}"
        );
    }
}

#[test]
fn numbers_lead_to_their_runs() {
    let mut state = lab((80, 24), data());
    let opened = |effects: Vec<Effect>| match effects.as_slice() {
        [Effect::Open { path, episode, .. }] => (path.display().to_string(), episode.0),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        opened(press(&mut state, "Enter")),
        ("/runs/crafter-v0-0.1.0.db".to_owned(), 0)
    );
    press(&mut state, "l j");
    assert_eq!(
        opened(press(&mut state, "Enter")),
        ("/runs/crafter-v0-0.1.0.db".to_owned(), 0)
    );
    press(&mut state, "h");
    assert_eq!(state.lab.scroll(LabPane::Lineage).selected, 0);
    press(&mut state, "G");
    assert_eq!(opened(press(&mut state, "Enter")).0, "/runs/specialist.db");
    press(&mut state, "k");
    assert!(press(&mut state, "Enter").is_empty());
    assert!(text(&state).contains("no run was played with exactly these files"));
    press(&mut state, "Tab G");
    assert_eq!(opened(press(&mut state, "Enter")).0, "/runs/crafter-v0-auto-0.2.0.db");
    // The newest gate shows its seeds; the second seed is the second episode of the revision's run.
    press(&mut state, "Tab g j j");
    assert_eq!(opened(press(&mut state, "Enter")), ("/runs/p2.db".to_owned(), 1));
    assert_eq!(opened(press(&mut state, "p")).0, "/runs/parent.db");
    press(&mut state, "h");
    assert_eq!(state.lab.len(LabPane::Gates), 2);
    // Without a gate selected its key is none.
    press(&mut state, "Tab");
    assert!(press(&mut state, "p").is_empty());
}

#[test]
fn a_proposal_opens_in_review_and_a_run_leads_back() {
    for (keys, id) in [("j Enter", "p2"), ("Tab Tab Enter", "p2"), ("S-Tab S-Tab Enter", "p3")] {
        let mut state = lab((80, 24), data());
        let effects = press(&mut state, keys);
        assert!(
            effects.contains(&Effect::Review(Ask::Open(id.into()))),
            "{keys}: {effects:?}"
        );
        assert_eq!(state.screen, Screen::Review);
    }
    for back in ["q", "Esc"] {
        let mut state = testing::watching((80, 24), 60, 23);
        press(&mut state, "5");
        told(&mut state, LabNews::Loaded(Box::new(data())));
        press(&mut state, "Enter");
        state.screen = Screen::Watch;
        assert_eq!(press(&mut state, back), [Effect::Lab(LabAsk::Load)]);
        assert_eq!(state.screen, Screen::Lab);
    }
}

#[test]
fn an_optimization_is_started_followed_and_stopped() {
    let mut state = lab((80, 24), fresh());
    press(&mut state, "n");
    assert!(matches!(state.overlays.last(), Some(Overlay::Optimize(_))));
    press(&mut state, "Down C-u");
    write(&mut state, "7..x");
    assert!(press(&mut state, "Enter").is_empty());
    assert!(text(&state).contains("no seed"));
    press(&mut state, "Backspace");
    write(&mut state, "9");
    let effects = press(&mut state, "Enter");
    let [Effect::Lab(LabAsk::Start(request))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(
        (request.scaffold.as_str(), request.seeds.as_str()),
        ("crafter-v0", "7..9")
    );
    assert_eq!((state.overlays.len(), state.lab.pane), (0, LabPane::Optimizations));
    told(&mut state, LabNews::Began("crafter-v0-1".into()));
    let word = "playing the parent".to_owned();
    told(
        &mut state,
        LabNews::Does {
            word,
            done: 1,
            total: 3,
        },
    );
    told(
        &mut state,
        LabNews::Told("the parent\u{1b}[31m's mean is 31.0 %".into()),
    );
    let screen = text(&state);
    assert!(
        screen.contains("playing the parent  1 of 3") && screen.contains("'s mean is 31.0 %"),
        "{screen}"
    );
    assert!(!screen.contains('\u{1b}'));
    // One at a time.
    press(&mut state, "n");
    assert!(state.overlays.is_empty() && text(&state).contains("one optimization at a time"));
    // Leaving asks.
    press(&mut state, "1 q");
    assert!(
        text(&state).contains("An optimization is under way"),
        "{}",
        text(&state)
    );
    press(&mut state, "n 5");
    assert_eq!(press(&mut state, "x"), [Effect::Lab(LabAsk::Stop)]);
    assert!(press(&mut state, "x").is_empty());
    told(&mut state, LabNews::Ended(Ok("crafter-v0-1 is stopped".into())));
    assert!(text(&state).contains("crafter-v0-1 is stopped") && state.lab.working.is_none());
}

#[test]
fn one_that_is_not_over_can_be_resumed() {
    let mut state = lab((80, 24), data());
    press(&mut state, "S-Tab S-Tab");
    assert_eq!(
        press(&mut state, "r"),
        [Effect::Lab(LabAsk::Resume("crafter-v0-2".into()))]
    );
    told(&mut state, LabNews::Ended(Err("no server answers".into())));
    assert!(text(&state).contains("no server answers"));
    press(&mut state, "j");
    assert!(press(&mut state, "r").is_empty(), "it is over");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_shows() {
    let mut broken = data();
    broken.faults.push("mine: scaffold.toml\u{7} is a folder".into());
    let screen = text(&lab((80, 24), broken));
    assert!(
        screen.contains("not read: mine: scaffold.toml") && screen.contains("crafter-v0-auto"),
        "{screen}"
    );
}
