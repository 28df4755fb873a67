//! Crafter, native.
