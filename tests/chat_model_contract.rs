//! What every `ChatModel` must do. The recorded one is always tried; llama.cpp when the small model is there:
//! `AUTOMEM_TEST_MODEL` names its file, else it is looked for in the workspace. A remote one is tried against a fake
//! server here, and against a real one in `llama_server.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fake_server;

use std::time::{Duration, Instant};

use automem::jobs::Cancel;
use automem::llm::recorded::RecordedModel;
use automem::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError, SlotKey};
use automem::types::{ChatRole, EpisodeNo, Message, Phase, Role, Sampling, StopReason};

fn request(episode: u32, user: &str, max_tokens: u32) -> ChatRequest {
    ChatRequest {
        messages: vec![
            Message::new(
                ChatRole::System,
                "You are a careful explorer. Answer in one short sentence.",
            ),
            Message::new(ChatRole::User, user),
        ],
        slot: SlotKey {
            episode: EpisodeNo(episode),
            role: Role::Agent,
            phase: Phase::Plan,
        },
        sampling: Sampling {
            max_tokens,
            seed: 7,
            ..Sampling::default()
        },
        grammar: None,
        stop: Vec::new(),
    }
}

fn ask(model: &dyn ChatModel, request: &ChatRequest) -> (ChatAnswer, Vec<ChatProgress>) {
    let mut progress = Vec::new();
    let answer = model.chat(request, &Cancel::new(), &mut |p| progress.push(p)).unwrap();
    (answer, progress)
}

/// Holds for every model.
fn contract(model: &dyn ChatModel) {
    let reference = model.describe();
    assert!(!reference.name.is_empty() && !reference.backend.is_empty());

    let asked = request(0, "Where is the <|im_end|> tree?", 24);
    let (answer, progress) = ask(model, &asked);
    pieces_make_the_answer(&answer, &progress);
    assert!(answer.cached_tokens < answer.prompt_tokens);
    assert!(answer.completion_tokens > 0 && answer.completion_tokens <= 24);
    assert!(answer.prompt.contains("careful explorer") && answer.prompt.contains("Where is the <|im_end|> tree?"));
    assert!(answer.ms >= answer.prompt_ms && answer.prompt_ms >= 0.0);
    assert!(matches!(answer.stop, StopReason::End | StopReason::Length));

    let set = Cancel::new();
    set.cancel();
    let result = model.chat(&asked, &set, &mut |_| panic!("a cancelled call tells nothing"));
    assert!(matches!(result, Err(LlmError::Cancelled)));
}

fn pieces_make_the_answer(answer: &ChatAnswer, progress: &[ChatProgress]) {
    let text: String = progress
        .iter()
        .filter_map(|p| match p {
            ChatProgress::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, answer.text);
    let last_prompt = progress.iter().rev().find_map(|p| match p {
        ChatProgress::Prompt { done, total, cached } => Some((*done, *total, *cached)),
        _ => None,
    });
    let (done, total, cached) = last_prompt.expect("the prompt's progress is told");
    assert_eq!((done, total), (answer.prompt_tokens, answer.prompt_tokens));
    assert_eq!(cached, answer.cached_tokens);
}

#[test]
fn recorded_keeps_the_contract() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "\"It is behind the émigré 🙂 house.\"\n\"again\"\n").unwrap();
    contract(&RecordedModel::open(file.path()).unwrap());
}

/// A call that would take long ends soon after it is cancelled.
fn cancels_quickly(model: &dyn ChatModel, asked: &ChatRequest, when: impl Fn(&ChatProgress) -> bool) {
    let cancel = Cancel::new();
    let mut at = None;
    let result = model.chat(asked, &cancel, &mut |p| {
        if when(&p) && at.is_none() {
            cancel.cancel();
            at = Some(Instant::now());
        }
    });
    assert!(matches!(result, Err(LlmError::Cancelled)), "{result:?}");
    let took = at.expect("it was cancelled").elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn recorded_cancels_quickly() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{\"text\": \"late\", \"delay_ms\": 600000}").unwrap();
    let model = RecordedModel::open(file.path()).unwrap();
    cancels_quickly(&model, &request(0, "go", 8), |p| {
        matches!(p, ChatProgress::Prompt { .. })
    });
}

mod remote {
    use std::io::Write;

    use automem::llm::openai::{OpenAiModel, RemoteOptions};

    use super::fake_server::{FakeServer, json, stream_head, wait_for_end};
    use super::*;

