//! Identifiers as newtypes, so that a step is never taken for an episode.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The one after this one; stays at the largest number.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }

            /// The one before this one; `None` before the first.
            pub fn previous(self) -> Option<Self> {
                self.0.checked_sub(1).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<u32> for $name {
            fn from(n: u32) -> Self {
                Self(n)
            }
        }
    };
}

number! {
    /// An episode's place in its run, from 0.
    EpisodeNo
}
number! {
    /// A step of an episode, from 0. Step `n` starts with the observation before action `n` and
    /// ends when the world has answered that action.
    StepNo
}
number! {
    /// A turn (one model call) inside a phase, from 0.
    TurnNo
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Arc<str>);

        impl $name {
            /// The text of the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
    };
}

name! {
    /// A run's identity: a UUID, version 7, so that names sort by time.
    RunId
}
name! {
    /// The agent an event belongs to. There is one for now: `agent`.
    AgentName
}
