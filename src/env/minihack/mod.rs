//! x
mod compile;
mod levels;
mod tasks;
