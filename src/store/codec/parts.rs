//! The stored form of what events are made of: frames, turns, operations, changes.
//!
//! The same rule as for records: names here are names in the file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::types::{
    Author, ChatRole, Digest, Edit, Frame, GridView, MemoryChange, MemoryOp, OpOutcome, OpStatus, Phase, PictureView,
    Rect, Role, Sampling, Span, StopReason, TileView, Turn, TurnNo, View,
};

/// Borrowed while writing, owned after reading.
pub(super) type Text<'a> = Cow<'a, str>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FrameRecord<'a> {
    long: Text<'a>,
    short: Text<'a>,
    view: ViewRecord<'a>,
    reward: f64,
    terminated: bool,
    truncated: bool,
    progression: f64,
    info: Cow<'a, Value>,
    #[serde(with = "digest")]
    digest: Digest,
}

/// What a person is shown; the tile map itself stands apart, `cells` is its number.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "t", content = "d")]
enum ViewRecord<'a> {
    #[serde(rename = "text")]
    Text,
    #[serde(rename = "tiles")]
    Tiles {
        set: Text<'a>,
        width: u16,
        height: u16,
        cells: usize,
        window: [i32; 4],
        player: (i32, i32),
        facing: (i8, i8),
        light: f32,
        asleep: bool,
    },
    /// `cells`: the characters' number among the grids, a line each; `colours`: that of the colours.
    #[serde(rename = "grid")]
    Grid {
        width: u16,
        cells: usize,
        colours: usize,
        cursor: Option<(u16, u16)>,
    },
    #[serde(rename = "picture")]
    Picture { width: u16, height: u16, rgb: Text<'a> },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TurnRecord<'a> {
    phase: Phase,
    turn: u32,
    role: Role,
    model: Text<'a>,
    prompt: Text<'a>,
    /// A message each: who speaks (0 system, 1 user, 2 assistant), bytes between it and what stands before, its bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spans: Vec<(u8, u32, u32)>,
    response: Text<'a>,
    results: Text<'a>,
    prompt_tokens: u32,
    cached_tokens: u32,
    completion_tokens: u32,
    prompt_ms: f64,
    ms: f64,
    sampling: SamplingRecord,
    grammar: bool,
    stop: StopReason,
}

#[derive(Debug, Serialize, Deserialize)]
struct SamplingRecord {
    temperature: f32,
    top_p: f32,
    top_k: u32,
    max_tokens: u32,
    seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpRecord<'a> {
    phase: Phase,
    turn: u32,
    op: Text<'a>,
    args: Cow<'a, [String]>,
    by: Author,
    status: OpStatus,
    result: Text<'a>,
    #[serde(default, skip_serializing_if = "is_zero")]
    cut: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangeRecord<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChangeRecord<'a> {
    path: Text<'a>,
    edit: EditRecord<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "digest::maybe")]
    before: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "digest::maybe")]
    after: Option<Digest>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "t", content = "d")]
