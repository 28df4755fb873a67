//! What local inference decides without touching a model: how a chat becomes text, which tokens are
//! drawn, where an answer ends, what stays in the cache.
//!
//! Owns pure functions and small state machines. Must not load, evaluate or know llama.cpp, so that every one of
//! them is tested without weights (and used alike by inference and training).

pub mod draw;
pub mod gbnf;
pub mod slots;
pub mod stream;
pub mod template;
