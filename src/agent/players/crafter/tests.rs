//! The player plays native Crafter through prompts and a memory of its own, as the driver lets it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;
use crate::env::World;
use crate::env::crafter::{ACHIEVEMENTS, Crafter};
use crate::llm::SlotKey;
use crate::types::{Action, ChatRole, EpisodeNo, Frame, Role, Sampling, View};

/// A memory directory: files by name.
#[derive(Default)]
struct Files(BTreeMap<String, String>);

impl Files {
    fn list(&self) -> String {
        self.0
            .iter()
            .fold(String::from("FILES\n"), |mut text, (name, content)| {
                let _ = writeln!(text, "- {name} ({} lines)", content.lines().count());
                text
            })
    }

    /// Runs the operations of an answer; gives back their results and the action, if there is one.
    fn run(&mut self, answer: &str) -> (String, Option<String>) {
        let mut results = String::from("RESULTS\n");
        let mut action = None;
        let mut operations = 0;
        for part in answer.split("<|").skip(1) {
            let Some((op, rest)) = part.split_once("|>") else {
                continue;
            };
            let args = rest.trim_end().to_owned();
            if op == "ACTION" {
                action = Some(args);
                continue;
            }
            let (file, arg) = args.split_once('|').unwrap_or((&args, ""));
            operations += usize::from(op != "END" && op != "DONE");
            let content = self.0.get(file).cloned().unwrap_or_default();
            let _ = writeln!(results, "--- {op} {file} ---");
            match op {
                "READ" => results.push_str(&content),
                "TAIL" => {
                    let lines: Vec<&str> = content.lines().collect();
                    let from = lines.len().saturating_sub(arg.parse().unwrap());
                    lines[from..].iter().for_each(|line| {
                        let _ = writeln!(results, "{line}");
                    });
                }
                "APPEND" => {
                    let _ = writeln!(self.0.entry(file.to_owned()).or_default(), "{arg}");
                }
                "CREATE" => assert!(
                    self.0.insert(file.to_owned(), String::new()).is_none(),
                    "{file} is there"
                ),
                "END" | "DONE" => {}
                _ => panic!("unknown operation {op}"),
            }
        }
        assert!(operations <= 8, "{operations} operations in one answer");
        assert!(self.0.values().all(|text| text.len() <= 65_536), "a file is too large");
        (results, action)
    }
}

fn request(messages: Vec<Message>, phase: Phase) -> ChatRequest {
    ChatRequest {
        messages,
        slot: SlotKey {
            episode: EpisodeNo(0),
            role: Role::Agent,
            phase,
        },
        sampling: Sampling::default(),
        grammar: None,
        stop: Vec::new(),
    }
}

fn chat(messages: &[Message], phase: Phase) -> String {
    let mut streamed = String::new();
    let answer = CrafterPlayer::new()
        .chat(&request(messages.to_vec(), phase), &Cancel::new(), &mut |progress| {
            if let ChatProgress::Text(piece) = progress {
                streamed.push_str(&piece);
            }
        })
        .unwrap();
    assert_eq!(streamed, answer.text);
    answer.text
}

/// One phase: consult, then answer.
fn phase(files: &mut Files, phase: Phase, opening: String) -> Option<String> {
    let mut messages = vec![
        Message::new(ChatRole::System, "You play."),
        Message::new(ChatRole::User, opening),
    ];
    for _ in 0..3 {
        let answer = chat(&messages, phase);
        let (results, action) = files.run(&answer);
        if action.is_some() || answer.contains("<|DONE|>") {
            if std::env::var("SHOW").is_ok() {
                println!("{}", answer.replace('\n', " "));
            }
            return action;
        }
        messages.push(Message::new(ChatRole::Assistant, answer));
        messages.push(Message::new(ChatRole::User, results));
    }
    panic!("the phase does not end");
}

/// How far the player's reckoning is from the truth.
fn drift(game: &Game) -> i32 {
    let View::Tiles(view) = &game.frame.view else {
        panic!("no tiles")
    };
    let files = game.files.0.iter().filter(|(name, _)| name.starts_with("map_notes"));
    let notes = files.flat_map(|(_, text)| text.lines().filter_map(notes::MapNote::read));
    let last = notes.max_by_key(|note| note.step).unwrap();
    notes::distance((view.player.0 - 32, view.player.1 - 32), last.pos)
}

struct Game {
    frame: Frame,
    files: Files,
    actions: Vec<String>,
}

