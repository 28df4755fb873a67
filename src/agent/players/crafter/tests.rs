//! The player plays native Crafter through prompts and a memory of its own, as the driver lets it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;
use crate::env::World;
use crate::env::crafter::{ACHIEVEMENTS, Crafter};
use crate::llm::SlotKey;
use crate::types::{Action, ChatRole, EpisodeNo, Frame, Role, Sampling};

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

/// Prints how well it plays; for work on the rules:
/// `SEEDS=42..52 STEPS=1000 cargo test --lib players::crafter::tests::table -- --ignored --nocapture`
#[test]
#[ignore = "a table to look at"]
fn table() {
    let text = std::env::var("SEEDS").unwrap_or_else(|_| "42..46".into());
    let (from, to) = text.split_once("..").unwrap();
    let steps = std::env::var("STEPS").map_or(1000, |steps| steps.parse().unwrap());
    let seeds = from.parse::<u64>().unwrap()..to.parse().unwrap();
    let count = seeds.end - seeds.start;
    let mut total = 0;
    for seed in seeds {
        let begin = Instant::now();
        let game = play(seed, steps);
        let unlocked = unlocked(&game);
        total += unlocked.len();
        let missing: Vec<&str> = ACHIEVEMENTS
            .iter()
            .copied()
            .filter(|name| !unlocked.contains(name))
            .collect();
        println!(
            "seed {seed}: {} of 22 in {} steps{}, {:.0} steps/s, {} bytes; missing {}",
            unlocked.len(),
            game.actions.len(),
            if game.frame.terminated { " (died)" } else { "" },
            game.actions.len() as f64 / begin.elapsed().as_secs_f64(),
            game.files.0.values().map(String::len).sum::<usize>(),
            missing.join(" ")
        );
        for line in game.files.0["survival_log.txt"].lines().rev().take(4).collect::<Vec<_>>().iter().rev() {
            print!("   {line}");
        }
        println!();
        if std::env::var("SHOW").is_ok() {
            for (name, content) in &game.files.0 {
                println!("##### {name}\n{content}");
            }
        }
    }
    println!("mean {:.2}", total as f64 / count as f64);
}
