//! crafter-v1 against crafter-v0 with the scripted player: it writes far less and gets as far.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use automem::agent::{self, RunPlan, RunReport};
use automem::config::Workspace;
use automem::llm::ModelOptions;
use automem::scaffold::Scaffold;
use automem::store::Reader;
use automem::types::{Body, MemoryChange, StepNo};
use support::{place, plan, play};

struct Told {
    written: f64,
    report: RunReport,
    failures: Vec<String>,
    failed_ops: Vec<String>,
}

fn played(name: &str) -> Told {
    let (_folder, out) = place();
    let model = agent::open_model("scripted", "crafter", &ModelOptions::default()).unwrap();
    let report = play(RunPlan {
        scaffold: Scaffold::named(name, &Workspace::at("/nonexistent")).unwrap(),
        seeds: vec![42, 43, 44, 45],
        max_steps: 300,
        workers: 2,
        ..plan(&out, model)
    });
    let reader = Reader::open(&out).unwrap();
    let (mut written, mut steps) = (0, 0);
    let (mut failures, mut failed_ops) = (Vec::new(), Vec::new());
    for episode in &report.episodes {
        steps += episode.steps;
        for step in reader.steps(episode.episode, StepNo(0)..StepNo(400)).unwrap() {
            for op in step.ops() {
                written += op.changes.iter().map(MemoryChange::bytes_written).sum::<usize>();
                if matches!(op.outcome.status.word(), "refused" | "malformed" | "failed") {
                    failed_ops.push(format!("{} {:?}: {}", op.op, op.args, op.outcome.text));
                }
            }
            failures.extend(step.events.into_iter().filter_map(|body| match body {
                Body::HookFailed { hook, message } => Some(format!("{hook}: {message}")),
                _ => None,
            }));
        }
    }
    Told {
        written: written as f64 / f64::from(steps),
        report,
        failures,
        failed_ops,
    }
}

#[test]
fn writes_at_most_a_third_and_gets_no_less_far() {
    let (old, new) = (played("crafter-v0"), played("crafter-v1"));
    assert_eq!(new.failures, Vec::<String>::new());
    assert_eq!(new.failed_ops, Vec::<String>::new());
    println!("written {:.1} against {:.1}", new.written, old.written);
    println!(
        "progression {:.3} against {:.3}",
        new.report.mean_progression, old.report.mean_progression
    );
    assert!(
        new.written * 3.0 <= old.written,
        "{} against {}",
        new.written,
        old.written
    );
    assert!(
        new.report.mean_progression >= old.report.mean_progression,
        "{:?} against {:?}",
        new.report,
        old.report
    );
}
