//! MiniHack as a world: whole under random play, the same again, won where it is solved, clear about what is missing.
//!
//! Tests that play need the game and MiniHack's files: `automem setup nethack`, or `AUTOMEM_NETHACK=FOLDER`. One game
//! is alive in a process, so that they take turns. `AUTOMEM_TEST_EPISODES=100` plays more random episodes a task.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use automem::env::minihack::MiniHack;
use automem::env::nethack::{Engine, install};
use automem::env::{World, WorldError};
use automem::types::{Action, Frame, View};

static ONE_GAME: Mutex<()> = Mutex::new(());

/// A puzzle of Boxoban's set `medium/train` (000.txt, level 30) and its solution, the moves' first letters.
const PUZZLE: &str = "; 30\n##########\n#.    .  #\n#   .$$ ##\n### $ $ ##\n###@  .###\n##########\n##########\n\
                      ##########\n##########\n##########\n";
const SOLUTION: &str = "eenwswnnenwweeeeesswnwswse";

/// A data directory that looks like the installed one, and the right to play; `None` without the game.
struct Room {
    data: tempfile::TempDir,
    installed: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Room {
    fn new() -> Option<Self> {
        let installed = install::data_dir().ok()?;
        for engine in Engine::ALL {
            let minihack = installed.join(engine.minihack_folder());
            let missing = match install::check(&installed, engine) {
                Ok(_) if minihack.is_dir() => continue,
                Ok(_) => format!("there is no folder {}", minihack.display()),
                Err(missing) => missing.to_string(),
            };
            assert!(std::env::var_os(install::VARIABLE).is_none(), "{missing}");
            eprintln!("skipped: {missing} (AUTOMEM_NETHACK names the folder that holds it)");
            return None;
        }
        let turn = ONE_GAME.lock().unwrap_or_else(PoisonError::into_inner);
        let data = tempfile::tempdir().unwrap();
        for engine in Engine::ALL {
            for folder in [engine.folder(), engine.minihack_folder()] {
                symlink(installed.join(folder), data.path().join(folder)).unwrap();
            }
        }
        for set in ["hard", "medium/train"] {
            let folder = data.path().join("boxoban").join(set);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("000.txt"), PUZZLE).unwrap();
        }
        Some(Self {
            data,
            installed,
            _turn: turn,
        })
    }

    fn open(&self, task: &str, engine: Engine) -> MiniHack {
        MiniHack::open(Some(task), Some(engine.name()), self.data.path()).unwrap()
    }

