//! How a world is named in one text: `crafter`, `minihack/MiniHack-Corridor-R3-v0`, `nethack@nle`, `worker:COMMAND`.
//!
//! Owns that text's form, both ways. Must not open anything.

use std::fmt;
use std::str::FromStr;

use super::WorldError;
use crate::types::WorldSpec;

/// A world as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// One of this program's.
    Built {
        /// Its name, such as `nethack`.
        name: String,
        /// The task; the world's first where none is named.
        task: Option<String>,
        /// The engine; the world's usual one where none is named.
        engine: Option<String>,
    },
    /// A program that speaks the worker protocol: words split at blanks, quotes as in a shell.
    Worker(String),
}

/// What a worker's command stands behind.
const WORKER: &str = "worker:";

impl Address {
    /// How a recorded world is opened again.
    pub fn of(spec: &WorldSpec) -> Self {
        match &spec.command {
            Some(command) => Self::Worker(command.clone()),
            None => Self::Built {
                name: spec.name.clone(),
                task: (spec.task != "default").then(|| spec.task.clone()),
                engine: (spec.engine != "automem-native").then(|| spec.engine.clone()),
            },
        }
    }

    /// With a task and an engine that were asked for apart.
    ///
    /// # Errors
    /// When it has one already, or is a worker: its command says what it plays.
    pub fn with(self, task: Option<String>, engine: Option<String>) -> Result<Self, WorldError> {
        if task.is_none() && engine.is_none() {
            return Ok(self);
        }
        match self {
            Self::Built {
                name,
                task: had_task,
                engine: had_engine,
            } if (task.is_none() || had_task.is_none()) && (engine.is_none() || had_engine.is_none()) => {
                Ok(Self::Built {
                    name,
                    task: task.or(had_task),
                    engine: engine.or(had_engine),
                })
            }
            other => Err(WorldError::Address {
                text: other.to_string(),
                problem: "a task or an engine is asked for twice, or of a worker, whose command says what it plays"
                    .to_owned(),
            }),
        }
    }

    /// The world's name, where it can be told without opening it.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Built { name, .. } => Some(name),
            Self::Worker(_) => None,
        }
    }
}

impl FromStr for Address {
    type Err = WorldError;

    fn from_str(text: &str) -> Result<Self, WorldError> {
        let wrong = |problem: &str| WorldError::Address {
            text: text.to_owned(),
            problem: problem.to_owned(),
        };
        if let Some(command) = text.strip_prefix(WORKER) {
            let command = command.trim();
            if command.is_empty() {
                return Err(wrong("the worker's command is missing: `worker:python3 my_world.py`"));
            }
            return Ok(Self::Worker(command.to_owned()));
        }
        let (rest, engine) = match text.split_once('@') {
            Some((rest, engine)) => (rest, Some(engine)),
            None => (text, None),
        };
        let (name, task) = match rest.split_once('/') {
            Some((name, task)) => (name, Some(task)),
            None => (rest, None),
        };
        let plain = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'))
        };
        if ![Some(name), task, engine].into_iter().flatten().all(plain) {
            return Err(wrong(
                "it has the form NAME, NAME/TASK, NAME@ENGINE or NAME/TASK@ENGINE",
            ));
        }
        Ok(Self::Built {
            name: name.to_owned(),
            task: task.map(str::to_owned),
            engine: engine.map(str::to_owned),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(command) => write!(f, "{WORKER}{command}"),
            Self::Built { name, task, engine } => {
                f.write_str(name)?;
                if let Some(task) = task {
                    write!(f, "/{task}")?;
                }
                match engine {
                    Some(engine) => write!(f, "@{engine}"),
                    None => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Address, WorldError> {
        text.parse()
    }

    #[test]
    fn texts_come_back() {
        for text in [
            "crafter",
            "minihack/MiniHack-Corridor-R3-v0",
            "nethack@nle",
            "minihack/MiniHack-Quest-Easy-v0@balrog-nle",
            "worker:python3 my_world.py --task a/b@c",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_texts_are_refused_with_the_form() {
        for text in ["", "/", "a/", "@x", "a b", "a/b/c", "worker:  ", "a@b@c", "../x"] {
            assert!(
                matches!(read(text), Err(WorldError::Address { .. })),
                "{text} was taken"
            );
        }
    }

    #[test]
    fn a_task_is_asked_for_once() {
        let task = Some("T".to_owned());
        let minihack = read("minihack").unwrap().with(task.clone(), None).unwrap();
        assert_eq!(minihack.to_string(), "minihack/T");
        assert!(minihack.with(task.clone(), None).is_err());
        assert!(read("worker:x").unwrap().with(task, None).is_err());
    }

    #[test]
    fn a_recorded_world_is_found_again() {
        let mut spec = crate::env::open("crafter").unwrap().spec().clone();
        assert_eq!(Address::of(&spec).to_string(), "crafter");
        spec.name = "nethack".into();
        spec.task = "NetHackChallenge-v0".into();
        spec.engine = "nle".into();
        assert_eq!(Address::of(&spec).to_string(), "nethack/NetHackChallenge-v0@nle");
        spec.command = Some("python3 x.py".into());
        assert_eq!(Address::of(&spec).to_string(), "worker:python3 x.py");
    }
}