/// Plays an episode as the driver would.
fn play(seed: u64, steps: u32) -> Game {
    let mut world = Crafter::new();
    let mut game = Game {
        frame: world.reset(seed).unwrap(),
        files: Files::default(),
        actions: Vec::new(),
    };
    for file in [
        "actions_log.txt",
        "crafting_progress.txt",
        "map_notes.txt",
        "strategy.txt",
        "survival_log.txt",
    ] {
        game.files.0.insert(file.into(), String::new());
    }
    for step in 0..steps {
        let observation = format!("{}\n{}", game.frame.long, game.frame.short);
        if let Some(last) = game.actions.last() {
            let list = game.files.list();
            let opening =
                format!("PHASE: LOG\nSTEP: {step}\nPREVIOUS ACTION: {last}\n\nOBSERVATION\n{observation}\n\n{list}");
            phase(&mut game.files, Phase::Log, opening);
        }
        let list = game.files.list();
        let opening = format!("PHASE: PLAN\nSTEP: {step}\n\nOBSERVATION\n{observation}\n\n{list}\nChoose.");
        let action = phase(&mut game.files, Phase::Plan, opening).unwrap();
        game.frame = world.step(&Action::from(action.as_str())).unwrap();
        game.actions.push(action);
        if game.frame.terminated || game.frame.truncated {
            break;
        }
    }
    game
}

fn unlocked(game: &Game) -> Vec<&str> {
    let achieved = game.frame.info["achievements"].as_object().unwrap();
    achieved.keys().map(String::as_str).collect()
}

#[test]
fn it_plays_well_and_keeps_its_place() {
    let mut total = 0;
    for seed in 42..46 {
        let game = play(seed, 300);
        let unlocked = unlocked(&game);
        assert!(unlocked.len() >= 8, "seed {seed}: only {unlocked:?}");
        assert!(drift(&game) <= 6, "seed {seed}: it is lost by {} cells", drift(&game));
        total += unlocked.len();
    }
    assert!(total >= 4 * 12, "{total} achievements in four episodes");
}

#[test]
fn it_notes_what_it_achieves_and_nothing_else() {
    let game = play(42, 300);
    let noted = notes::Memory::recall(&game.files.0["crafting_progress.txt"]);
    let unlocked = unlocked(&game);
    for name in ACHIEVEMENTS {
        // Whether a monster died of a blow cannot be seen for sure.
        if !name.starts_with("defeat") {
            assert_eq!(noted.has(name), unlocked.contains(&name), "{name}");
        }
    }
}

#[test]
fn equal_episodes_are_played_alike() {
    let (one, other) = (play(43, 120), play(43, 120));
    assert_eq!(one.actions, other.actions);
    assert_eq!(one.files.0, other.files.0);
}

#[test]
fn it_says_that_it_is_no_language_model() {
    let model = CrafterPlayer::new().describe();
    assert_eq!(
        (model.name.as_str(), model.backend.as_str(), model.is_llm),
        ("scripted", "scripted", false)
    );
    assert!(model.details["kind"].contains("no language model"));
}

#[test]
fn a_cancelled_call_is_an_error() {
    let cancel = Cancel::new();
    cancel.cancel();
    let messages = vec![Message::new(ChatRole::User, "PHASE: PLAN")];
    let answer = CrafterPlayer::new().chat(&request(messages, Phase::Plan), &cancel, &mut |_| {});
    assert!(matches!(answer, Err(LlmError::Cancelled)));
}

#[test]
fn an_answer_comes_in_pieces() {
    let messages = vec![Message::new(
        ChatRole::User,
        "PHASE: PLAN\nYou face grass at your front.",
    )];
    let mut pieces = 0;
    let answer = CrafterPlayer::new().chat(&request(messages, Phase::Plan), &Cancel::new(), &mut |progress| {
        pieces += usize::from(matches!(progress, ChatProgress::Text(_)));
    });
    let answer = answer.unwrap();
    assert!(pieces > 1 && answer.completion_tokens > 0 && answer.cached_tokens == 0);
    assert!(answer.prompt.contains("You face grass"));
}

