//! The AutoMem workbench: watch an LLM agent play long games while it keeps its own memory files.

pub mod agent;
pub mod analysis;
pub mod cli;
pub mod config;
pub mod env;
pub mod jobs;
pub mod llm;
pub mod memory;
pub mod protocol;
pub mod scaffold;
pub mod store;
pub mod tui;
pub mod types;
