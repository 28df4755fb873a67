//! What every world must do, whichever it is.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use automem::env::{self, World, WorldError};
use automem::types::{Action, Digest, Frame, View};

/// Every world that is installed here, and one in a child process. The check is given the name of the world and its
/// address.
fn each_world(check: impl Fn(&str, &str, &mut dyn World)) {
    assert!(env::WORLDS.contains(&"crafter"));
    for name in env::WORLDS {
        match env::open(name) {
            Ok(mut world) => check(name, name, &mut *world),
            // What must be fetched first may be missing, and says so.
            Err(error) if *name != "crafter" => {
                let error = error.to_string();
                assert!(error.contains("automem setup"), "{name}: {error}");
                println!("{name} is not installed here: {error}");
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
    let address = format!("worker:'{}' worker crafter", env!("CARGO_BIN_EXE_automem"));
    check("crafter", &address, &mut *env::open(&address).unwrap());
}

/// A varied but fixed choice of actions.
fn actions(world: &dyn World, steps: usize) -> Vec<Action> {
    let all = &world.spec().actions;
    let mut state = 9_u64;
    (0..steps)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            all[(state >> 33) as usize % all.len()].clone()
        })
        .collect()
}

fn play(world: &mut dyn World, seed: u64, actions: &[Action]) -> Vec<Frame> {
    let mut frames = vec![world.reset(seed).unwrap()];
    for action in actions {
        let frame = world.step(action).unwrap();
        let over = frame.terminated || frame.truncated;
        frames.push(frame);
        if over {
            break;
        }
    }
    frames
}

#[test]
fn a_name_opens_its_world_and_no_other() {
    each_world(|name, address, world| {
        assert_eq!(world.spec().name, name);
        let again = env::Address::of(world.spec()).to_string();
        assert!(again.starts_with(address), "{again} opens {address} again");
    });
    match env::open("chess") {
        Err(WorldError::Unknown { name, known }) => {
            assert_eq!(name, "chess");
            assert!(known.contains("crafter"));
        }
        _ => panic!("there is no world of chess"),
    }
}

#[test]
fn the_spec_is_whole_and_constant() {
    each_world(|name, _, world| {
        let before = world.spec().clone();
        assert!(before.actions.contains(&before.fallback), "{name}");
        assert!(before.step_limit > 0 && !before.instruction_prompt.is_empty(), "{name}");
        let mut names = before.actions.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), before.actions.len(), "{name}: an action twice");
        let actions = actions(world, 20);
        play(world, 5, &actions);
        assert_eq!(*world.spec(), before, "{name}");
    });
}

#[test]
fn equal_seeds_and_actions_give_equal_episodes() {
    each_world(|name, address, world| {
        let actions = actions(world, 120);
        let first = play(world, 42, &actions);
        let again = play(world, 42, &actions);
        let elsewhere = play(&mut *env::open(address).unwrap(), 42, &actions);
        assert_eq!(first, again, "{name}: a second episode differs");
        assert_eq!(first, elsewhere, "{name}: a second instance differs");
    });
}

#[test]
fn digests_tell_states_apart() {
    each_world(|name, _, world| {
        let actions = actions(world, 60);
        let digests: Vec<Digest> = play(world, 42, &actions).iter().map(|frame| frame.digest).collect();
        let mut different = digests.clone();
        different.sort();
        different.dedup();
        assert_eq!(
            different.len(),
            digests.len(),
            "{name}: time passes, so every state is new"
        );
        let other = play(world, 43, &actions);
        assert_ne!(other[0].digest, digests[0], "{name}: another seed, the same digest");
    });
}

#[test]
fn a_step_needs_a_reset() {
    each_world(|name, _, world| {
        let fallback = world.spec().fallback.clone();
        match world.step(&fallback) {
            Err(WorldError::NotReset { world }) => assert_eq!(world, name),
            other => panic!("{name}: {other:?}"),
        }
        world.reset(1).unwrap();
        world.step(&fallback).unwrap();
    });
}

#[test]
fn an_unknown_action_is_refused_and_changes_nothing() {
    each_world(|name, _, world| {
        let actions = actions(world, 10);
        let plain = play(world, 3, &actions);
        world.reset(3).unwrap();
        for (n, action) in actions.iter().enumerate() {
            match world.step(&Action::from("Sing")) {
                Err(WorldError::UnknownAction { action, .. }) => assert_eq!(action, "Sing"),
                other => panic!("{name}: {other:?}"),
            }
            assert_eq!(world.step(action).unwrap(), plain[n + 1], "{name}");
        }
    });
}

#[test]
fn frames_are_sane() {
    each_world(|name, _, world| {
        let limit = world.spec().step_limit as usize;
        let fallback = world.spec().fallback.clone();
        // Some worlds last very long; one that ends within a few thousand steps is played to its end.
        let played = limit.min(3_000);
        let actions = vec![fallback.clone(); played + 1];
        let frames = play(world, 42, &actions);
        let ended = frames.last().is_some_and(|frame| frame.terminated || frame.truncated);
        assert!(ended || limit > played, "{name}: no end at the limit");
        assert!(frames.len() <= limit + 1, "{name}: the limit was passed");
        let mut progression = 0.0;
        for (n, frame) in frames.iter().enumerate() {
            let over = frame.terminated || frame.truncated;
            assert_eq!(over, ended && n + 1 == frames.len(), "{name}: frame {n}");
            assert!(!(frame.terminated && frame.truncated), "{name}: frame {n} ends twice");
            assert!((0.0..=1.0).contains(&frame.progression), "{name}: frame {n}");
            assert!(frame.progression >= progression, "{name}: frame {n} lost a score");
            progression = frame.progression;
            assert!(frame.reward.is_finite() && !frame.long.is_empty(), "{name}: frame {n}");
            if let View::Tiles(view) = &frame.view {
                assert_eq!(
                    view.cells.len(),
                    usize::from(view.width) * usize::from(view.height),
                    "{name}"
                );
                assert!(view.tile(view.player.0, view.player.1).is_some(), "{name}: frame {n}");
            }
            assert!(n > 0 || (frame.reward == 0.0 && !over), "{name}: the first frame");
        }
        assert!(
            !ended || matches!(world.step(&fallback), Err(WorldError::NotReset { .. })),
            "{name}: play after the end"
        );
    });
}

#[test]
fn frames_survive_json() {
    each_world(|name, _, world| {
        let frame = world.reset(42).unwrap();
        let text = serde_json::to_string(&frame).unwrap();
        assert_eq!(serde_json::from_str::<Frame>(&text).unwrap(), frame, "{name}");
    });
}
