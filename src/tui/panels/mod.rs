//! The panels: one file each, all of them functions from the state into a rectangle.

pub(crate) mod actions;
pub(crate) mod confirm;
pub(crate) mod form;
pub(crate) mod game;
pub(crate) mod header;
pub(crate) mod hints;
pub(crate) mod inspector;
pub(crate) mod memory;
pub(crate) mod memory_diff;
pub(crate) mod picker;
pub(crate) mod review;
pub(crate) mod review_gate;
pub(crate) mod review_list;
pub(crate) mod review_open;
pub(crate) mod runs;
mod runs_side;
pub(crate) mod scaffold;
pub(crate) mod seal;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod take_over;
pub(crate) mod timeline;
pub(crate) mod watch;
