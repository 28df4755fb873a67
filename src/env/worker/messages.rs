//! What goes over the pipes: one JSON document a line, one reply a request, in order.
//!
//! Owns the forms and how leniently they are read. What was read is checked in [`super::checked`]. Must not start or
//! wait for anything.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::checked;
use crate::env::WorldError;
use crate::types::{Action, Digest, Frame, GridView, PictureView, TileView, View, WorldSpec};

/// The version of the protocol that is spoken here.
pub const PROTOCOL: u32 = 1;

/// Steps of an episode of a worker that names no limit.
pub const DEFAULT_STEP_LIMIT: u32 = 10_000;

/// What a worker is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// What are you?
    Hello {
        /// The version the asking side speaks.
        protocol: u32,
    },
    /// Begin an episode.
    Reset {
        /// Equal seeds give equal episodes.
        seed: u64,
    },
    /// Play one action.
    Step {
        /// Its name.
        action: String,
    },
    /// End.
    Close,
}

#[derive(Deserialize)]
struct RawRequest<'a> {
    #[serde(rename = "do", borrow)]
    verb: Cow<'a, str>,
    protocol: Option<u32>,
    seed: Option<u64>,
    action: Option<String>,
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        let raw: RawRequest<'_> = serde_json::from_slice(line).map_err(|error| format!("no request: {error}"))?;
        let lacks = |what: &str| format!("`{}` lacks `{what}`", raw.verb);
        match raw.verb.as_ref() {
            "hello" => Ok(Self::Hello {
                protocol: raw.protocol.ok_or_else(|| lacks("protocol"))?,
            }),
            "reset" => Ok(Self::Reset {
                seed: raw.seed.ok_or_else(|| lacks("seed"))?,
            }),
            "step" => match raw.action {
                Some(action) => Ok(Self::Step { action }),
                None => Err(lacks("action")),
            },
            "close" => Ok(Self::Close),
            other => Err(format!(
                "there is no `{}`; there are: hello, reset, step, close",
                checked::quoted(other.as_bytes())
            )),
        }
    }
}

/// What a worker answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To hello.
    Hello(Box<WorldSpec>),
    /// To reset and step.
    Shown(Box<Shown>),
    /// It could not.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// Cause and next step, for people.
        message: String,
    },
}

/// A frame as a worker shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Checked and cleaned; its digest is all zeros where the worker gives none.
    pub frame: Frame,
    /// The worker gave a digest.
    pub has_digest: bool,
}

/// Kinds of failures, of which two leave the episode as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The action is none of the world's; nothing happened.
    UnknownAction,
    /// There is no episode under way.
    NotReset,
    /// The game failed.
    Engine,
    /// The request could not be understood.
    Protocol,
}

impl FailureKind {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownAction => "unknown_action",
            Self::NotReset => "not_reset",
            Self::Engine => "engine",
            Self::Protocol => "protocol",
        }
    }
}

/// What a native world's end of the pipe writes.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answer<'a> {
    Hello { protocol: u32, world: &'a WorldSpec },
    Frame { frame: &'a Frame },
    Error { error: Failure },
}

#[derive(Debug, Serialize)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) message: String,
}

impl From<&WorldError> for Failure {
    fn from(error: &WorldError) -> Self {
        let (kind, message) = match error {
            WorldError::UnknownAction { .. } => (FailureKind::UnknownAction, error.to_string()),
            WorldError::NotReset { .. } => (FailureKind::NotReset, error.to_string()),
            // Whoever reads it knows which world it is.
            WorldError::Engine { message, .. } => (FailureKind::Engine, message.clone()),
            _ => (FailureKind::Engine, error.to_string()),
        };
        Self { kind, message }
    }
}

#[derive(Deserialize)]
struct RawReply {
    protocol: Option<u32>,
    world: Option<RawSpec>,
    frame: Option<RawFrame>,
    error: Option<RawFailure>,
}

