//! Worlds: the games an agent plays.
//!
//! Owns the trait every world implements and the registry of worlds. Must not know about agents,
//! memory, models or the screen. To add a world, add its folder and one line in [`open`].

mod address;
pub mod crafter;
pub mod minihack;
pub mod nethack;
pub mod setup;
pub mod worker;

pub use address::Address;

use crate::jobs;
use crate::types::{Action, Frame, WorldSpec};

/// A game that is played one action at a time. Calls block; a world lives on one thread.
pub trait World: Send {
    /// What the world is; constant over its life.
    fn spec(&self) -> &WorldSpec;

    /// Starts an episode. Equal seeds give equal episodes.
    ///
    /// # Errors
    /// When the world's engine fails.
    fn reset(&mut self, seed: u64) -> Result<Frame, WorldError>;

    /// Plays one action.
    ///
    /// # Errors
    /// When the action is none of the world's, when there was no reset, or when the engine fails.
    fn step(&mut self, action: &Action) -> Result<Frame, WorldError>;
}

/// Why a world could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// No world has this name.
    #[error("there is no world `{name}`; the worlds are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// What was asked for names no world.
    #[error("`{text}` names no world: {problem}")]
    Address {
        /// What was asked for.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The world has no such task or engine.
    #[error("{world} has no {what} `{name}`; there is: {known}")]
    Variant {
        /// The world.
        world: String,
        /// `task` or `engine`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The action is none of the world's.
    #[error("`{action}` is no action of {world}")]
    UnknownAction {
        /// The action.
        action: String,
        /// The world.
        world: String,
    },
    /// A step before the first reset, or after a fault.
    #[error("{world} has no episode under way; reset it first")]
    NotReset {
        /// The world.
        world: String,
    },
    /// The engine failed.
    #[error("{world} failed: {message}")]
    Engine {
        /// The world.
        world: String,
        /// Cause and next step.
        message: String,
    },
}

/// Names of all worlds.
pub const WORLDS: &[&str] = &["crafter", "minihack", "nethack"];

/// What can be seen in a world, by the names its observations use; empty where they are not known.
pub fn things(world: &str) -> &'static [&'static str] {
    match world {
        "crafter" => crafter::tiles::THINGS,
        _ => &[],
    }
}

/// Addresses of all there is to play: a world, or each task of one that has several.
pub fn choices() -> Vec<String> {
    let mut choices = Vec::new();
    for world in WORLDS {
        match *world {
            "minihack" => choices.extend(minihack::MiniHack::tasks().map(|task| format!("{world}/{task}"))),
            _ => choices.push((*world).to_owned()),
        }
    }
    choices
}

/// Whether an [`Address`] leads to a world of this name; of a worker it is known only once it is opened.
pub fn leads_to(address: &str, name: &str) -> bool {
    match address.parse::<Address>() {
        Ok(address) => address.name().is_none_or(|known| known == name),
        Err(_) => false,
    }
}

/// The name of the world that an [`Address`] leads to, as far as it is known without opening it.
pub fn name_of(address: &str) -> String {
    let parsed = address.parse::<Address>().ok();
    parsed
        .as_ref()
        .and_then(Address::name)
        .map_or_else(|| address.to_owned(), str::to_owned)
}

/// Opens a world by its [`Address`].
///
/// # Errors
/// When there is no such world, it has no such task or engine, or its engine cannot be started.
pub fn open(address: &str) -> Result<Box<dyn World>, WorldError> {
    let (name, task, engine) = match address.parse()? {
        Address::Built { name, task, engine } => (name, task, engine),
        Address::Worker(command) => return Ok(Box::new(worker::open(&command)?)),
    };
    match name.as_str() {
        "crafter" => {
            none_but(&name, "task", task.as_deref(), "default")?;
            none_but(&name, "engine", engine.as_deref(), "automem-native")?;
            Ok(Box::new(crafter::Crafter::new()))
        }
        "nethack" | "minihack" => Ok(Box::new(in_a_child(&name, task.as_deref(), engine.as_deref())?)),
        _ => Err(WorldError::Unknown {
            name,
            known: WORLDS.join(", "),
        }),
    }
}

/// A world whose engine plays one game a process: this program itself as its worker.
fn in_a_child(name: &str, task: Option<&str>, engine: Option<&str>) -> Result<worker::WorkerWorld, WorldError> {
    let program = jobs::program::program().map_err(|error| WorldError::Engine {
        world: name.to_owned(),
        message: format!("it is played in a process of its own, and this program was not found: {error}"),
    })?;
    let mut command = vec![program.into_os_string(), "worker".into(), name.into()];
    for (option, value) in [("--task", task), ("--engine", engine)] {
        if let Some(value) = value {
            command.extend([option.into(), value.into()]);
        }
    }
    worker::WorkerWorld::open_as(name, command, worker::Limits::default())
}

/// Refuses everything but the one thing there is.
fn none_but(world: &str, what: &'static str, asked: Option<&str>, one: &str) -> Result<(), WorldError> {
    match asked {
        Some(name) if name != one => Err(WorldError::Variant {
            world: world.to_owned(),
            what,
            name: name.to_owned(),
            known: one.to_owned(),
        }),
        _ => Ok(()),
    }
}
