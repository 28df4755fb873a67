//! Runs on worlds that fail, or that are not what they were.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::sync::Arc;

use automem::agent::{self, OpenWorld};
use automem::env::{World, WorldError};
use automem::store::Reader;
use automem::types::{Action, Body, Digest, EndReason, EpisodeNo, Frame, StepNo, WorldSpec};
use support::{FnModel, busy, place, plan, play};

/// Crafter with a fault: an error at a step, or a digest that is wrong from a step on.
struct Faulty {
    inner: Box<dyn World>,
    steps: u32,
    fails_at: Option<u32>,
    wrong_from: Option<u32>,
}

impl World for Faulty {
    fn spec(&self) -> &WorldSpec {
        self.inner.spec()
    }

    fn reset(&mut self, seed: u64) -> Result<Frame, WorldError> {
        self.steps = 0;
        if self.fails_at == Some(0) {
            return Err(self.error());
        }
        self.inner.reset(seed)
    }

    fn step(&mut self, action: &Action) -> Result<Frame, WorldError> {
        self.steps += 1;
        if self.fails_at == Some(self.steps) {
            return Err(self.error());
        }
        let mut frame = self.inner.step(action)?;
        if self.wrong_from.is_some_and(|from| self.steps >= from) {
            frame.digest = Digest::of("elsewhere");
        }
        Ok(frame)
    }
}

impl Faulty {
    fn error(&self) -> WorldError {
        WorldError::Engine {
            world: "crafter".into(),
            message: "the ground is gone".into(),
        }
    }
}

fn faulty(fails_at: Option<u32>, wrong_from: Option<u32>) -> OpenWorld {
    Arc::new(move || {
        Ok(Box::new(Faulty {
            inner: automem::env::open("crafter")?,
            steps: 0,
            fails_at,
            wrong_from,
        }) as Box<dyn World>)
    })
}

#[test]
fn a_world_that_fails_leaves_the_episode_open_says_why_and_is_gone_on_with() {
    let (_folder, out) = place();
    let handle = agent::start_in(plan(&out, FnModel::of(busy)), faulty(Some(5), None)).unwrap();
    let error = handle.wait().unwrap_err().to_string();
    assert!(
        error.contains("the ground is gone") && error.contains("automem resume"),
        "{error}"
    );
    let reader = Reader::open(&out).unwrap();
    assert!(!reader.is_finished());
    assert_eq!(reader.episodes().unwrap()[0].end, None);
    let last = reader.step(EpisodeNo(0), StepNo(4)).unwrap();
    let told = |body: &Body| matches!(body, Body::WorldFailed { message } if message.contains("the ground is gone"));
    assert!(last.events.iter().any(told));
    assert!(last.frame().is_some(), "what was seen last is shown");
    drop(reader);

    let handle = agent::resume(&out, FnModel::of(busy), None).unwrap();
    let report = handle.wait().unwrap();
    assert_eq!(
        (report.episodes[0].steps, report.episodes[0].end),
        (20, Some(EndReason::StepLimit))
    );
    assert!(agent::verify(&out, &Default::default(), &mut |_| {}).unwrap().ok);
}

#[test]
fn other_episodes_are_played_when_one_fails() {
    let (_folder, out) = place();
    let mut two = plan(&out, FnModel::of(busy));
    two.seeds = vec![1, 2];
    let failing = std::sync::atomic::AtomicBool::new(true);
    let first_fails: OpenWorld = std::sync::Arc::new(move || {
        let fails = failing.swap(false, std::sync::atomic::Ordering::Relaxed);
        faulty(fails.then_some(5), None)()
    });
    assert!(agent::start_in(two, first_fails).unwrap().wait().is_err());
    let reader = Reader::open(&out).unwrap();
    let episodes = reader.episodes().unwrap();
    assert_eq!(episodes.len(), 2);
    assert_eq!((episodes[0].end, episodes[1].end), (None, Some(EndReason::StepLimit)));
}

#[test]
fn a_world_that_cannot_begin_is_recorded_and_the_others_play() {
    let (_folder, out) = place();
    let mut two = plan(&out, FnModel::of(busy));
    two.seeds = vec![1, 2];
    let report = agent::start_in(two, faulty(Some(0), None)).unwrap().wait().unwrap();
    assert_eq!(report.episodes.len(), 2);
    assert!(
        report
            .episodes
            .iter()
            .all(|episode| episode.end == Some(EndReason::Failed))
    );
}

#[test]
fn verify_finds_the_first_difference() {
    let (_folder, out) = place();
    play(plan(&out, FnModel::of(busy)));
    let same = agent::verify(&out, &Default::default(), &mut |_| {}).unwrap();
    assert_eq!((same.ok, same.steps, same.first_difference), (true, 20, None));
    let other = agent::verify_in(&out, faulty(None, Some(7)), &Default::default(), &mut |_| {}).unwrap();
    assert!(!other.ok);
    let found = other.first_difference.unwrap();
    assert_eq!((found.step, found.field.as_str()), (StepNo(7), "digest"));
    let broken = agent::verify_in(&out, faulty(Some(3), None), &Default::default(), &mut |_| {}).unwrap();
    assert_eq!(broken.first_difference.unwrap().field, "world");
}
