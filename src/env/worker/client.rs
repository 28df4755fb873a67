//! A world in a child process, played as any other.
//!
//! Owns the episode as this side knows it: what may be asked when, and starting the worker anew after a failure. Must
//! not know pipes.

use std::ffi::OsString;

use super::checked;
use super::connection::{Connection, Fault, Limits, shown};
use super::messages::{FailureKind, PROTOCOL, Reply, Request, Shown};
use crate::env::{World, WorldError};
use crate::types::{Action, Digest, Frame, WorldSpec};

/// How a connection is made, again after each failure.
type Connect = Box<dyn FnMut() -> Result<Connection, Fault> + Send>;

/// A world that a worker plays. Dropping it ends the worker.
pub struct WorkerWorld {
    connect: Connect,
    limits: Limits,
    spec: WorldSpec,
    /// `None` after a failure: the next reset connects anew.
    connection: Option<Connection>,
    episode: Option<Episode>,
}

/// An episode under way.
#[derive(Debug, Clone, Copy)]
struct Episode {
    digest: Digest,
    steps: u32,
}

impl WorkerWorld {
    /// Starts a worker and asks what it plays. The command's first word is the program.
    ///
    /// # Errors
    /// When it cannot be started, does not greet in time, or greets wrongly.
    pub fn open(command: impl IntoIterator<Item = impl Into<OsString>>, limits: Limits) -> Result<Self, WorldError> {
        let command: Vec<OsString> = command.into_iter().map(Into::into).collect();
        let name = format!("the worker `{}`", shown(&command));
        Self::open_as(&name, command, limits)
    }

    /// The same; `name` is what it is called in errors until it tells its own.
    pub(crate) fn open_as(name: &str, command: Vec<OsString>, limits: Limits) -> Result<Self, WorldError> {
        Self::over(
            name,
            Box::new(move || Connection::start(&command, limits.line_bytes)),
            limits,
        )
    }

    /// The same over any connection; `name` is what it is called until it tells.
    pub(super) fn over(name: &str, mut connect: Connect, limits: Limits) -> Result<Self, WorldError> {
        let (connection, spec) = greet(&mut connect, limits, name)?;
        Ok(Self {
            connect,
            limits,
            spec,
            connection: Some(connection),
            episode: None,
        })
    }

    /// The same world, which says how it is started: for a record.
    #[must_use]
    pub fn with_command(mut self, command: &str) -> Self {
        self.spec.command = Some(command.to_owned());
        self
    }

    /// The worker's process id, while there is one.
    #[cfg(test)]
    pub(super) fn process(&self) -> Option<u32> {
        self.connection.as_ref().and_then(Connection::process)
    }

    /// The connection, made anew where the last one failed.
    fn connected(&mut self) -> Result<&mut Connection, WorldError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let (connection, spec) = greet(&mut self.connect, self.limits, &self.spec.name)?;
                let command = self.spec.command.clone();
                if (WorldSpec { command, ..spec }) != self.spec {
                    return Err(self.failed(
                        "the worker was started anew and greets as another world; end this run and start it again",
                    ));
                }
                connection
            }
        };
        Ok(self.connection.insert(connection))
    }

    fn failed(&self, message: impl Into<String>) -> WorldError {
        WorldError::Engine {
            world: self.spec.name.clone(),
            message: message.into(),
        }
    }

    fn not_reset(&self) -> WorldError {
        WorldError::NotReset {
            world: self.spec.name.clone(),
        }
    }

    /// After a failure that leaves nothing to go on with.
    fn give_up(&mut self, message: impl Into<String>) -> WorldError {
        self.connection = None;
        self.episode = None;
        self.failed(message)
    }

    /// What a reply to reset or step comes to.
    fn taken(&mut self, reply: Result<Reply, Fault>, action: Option<&Action>) -> Result<Shown, WorldError> {
        match reply {
            Ok(Reply::Shown(shown)) => Ok(*shown),
            Ok(Reply::Failed {
                kind: FailureKind::UnknownAction,
                message,
            }) => match action {
                Some(action) => Err(WorldError::UnknownAction {
                    action: action.to_string(),
                    world: self.spec.name.clone(),
                }),
                None => Err(self.give_up(message)),
            },
            Ok(Reply::Failed {
                kind: FailureKind::NotReset,
                ..
            }) if action.is_some() => {
                self.episode = None;
                Err(self.not_reset())
            }
            Ok(Reply::Failed { message, .. }) => Err(self.give_up(message)),
            Ok(Reply::Hello(_)) => Err(self.give_up("it greets where it should show a frame; mend the worker")),
            Err(fault) => Err(self.give_up(fault.to_string())),
        }
    }

    /// The frame with its digest; the episode goes on unless it ended.
    fn shown(&mut self, shown: Shown, before: Option<Digest>, by: &[u8], steps: u32) -> Frame {
        let mut frame = shown.frame;
        // A worker need not count: the limit it names holds.
        frame.truncated |= !frame.terminated && steps >= self.spec.step_limit;
        if !shown.has_digest {
            frame.digest = checked::digest(before, by, &frame);
        }
        self.episode = (!frame.terminated && !frame.truncated).then_some(Episode {
            digest: frame.digest,
            steps,
        });
        frame
    }
}

/// Connects and hears the greeting.
fn greet(connect: &mut Connect, limits: Limits, name: &str) -> Result<(Connection, WorldSpec), WorldError> {
    let failed = |message: String| WorldError::Engine {
        world: name.to_owned(),
        message,
    };
    let mut connection = connect().map_err(|fault| failed(fault.to_string()))?;
    let hello = Request::Hello { protocol: PROTOCOL };
    match connection.ask(&hello, limits.hello) {
        Ok(Reply::Hello(spec)) => Ok((connection, *spec)),
        Ok(Reply::Failed { message, .. }) => Err(failed(message)),
        Ok(Reply::Shown(_)) => Err(failed(
            "it shows a frame where it should greet; mend the worker".to_owned(),
        )),
        Err(fault) => Err(failed(fault.to_string())),
    }
}

impl World for WorkerWorld {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn reset(&mut self, seed: u64) -> Result<Frame, WorldError> {
        self.episode = None;
        let limit = self.limits.reset;
        let reply = self.connected()?.ask(&Request::Reset { seed }, limit);
        let shown = self.taken(reply, None)?;
        let by = format!("reset {seed}");
        Ok(self.shown(shown, None, by.as_bytes(), 0))
    }

    fn step(&mut self, action: &Action) -> Result<Frame, WorldError> {
        let (Some(episode), Some(connection)) = (self.episode, &mut self.connection) else {
            return Err(self.not_reset());
        };
        if !self.spec.actions.contains(action) {
            return Err(WorldError::UnknownAction {
                action: action.to_string(),
                world: self.spec.name.clone(),
            });
        }
        let request = Request::Step {
            action: action.0.clone(),
        };
        let reply = connection.ask(&request, self.limits.step);
        let shown = self.taken(reply, Some(action))?;
        Ok(self.shown(
            shown,
            Some(episode.digest),
            action.as_str().as_bytes(),
            episode.steps + 1,
        ))
    }
}
