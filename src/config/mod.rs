//! Where things are: the workspace and the folders in it.
//!
//! Owns directories and settings. Must not open what it names.

mod workspace;

pub use workspace::{Workspace, WorkspaceError};
