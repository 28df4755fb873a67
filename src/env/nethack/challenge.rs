//! The world NetHackChallenge as BALROG plays it: NLE's full keyboard, a random hero, the score as reward.

use std::path::{Path, PathBuf};

use serde_json::Map;

use super::ends::End;
use super::game::{CHALLENGE_OPTIONS, GameOptions};
use super::install::{self, Engine};
use super::keys::{self, Word};
use super::observation::stat;
use super::play::{Judgement, Outcome, Play, Rules, Turn};
use super::progress::progression;
use crate::env::{World, WorldError};
use crate::types::{Action, Frame, WorldSpec};

/// The world's name.
const NAME: &str = "nethack";
/// Its one task.
pub const TASK: &str = "NetHackChallenge-v0";
/// What the agent is told.
const INSTRUCTION: &str = include_str!("instruction.txt");
/// Keys after which an episode is cut off.
const MOST_STEPS: u32 = 100_000;
/// Keys in a row that the game's turn may stand still.
const MOST_IDLE: u32 = 150;

/// NetHackChallenge, played in this process.
pub struct NetHack {
    spec: WorldSpec,
    engine: Engine,
    data: PathBuf,
    episode: Option<Episode>,
    /// Where games make their folders, if not in the system's place for such things.
    scratch: Option<PathBuf>,
}

struct Episode {
    play: Play<Score>,
    progression: f64,
}

impl NetHack {
    /// The world, if its engine is installed in the data directory.
    ///
    /// # Errors
    /// When there is no such engine, or something of it is missing.
    pub fn open(engine: Option<&str>, data: &Path) -> Result<Self, WorldError> {
        let engine = Engine::named(engine, NAME)?;
        install::check(data, engine).map_err(|missing| failed(&missing))?;
        Ok(Self {
            spec: spec(engine),
            engine,
            data: data.to_owned(),
            episode: None,
            scratch: None,
        })
    }

    /// Lets each game make its folder here instead of in the system's place for such things.
    #[must_use]
    pub fn with_scratch(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scratch = Some(folder.into());
        self
    }
}

fn failed(error: &dyn std::fmt::Display) -> WorldError {
    WorldError::Engine {
        world: NAME.to_owned(),
        message: error.to_string(),
    }
}

/// What the world is, with an engine.
fn spec(engine: Engine) -> WorldSpec {
    WorldSpec {
        name: NAME.to_owned(),
        engine: engine.name().to_owned(),
        engine_version: engine.version().to_owned(),
        task: TASK.to_owned(),
        actions: keys::names().map(Action::from).collect(),
        instruction_prompt: instruction(),
        fallback: Action::from("esc"),
        step_limit: MOST_STEPS,
        command: None,
    }
}

fn instruction() -> String {
    let words: Vec<Word> = keys::WORDS.to_vec();
    INSTRUCTION
        .trim_end()
        .replacen("ACTIONS\n", &format!("{}\n", keys::listed(words)), 1)
}

impl World for NetHack {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn reset(&mut self, seed: u64) -> Result<Frame, WorldError> {
        // The process holds one game: the last one goes before the next begins.
        self.episode = None;
        let options = GameOptions {
            engine: self.engine,
            data: &self.data,
            options: CHALLENGE_OPTIONS,
            character: "@",
            seed,
            nhdat: None,
            scratch: self.scratch.clone(),
        };
        let play = Play::start(&options, Score::default(), &[TASK.as_bytes()]).map_err(|error| failed(&error))?;
        let mut episode = Episode { play, progression: 0.0 };
        let frame = episode.frame(None);
        self.episode = Some(episode);
        Ok(frame)
    }

    fn step(&mut self, action: &Action) -> Result<Frame, WorldError> {
        let Some(key) = keys::key(action.as_str()) else {
            return Err(WorldError::UnknownAction {
                action: action.to_string(),
                world: NAME.to_owned(),
            });
        };
        let Some(episode) = &mut self.episode else {
            return Err(WorldError::NotReset { world: NAME.to_owned() });
        };
        let outcome = episode.play.act(action.as_str(), key);
        let frame = episode.frame(Some(&outcome));
        if outcome.end.is_some() {
            self.episode = None;
        }
        Ok(frame)
    }
}

impl Episode {
    fn frame(&mut self, outcome: Option<&Outcome>) -> Frame {
        let stats = self.play.stats();
        let now = progression(stats[stat::DEPTH], stats[stat::LEVEL]);
        self.progression = self.progression.max(now);
        self.play.frame(outcome, self.progression, Map::new())
    }
}

/// The reward is what the game's score gained; an episode is cut off after too many keys, or where time stands still.
#[derive(Debug, Default)]
struct Score {
    turn: Option<i64>,
    idle: u32,
}

impl Rules for Score {
    fn everything_is_asked(&self) -> bool {
        true
    }

    fn judge(&mut self, turn: &Turn<'_>) -> Judgement {
        let now = turn.now.blstats[stat::TURN];
        if self.turn == Some(now) {
            self.idle += 1;
        } else {
            self.turn = Some(now);
            self.idle = 0;
        }
        let gained = turn.now.blstats[stat::SCORE] - turn.before[stat::SCORE];
        Judgement {
            // After the end all status numbers are zero.
            reward: if turn.in_normal_game { gained as f64 } else { 0.0 },
            end: (turn.steps >= MOST_STEPS || self.idle >= MOST_IDLE).then_some(End::Aborted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::nethack::observation::Observation;

    fn turn<'a>(before: &'a Observation, now: &'a Observation, steps: u32) -> Turn<'a> {
        Turn {
            before: &before.blstats,
            now,
            in_normal_game: true,
            done: false,
            steps,
        }
    }

    #[test]
    fn the_score_is_the_reward() {
        let (mut before, mut now) = (Observation::default(), Observation::default());
        before.blstats[stat::SCORE] = 20;
        now.blstats[stat::SCORE] = 27;
        let mut played = turn(&before, &now, 1);
        assert_eq!(Score::default().judge(&played), Judgement { reward: 7.0, end: None });
        played.in_normal_game = false;
        assert_eq!(Score::default().judge(&played).reward, 0.0);
    }

    #[test]
    fn standing_still_and_going_on_for_ever_are_cut_off() {
        let still = Observation::default();
        let mut rules = Score::default();
        let ended = (1..).find(|steps| rules.judge(&turn(&still, &still, *steps)).end.is_some());
        assert_eq!(ended, Some(MOST_IDLE + 1));
        assert_eq!(
            Score::default().judge(&turn(&still, &still, MOST_STEPS)).end,
            Some(End::Aborted)
        );
    }

    #[test]
    fn the_prompt_names_every_action() {
        let spec = spec(Engine::BalrogNle);
        for word in keys::WORDS {
            assert!(
                spec.instruction_prompt
                    .contains(&format!("\n{}: {}\n", word.name, word.meaning))
            );
        }
        assert!(!spec.instruction_prompt.contains("ACTIONS"));
        assert!(spec.actions.contains(&spec.fallback));
    }

    #[test]
    fn a_missing_engine_and_an_unknown_one_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |engine| NetHack::open(engine, dir.path()).err().unwrap().to_string();
        assert!(refused(None).contains("automem setup nethack"));
        assert!(refused(Some("hack")).contains("balrog-nle, nle"));
    }
}
