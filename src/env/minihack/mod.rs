//! MiniHack: small tasks set in NetHack, played by NLE's library without Python.
//!
//! Owns BALROG's eight tasks: their levels, actions, rewards and ends. The game itself, its texts and its frames
//! are [`nethack`](super::nethack)'s. With balrog-nle the same seed and actions give the frames and rewards of
//! MiniHack 0.1.6, with nle those of MiniHack 1.0.2, which recorded episodes in `tests/fixtures/nethack` prove.
//! For Boxoban the choice of the level is this program's: the seed draws a file of the set, sorted by name, and a
//! level of that file.

mod compile;
mod levels;
mod rules;
mod tasks;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::nethack::{End, Engine, GameOptions, Outcome, Play, install, keys};
use super::{World, WorldError};
use crate::types::{Action, Frame, WorldSpec};
use compile::{Archive, Compiler};
use levels::Level;
use rules::Goal;
use tasks::{STEP_LIMIT, Source, Task};

/// The world's name.
const NAME: &str = "minihack";
/// MiniHack's options of the game, with BALROG's choice: nothing is picked up by itself, and there is no pet.
const OPTIONS: &str = "color,showexp,nobones,nolegacy,nocmdassist,disclose:+i +a +v +g +c +o,runmode:teleport,mention_walls,nosparkle,showscore,!autopickup,pettype:none";

/// One of MiniHack's tasks, played in this process.
pub struct MiniHack {
    spec: WorldSpec,
    task: &'static Task,
    engine: Engine,
    data: PathBuf,
    /// Where games make their folders, if not in the system's place for such things.
    scratch: Option<PathBuf>,
    /// The episode goes before the archive it reads its level from.
    episode: Option<Play<Goal>>,
    /// The last level's des-file and archive.
    archive: Option<(Vec<u8>, Archive)>,
}

impl MiniHack {
    /// Names of its tasks.
    pub fn tasks() -> impl Iterator<Item = &'static str> {
        tasks::TASKS.iter().map(|task| task.id)
    }

    /// The world with a task (the first for none) and an engine (balrog-nle for none), if all it needs is
    /// installed in the data directory.
    ///
    /// # Errors
    /// When there is no such task or engine, or something it needs is missing.
    pub fn open(task: Option<&str>, engine: Option<&str>, data: &Path) -> Result<Self, WorldError> {
        let Some(task) = Task::find(task) else {
            return Err(WorldError::Variant {
                world: NAME.to_owned(),
                what: "task",
                name: task.unwrap_or_default().to_owned(),
                known: Task::known(),
            });
        };
        let engine = Engine::named(engine, NAME)?;
        install::check(data, engine).map_err(|missing| failed(&missing))?;
        let world = Self {
            spec: spec(task, engine),
            task,
            engine,
            data: data.to_owned(),
            scratch: None,
            episode: None,
            archive: None,
        };
        // What is missing is told now, not at the first reset.
        let minihack = world.minihack();
        if !minihack.is_dir() {
            return Err(failed(&format!(
                "MiniHack's files for {engine} are not installed: there is no folder {}; run `automem setup nethack \
                 --engine {engine}`",
                minihack.display(),
                engine = engine.name()
            )));
        }
        world.level(0)?;
        Ok(world)
    }

    /// Lets each game and level make its folder here instead of in the system's place for such things.
    #[must_use]
    pub fn with_scratch(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scratch = Some(folder.into());
        self
    }

    fn minihack(&self) -> PathBuf {
        self.data.join(self.engine.minihack_folder())
    }

    /// The level of a seed.
    fn level(&self, seed: u64) -> Result<Level, WorldError> {
        levels::level(self.task.source, &self.minihack(), &self.data.join("boxoban"), seed)
            .map_err(|error| failed(&error))
    }

    /// Puts a level's archive in place; it stays for as long as the same level is played.
    fn compile(&mut self, level: &Level) -> Result<PathBuf, WorldError> {
        if let Some((des, archive)) = &self.archive
            && *des == level.des
            && archive.path().is_file()
        {
            return Ok(archive.path().to_owned());
        }
        let compiler = Compiler {
            tools: self.engine.nethackdir(&self.data),
            lib: self.minihack().join("lib"),
            cache: self.data.join("minihack-levels"),
            scratch: self.scratch.clone(),
        };
        let made = match self.task.source {
            // One of hundreds of thousands: not worth keeping.
            Source::Boxoban(_) => compiler.once(&level.des),
            _ => compiler.kept(&level.des),
        };
        let archive = made.map_err(|error| failed(&error))?;
        let path = archive.path().to_owned();
        self.archive = Some((level.des.clone(), archive));
        Ok(path)
    }

    fn extra(&self, outcome: Option<&Outcome>, success: bool, level: Option<&str>) -> Map<String, Value> {
        let mut extra = Map::new();
        let full = outcome.is_some_and(|outcome| outcome.reward >= 1.0);
        extra.insert("success".into(), json!(success));
        extra.insert("balrog_progression".into(), json!(if full { 1.0 } else { 0.0 }));
        if let Some(level) = level {
            extra.insert("level".into(), json!(level));
        }
        // The game itself only tells that it was quit.
        match outcome.and_then(|outcome| outcome.end) {
            Some(End::Success) => {
                let reason = format!("{}: {}", End::Success.name(), self.task.success());
                extra.insert("end_reason".into(), json!(reason));
            }
            Some(End::Aborted) => {
                let reason = format!("{}: {STEP_LIMIT} steps", End::Aborted.name());
                extra.insert("end_reason".into(), json!(reason));
            }
            Some(End::Death) | None => {}
        }
        extra
    }
}

