//! The OpenAI back end against a real llama.cpp server with a small model.
//!
//! `AUTOMEM_TEST_SERVER` is the server's address (`http://127.0.0.1:8080/v1`), or a command that starts one, prints
//! its address on the first line and ends when its input ends, such as
//! `python3 tests/llama_server.py path/to/smollm2-135m.gguf`. Without it, nothing is tested here, and each test says so.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use automem::jobs::Cancel;
use automem::llm::openai::{OpenAiModel, RemoteOptions};
use automem::llm::{ChatAnswer, ChatModel, ChatProgress, ChatRequest, LlmError, SlotKey};
use automem::types::{Body, ChatRole, EpisodeNo, Message, Phase, Role, Sampling, StopReason};

/// The server's address, and the server when it is ours. It ends when its input does, which is when this process ends.
struct Served {
    address: String,
    _server: Option<Child>,
}

fn served() -> Option<&'static Served> {
    static SERVED: OnceLock<Option<Served>> = OnceLock::new();
    let found = SERVED.get_or_init(|| {
        let asked = std::env::var("AUTOMEM_TEST_SERVER")
            .ok()
            .filter(|text| !text.is_empty())?;
        if asked.starts_with("http") {
            return Some(Served {
                address: asked,
                _server: None,
            });
        }
        let mut server = Command::new("sh")
            .args(["-c", &format!("exec {asked}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.ok().filter(|line| line.starts_with("http")));
        Some(Served {
            address: address.unwrap_or_else(|| panic!("`{asked}` printed no address")),
            _server: Some(server),
        })
    });
    if found.is_none() {
        eprintln!("skipped: it needs a llama.cpp server (AUTOMEM_TEST_SERVER, an address or a command)");
    }
    found.as_ref()
}

/// One test at a time: the server has few slots and few cores.
fn one() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn model() -> Option<OpenAiModel> {
    let address = &served()?.address;
    Some(OpenAiModel::open(&format!("the-model@{address}"), &RemoteOptions::default()).unwrap())
}

fn request(user: &str, max_tokens: u32) -> ChatRequest {
    ChatRequest {
        messages: vec![
            Message::new(
                ChatRole::System,
                "You are a careful explorer. Answer in one short sentence.",
            ),
            Message::new(ChatRole::User, user),
        ],
        slot: SlotKey {
            episode: EpisodeNo(0),
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

fn ask(model: &OpenAiModel, request: &ChatRequest) -> (ChatAnswer, Vec<ChatProgress>) {
    let mut progress = Vec::new();
    let answer = model.chat(request, &Cancel::new(), &mut |p| progress.push(p)).unwrap();
    let told: String = progress
        .iter()
        .filter_map(|p| match p {
            ChatProgress::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(told, answer.text);
    (answer, progress)
}

#[test]
fn it_answers_counts_and_reuses_prompts() {
    let _one = one();
    let Some(model) = model() else { return };
    let context = model.context_length().expect("llama.cpp's server tells its context");
    assert_eq!(model.describe().details["software"], "llama.cpp");
    let long = format!("{} Where is the tree?", "The sea is wide. ".repeat(40));
    let asked = request(&long, 6);
    let (first, progress) = ask(&model, &asked);
    assert!(first.prompt_tokens > 150 && first.prompt_tokens < context);
    assert!((1..=6).contains(&first.completion_tokens), "{first:?}");
    assert!(first.prompt_ms >= 0.0 && first.ms >= first.prompt_ms);
    let steps = progress
        .iter()
        .filter(|p| matches!(p, ChatProgress::Prompt { .. }))
        .count();
    assert!(
        steps >= 2,
        "the prompt's progress is told while it is read: {progress:?}"
    );
    let (again, _) = ask(&model, &asked);
    assert_eq!(again.prompt_tokens, first.prompt_tokens);
    assert_eq!(again.cached_tokens, again.prompt_tokens - 1, "all but one token stay");
}

#[test]
fn grammars_and_stop_texts_hold() {
    let _one = one();
    let Some(model) = model() else { return };
    assert!(model.takes_grammars());
    let mut asked = request("Do you like trees?", 32);
    asked.grammar = Some("root ::= \"<|ACTION|>\" (\"noop\" | \"move_left\") \"<|END|>\"".to_owned());
    let (answer, _) = ask(&model, &asked);
    assert!(
        ["<|ACTION|>noop<|END|>", "<|ACTION|>move_left<|END|>"].contains(&answer.text.as_str()),
        "{answer:?}"
    );
    assert_eq!(answer.stop, StopReason::End);
    let free = answer;

    asked.grammar = Some("root ::= \"one \" \"two|END three\" .*".to_owned());
    asked.stop = vec!["|END".to_owned()];
    let (answer, _) = ask(&model, &asked);
    assert_eq!((answer.text.as_str(), answer.stop), ("one two|END", StopReason::Stop));
    assert_eq!(
        answer.prompt_tokens, free.prompt_tokens,
        "counted, though the answer was left early"
    );
    assert!((2..=16).contains(&answer.completion_tokens), "{answer:?}");

    asked.grammar = Some("root ::= \"unfinished".to_owned());
    let error = model.chat(&asked, &Cancel::new(), &mut |_| {}).unwrap_err();
    assert!(
        matches!(&error, LlmError::Backend { retryable: false, message, .. } if message.contains("grammar")),
        "{error:?}"
    );
}

#[test]
fn too_long_prompts_overflow_and_answers_end_at_their_limit() {
    let _one = one();
    let Some(model) = model() else { return };
    let result = model.chat(&request(&"word ".repeat(5000), 8), &Cancel::new(), &mut |_| {});
    let Err(LlmError::ContextOverflow { needed, available }) = result else {
        panic!("{result:?}")
    };
    assert!(needed > 5000 && Some(available) == model.context_length());
    let (answer, _) = ask(&model, &request("Tell a very long story.", 5));
    assert_eq!((answer.stop, answer.completion_tokens), (StopReason::Length, 5));
}

#[test]
fn a_cancelled_call_ends_and_the_server_goes_on() {
    let _one = one();
    let Some(model) = model() else { return };
    let cancel = Cancel::new();
    let mut at = None;
    let result = model.chat(&request("Tell a very long story.", 900), &cancel, &mut |p| {
        if matches!(p, ChatProgress::Text(_)) && at.is_none() {
            cancel.cancel();
            at = Some(Instant::now());
        }
    });
    assert!(matches!(result, Err(LlmError::Cancelled)), "{result:?}");
    assert!(at.expect("it began to answer").elapsed() < Duration::from_secs(2));
    assert!(ask(&model, &request("Are you still there?", 4)).0.completion_tokens > 0);
}

#[test]
fn chats_at_once_are_all_answered() {
    let _one = one();
    let Some(model) = model() else { return };
    std::thread::scope(|scope| {
        for index in 0..6 {
            let model = &model;
            scope.spawn(move || {
                let mut asked = request("Which number?", 16);
                asked.grammar = Some(format!("root ::= \"number {index}\""));
                assert_eq!(ask(model, &asked).0.text, format!("number {index}"));
            });
        }
    });
}

#[test]
fn an_episode_is_played_and_verified() {
    let _one = one();
    let Some(served) = served() else { return };
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("remote.db");
    let spec = format!("openai:the-model@{}", served.address);
    for args in [
        vec![
            "run",
            "--scaffold",
            "crafter-tiny",
            "--model",
            &spec,
            "--max-steps",
            "2",
            "--out",
            run.to_str().unwrap(),
            "--json",
        ],
        vec!["verify", run.to_str().unwrap(), "--json"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_automem"))
            .args(&args)
            .env("AUTOMEM_HOME", home.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let reader = automem::store::Reader::open(&run).unwrap();
    assert!(reader.is_finished());
    let mut turns = 0;
    for step in 0..2 {
        let events = reader.step(EpisodeNo(0), automem::types::StepNo(step)).unwrap();
        for event in &events.events {
            match event {
                Body::TurnFinished { turn } => {
                    turns += 1;
                    assert!(
                        turn.grammar && turn.prompt_tokens > 50 && turn.completion_tokens > 0,
                        "{turn:?}"
                    );
                }
                Body::ModelFailed { message, .. } => panic!("{message}"),
                _ => {}
            }
        }
    }
    assert!(turns >= 3, "{turns} turns: two plans and one log at least");
}
