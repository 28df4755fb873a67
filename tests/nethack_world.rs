//! NetHack as a world: the same in another process, whole under random play, and clear about what is missing.
//!
//! Tests that play need the game: `automem setup nethack`, or `AUTOMEM_NETHACK=FOLDER`. One game is alive in a
//! process, so that they take turns.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use automem::env::nethack::{Engine, NetHack, install};
use automem::env::{World, WorldError};
use automem::types::{Action, Frame, View};

static ONE_GAME: Mutex<()> = Mutex::new(());
/// Names the engine for the test that only writes a walk down for another process.
const WALKER: &str = "AUTOMEM_TEST_WALKER";

fn turn() -> MutexGuard<'static, ()> {
    ONE_GAME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The data directory, if the engine is installed.
fn installed(engine: Engine) -> Option<PathBuf> {
    let data = install::data_dir().ok()?;
    match install::check(&data, engine) {
        Ok(_) => Some(data),
        Err(missing) if std::env::var_os(install::VARIABLE).is_some() => panic!("{missing}"),
        Err(missing) => {
            eprintln!("skipped: {missing}");
            None
        }
    }
}

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

/// Plays random actions, walking more often than not; gives what came of each.
fn walk(world: &mut NetHack, seed: u64, steps: usize) -> Vec<(Action, Frame)> {
    let actions = world.spec().actions.clone();
    let mut dice = Dice(seed * 2 + 1);
    let mut frames = vec![(Action::from("reset"), world.reset(seed).unwrap())];
    while frames.len() <= steps {
        let action = match dice.below(3) {
            0 => &actions[dice.below(actions.len())],
            _ => &actions[dice.below(18)],
        };
        let frame = world.step(action).unwrap();
        let over = frame.terminated || frame.truncated;
        frames.push((action.clone(), frame));
        if over {
            assert!(matches!(world.step(action), Err(WorldError::NotReset { .. })));
            break;
        }
    }
    frames
}

fn told(frames: &[(Action, Frame)]) -> String {
    frames
        .iter()
        .map(|(action, frame)| format!("{action} {} {}\n", frame.digest, frame.reward))
        .collect()
}

fn whole(frame: &Frame) {
    let View::Grid(grid) = &frame.view else {
        panic!("the view is no screen")
    };
    grid.check().unwrap();
    assert!(
        frame
            .long
            .chars()
            .chain(frame.short.chars())
            .all(|c| !c.is_control() || c == '\n')
    );
    assert!(frame.long.starts_with("message:\n") && frame.short.starts_with("inventory:\n"));
    assert!(frame.reward.is_finite() && (0.0..=1.0).contains(&frame.progression));
    assert!(!(frame.terminated && frame.truncated));
    let over = frame.terminated || frame.truncated;
    assert_eq!(over, frame.info["end_reason"].is_string(), "{}", frame.info);
    let hp = frame.info["hp"].as_i64().unwrap();
    assert!(over || hp > 0, "{}", frame.info);
}

#[test]
fn a_walk_is_written_down_for_another_process() {
    let Ok(name) = std::env::var(WALKER) else { return };
    let data = install::data_dir().unwrap();
    let mut world = NetHack::open(Some(&name), &data).unwrap();
    let mut steps = 0;
    for seed in 7.. {
        let frames = walk(&mut world, seed, 500);
        print!("\nwalk: {}", told(&frames).trim_end().replace('\n', "\nwalk: "));
        steps += frames.len();
        if steps >= 500 {
            break;
        }
    }
}

#[test]
fn another_process_plays_the_same() {
    for engine in Engine::ALL {
        let Some(_data) = installed(engine) else { continue };
        let other = |timezone: &str| {
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "a_walk_is_written_down_for_another_process", "--nocapture"])
                .env(WALKER, engine.name())
                .env("TZ", timezone)
                .env("NETHACKOPTIONS", "!color,name:Somebody")
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            let lines: Vec<String> = text
                .lines()
                .filter_map(|line| line.strip_prefix("walk: "))
                .map(str::to_owned)
                .collect();
            lines
        };
        let (first, second) = (other("UTC"), other("Asia/Tokyo"));
        assert!(first.len() >= 500, "{}", first.len());
        assert_eq!(first, second, "{}", engine.name());
    }
}

#[test]
fn random_episodes_are_whole_and_repeat() {
    let _turn = turn();
    for engine in Engine::ALL {
        let Some(data) = installed(engine) else { continue };
        let mut world = NetHack::open(Some(engine.name()), &data).unwrap();
        for seed in 100..104 {
            let frames = walk(&mut world, seed, 200);
            for (_, frame) in &frames {
                whole(frame);
            }
            if seed == 100 {
                assert_eq!(told(&frames), told(&walk(&mut world, seed, 200)));
            }
        }
    }
}

