//! The run file as a whole: what is written is what is read, whatever happens in between.

mod bad;
mod format;
mod live;

use std::sync::Arc;

use proptest::prelude::*;

use super::testing::*;
use super::*;
use crate::types::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A stream of commits: steps mostly go forward, sometimes back; memory changes come in between.
#[derive(Debug, Clone)]
enum Act {
    Body(Body),
    NextStep(u32),
    Late(u32, Body),
    Edit(String, Option<String>),
    OtherEpisode,
    Commit,
    Reopen,
    Refresh,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => any_body().prop_map(Act::Body),
        3 => Just(Act::NextStep(1)),
        1 => (1u32..200).prop_map(Act::NextStep),
        1 => ((1u32..50), any_body()).prop_map(|(back, body)| Act::Late(back, body)),
        3 => ("[ab]", proptest::option::of("[a-cé\n]{0,12}")).prop_map(|(path, text)| Act::Edit(path, text)),
        1 => Just(Act::OtherEpisode),
        4 => Just(Act::Commit),
        1 => Just(Act::Reopen),
        1 => Just(Act::Refresh),
    ];
    proptest::collection::vec(act, 0..60)
}

#[derive(Default, Clone)]
struct Model {
    /// Committed events by step, in order.
    events: std::collections::BTreeMap<(u32, u32), Vec<Body>>,
    /// Memory after each step that changed it.
    memory: std::collections::BTreeMap<(u32, u32), MemoryFiles>,
}

impl Model {
    fn check(&self, reader: &Reader) {
        for (&(episode, step), bodies) in &self.events {
            let record = reader.step(EpisodeNo(episode), StepNo(step)).unwrap();
            assert_eq!(&record.events, bodies, "episode {episode} step {step}");
            let expected = self.memory.range((episode, 0)..=(episode, step)).next_back();
            let expected = expected.map(|(_, files)| files.clone()).unwrap_or_default();
            let state = reader.memory_at(EpisodeNo(episode), StepNo(step)).unwrap();
            assert_eq!(state.texts(), expected, "episode {episode} step {step}");
        }
        for episode in reader.episodes().unwrap() {
            let number = episode.episode.0;
            let events: Vec<Body> = reader
                .episode_events(episode.episode)
                .unwrap()
                .map(|event| event.unwrap().body)
                .collect();
            let expected: Vec<Body> = self
                .events
                .range((number, 0)..(number + 1, 0))
                .flat_map(|(_, bodies)| bodies.clone())
                .collect();
            assert_eq!(events, expected);
            let finished = self
                .events
                .range((number, 0)..(number + 1, 0))
                .filter(|(_, bodies)| bodies.iter().any(|body| matches!(body, Body::StepFinished { .. })));
            let marks = reader.timeline(episode.episode, StepNo(0)).unwrap();
            let steps: Vec<u32> = marks.iter().map(|mark| mark.step.0).collect();
            assert_eq!(steps, finished.map(|((_, step), _)| *step).collect::<Vec<_>>());
        }
    }
}

fn play(acts: Vec<Act>, block_steps: usize) {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap().with_block_steps(block_steps);
    let mut reader = Reader::open(&path).unwrap();
    let mut committed = Model::default();
    let mut model = Model::default();
    let mut pending = Vec::new();
    let mut episode = 0u32;
    let mut steps = [0u32; 2];
    let mut files = [MemoryFiles::new(), MemoryFiles::new()];
    for act in acts {
        let now = steps[episode as usize];
        let mut say = |step: u32, body: Body, pending: &mut Vec<Event>| {
            model.events.entry((episode, step)).or_default().push(body.clone());
            pending.push(event(episode, step, body));
        };
        match act {
            // Inherited memory belongs to the start and is tested apart.
            Act::Body(Body::EpisodeStarted { .. }) | Act::Late(_, Body::EpisodeStarted { .. }) => {}
            Act::Body(body) => say(now, body, &mut pending),
            Act::NextStep(n) => steps[episode as usize] += n,
            Act::Late(back, body) => say(now.saturating_sub(back), body, &mut pending),
            Act::Edit(path, text) => {
                let files = &mut files[episode as usize];
                let before = files.get(&path).cloned();
                if let Some(change) = MemoryChange::between(&path, before.as_deref(), text.as_deref()) {
                    change.apply(files).unwrap();
                    let changes = vec![change];
                    say(now, Body::HumanEdited { changes }, &mut pending);
                    model.memory.insert((episode, now), files.clone());
                }
            }
            Act::OtherEpisode => episode = 1 - episode,
            Act::Commit => {
                writer.commit(&pending).unwrap();
                pending.clear();
                committed = model.clone();
            }
            Act::Reopen => {
                drop(writer);
                writer = Writer::reopen(&path).unwrap().with_block_steps(block_steps);
            }
            Act::Refresh => {
                reader.refresh().unwrap();
                committed.check(&reader);
            }
        }
    }
    writer.commit(&pending).unwrap();
    reader.refresh().unwrap();
    model.check(&reader);
    drop(reader);
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert!(reader.is_finished());
    model.check(&reader);
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        1,
        "only the run is left"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(acts in acts(), block_steps in 1usize..8) {
        play(acts, block_steps);
    }
}

#[test]
fn long_episodes_are_packed_and_found_again() {
    let dir = folder();
    let path = dir.path().join("run.db");
    let mut writer = Writer::create(&path, &meta()).unwrap();
    let mut files = MemoryFiles::from([("map.txt".to_owned(), Arc::from("0,0 start\n"))]);
    let mut model = Model::default();
    let started = Body::EpisodeStarted {
        seed: u64::MAX,
        inherited: files.clone(),
    };
    for number in 0..600 {
        let mut events = step(0, number, &mut files);
        if number == 0 {
            events.insert(0, event(0, 0, started.clone()));
        }
        let bodies = events.iter().map(|event| event.body.clone()).collect();
        model.events.insert((0, number), bodies);
        model.memory.insert((0, number), files.clone());
        writer.commit(&events).unwrap();
    }
    let reader = Reader::open(&path).unwrap();
    model.check(&reader);
    let summary = &reader.episodes().unwrap()[0];
    assert_eq!((summary.seed, summary.steps), (u64::MAX, 600));
    assert_eq!(summary.prompt_tokens, 100 * 1199);
    let state = reader.memory_at(EpisodeNo(0), StepNo(500)).unwrap();
    assert_eq!(state.files["map.txt"].touched, None);
    assert_eq!(state.files["log.txt"].touched, Some(StepNo(500)));
    drop(reader);
    writer.finish().unwrap();
    model.check(&Reader::open(&path).unwrap());
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 150_000, "{size} bytes");
}
