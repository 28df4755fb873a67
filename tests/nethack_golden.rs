//! NetHackChallenge, compared frame by frame with episodes recorded from NLE and BALROG's wrappers.
//!
//! Needs the game: `automem setup nethack`, or `AUTOMEM_NETHACK=FOLDER`. One game is alive in a process, so that the
//! tests here take turns.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use automem::env::World;
use automem::env::nethack::{Engine, NetHack, install};
use automem::types::{Action, Frame, View};
use serde_json::Value;

static ONE_GAME: Mutex<()> = Mutex::new(());

/// The data directory and the right to play, if the engine is installed.
fn installed(engine: Engine) -> Option<(PathBuf, MutexGuard<'static, ()>)> {
    let data = install::data_dir().ok()?;
    match install::check(&data, engine) {
        Ok(_) => Some((data, ONE_GAME.lock().unwrap_or_else(PoisonError::into_inner))),
        Err(missing) if std::env::var_os(install::VARIABLE).is_some() => panic!("{missing}"),
        Err(missing) => {
            eprintln!("skipped: {missing}");
            None
        }
    }
}

fn recorded(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/nethack")
        .join(file);
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The recorded episodes of a task: seed and frames.
fn episodes(file: &str, task: &str) -> Vec<(u64, Vec<Value>)> {
    let mut found: Vec<(u64, Vec<Value>)> = Vec::new();
    let mut wanted = false;
    for record in recorded(file) {
        if record["type"] == "episode" {
            wanted = record["task"] == task;
            if wanted {
                found.push((record["seed"].as_u64().unwrap(), Vec::new()));
            }
        } else if wanted {
            found.last_mut().unwrap().1.push(record);
        }
    }
    found
}

fn differences(wanted: &Value, frame: &Frame) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |name: &str, wanted: &Value, got: Value| {
        if *wanted != got {
            wrong.push(format!("{name}: recorded {wanted}, played {got}"));
        }
    };
    check("long", &wanted["long"], frame.long.clone().into());
    check("short", &wanted["short"], frame.short.clone().into());
    check("reward", &wanted["reward"], frame.reward.into());
    check("terminated", &wanted["terminated"], frame.terminated.into());
    check("truncated", &wanted["truncated"], frame.truncated.into());
    check("progression", &wanted["progression"], frame.progression.into());
    let View::Grid(grid) = &frame.view else {
        panic!("the view is no screen")
    };
    check("row0", &wanted["row0"], grid.rows[0].trim_end().into());
    let (column, row) = grid.cursor.unwrap();
    check("cursor", &wanted["cursor"], vec![row, column].into());
    let stats = &wanted["blstats"];
    check(
        "position",
        &Value::from(vec![stats[0].clone(), stats[1].clone()]),
        frame.info["position"].clone(),
    );
    for (name, index) in [
        ("score", 9),
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
    if wanted.get("end_reason").is_some() {
        check("end_reason", &wanted["end_reason"], frame.info["end_reason"].clone());
    }
    wrong
}

/// SHA-1, which the records use and nothing else here does.
fn sha1(bytes: &[u8]) -> String {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut words: Vec<u32> = block
            .chunks(4)
            .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
            .collect();
        for i in 16..80 {
            words.push((words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.iter().enumerate() {
            let (mixed, constant) = match i / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6u32),
            };
            let next = a
                .rotate_left(5)
                .wrapping_add(mixed)
                .wrapping_add(e)
                .wrapping_add(constant)
                .wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (old, new) in state.iter_mut().zip([a, b, c, d, e]) {
            *old = old.wrapping_add(new);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// Whether the recorded colours are those of the view, which does not tell reversed cells: those are menus' headings.
fn colours_agree(wanted: &Value, frame: &Frame) -> bool {
    let View::Grid(grid) = &frame.view else {
        panic!("the view is no screen")
    };
    let colours: Vec<u8> = grid
        .colours
        .iter()
        .flat_map(|row| row.chars())
        .map(|sign| sign.to_digit(16).unwrap_or(0) as u8)
        .collect();
    wanted["colors_sha1"] == sha1(&colours)[..12]
}

fn replay(engine: Engine, file: &str) {
    let Some((data, _turn)) = installed(engine) else { return };
    let episodes = episodes(file, "NetHackChallenge-v0");
    assert_eq!(episodes.len(), 2);
    let mut world = NetHack::open(Some(engine.name()), &data).unwrap();
    let (mut compared, mut menus) = (0, 0);
    for (seed, records) in episodes {
        for record in records {
            let frame = match record["action"].as_str() {
                None => world.reset(seed).unwrap(),
                Some(action) => world.step(&Action::from(action)).unwrap(),
            };
            let wrong = differences(&record, &frame);
            assert!(
                wrong.is_empty(),
                "seed {seed}, step {}:\n{}",
                record["i"],
                wrong.join("\n")
            );
            compared += 1;
            if !colours_agree(&record, &frame) {
                menus += 1;
                assert!(
                    frame.long.contains("(end)"),
                    "seed {seed}, step {}: colours",
                    record["i"]
                );
            }
        }
    }
    assert_eq!(compared, 202);
    assert!(menus < compared / 2, "{menus}");
}

#[test]
fn the_digest_of_colours_is_sha1() {
    assert_eq!(sha1(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_eq!(sha1(&[b'a'; 60]), "13d956033d9af449bfe2c4ef78c17c20469c4bf1");
}

#[test]
fn balrogs_episodes_replay() {
    replay(Engine::BalrogNle, "golden_balrog.jsonl.gz");
}

#[test]
fn nles_episodes_replay() {
    replay(Engine::Nle, "golden_nle13.jsonl.gz");
}