enum EditRecord<'a> {
    #[serde(rename = "append")]
    Append(Text<'a>),
    #[serde(rename = "splice")]
    Splice {
        at: u64,
        deleted: Text<'a>,
        inserted: Text<'a>,
    },
    #[serde(rename = "replace")]
    Replace(Text<'a>),
    #[serde(rename = "create")]
    Create(Text<'a>),
    #[serde(rename = "delete")]
    Delete,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A duration to four digits: a clock tells no more, and the rest would be most of a small step.
pub(super) fn brief(ms: f64) -> f64 {
    if ms == 0.0 || !ms.is_finite() {
        return ms;
    }
    format!("{ms:.3e}").parse().unwrap_or(ms)
}

/// Digests as 22 characters of base64: a quarter less than hexadecimal once packed.
mod digest {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::types::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD_NO_PAD.encode(digest.0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD_NO_PAD.decode(&text).map_err(serde::de::Error::custom)?;
        let bytes = bytes
            .try_into()
            .map_err(|_| serde::de::Error::custom("a digest of another length"))?;
        Ok(Digest(bytes))
    }

    pub(super) mod maybe {
        use super::{Deserialize, Deserializer, Digest, Serializer};

        pub(in super::super) fn serialize<S: Serializer>(
            digest: &Option<Digest>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match digest {
                Some(digest) => super::serialize(digest, serializer),
                None => serializer.serialize_none(),
            }
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Digest>, D::Error> {
            #[derive(Deserialize)]
            struct Wrapped(#[serde(with = "super")] Digest);
            Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|wrapped| wrapped.0))
        }
    }
}

pub(super) fn text(text: &str) -> Text<'_> {
    Cow::Borrowed(text)
}

impl<'a> FrameRecord<'a> {
    pub(super) fn of(frame: &'a Frame, grids: &mut Vec<Vec<u8>>) -> Self {
        Self {
            long: text(&frame.long),
            short: text(&frame.short),
            view: ViewRecord::of(&frame.view, grids),
            reward: frame.reward,
            terminated: frame.terminated,
            truncated: frame.truncated,
            progression: frame.progression,
            info: Cow::Borrowed(&frame.info),
            digest: frame.digest,
        }
    }

    pub(super) fn into_frame(self, grids: &[Vec<u8>]) -> Option<Frame> {
        Some(Frame {
            long: self.long.into_owned(),
            short: self.short.into_owned(),
            view: self.view.into_view(grids)?,
            reward: self.reward,
            terminated: self.terminated,
            truncated: self.truncated,
            progression: self.progression,
            info: self.info.into_owned(),
            digest: self.digest,
        })
    }
}

impl<'a> ViewRecord<'a> {
    fn of(view: &'a View, grids: &mut Vec<Vec<u8>>) -> Self {
        match view {
            View::Text => Self::Text,
            View::Tiles(tiles) => {
                grids.push(tiles.cells.clone());
                let Rect { x, y, w, h } = tiles.window;
                Self::Tiles {
                    set: text(&tiles.set),
                    width: tiles.width,
                    height: tiles.height,
                    cells: grids.len() - 1,
                    window: [x, y, w, h],
                    player: tiles.player,
                    facing: tiles.facing,
                    light: tiles.light,
                    asleep: tiles.asleep,
                }
            }
            View::Grid(grid) => {
                grids.push(grid.rows.join("\n").into_bytes());
                grids.push(grid.colours.join("\n").into_bytes());
                Self::Grid {
                    width: grid.width,
                    cells: grids.len() - 2,
                    colours: grids.len() - 1,
                    cursor: grid.cursor,
                }
            }
            View::Picture(picture) => Self::Picture {
                width: picture.width,
                height: picture.height,
                rgb: text(&picture.rgb),
            },
        }
    }

    fn into_view(self, grids: &[Vec<u8>]) -> Option<View> {
        Some(match self {
            Self::Text => View::Text,
            Self::Tiles {
                set,
                width,
                height,
                cells,
                window: [x, y, w, h],
                player,
                facing,
                light,
                asleep,
            } => View::Tiles(TileView {
                set: set.into_owned(),
                width,
                height,
                cells: grids.get(cells)?.clone(),
                window: Rect { x, y, w, h },
                player,
                facing,
                light,
                asleep,
            }),
            Self::Grid {
                width,
                cells,
                colours,
                cursor,
            } => View::Grid(GridView {
                width,
                rows: lines(grids.get(cells)?)?,
                colours: lines(grids.get(colours)?)?,
                cursor,
            }),
            Self::Picture { width, height, rgb } => View::Picture(PictureView {
                width,
                height,
                rgb: rgb.into_owned(),
            }),
        })
    }
}

fn lines(bytes: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(text.split('\n').map(str::to_owned).collect())
}

impl<'a> TurnRecord<'a> {
    pub(super) fn of(turn: &'a Turn) -> Self {
        Self {
            phase: turn.phase,
            turn: turn.turn.0,
            role: turn.role,
            model: text(&turn.model),
            prompt: text(&turn.prompt),
            spans: put_spans(&turn.spans),
            response: text(&turn.response),
            results: text(&turn.tool_results),
            prompt_tokens: turn.prompt_tokens,
            cached_tokens: turn.cached_tokens,
            completion_tokens: turn.completion_tokens,
            prompt_ms: brief(turn.prompt_ms),
            ms: brief(turn.ms),
            sampling: SamplingRecord {
                temperature: turn.sampling.temperature,
                top_p: turn.sampling.top_p,
                top_k: turn.sampling.top_k,
                max_tokens: turn.sampling.max_tokens,
                seed: turn.sampling.seed,
            },
            grammar: turn.grammar,
            stop: turn.stop,
        }
    }

    pub(super) fn into_turn(self) -> Turn {
        Turn {
            phase: self.phase,
            turn: TurnNo(self.turn),
            role: self.role,
            model: self.model.into_owned(),
            prompt: self.prompt.into_owned(),
            spans: take_spans(&self.spans),
            response: self.response.into_owned(),
            tool_results: self.results.into_owned(),
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.cached_tokens,
            completion_tokens: self.completion_tokens,
            prompt_ms: self.prompt_ms,
            ms: self.ms,
            sampling: Sampling {
                temperature: self.sampling.temperature,
                top_p: self.sampling.top_p,
                top_k: self.sampling.top_k,
                max_tokens: self.sampling.max_tokens,
                seed: self.sampling.seed,
            },
            grammar: self.grammar,
            stop: self.stop,
        }
    }
}

/// Roles by number; the order is part of the format.
const SPEAKERS: [ChatRole; 3] = [ChatRole::System, ChatRole::User, ChatRole::Assistant];

/// Lengths in the place of offsets: they repeat from step to step.
fn put_spans(spans: &[Span]) -> Vec<(u8, u32, u32)> {
    let mut before = 0;
    let put = |span: &Span| {
        let gap = span.start.saturating_sub(std::mem::replace(&mut before, span.end));
        let role = SPEAKERS.iter().position(|role| *role == span.role).unwrap_or_default();
        (role as u8, gap, span.end.saturating_sub(span.start))
    };
    spans.iter().map(put).collect()
}

/// Undoes [`put_spans`]; spans that make no sense are none.
fn take_spans(spans: &[(u8, u32, u32)]) -> Vec<Span> {
    let mut before = 0_u32;
    let take = |(role, gap, length): &(u8, u32, u32)| {
        let start = before.checked_add(*gap)?;
        let end = start.checked_add(*length)?;
        before = end;
        let role = *SPEAKERS.get(usize::from(*role))?;
        Some(Span { role, start, end })
    };
    spans
        .iter()
        .map(take)
        .collect::<Option<Vec<Span>>>()
        .unwrap_or_default()
}

impl<'a> OpRecord<'a> {
    pub(super) fn of(op: &'a MemoryOp) -> Self {
        Self {
            phase: op.phase,
            turn: op.turn.0,
            op: text(&op.op),
            args: Cow::Borrowed(&op.args),
            by: op.by,
            status: op.outcome.status,
            result: text(&op.outcome.text),
            cut: op.outcome.cut,
            changes: op.changes.iter().map(ChangeRecord::of).collect(),
        }
    }

    pub(super) fn into_op(self) -> MemoryOp {
        MemoryOp {
            phase: self.phase,
            turn: TurnNo(self.turn),
            op: self.op.into_owned(),
            args: self.args.into_owned(),
            by: self.by,
            outcome: OpOutcome {
                status: self.status,
                text: self.result.into_owned(),
                cut: self.cut,
            },
            changes: self.changes.into_iter().map(ChangeRecord::into_change).collect(),
        }
    }
}

impl<'a> ChangeRecord<'a> {
    pub(super) fn of(change: &'a MemoryChange) -> Self {
        Self {
            path: text(&change.path),
            edit: match &change.edit {
                Edit::Append { text: added } => EditRecord::Append(text(added)),
                Edit::Splice { at, deleted, inserted } => EditRecord::Splice {
                    at: *at,
                    deleted: text(deleted),
                    inserted: text(inserted),
                },
                Edit::Replace { text: all } => EditRecord::Replace(text(all)),
                Edit::Create { text: all } => EditRecord::Create(text(all)),
                Edit::Delete => EditRecord::Delete,
            },
            before: change.before_digest,
            after: change.after_digest,
        }
    }

    pub(super) fn into_change(self) -> MemoryChange {
        MemoryChange {
            path: self.path.into_owned(),
            edit: match self.edit {
                EditRecord::Append(text) => Edit::Append {
                    text: text.into_owned(),
                },
                EditRecord::Splice { at, deleted, inserted } => Edit::Splice {
                    at,
                    deleted: deleted.into_owned(),
                    inserted: inserted.into_owned(),
                },
                EditRecord::Replace(text) => Edit::Replace {
                    text: text.into_owned(),
                },
                EditRecord::Create(text) => Edit::Create {
                    text: text.into_owned(),
                },
                EditRecord::Delete => Edit::Delete,
            },
            before_digest: self.before,
            after_digest: self.after,
        }
    }
}
