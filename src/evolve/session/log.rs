//! The log of optimizations, in the workspace's database.

use std::path::Path;

use super::error::SessionError;
use super::state::{Event, Setup, State};
use crate::config::Workspace;
use crate::store::Journal;

/// The log of a workspace's optimizations. One a thread.
#[derive(Debug)]
pub struct Log(Journal<Event>);

/// An optimization with its state.
pub type Listed = crate::store::Listed<State>;

impl Log {
    /// Opens the log; makes the workspace when there is none.
    ///
    /// # Errors
    /// When the database cannot be made or read.
    pub fn open(workspace: &Workspace) -> Result<Self, SessionError> {
        Ok(Self(Journal::open(workspace, "optimizations")?))
    }

    /// The database.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Begins an optimization under a name that is free: the scaffold's, with a number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, setup: &Setup) -> Result<String, SessionError> {
        let event = Event::Started { setup: setup.clone() };
        Ok(self.0.begin(&setup.scaffold, &event)?)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, name: &str, event: &Event) -> Result<(), SessionError> {
        Ok(self.0.append(name, event)?)
    }

    /// The entries of an optimization with their times, oldest first; empty when there is none of that name.
    ///
    /// # Errors
    /// When the database cannot be read, or an entry cannot be understood.
    pub fn events(&self, name: &str) -> Result<Vec<(String, Event)>, SessionError> {
        Ok(self.0.events(name)?)
    }

    /// An optimization by name.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn one(&self, name: &str) -> Result<Listed, SessionError> {
        match self.0.listed(name, State::of)? {
            Some(listed) => Ok(listed),
            None => Err(SessionError::Unknown {
                name: name.to_owned(),
                there: self
                    .0
                    .there("there are none yet; `automem optimize --meta rules` begins one")?,
            }),
        }
    }

    /// All optimizations, the newest first.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, SessionError> {
        self.0.names()?.iter().map(|name| self.one(name)).collect()
    }
}