#[test]
fn standing_still_is_cut_off() {
    let _turn = turn();
    let Some(data) = installed(Engine::BalrogNle) else {
        return;
    };
    let mut world = NetHack::open(None, &data).unwrap();
    world.reset(1).unwrap();
    let ended = (1..400)
        .map(|_| world.step(&Action::from("esc")).unwrap())
        .find(|frame| frame.truncated || frame.terminated)
        .unwrap();
    assert!(ended.truncated && !ended.terminated);
    assert_eq!(ended.info["end_reason"], "ABORTED: quit.");
    assert!(ended.long.contains(" quit in The Dungeons of Doom"), "{}", ended.long);
    assert_eq!(ended.info["depth"], 1);
}

#[test]
fn a_second_game_in_the_process_is_refused() {
    let _turn = turn();
    let Some(data) = installed(Engine::BalrogNle) else {
        return;
    };
    let mut first = NetHack::open(None, &data).unwrap();
    let mut second = NetHack::open(None, &data).unwrap();
    first.reset(1).unwrap();
    let refused = second.reset(1).unwrap_err().to_string();
    assert!(refused.contains("a game is under way in this process"), "{refused}");
    drop(first);
    second.reset(1).unwrap();
}

#[test]
fn what_is_no_action_is_refused_and_changes_nothing() {
    let _turn = turn();
    let Some(data) = installed(Engine::BalrogNle) else {
        return;
    };
    let mut world = NetHack::open(None, &data).unwrap();
    assert!(matches!(
        world.step(&Action::from("north")),
        Err(WorldError::NotReset { .. })
    ));
    world.reset(5).unwrap();
    for action in ["07", "", "wizard wish", "^w", "North", "north\n", "∞"] {
        let refused = world.step(&Action::from(action)).unwrap_err();
        assert!(matches!(refused, WorldError::UnknownAction { .. }), "{refused}");
    }
    let after = world.step(&Action::from("search")).unwrap();
    world.reset(5).unwrap();
    assert_eq!(after.digest, world.step(&Action::from("search")).unwrap().digest);
}

/// A data directory whose library is this file.
fn with_library(bytes: &[u8]) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join(Engine::BalrogNle.folder());
    std::fs::create_dir_all(folder.join("nethackdir")).unwrap();
    std::fs::write(folder.join("nethackdir/nhdat"), "").unwrap();
    std::fs::write(folder.join("libnethack.so"), bytes).unwrap();
    data
}

fn refused(data: &Path) -> String {
    NetHack::open(None, data).unwrap().reset(1).unwrap_err().to_string()
}

#[test]
#[cfg(target_os = "linux")]
fn a_library_that_is_none_is_refused_before_it_is_loaded() {
    let _turn = turn();
    let text = refused(with_library(b"not a library").path());
    assert!(
        text.contains("libnethack.so cannot be loaded") && text.contains("no ELF library"),
        "{text}"
    );
    assert!(text.contains("automem setup nethack"), "{text}");
    // The header of a library for 32-bit ARM.
    let mut other = vec![0; 64];
    other[..6].copy_from_slice(b"\x7fELF\x01\x01");
    other[16] = 3;
    other[18] = 40;
    let text = refused(with_library(&other).path());
    assert!(text.contains("for 32-bit ARM, and this program runs on"), "{text}");
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let text = refused(with_library(&program[..4096.min(program.len())]).path());
    assert!(text.contains("damaged"), "{text}");
}

#[test]
fn a_folder_that_takes_no_game_is_named() {
    let data = with_library(b"");
    let file = data.path().join("a file");
    std::fs::write(&file, "").unwrap();
    let mut world = NetHack::open(None, data.path()).unwrap().with_scratch(&file);
    let text = world.reset(1).unwrap_err().to_string();
    assert!(text.contains("a file: ") && text.contains("TMPDIR"), "{text}");
}

/// The library reads the seeds again for every level: they have to be there still when the second one is made.
#[test]
fn new_levels_come_from_the_seed() {
    let _turn = turn();
    let Some(data) = installed(Engine::BalrogNle) else {
        return;
    };
    const WAY: &str = "northeast,east,northeast,northeast,northeast,north,east,north,north,north,north,north,northeast,\
                       northeast,east,east,east,east,east,east,east,east,east,east,east,southeast,east,north,east,east,\
                       southeast,southeast,down";
    let mut world = NetHack::open(None, &data).unwrap();
    let mut frame = world.reset(1).unwrap();
    for action in WAY.split(',') {
        frame = world.step(&Action::from(action)).unwrap();
    }
    assert_eq!(frame.info["depth"], 2);
    assert!(frame.long.contains("(x=41, y=8)"), "{}", frame.long);
    assert!(frame.long.contains("|o.......@.."), "{}", frame.long);
}