    /// A server that answers what is asked, or never when asked to `go`.
    fn server() -> FakeServer {
        FakeServer::start(|seen, _, stream| {
            if seen.path == "/v1/models" {
                return json(stream, "200 OK", r#"{"data": [{"id": "tiny"}]}"#);
            }
            stream_head(stream)?;
            if seen.body.contains("\"go\"") {
                wait_for_end(stream);
                return Ok(());
            }
            let event = |value: serde_json::Value| format!("data: {value}\n\n");
            for piece in ["It is ", "behind the émigré", " 🙂 house."] {
                let delta = serde_json::json!({"choices": [{"delta": {"content": piece}}]});
                stream.write_all(event(delta).as_bytes())?;
            }
            let end = serde_json::json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
            let usage = serde_json::json!({"prompt_tokens": 30, "completion_tokens": 9});
            let last = serde_json::json!({"choices": [], "usage": usage});
            stream.write_all(format!("{}{}data: [DONE]\n\n", event(end), event(last)).as_bytes())
        })
    }

    #[test]
    fn openai_keeps_the_contract_and_cancels_quickly() {
        let server = server();
        let spec = format!("tiny@{}", server.url("/v1"));
        let model = OpenAiModel::open(&spec, &RemoteOptions::default()).unwrap();
        contract(&model);
        cancels_quickly(&model, &request(0, "go", 8), |p| *p == ChatProgress::Waiting);
    }
}

#[cfg(feature = "llama")]
mod llama {
    use std::path::PathBuf;
    use std::sync::Mutex;

    use automem::config::Workspace;
    use automem::llm::ModelOptions;
    use automem::llm::llama::LlamaModel;

    use super::*;

    /// One model at a time: two would share the cores and only be slower.
    static ONE: Mutex<()> = Mutex::new(());

    fn model_file() -> Option<PathBuf> {
        let named = std::env::var_os("AUTOMEM_TEST_MODEL").map(PathBuf::from);
        let here = || Some(Workspace::find().ok()?.models_dir().join("smollm2-135m.gguf"));
        let file = named.or_else(here).filter(|path| path.is_file());
        if file.is_none() {
            eprintln!(
                "skipped: the llama.cpp part of the contract needs a model (AUTOMEM_TEST_MODEL, or `automem model pull smollm2-135m`)"
            );
        }
        file
    }

    fn with_model(options: ModelOptions, test: impl FnOnce(&LlamaModel)) {
        let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(path) = model_file() {
            test(&LlamaModel::open(&path, &options).unwrap());
        }
    }

    fn small() -> ModelOptions {
        ModelOptions {
            context: Some(1024),
            slots: Some(4),
            ..ModelOptions::default()
        }
    }

    #[test]
    fn keeps_the_contract_and_reuses_prompts() {
        with_model(small(), |model| {
            contract(model);
            assert!(model.describe().is_llm);

            let asked = request(5, "Tell me about the desert.", 12);
            let first = ask(model, &asked).0;
            let again = ask(model, &asked).0;
            assert_eq!(again.cached_tokens, again.prompt_tokens - 1, "all but one token stay");
            assert_eq!(again.prompt_tokens, first.prompt_tokens);

            // The next turn of the same chat keeps what was asked and answered.
            let mut longer = asked.clone();
            longer
                .messages
                .push(Message::new(ChatRole::Assistant, first.text.clone()));
            longer.messages.push(Message::new(ChatRole::User, "And the sea?"));
            let next = ask(model, &longer).0;
            assert!(next.cached_tokens >= first.prompt_tokens - 1, "{next:?}");

            // Another episode shares the beginning: it is copied from the first one's slot.
            let other = ask(model, &request(6, "Tell me about the desert wind.", 4)).0;
            assert!(other.cached_tokens > 20, "{other:?}");
        });
    }

    #[test]
    fn contents_stay_text() {
        with_model(small(), |model| {
            let as_text = ask(model, &request(0, "a<|im_end|>b", 1)).0;
            let plain = ask(model, &request(0, "ab", 1)).0;
            // As a control token it would be one token more, as text it is several.
            assert!(as_text.prompt_tokens > plain.prompt_tokens + 3, "{as_text:?} {plain:?}");
            assert!(as_text.prompt.contains("a<|im_end|>b"));
        });
    }

    #[test]
    fn exact_mode_repeats_to_the_letter() {
        let options = ModelOptions { exact: true, ..small() };
        with_model(options, |model| {
            let asked = request(0, "Describe a cave in the mountains.", 40);
            let first = ask(model, &asked).0;
            ask(model, &request(0, "Something else in between.", 8));
            let second = ask(model, &asked).0;
            assert_eq!(first.text, second.text);
            assert_eq!((first.cached_tokens, second.cached_tokens), (0, 0));
            let mut other = asked.clone();
            other.sampling.seed = 8;
            assert_ne!(ask(model, &other).0.text, first.text, "the seed matters");
            other.sampling.temperature = 0.0;
            let cold = ask(model, &other).0.text;
            other.sampling.seed = 9;
            assert_eq!(ask(model, &other).0.text, cold, "greedy draws nothing");
        });
    }

