//! Whole trainings of tiny models: the loss falls, going on is exact, bad input is refused.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::super::folder::{self, read_news};
use super::super::super::{TrainBackend, TrainError, TrainJob, TrainNews, Trained};
use super::super::{NativeTrainer, tiny};
use super::config;
use crate::jobs::Cancel;
use crate::llm::{adapter, gguf::Header};

/// Conversations whose answer repeats a word of the question.
fn set(folder: &Path, count: usize) -> PathBuf {
    let words = ["axe", "bow", "cup", "dog"];
    let list: Vec<_> = (0..count)
        .map(|index| {
            let word = words[index % words.len()];
            serde_json::json!({"conversations": [
                {"role": "user", "content": format!("say {word}")},
                {"role": "assistant", "content": word},
            ]})
        })
        .collect();
    let path = folder.join("set.json");
    std::fs::write(&path, serde_json::Value::from(list).to_string()).unwrap();
    path
}

fn job(home: &Path, name: &str) -> TrainJob {
    TrainJob {
        name: name.to_owned(),
        base: tiny::write(home, "qwen2", 1),
        data: set(home, 12),
        config: config(),
        out: home.join(format!("{name}.gguf")),
        folder: home.join(name),
        held_out: 0.2,
        threads: Some(2),
        memory: None,
    }
}

type Ended = (Result<Trained, TrainError>, Vec<TrainNews>);

/// Trains; after so many updates it is cancelled.
fn train(job: &TrainJob, stop_after: Option<u32>) -> Ended {
    let cancel = Cancel::new();
    let mut all = Vec::new();
    let result = NativeTrainer::saving_every(Duration::MAX).train(job, &cancel, &mut |news| {
        if let TrainNews::Step { step, .. } = news
            && Some(step) == stop_after
        {
            cancel.cancel();
        }
        all.push(news);
    });
    (result, all)
}

fn losses(news: &[TrainNews]) -> Vec<(u32, f64)> {
    let loss = |news: &TrainNews| match news {
        TrainNews::Step { step, loss, .. } => Some((*step, *loss)),
        _ => None,
    };
    news.iter().filter_map(loss).collect()
}

#[test]
fn the_loss_falls_and_the_adapter_fits() {
    let home = tempfile::tempdir().unwrap();
    for architecture in ["llama", "qwen3"] {
        let mut job = job(home.path(), &format!("of-{architecture}"));
        job.base = tiny::write(home.path(), architecture, 2);
        job.config.epochs = 12;
        job.config.dropout = 0.05;
        let (result, news) = train(&job, None);
        let trained = result.unwrap();
        let held: Vec<f64> = news
            .iter()
            .filter_map(|news| match news {
                TrainNews::HeldOut { loss, .. } => Some(*loss),
                _ => None,
            })
            .collect();
        // Before the first, and after each epoch.
        assert_eq!(held.len(), 13);
        assert!(held[12] < held[0] * 0.5, "{held:?}");
        assert_eq!(trained.held_out, held.last().copied());
        let TrainNews::Planned {
            steps,
            examples,
            held_out,
            done,
            ..
        } = news[0]
        else {
            panic!("{:?}", news[0])
        };
        assert_eq!((steps, examples, held_out, done), (60, 10, 2, 0));
        assert_eq!(losses(&news).len(), 60);
        let info = adapter::inspect(&job.out).unwrap();
        adapter::fits(&info, &Header::open(&job.base).unwrap()).unwrap();
        assert_eq!((info.digest, info.rank, info.tensors.len()), (trained.digest, 4, 14));
        assert_eq!(info.base.as_deref(), Some(format!("tiny {architecture}").as_str()));
        // The log holds what was told.
        let log = std::fs::read_to_string(job.folder.join(folder::LOG)).unwrap();
        let logged: Vec<TrainNews> = log.lines().map(|line| read_news(line).unwrap()).collect();
        assert_eq!(logged, news);
    }
}

#[test]
fn going_on_is_the_training_that_was_not_interrupted() {
    let home = tempfile::tempdir().unwrap();
    let mut whole = job(home.path(), "whole");
    whole.config.dropout = 0.1;
    let (result, news) = train(&whole, None);
    let expected = result.unwrap();
    // Stopped twice: within an epoch, and at the end of one.
    let parts = TrainJob {
        out: home.path().join("parts.gguf"),
        folder: home.path().join("parts"),
        ..whole.clone()
    };
    let mut together = Vec::new();
    for (stop, done) in [(Some(3), 0), (Some(5), 3), (None, 5)] {
        let (result, news) = train(&parts, stop);
        let TrainNews::Planned { done: found, .. } = news[0] else {
            panic!("{:?}", news[0])
        };
        assert_eq!(found, done);
        together.extend(losses(&news));
        match stop {
            Some(_) => assert!(matches!(result, Err(TrainError::Cancelled)), "{result:?}"),
            None => {
                let trained = result.unwrap();
                assert_eq!(trained.digest, expected.digest);
                assert_eq!((trained.loss, trained.held_out), (expected.loss, expected.held_out));
            }
        }
    }
    assert_eq!(together, losses(&news));
    assert_eq!(std::fs::read(&parts.out).unwrap(), std::fs::read(&whole.out).unwrap());
    // A finished one only writes its adapter again.
    std::fs::remove_file(&parts.out).unwrap();
    let (result, news) = train(&parts, None);
    assert_eq!(result.unwrap().digest, expected.digest);
    assert!(losses(&news).is_empty());
}

