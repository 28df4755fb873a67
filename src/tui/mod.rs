//! The screens: the list of runs, and one run live or replayed.
//!
//! Owns state, keys, drawing and the event loop. What changes is decided in [`update`] as
//! `state + event -> state + effects`; effects are carried out at the edge. Only this module names
//! the terminal. Must not know how runs are stored, played or thought: it asks those who do.

mod cache;
mod data;
mod export;
mod inspector;
mod keymap;
mod layout;
mod live;
mod overlay;
mod panels;
mod panes;
mod runs;
mod state;
mod stream;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod theme;
mod update;
mod view;
mod watch;
mod widgets;