fn failed(error: &dyn std::fmt::Display) -> WorldError {
    WorldError::Engine {
        world: NAME.to_owned(),
        message: error.to_string(),
    }
}

/// What the world is, with a task and an engine.
fn spec(task: &Task, engine: Engine) -> WorldSpec {
    WorldSpec {
        name: NAME.to_owned(),
        engine: engine.name().to_owned(),
        engine_version: engine.version().to_owned(),
        task: task.id.to_owned(),
        actions: task.actions.iter().map(|name| Action::from(*name)).collect(),
        instruction_prompt: task.instruction_prompt(),
        fallback: Action::from("north"),
        step_limit: STEP_LIMIT,
        command: None,
    }
}

impl World for MiniHack {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn reset(&mut self, seed: u64) -> Result<Frame, WorldError> {
        // The process holds one game: the last one goes before the next begins.
        self.episode = None;
        let level = self.level(seed)?;
        let nhdat = self.compile(&level)?;
        let options = GameOptions {
            engine: self.engine,
            data: &self.data,
            options: OPTIONS,
            character: self.task.character,
            seed,
            nhdat: Some(nhdat),
            scratch: self.scratch.clone(),
        };
        let identity: [&[u8]; 2] = [self.task.id.as_bytes(), &level.des];
        let play = Play::start(&options, Goal::new(self.task), &identity).map_err(|error| failed(&error))?;
        let frame = play.frame(None, 0.0, self.extra(None, false, level.name.as_deref()));
        self.episode = Some(play);
        Ok(frame)
    }

    fn step(&mut self, action: &Action) -> Result<Frame, WorldError> {
        let known = self.task.actions.contains(&action.as_str());
        let Some(key) = keys::key(action.as_str()).filter(|_| known) else {
            return Err(WorldError::UnknownAction {
                action: action.to_string(),
                world: format!("{NAME}/{}", self.task.id),
            });
        };
        let Some(mut play) = self.episode.take() else {
            return Err(WorldError::NotReset { world: NAME.to_owned() });
        };
        let outcome = play.act(action.as_str(), key);
        let success = outcome.end == Some(End::Success);
        let frame = play.frame(
            Some(&outcome),
            if success { 1.0 } else { 0.0 },
            self.extra(Some(&outcome), success, None),
        );
        if outcome.end.is_none() {
            self.episode = Some(play);
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tasks_and_engines_are_refused_with_what_there_is() {
        let data = tempfile::tempdir().unwrap();
        let refused = |task, engine| MiniHack::open(task, engine, data.path()).err().unwrap().to_string();
        let error = refused(Some("MiniHack-River-v0"), None);
        assert!(error.contains("minihack has no task `MiniHack-River-v0`"), "{error}");
        for task in MiniHack::tasks() {
            assert!(error.contains(task), "{task} is not in: {error}");
        }
        assert!(refused(None, Some("hack")).contains("balrog-nle, nle"));
        assert!(refused(None, None).contains("automem setup nethack"));
    }

    #[test]
    fn every_action_of_a_task_has_a_key_and_the_fallback_is_one_of_them() {
        for task in tasks::TASKS {
            let spec = spec(task, Engine::Nle);
            assert!(spec.actions.contains(&spec.fallback), "{}", task.id);
            for action in &spec.actions {
                assert!(keys::key(action.as_str()).is_some(), "{}: {action}", task.id);
            }
            assert_eq!((spec.engine.as_str(), spec.engine_version.as_str()), ("nle", "1.3.0"));
        }
    }

    #[test]
    fn what_a_task_needs_beside_the_engine_is_missed_when_it_is_opened() {
        let data = tempfile::tempdir().unwrap();
        let engine = data.path().join("balrog-nle-0.9.0");
        std::fs::create_dir_all(engine.join("nethackdir")).unwrap();
        for file in ["libnethack.so", "nethackdir/nhdat"] {
            std::fs::write(engine.join(file), "").unwrap();
        }
        let refused = |task| MiniHack::open(Some(task), None, data.path()).err().unwrap().to_string();
        let error = refused("MiniHack-MazeWalk-9x9-v0");
        assert!(
            error.contains("no folder") && error.contains("automem setup nethack --engine balrog-nle"),
            "{error}"
        );
        std::fs::create_dir(data.path().join("minihack-0.1.6")).unwrap();
        let error = refused("MiniHack-Boxoban-Medium-v0");
        assert!(
            error.contains("boxoban/medium/train") && error.contains("automem setup nethack --boxoban github"),
            "{error}"
        );
        let error = refused("MiniHack-Quest-Easy-v0");
        assert!(
            error.contains("minihack-0.1.6/dat/quest_easy.des of MiniHack cannot be read"),
            "{error}"
        );
        assert!(MiniHack::open(None, None, data.path()).is_ok());
    }
}