#[test]
fn strange_prompts_get_an_action_all_the_same() {
    let user = |text: &str| Message::new(ChatRole::User, text);
    for text in [
        "",
        "hello",
        "PHASE: PLAN",
        "RESULTS\n[0] (9,9) facing",
        "You face \u{1b}[31m at your front.",
        "You see",
    ] {
        let consult = user(&format!("PHASE: PLAN\nSTEP: x\n{text}"));
        let answer = chat(&[consult, user(&format!("RESULTS\n{text}"))], Phase::Plan);
        assert!(answer.contains("<|ACTION|>"), "{answer}");
    }
    let log = user("PHASE: LOG\nSTEP: 99999999999\nPREVIOUS ACTION: Fly");
    let answer = chat(&[log, user("RESULTS\n(no such file)")], Phase::Log);
    assert!(answer.ends_with("<|DONE|>"), "{answer}");
}

#[test]
fn other_text_around_the_observation_does_not_matter() {
    let observation = "You see:\n- tree 1 step to your north\n- cow 3 steps to your south-east\n\n\
        You face tree at your front.\nYour status:\n- health: 7/9\n- food: 3/9\n- drink: 9/9\n- energy: 9/9\n\n\
        Your inventory:\n- wood: 2\n- wood_pickaxe: 1";
    let text = format!(
        "PHASE: LOG (record)\n  STEP: 12\nPREVIOUS ACTION: Move West\n\nRules:\n- wood: never more than 9\n\n\
         OBSERVATION\n{observation}\n\nFILES\n- notes.txt: 3 lines\n- health: 1/9\n"
    );
    let messages = [
        Message::new(ChatRole::System, "You see:\n- lava 1 step to your west"),
        Message::new(ChatRole::User, text),
    ];
    let prompt = Prompt::read(&messages);
    let now = &prompt.observation;
    assert_eq!(
        (prompt.phase, prompt.step, prompt.previous),
        (Phase::Log, 12, Some("Move West"))
    );
    assert_eq!(now.items[..6], [7, 3, 9, 9, 0, 2]);
    assert_eq!((now.items[10], now.front, now.seen.len(), now.asleep), (1, 6, 2, false));
    assert_eq!((now.seen[1].distance, now.seen[1].toward), (3, (1, 1)));
}

/// The opening of a phase in a fresh world.
fn opening(phase: &str, more: &str) -> String {
    let frame = Crafter::new().reset(42).unwrap();
    format!(
        "PHASE: {phase}\nSTEP: 7\nPREVIOUS ACTION: Do\n\n{}\n\n{}\n\n{more}\nMEMORY FILES:\n- landmarks.txt (1 line)\n",
        frame.long, frame.short
    )
}

fn answers(opening: String, results: Option<&str>, phase: Phase) -> String {
    let mut messages = vec![Message::new(ChatRole::User, opening)];
    if let Some(results) = results {
        messages.push(Message::new(ChatRole::Assistant, "..."));
        messages.push(Message::new(ChatRole::User, format!("RESULTS\n{results}\n")));
    }
    chat(&messages, phase)
}

#[test]
fn told_to_write_only_what_is_new_it_logs_no_action_that_changed_nothing() {
    let known = "step 5 Do: health 9 food 9 drink 9 energy 9";
    let advice = "Write only what is new.";
    let plain = answers(opening("LOG", ""), Some(known), Phase::Log);
    assert!(plain.contains("actions_log.txt|step 6 Do"), "{plain}");
    let thrifty = answers(opening("LOG", advice), Some(known), Phase::Log);
    assert!(!thrifty.contains("actions_log.txt"), "{thrifty}");
    let changed = "step 5 Do: health 9 food 8 drink 9 energy 9";
    let new = answers(opening("LOG", advice), Some(changed), Phase::Log);
    assert!(new.contains("actions_log.txt|step 6 Do"), "{new}");
}

#[test]
fn a_file_that_the_prompt_shows_is_not_asked_for() {
    let asked = answers(opening("PLAN", ""), None, Phase::Plan);
    assert!(asked.contains("TAIL|>landmarks.txt") && asked.contains("READ|>crafting_progress.txt"));
    let shown = "== landmarks.txt (its end) ==\ntree seen at (9,0) [1]\n== crafting_progress.txt ==\n(empty)";
    let asked = answers(opening("PLAN", shown), None, Phase::Plan);
    assert!(
        !asked.contains("landmarks.txt") && !asked.contains("crafting_progress.txt"),
        "{asked}"
    );
    assert!(asked.contains("TAIL|>map_notes.txt"));
    let text = opening("PLAN", shown);
    let messages = [Message::new(ChatRole::User, text)];
    let memory = notes::Memory::of(&Prompt::read(&messages));
    assert_eq!(memory.places.len(), 1);
}
