//! The gate's driver: early stop, going on, when an evaluation is used again, scaffolds that misbehave.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use automem::agent::{self, RunPlan};
use automem::config::Workspace;
use automem::gate::{GateError, GateNews, Key, Side, evaluate, reusable};
use automem::jobs::Cancel;
use automem::llm::{LlmError, ModelOptions};
use automem::scaffold::Scaffold;
use automem::store::Reader;
use automem::types::EndReason;
use support::{FnModel, busy, place, plan, scaffold};

fn scripted(out: &std::path::Path, seeds: &[u64], steps: u32) -> RunPlan {
    let model = agent::open_model("scripted", "crafter", &ModelOptions::default()).unwrap();
    RunPlan {
        seeds: seeds.to_vec(),
        max_steps: steps,
        ..plan(out, model)
    }
}

#[test]
fn nothing_more_is_played_once_nothing_can_help() {
    let (_folder, out) = place();
    let plan = scripted(&out, &[42, 43, 44], 30);
    let mut ended = Vec::new();
    let one_is_enough = |scores: &[Option<automem::review::Score>]| scores.iter().flatten().count() < 1;
    let evaluated = evaluate(&plan, Side::Revision, &one_is_enough, &Cancel::new(), &mut |news| {
        if let GateNews::Episode {
            seed, end: Some(end), ..
        } = news
        {
            ended.push((seed, end));
        }
    })
    .unwrap();
    assert!(evaluated.scores[0].is_some());
    assert!(evaluated.scores[2].is_none());
    assert_eq!(ended[0], (42, EndReason::StepLimit));
    assert!(!ended.iter().any(|(seed, _)| *seed == 44));
    assert!(Reader::open(&out).unwrap().is_finished());
    // Asked again with the same word nothing is played; asked for all, what is missing is.
    let news = &mut |_| panic!("nothing is to be played");
    let again = evaluate(&plan, Side::Revision, &one_is_enough, &Cancel::new(), news).unwrap();
    assert_eq!(again, evaluated);
    let all = evaluate(&plan, Side::Revision, &|_| true, &Cancel::new(), &mut |_| {}).unwrap();
    assert!(all.scores.iter().all(Option::is_some));
    assert!(out.with_file_name("run-again1.db").exists());
}

