//! MiniHack's tasks, compared frame by frame with episodes recorded from MiniHack and BALROG's wrappers.
//!
//! Needs the game and MiniHack's files: `automem setup nethack`, or `AUTOMEM_NETHACK=FOLDER`. One game is alive in a
//! process, so that the tests here take turns.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use automem::env::World;
use automem::env::minihack::MiniHack;
use automem::env::nethack::{Engine, install};
use automem::types::{Action, Frame, View};
use serde_json::Value;

static ONE_GAME: Mutex<()> = Mutex::new(());

/// An episode: task, seed and frames.
type Episode = (String, u64, Vec<Value>);

fn episodes(file: &str) -> Vec<Episode> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/nethack")
        .join(file);
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let mut found: Vec<Episode> = Vec::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["type"] == "episode" {
            let task = record["task"].as_str().unwrap().to_owned();
            found.push((task, record["seed"].as_u64().unwrap(), Vec::new()));
        } else {
            found.last_mut().unwrap().2.push(record);
        }
    }
    found.retain(|(task, ..)| task.starts_with("MiniHack-"));
    found
}

/// NLE's number and name of how an episode stands, from the reason of its end.
fn status(frame: &Frame) -> (&'static str, &'static str) {
    let reason = frame.info["end_reason"].as_str();
    let known = [
        ("DEATH: ", ("1", "DEATH")),
        ("ABORTED: ", ("-1", "ABORTED")),
        ("TASK_SUCCESSFUL: ", ("2", "TASK_SUCCESSFUL")),
    ];
    match reason {
        None => ("0", "RUNNING"),
        Some(reason) => known.iter().find(|(start, _)| reason.starts_with(start)).unwrap().1,
    }
}

fn differences(wanted: &Value, frame: &Frame) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |name: &str, wanted: &Value, got: Value| {
        if *wanted != got {
            wrong.push(format!("{name}: recorded {wanted}, played {got}"));
        }
    };
    // BALROG reads a byte from before the screen where its first row is blank; that byte is left out here.
    let long = wanted["long"].as_str().unwrap().replace("\0\n", "");
    check("long", &long.into(), frame.long.clone().into());
    check("short", &wanted["short"], frame.short.clone().into());
    check("reward", &wanted["reward"], frame.reward.into());
    check("terminated", &wanted["terminated"], frame.terminated.into());
    check("truncated", &wanted["truncated"], frame.truncated.into());
    check("progression", &wanted["progression"], frame.progression.into());
    check(
        "balrog_progression",
        &wanted["progression"],
        frame.info["balrog_progression"].clone(),
    );
    let View::Grid(grid) = &frame.view else {
        panic!("the view is no screen")
    };
    check("row0", &wanted["row0"], grid.rows[0].trim_end().into());
    let (column, row) = grid.cursor.unwrap();
    check("cursor", &wanted["cursor"], vec![row, column].into());
    // The numbers of the last frame are all zero; `info` keeps the ones before.
    if !frame.terminated && !frame.truncated {
        let stats = &wanted["blstats"];
        check(
            "position",
            &Value::from(vec![stats[0].clone(), stats[1].clone()]),
            frame.info["position"].clone(),
        );
        for (name, index) in [
            ("hp", 10),
            ("max_hp", 11),
            ("depth", 12),
            ("gold", 13),
            ("energy", 14),
            ("max_energy", 15),
            ("ac", 16),
            ("xp_level", 18),
            ("turn", 20),
            ("dlvl", 24),
        ] {
            check(name, &stats[index], frame.info[name].clone());
        }
    }
    if !wanted["action"].is_null() {
        let (number, name) = status(frame);
        if let Some(recorded) = wanted.get("end_reason") {
            check("end_reason", recorded, number.into());
        }
        if let Some(recorded) = wanted.get("end_status") {
            check("end_status", recorded, name.into());
        }
    }
    wrong
}

/// Replays every episode of a file; gives how many frames were compared.
fn replay(engine: Engine, file: &str) -> Option<usize> {
    let _turn = ONE_GAME.lock().unwrap_or_else(PoisonError::into_inner);
    let data = install::data_dir().ok()?;
    let mut compared = 0;
    let episodes = episodes(file);
    assert_eq!(episodes.len(), 4);
    for (task, seed, records) in episodes {
        let mut world = match MiniHack::open(Some(&task), Some(engine.name()), &data) {
            Ok(world) => world,
            Err(missing) if std::env::var_os(install::VARIABLE).is_some() => panic!("{missing}"),
            Err(missing) => {
                eprintln!("skipped: {missing} (AUTOMEM_NETHACK names the folder that holds it)");
                return None;
            }
        };
        for record in records {
            let frame = match record["action"].as_str() {
                None => world.reset(seed).unwrap(),
                Some(action) => world.step(&Action::from(action)).unwrap(),
            };
            let wrong = differences(&record, &frame);
            assert!(
                wrong.is_empty(),
                "{task}, seed {seed}, step {}:\n{}",
                record["i"],
                wrong.join("\n")
            );
            compared += 1;
        }
    }
    Some(compared)
}

#[test]
fn balrogs_episodes_replay() {
    let compared = replay(Engine::BalrogNle, "golden_balrog.jsonl.gz");
    assert!(matches!(compared, None | Some(256)), "{compared:?}");
}

#[test]
fn nles_episodes_replay() {
    let compared = replay(Engine::Nle, "golden_nle13.jsonl.gz");
    assert!(matches!(compared, None | Some(337)), "{compared:?}");
}
