//! The tags a model speaks: parse them as models really write them, print them as we teach them.
//!
//! Owns the grammar of tags. Must not know what an operation does.