/// Of a greeting in a form that is not ours, this much may still be told.
#[derive(Deserialize)]
struct RawVersion {
    protocol: Option<u32>,
}

#[derive(Deserialize)]
struct RawFailure {
    kind: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RawSpec {
    pub(super) name: String,
    pub(super) engine: Option<String>,
    pub(super) engine_version: Option<String>,
    pub(super) task: Option<String>,
    pub(super) actions: Vec<Action>,
    pub(super) instruction_prompt: String,
    pub(super) fallback: Option<Action>,
    pub(super) step_limit: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct RawFrame {
    pub(super) long: String,
    pub(super) short: Option<String>,
    pub(super) view: Option<AnyView>,
    pub(super) reward: f64,
    pub(super) terminated: bool,
    pub(super) truncated: bool,
    pub(super) progression: Option<f64>,
    pub(super) info: Option<Value>,
    pub(super) digest: Option<Digest>,
}

impl Reply {
    /// Reads a line and checks what it shows.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        let raw: RawReply = match serde_json::from_slice(line) {
            Ok(raw) => raw,
            Err(error) => {
                let version = serde_json::from_slice::<RawVersion>(line)
                    .ok()
                    .and_then(|raw| raw.protocol);
                check_version(version)?;
                return Err(error.to_string());
            }
        };
        check_version(raw.protocol)?;
        match (raw.world, raw.frame, raw.error) {
            (Some(_), _, _) if raw.protocol.is_none() => Err("the greeting lacks `protocol`".to_owned()),
            (Some(spec), None, None) => Ok(Self::Hello(Box::new(checked::spec(spec)?))),
            (None, Some(frame), None) => Ok(Self::Shown(Box::new(checked::frame(frame)?))),
            (None, None, Some(failure)) => Ok(failure.into()),
            (None, None, None) => Err("it holds none of `world`, `frame` and `error`".to_owned()),
            _ => Err("it holds more than one of `world`, `frame` and `error`".to_owned()),
        }
    }
}

fn check_version(told: Option<u32>) -> Result<(), String> {
    match told {
        Some(version) if version != PROTOCOL => Err(format!(
            "it speaks version {version} of the protocol, this program speaks {PROTOCOL}; use versions of both that fit"
        )),
        _ => Ok(()),
    }
}

impl From<RawFailure> for Reply {
    fn from(raw: RawFailure) -> Self {
        let kind = match raw.kind.as_deref() {
            Some("unknown_action") => FailureKind::UnknownAction,
            Some("not_reset") => FailureKind::NotReset,
            Some("protocol") => FailureKind::Protocol,
            _ => FailureKind::Engine,
        };
        let message = raw.message.unwrap_or_default();
        let message = match message.trim() {
            "" => "it does not say why",
            said => said,
        };
        Self::Failed {
            kind,
            message: checked::text(message),
        }
    }
}

/// A view, read as it comes where its kind stands first, as this program writes it.
pub(super) struct AnyView(pub(super) View);

impl<'de> Deserialize<'de> for AnyView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ViewVisitor).map(Self)
    }
}

struct ViewVisitor;

impl<'de> Visitor<'de> for ViewVisitor {
    type Value = View;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a view: an object with a `kind`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<View, A::Error> {
        let mut held = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == "kind" && held.is_empty() {
                let kind: String = map.next_value()?;
                let rest = MapAccessDeserializer::new(&mut map);
                match kind.as_str() {
                    "tiles" => return TileView::deserialize(rest).map(View::Tiles),
                    "grid" => return GridView::deserialize(rest).map(View::Grid),
                    "picture" => return PictureView::deserialize(rest).map(View::Picture),
                    _ => held.insert(key, kind.into()),
                };
            } else {
                let value = map.next_value::<Value>()?;
                held.insert(key, value);
            }
        }
        View::try_from(Value::Object(held)).map_err(A::Error::custom)
    }
}
