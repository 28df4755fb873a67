//! The agent: how a model plays a world and keeps its memory.

pub mod players;