    #[test]
    fn too_long_prompts_overflow_and_answers_shrink() {
        with_model(small(), |model| {
            let long = "word ".repeat(2000);
            let result = model.chat(&request(0, &long, 100), &Cancel::new(), &mut |_| {});
            let Err(LlmError::ContextOverflow { needed, available }) = result else {
                panic!("{result:?}")
            };
            assert_eq!(available, 1024);
            assert!(needed > 2000);
            let huge = "x".repeat(10 << 20);
            let began = Instant::now();
            let result = model.chat(&request(0, &huge, 100), &Cancel::new(), &mut |_| {});
            assert!(matches!(result, Err(LlmError::ContextOverflow { .. })));
            assert!(
                began.elapsed() < Duration::from_secs(1),
                "10 MB are refused without tokenising"
            );
            // 800 tokens leave room for fewer than asked: the answer is shorter, not refused.
            let answer = ask(model, &request(0, &"word ".repeat(800), 4000)).0;
            assert!(answer.prompt_tokens + answer.completion_tokens <= 1024);
        });
    }

    #[test]
    fn cancelling_is_quick_in_every_state() {
        with_model(small(), |model| {
            let long = request(0, &"The sea is wide. ".repeat(100), 500);
            cancels_quickly(
                model,
                &long,
                |p| matches!(p, ChatProgress::Prompt { done, .. } if *done > 0),
            );
            cancels_quickly(model, &request(1, "Tell a long story.", 500), |p| {
                matches!(p, ChatProgress::Text(_))
            });
            let (after, _) = ask(model, &request(0, "Are you still there?", 8));
            assert!(after.completion_tokens > 0, "the engine goes on");
        });
    }

    #[test]
    fn chats_at_once_are_all_right() {
        with_model(small(), |model| {
            let mut cold = request(0, "Name the colour of grass.", 16);
            cold.sampling.temperature = 0.0;
            let alone = ask(model, &cold).0.text;
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..6)
                    .map(|episode| {
                        let mut asked = cold.clone();
                        asked.slot.episode = EpisodeNo(episode);
                        scope.spawn(move || {
                            let (answer, progress) = ask(model, &asked);
                            pieces_make_the_answer(&answer, &progress);
                            (answer.text, progress.contains(&ChatProgress::Waiting))
                        })
                    })
                    .collect();
                let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
                // Six ask, four slots: some have to wait. Batches of other shapes round differently, so that the
                // texts may part where two words are about as likely; the first ones are certain.
                let begins = |text: &str| text.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>();
                assert!(
                    answers.iter().all(|(text, _)| begins(text) == begins(&alone)),
                    "{alone:?}: {answers:?}"
                );
                assert!(answers.iter().any(|(_, waited)| *waited));
            });
        });
    }

    #[test]
    fn waiting_is_told_and_can_be_cancelled() {
        let options = ModelOptions {
            slots: Some(1),
            ..small()
        };
        with_model(options, |model| {
            std::thread::scope(|scope| {
                let stop = Cancel::new();
                let stopper = stop.clone();
                let (started, is_started) = std::sync::mpsc::channel();
                let busy = scope.spawn(move || {
                    model.chat(&request(0, "Tell a very long story.", 900), &stopper, &mut |p| {
                        if matches!(p, ChatProgress::Text(_)) {
                            let _ = started.send(());
                        }
                    })
                });
                is_started.recv().unwrap();
                cancels_quickly(model, &request(1, "Hello?", 8), |p| *p == ChatProgress::Waiting);
                stop.cancel();
                // It may have ended by itself just before.
                let _ = busy.join().unwrap();
            });
        });
    }

    #[test]
    fn grammars_constrain() {
        with_model(small(), |model| {
            let mut asked = request(0, "Do you like trees?", 32);
            asked.grammar = Some("root ::= \"<|ACTION|>\" (\"noop\" | \"move_left\") \"<|END|>\"".to_owned());
            for seed in 0..3 {
                asked.sampling.seed = seed;
                let answer = ask(model, &asked).0;
                assert!(
                    ["<|ACTION|>noop<|END|>", "<|ACTION|>move_left<|END|>"].contains(&answer.text.as_str()),
                    "{answer:?}"
                );
                assert_eq!(answer.stop, StopReason::End);
            }
            asked.grammar = Some("root ::= \"unfinished".to_owned());
            let error = model.chat(&asked, &Cancel::new(), &mut |_| {}).unwrap_err().to_string();
            assert!(error.contains("line 1"), "{error}");
        });
    }

    #[test]
    fn stop_texts_end_the_answer() {
        with_model(small(), |model| {
            let mut asked = request(0, "Count: one two three", 60);
            asked.grammar = Some("root ::= \"one \" \"two|END three\" .*".to_owned());
            asked.stop = vec!["|END".to_owned()];
            let answer = ask(model, &asked).0;
            assert_eq!((answer.text.as_str(), answer.stop), ("one two|END", StopReason::Stop));
        });
    }

    #[test]
    fn unknown_architectures_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("odd.gguf");
        let mut bytes = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        text(&mut bytes, "general.architecture");
        bytes.extend(8_u32.to_le_bytes());
        text(&mut bytes, "perpetuum");
        std::fs::write(&path, bytes).unwrap();
        let error = LlamaModel::open(&path, &ModelOptions::default()).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, LlmError::File { .. }));
        assert!(text.contains("perpetuum") && text.contains("odd.gguf"), "{text}");
    }
}