    /// Puts a folder of copies in place of the engine's tools.
    fn own_tools(&self) -> PathBuf {
        let folder = self.data.path().join(Engine::BalrogNle.folder());
        std::fs::remove_file(&folder).unwrap();
        let tools = folder.join("nethackdir");
        std::fs::create_dir_all(&tools).unwrap();
        let theirs = self.installed.join(Engine::BalrogNle.folder());
        symlink(theirs.join("libnethack.so"), folder.join("libnethack.so")).unwrap();
        for file in ["nhdat", "lev_comp", "dlb"] {
            std::fs::copy(theirs.join("nethackdir").join(file), tools.join(file)).unwrap();
        }
        tools
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

/// Plays random actions to the end.
fn walk(world: &mut MiniHack, seed: u64) -> Vec<Frame> {
    let actions = world.spec().actions.clone();
    let mut dice = Dice(seed * 2 + 1);
    let mut frames = vec![world.reset(seed).unwrap()];
    loop {
        let frame = world.step(&actions[dice.below(actions.len())]).unwrap();
        let over = frame.terminated || frame.truncated;
        frames.push(frame);
        if over {
            assert!(matches!(world.step(&actions[0]), Err(WorldError::NotReset { .. })));
            return frames;
        }
    }
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
    assert!(!(frame.terminated && frame.truncated));
    let over = frame.terminated || frame.truncated;
    assert_eq!(over, frame.info["end_reason"].is_string(), "{}", frame.info);
    assert!(frame.info["hp"].as_i64().unwrap() > 0, "{}", frame.info);
    let won = frame.info["success"].as_bool().unwrap();
    assert_eq!(frame.progression, if won { 1.0 } else { 0.0 });
    assert!(!won || frame.terminated && frame.reward > 0.9, "{}", frame.reward);
    assert!(frame.info["balrog_progression"].as_f64().unwrap() <= frame.progression);
}

#[test]
fn random_episodes_of_every_task_are_whole() {
    let Some(room) = Room::new() else { return };
    let count = std::env::var("AUTOMEM_TEST_EPISODES").map_or(1, |text| text.parse().unwrap());
    for engine in Engine::ALL {
        for task in MiniHack::tasks() {
            let began = std::time::Instant::now();
            let mut world = room.open(task, engine);
            let mut steps = 0;
            for seed in 1000..1000 + count {
                let frames = walk(&mut world, seed);
                frames.iter().for_each(whole);
                let last = &frames[frames.len() - 1];
                let died = last.info["end_reason"].as_str().unwrap().starts_with("DEATH: ");
                assert!(frames.len() == 101 || frames.len() < 101 && !last.truncated, "{task}");
                assert!(frames.len() < 101 || last.truncated || died, "{task}");
                steps += frames.len() - 1;
            }
            println!(
                "{} {task}: {count} episodes, {steps} steps, {:?}",
                engine.name(),
                began.elapsed()
            );
        }
    }
}

#[test]
fn a_seed_gives_the_same_episode_after_others() {
    let Some(room) = Room::new() else { return };
    let digests = |frames: Vec<Frame>| -> Vec<String> { frames.iter().map(|frame| frame.digest.to_string()).collect() };
    for engine in Engine::ALL {
        for task in ["MiniHack-Quest-Medium-v0", "MiniHack-Boxoban-Hard-v0"] {
            let mut world = room.open(task, engine);
            let first = digests(walk(&mut world, 3));
            let other = digests(walk(&mut world, 4));
            assert_ne!(first, other);
            drop(world);
            assert_eq!(first, digests(walk(&mut room.open(task, engine), 3)));
        }
    }
}

#[test]
fn a_solved_puzzle_is_a_success() {
    let Some(room) = Room::new() else { return };
    for (engine, task, level) in [
        (
            Engine::BalrogNle,
            "MiniHack-Boxoban-Medium-v0",
            "medium/train/000.txt 0",
        ),
        (Engine::Nle, "MiniHack-Boxoban-Hard-v0", "hard/000.txt 0"),
    ] {
        let mut world = room.open(task, engine);
        let start = world.reset(9).unwrap();
        assert_eq!(start.info["level"], level);
        assert_eq!(start.long.matches('`').count(), 4, "{}", start.long);
        let mut rewards = Vec::new();
        for (index, letter) in SOLUTION.chars().enumerate() {
            let action = ["north", "east", "south", "west"]
                .into_iter()
                .find(|name| name.starts_with(letter))
                .unwrap();
            let frame = world.step(&Action::from(action)).unwrap();
            whole(&frame);
            rewards.push(frame.reward);
            let last = index + 1 == SOLUTION.len();
            assert_eq!(frame.terminated, last, "step {index}");
            if last {
                assert_eq!((frame.reward, frame.progression), (1.0, 1.0));
                assert_eq!(frame.info["success"], true);
                assert_eq!(frame.info["balrog_progression"], 1.0);
                assert_eq!(
                    frame.info["end_reason"],
                    "TASK_SUCCESSFUL: every boulder is on a fountain"
                );
            }
        }
        let covered = rewards.iter().filter(|reward| **reward == 0.099).count();
        let left = rewards.iter().filter(|reward| **reward == -0.101).count();
        assert_eq!(covered, 3 + left, "{rewards:?}");
    }
}

#[test]
fn what_is_no_action_is_refused_and_changes_nothing() {
    let Some(room) = Room::new() else { return };
    let mut world = room.open("MiniHack-MazeWalk-9x9-v0", Engine::BalrogNle);
    assert!(matches!(
        world.step(&Action::from("north")),
        Err(WorldError::NotReset { .. })
    ));
    world.reset(5).unwrap();
    for action in ["open", "far north", "a", "", "North", "north\n", "esc", "more"] {
        let refused = world.step(&Action::from(action)).unwrap_err();
        assert!(matches!(refused, WorldError::UnknownAction { .. }), "{refused}");
        assert!(refused.to_string().contains("minihack/MiniHack-MazeWalk-9x9-v0"));
    }
    let after = world.step(&Action::from("south")).unwrap();
    world.reset(5).unwrap();
    assert_eq!(after.digest, world.step(&Action::from("south")).unwrap().digest);
}

#[test]
fn a_level_is_compiled_once() {
    let Some(room) = Room::new() else { return };
    let kept = || -> Vec<PathBuf> {
        let folder = room.data.path().join("minihack-levels");
        std::fs::read_dir(folder).map_or_else(
            |_| Vec::new(),
            |entries| entries.map(|entry| entry.unwrap().path()).collect(),
        )
    };
    let boxoban = room
        .open("MiniHack-Boxoban-Hard-v0", Engine::BalrogNle)
        .reset(1)
        .unwrap();
    assert_eq!(boxoban.info["success"], false);
    assert!(kept().is_empty());
    room.open("MiniHack-Quest-Easy-v0", Engine::BalrogNle).reset(1).unwrap();
    let first = kept();
    assert_eq!(first.len(), 1);
    // With the archive in place the tools are not needed.
    let tools = room.own_tools();
    let mut world = room.open("MiniHack-Quest-Easy-v0", Engine::BalrogNle);
    std::fs::set_permissions(tools.join("lev_comp"), PermissionsExt::from_mode(0o644)).unwrap();
    world.reset(1).unwrap();
    assert_eq!(kept(), first);
}

#[test]
fn tools_that_fail_are_told_with_what_they_said() {
    let Some(room) = Room::new() else { return };
    let tools = room.own_tools();
    let reset = |data: &Path| {
        MiniHack::open(Some("MiniHack-MazeWalk-15x15-v0"), None, data)
            .unwrap()
            .reset(1)
            .unwrap_err()
            .to_string()
    };
    std::fs::set_permissions(tools.join("lev_comp"), PermissionsExt::from_mode(0o644)).unwrap();
    let told = reset(room.data.path());
    assert!(
        told.contains("minihack failed") && told.contains("lev_comp cannot be started") && told.contains("chmod +x"),
        "{told}"
    );
    std::fs::remove_file(tools.join("lev_comp")).unwrap();
    let told = reset(room.data.path());
    assert!(
        told.contains("lev_comp cannot be read") && told.contains("automem setup nethack"),
        "{told}"
    );
}

#[test]
fn a_level_the_compiler_refuses_is_told_with_its_words() {
    let Some(room) = Room::new() else { return };
    let minihack = room.data.path().join(Engine::BalrogNle.minihack_folder());
    std::fs::remove_file(&minihack).unwrap();
    std::fs::create_dir_all(minihack.join("dat")).unwrap();
    symlink(
        room.installed.join(Engine::BalrogNle.minihack_folder()).join("lib"),
        minihack.join("lib"),
    )
    .unwrap();
    std::fs::write(
        minihack.join("dat/corridor3.des"),
        "LEVEL: \"mylevel\"\nROOM: nonsense\n",
    )
    .unwrap();
    let told = room
        .open("MiniHack-Corridor-R3-v0", Engine::BalrogNle)
        .reset(1)
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("lev_comp failed") && told.contains("mylevel.des: line 2") && told.contains("nonsense"),
        "{told}"
    );
}