#[test]
fn another_training_is_not_gone_on_with() {
    let home = tempfile::tempdir().unwrap();
    let first = job(home.path(), "one");
    assert!(matches!(train(&first, Some(2)).0, Err(TrainError::Cancelled)));
    let refused = |job: &TrainJob| train(job, None).0.unwrap_err().to_string();
    let mut other = first.clone();
    other.config.learning_rate *= 2.0;
    let text = refused(&other);
    assert!(
        text.contains("another configuration") && text.contains("another name"),
        "{text}"
    );
    let mut other = first.clone();
    other.base = tiny::write(home.path(), "llama", 1);
    assert!(refused(&other).contains("another base model"));
    let before = std::fs::read(&first.data).unwrap();
    set(home.path(), 11);
    assert!(refused(&first).contains("another training set"));
    std::fs::write(&first.data, before).unwrap();
    // A checkpoint that was cut off is named; it is not trained over.
    let path = first.folder.join("checkpoint.safetensors");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(refused(&first).contains("cannot be used"));
    std::fs::write(&path, &whole).unwrap();
    assert!(train(&first, None).0.is_ok());
}

#[test]
fn bad_input_is_refused_before_anything_is_trained() {
    let home = tempfile::tempdir().unwrap();
    let good = job(home.path(), "bad");
    let refused = |job: &TrainJob| {
        let (result, news) = train(job, None);
        assert!(losses(&news).is_empty());
        assert!(!job.out.exists());
        result.unwrap_err().to_string()
    };
    let with = |change: &dyn Fn(&mut TrainJob)| {
        let mut job = good.clone();
        change(&mut job);
        refused(&job)
    };
    let bytes = tiny::file("qwen2", 1);
    let cut = home.path().join("cut.gguf");
    std::fs::write(&cut, &bytes[..bytes.len() - 1000]).unwrap();
    let text = with(&|job| job.base = cut.clone());
    assert!(text.contains("cut off") && text.contains("cut.gguf"), "{text}");
    let text = with(&|job| job.base = home.path().join("none.gguf"));
    assert!(text.contains("none.gguf"), "{text}");
    let text = with(&|job| job.base = job.data.clone());
    assert!(text.contains("not a GGUF file"), "{text}");
    let text = with(&|job| job.memory = Some(1 << 20));
    assert!(text.contains("MiB may be used") && text.contains("--memory"), "{text}");
    let text = with(&|job| job.config.cutoff = 64 * 1024 * 1024);
    assert!(text.contains("cutoff"), "{text}");
    let text = with(&|job| job.config.learning_rate = f64::NAN);
    assert!(text.contains("learning"), "{text}");
    let text = with(&|job| job.held_out = 0.9);
    assert!(text.contains("0.5"), "{text}");
    let text = with(&|job| {
        std::fs::write(home.path().join("no.json"), "[]").unwrap();
        job.data = home.path().join("no.json");
    });
    assert!(text.contains("empty"), "{text}");
    // Nothing but an adapter is written over.
    for kept in [&good.base, &good.data] {
        let before = std::fs::read(kept).unwrap();
        let job = TrainJob {
            out: kept.clone(),
            ..good.clone()
        };
        let text = train(&job, None).0.unwrap_err().to_string();
        assert!(text.contains("is no adapter") && text.contains("--out"), "{text}");
        assert_eq!(std::fs::read(kept).unwrap(), before);
    }
    let text = with(&|job| job.folder = job.data.clone());
    assert!(text.contains("set.json"), "{text}");
}

#[test]
fn little_memory_makes_layers_compute_twice_and_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut much = job(home.path(), "much");
    much.config.epochs = 1;
    let (result, news) = train(&much, None);
    let expected = result.unwrap().digest;
    let TrainNews::Planned {
        memory, checkpointing, ..
    } = news[0]
    else {
        panic!("{:?}", news[0])
    };
    assert!(!checkpointing);
    let little = TrainJob {
        out: home.path().join("little.gguf"),
        folder: home.path().join("little"),
        memory: Some(memory - 1),
        ..much
    };
    let (result, news) = train(&little, None);
    assert_eq!(result.unwrap().digest, expected);
    assert!(matches!(
        news[0],
        TrainNews::Planned {
            checkpointing: true,
            ..
        }
    ));
}

#[test]
fn a_loss_that_is_no_number_ends_it() {
    let home = tempfile::tempdir().unwrap();
    let mut job = job(home.path(), "nan");
    // One weight is damaged, in a file that is whole.
    let mut bytes = std::fs::read(&job.base).unwrap();
    let at = bytes.len() - 4000;
    bytes[at - at % 4..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&job.base, bytes).unwrap();
    job.held_out = 0.0;
    let (result, _) = train(&job, None);
    let error = result.unwrap_err();
    assert!(
        matches!(error, TrainError::NotANumber { step: 1, kept: 0, .. }),
        "{error}"
    );
    let log = std::fs::read_to_string(job.folder.join(folder::LOG)).unwrap();
    assert!(log.lines().last().unwrap().contains("learning rate"), "{log}");
}

#[test]
fn the_small_model_learns_a_few_answers() {
    let Some(base) = std::env::var_os("AUTOMEM_TEST_MODEL").map(PathBuf::from) else {
        eprintln!("skipped: AUTOMEM_TEST_MODEL names no model");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let mut job = job(home.path(), "small");
    job.base = base;
    job.data = set(home.path(), 2);
    job.held_out = 0.0;
    job.config.epochs = 4;
    job.config.learning_rate = 5e-3;
    job.config.targets = crate::tune::recipe::Targets::Attn;
    let (result, news) = train(&job, None);
    let losses = losses(&news);
    result.unwrap();
    assert!(losses[3].1 < losses[0].1 * 0.5, "{losses:?}");
}
