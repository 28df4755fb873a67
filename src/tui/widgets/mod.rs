//! Pieces that panels are built from; none of them knows the program's state.

pub(crate) mod diff;
pub(crate) mod document;
pub(crate) mod found;
pub(crate) mod image;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod paint;
pub(crate) mod screen;
pub(crate) mod spark;
pub(crate) mod sprites;
pub(crate) mod syntax;
pub(crate) mod text;
pub(crate) mod tiles;
pub(crate) mod tree;