#[test]
fn an_interrupted_evaluation_goes_on_with_its_run() {
    let (_folder, whole) = place();
    let (_other, out) = place();
    let all = |plan: &RunPlan, cancel: &Cancel, news: &mut dyn FnMut(GateNews)| {
        evaluate(plan, Side::Parent, &|_| true, cancel, news)
    };
    let told = all(&scripted(&whole, &[42, 43], 40), &Cancel::new(), &mut |_| {}).unwrap();
    let plan = scripted(&out, &[42, 43], 40);
    let cancel = Cancel::new();
    let stopped = all(&plan, &cancel, &mut |news| {
        if let GateNews::Episode { step: 10.., .. } = news {
            cancel.cancel();
        }
    });
    assert!(matches!(stopped, Err(GateError::Cancelled)), "{stopped:?}");
    assert!(!Reader::open(&out).unwrap().is_finished());
    let mut resumed = false;
    let after = all(&plan, &Cancel::new(), &mut |news| {
        resumed |= matches!(news, GateNews::Playing { resumed: true, .. });
    })
    .unwrap();
    assert!(resumed);
    let essence = |evaluated: &automem::gate::Evaluated| -> Vec<_> {
        let scores = evaluated.scores.iter().flatten();
        scores
            .map(|score| (score.progression.to_bits(), score.steps, score.tokens))
            .collect()
    };
    assert_eq!(essence(&after), essence(&told));
    assert!(after.scores[0].unwrap().seconds > 0.0);
    // With other steps it is another run, and is not gone on with.
    let other = RunPlan { max_steps: 41, ..plan };
    let error = all(&other, &Cancel::new(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("another number of steps"), "{error}");
}

#[test]
fn an_evaluation_is_used_again_only_when_all_is_equal() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(folder.path().join("w"));
    let out = workspace.runs_dir().join("earlier.db");
    let plan = scripted(&out, &[42], 5);
    evaluate(&plan, Side::Parent, &|_| true, &Cancel::new(), &mut |_| {}).unwrap();
    let key = Key::of_run(Reader::open(&out).unwrap().meta()).unwrap();
    let world = automem::env::open("crafter").unwrap();
    assert_eq!(Key::of_plan(&plan, world.spec()), key);
    let found = |key: &Key| reusable(&workspace, key).unwrap();
    assert_eq!(found(&key).unwrap().file_name().unwrap(), "earlier.db");
    type Change = fn(&mut Key);
    let changes: [Change; 11] = [
        |key| key.specialist = Some(key.model.clone()),
        |key| key.scaffold = automem::types::Digest::of("another"),
        |key| key.model.name = "another".into(),
        |key| drop(key.model.details.insert("threads".into(), "3".into())),
        |key| key.sampling.seed = 1,
        |key| key.sampling.temperature = 0.0,
        |key| key.world.engine_version = "2".into(),
        |key| key.max_steps = 6,
        |key| key.seeds = vec![43],
        |key| key.seeds = vec![42, 42],
        |key| key.exact = true,
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let mut other = key.clone();
        change(&mut other);
        assert_eq!(found(&other), None, "change {n}");
    }
    // One that was stopped has no scores.
    let stopped = workspace.runs_dir().join("stopped.db");
    let plan = scripted(&stopped, &[44], 400);
    let handle = agent::start(plan.clone()).unwrap();
    handle.controls.stop();
    handle.wait().unwrap();
    assert_eq!(found(&Key::of_plan(&plan, world.spec())), None);
}

#[test]
fn a_script_that_loops_or_grows_does_not_keep_the_gate_from_its_end() {
    for script in [
        "def hook(state, event):\n    n = 0\n    for a in range(100000):\n        for b in range(100000):\n            n += 1\n    return state, []\n",
        "def hook(state, event):\n    state[\"x\"] = state.get(\"x\", \"grow\") * 4\n    return state, []\n",
    ] {
        let (_folder, out) = place();
        let mut files = scaffold().files().clone();
        files.insert("hooks.star".into(), script.into());
        let plan = RunPlan {
            scaffold: Scaffold::from_files(files).unwrap(),
            ..scripted(&out, &[42, 43], 25)
        };
        let evaluated = evaluate(&plan, Side::Revision, &|_| true, &Cancel::new(), &mut |_| {}).unwrap();
        assert!(
            evaluated.scores.iter().all(|score| score.unwrap().steps == 25),
            "{evaluated:?}"
        );
    }
}

#[test]
fn a_seed_without_a_score_is_named_not_counted() {
    let (_folder, out) = place();
    let model = FnModel::fallible(|request| {
        if request.slot.episode.0 == 1 {
            return Err(gone());
        }
        Ok(busy(request))
    });
    let plan = RunPlan {
        seeds: vec![42, 43],
        ..plan(&out, model)
    };
    let result = evaluate(&plan, Side::Revision, &|_| true, &Cancel::new(), &mut |_| {});
    // Played again alone, seed 43 is episode 0 and gets its score.
    let evaluated = result.unwrap();
    assert!(evaluated.scores.iter().all(Option::is_some));

    let (_folder, out) = place();
    let plan = RunPlan {
        out,
        model: FnModel::fallible(|_| Err(gone())),
        ..plan
    };
    let error = evaluate(&plan, Side::Revision, &|_| true, &Cancel::new(), &mut |_| {}).unwrap_err();
    let GateError::NoScore { seeds, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*seeds, [42, 43]);
    assert!(error.to_string().contains("the model is gone"), "{error}");
}

fn gone() -> LlmError {
    LlmError::Backend {
        backend: "test",
        message: "the model is gone".into(),
        retryable: false,
    }
}
