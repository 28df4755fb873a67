//! The script of a scaffold: `hooks.star`, a Starlark file with `hook(state, event) -> (state, effects)`
//! and, if it has one, `migrate(files) -> files`.
//!
//! Owns the language's side (what a script may call), the child process that runs it, and the
//! parent's end of the pipe ([`Hooks`]). A script has no I/O; because Starlark's own limits are best effort,
//! it runs in a child process of this program, one an episode, under limits of time and memory. Whatever goes
//! wrong there ends the call, never the episode. Must not know what effects mean: the agent carries them out.

mod builtins;
mod child;
mod host;
mod limits;
mod reach;
mod script;
mod wire;

pub use child::{CHILD_ARGUMENT, child_main};
pub use host::{HookError, Hooks, migrate, place_in_script};
pub use limits::Limits;
pub use script::{can_migrate, lint};
pub use wire::{HookEffect, Migrated, ResultWord, StatePatch};

/// The script's name inside a scaffold's folder.
pub const HOOKS: &str = "hooks.star";
