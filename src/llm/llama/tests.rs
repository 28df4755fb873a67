//! What can only be seen from inside: answers that are written together are the answers that are written alone.

use crossbeam_channel::unbounded;

use super::*;
use crate::llm::chat::SlotKey;
use crate::types::{EpisodeNo, Phase, Role, Sampling};

/// How much likelier the best logit is than the next.
pub(super) fn margin(logits: &[f32]) -> f32 {
    let (best, second) = logits
        .iter()
        .fold((f32::NEG_INFINITY, f32::NEG_INFINITY), |(best, second), logit| {
            if *logit > best {
                (*logit, best)
            } else {
                (best, second.max(*logit))
            }
        });
    best - second
}

#[test]
fn answers_shrink_before_prompts_overflow() {
    assert_eq!(answer_room(100, 1000, 512).unwrap(), 512);
    assert_eq!(answer_room(900, 1000, 512).unwrap(), 100);
    assert_eq!(answer_room(990, 1000, 8).unwrap(), 8);
    let error = answer_room(990, 1000, 512).unwrap_err();
    assert!(matches!(
        error,
        LlmError::ContextOverflow {
            needed: 1054,
            available: 1000
        }
    ));
    assert!(answer_room(u32::MAX, 1000, 1).is_err());
}

fn run(model: &LlamaModel, episode: u32, tokens: &[i32]) -> Finished {
    let (reply, replies) = unbounded();
    let job = Job {
        tokens: tokens.to_vec(),
        key: SlotKey {
            episode: EpisodeNo(episode),
            role: Role::Agent,
            phase: Phase::Log,
        },
        sampling: Sampling {
            temperature: 0.0,
            max_tokens: 24,
            ..Sampling::default()
        },
        grammar: None,
        stops: Vec::new(),
        endless: true,
        cancel: Cancel::new(),
        reply,
    };
    model.follow(job, &replies, &Cancel::new(), &mut |_| {}).unwrap()
}

/// Batches of other shapes round differently, so that a token may change where two were about as likely. A
/// cache that holds the wrong thing changes tokens that were certain.
fn agrees(reference: &Finished, other: &Finished) {
    let differs = reference.margins.iter().zip(&other.margins).find(|(a, b)| a.0 != b.0);
    if let Some((a, b)) = differs {
        assert!(a.1 < 0.6 && b.1 < 0.6, "{reference:?}\n{other:?}");
    }
}

#[test]
fn together_as_alone() {
    let Some(path) = std::env::var_os("AUTOMEM_TEST_MODEL") else {
        eprintln!("skipped: AUTOMEM_TEST_MODEL names no model");
        return;
    };
    let options = ModelOptions {
        context: Some(512),
        slots: Some(3),
        ..ModelOptions::default()
    };
    let model = LlamaModel::open(Path::new(&path), &options).unwrap();
    let vocab = model.weights.vocab();
    let prompts: Vec<Vec<i32>> = [
        "The capital of France is",
        "Once upon a time there was a",
        "The capital of France and of Spain",
    ]
    .iter()
    .map(|end| {
        let text = format!(
            "{}{end}",
            "It was a bright cold day in April, and the clocks were striking. ".repeat(6)
        );
        vocab
            .tokenize(text.as_bytes(), false, false)
            .iter()
            .map(|token| token.0)
            .collect()
    })
    .collect();
    // Alone, each from an empty cache: prompts without a common beginning come between.
    let alone: Vec<Finished> = prompts
        .iter()
        .map(|prompt| {
            for episode in 0..3 {
                run(&model, episode, &[0, 1, 2]);
            }
            let finished = run(&model, 0, prompt);
            assert_eq!(finished.cached, 0);
            finished
        })
        .collect();
    for round in 0..3 {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..7_usize)
                .map(|n| {
                    let (model, prompt) = (&model, &prompts[(n + round) % 3]);
                    let episode = u32::try_from(n).unwrap();
                    scope.spawn(move || ((n + round) % 3, run(model, episode, prompt)))
                })
                .collect();
            for thread in running {
                let (which, finished) = thread.join().unwrap();
                agrees(&alone[which], &finished);
            }
        });
    }
}
