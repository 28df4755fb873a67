//! Worlds: the games an agent plays.
//!
//! Owns the trait every world implements and the registry of worlds. Must not know about agents,
//! memory, models or the screen. To add a world, add its folder and one line in [`open`].

mod address;
pub mod crafter;
pub mod nethack;
pub mod setup;

pub use address::Address;

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
pub const WORLDS: &[&str] = &["crafter"];

/// What can be seen in a world, by the names its observations use; empty where they are not known.
pub fn things(world: &str) -> &'static [&'static str] {
    match world {
        "crafter" => crafter::tiles::THINGS,
        _ => &[],
    }
}

/// Opens a world by its [`Address`].
///
/// # Errors
/// When there is no such world, it has no such task or engine, or its engine cannot be started.
pub fn open(address: &str) -> Result<Box<dyn World>, WorldError> {
    let (name, task, engine) = match address.parse()? {
        Address::Built { name, task, engine } => (name, task, engine),
        Address::Worker(_) => {
            return Err(WorldError::Unknown {
                name: address.to_owned(),
                known: WORLDS.join(", "),
            });
        }
    };
    match name.as_str() {
        "crafter" => {
            none_but(&name, "task", task.as_deref(), "default")?;
            none_but(&name, "engine", engine.as_deref(), "automem-native")?;
            Ok(Box::new(crafter::Crafter::new()))
        }
        _ => Err(WorldError::Unknown {
            name,
            known: WORLDS.join(", "),
        }),
    }
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
