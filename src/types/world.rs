//! What a world shows and takes: its specification, actions and frames.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Digest;

/// What a world is: named once, valid for every episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldSpec {
    /// `crafter`, `minihack`, `nethack`.
    pub name: String,
    /// Which implementation plays it, such as `automem-native`.
    pub engine: String,
    /// Version of the rules the engine follows, such as `1.8.3`.
    pub engine_version: String,
    /// The task inside the world; `default` where there is only one.
    pub task: String,
    /// Every valid action, in the world's own order.
    pub actions: Vec<Action>,
    /// The rules as the agent is told them, constant over an episode.
    pub instruction_prompt: String,
    /// What is played when the agent gives no valid action.
    pub fallback: Action,
    /// Agent steps after which the world cuts an episode off.
    pub step_limit: u32,
    /// The command that starts it, for a world that is none of this program's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl WorldSpec {
    /// What is played, in few words: the world, and the task where it has several.
    pub fn title(&self) -> String {
        let name = self.task.strip_suffix("-v0").unwrap_or(&self.task);
        let task = name
            .split_once('-')
            .filter(|(world, _)| world.eq_ignore_ascii_case(&self.name));
        match task {
            Some((_, task)) => format!("{} {task}", self.name),
            None => self.name.clone(),
        }
    }
}

/// One action of a world by its name, such as `Move North`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Action(pub String);

impl Action {
    /// The name of the action.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<&str> for Action {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// What the world shows after a reset or a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The observation worth remembering (BALROG's long-term context): what is seen.
    pub long: String,
    /// The observation of the moment (BALROG's short-term context): status and inventory.
    pub short: String,
    /// What a person is shown.
    pub view: View,
    /// Reward of the action that led here; 0 after a reset.
    pub reward: f64,
    /// The game ended here.
    pub terminated: bool,
    /// The world's own step limit ended the episode here.
    pub truncated: bool,
    /// The field's score of an episode so far, 0 to 1.
    pub progression: f64,
    /// What else the world tells, for people and metrics: never shown to the model.
    pub info: serde_json::Value,
    /// Names the world's whole state here; equal digests mean equal futures under equal actions.
    pub digest: Digest,
}

/// What a person is shown of a world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", try_from = "serde_json::Value")]
pub enum View {
    /// A map of tiles seen from above.
    Tiles(TileView),
    /// A terminal's screen.
    Grid(GridView),
    /// An image.
    Picture(PictureView),
    /// The world has nothing but its text.
    Text,
}

/// By hand: serde holds back what it reads of a tagged enum, and numbers do not survive that where
/// serde_json keeps them as text (its feature `arbitrary_precision`, which starlark asks for).
impl TryFrom<serde_json::Value> for View {
    type Error = serde_json::Error;

    fn try_from(value: serde_json::Value) -> Result<Self, Self::Error> {
        match value.get("kind").and_then(serde_json::Value::as_str) {
            Some("tiles") => serde_json::from_value(value).map(Self::Tiles),
            Some("grid") => serde_json::from_value(value).map(Self::Grid),
            Some("picture") => serde_json::from_value(value).map(Self::Picture),
            Some("text") => Ok(Self::Text),
            _ => Err(serde::de::Error::custom(
                "the view is none of `tiles`, `grid`, `picture` and `text`",
            )),
        }
    }
}

/// A rectangle in map cells; it may reach beyond the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rect {
    /// West edge.
    pub x: i32,
    /// North edge.
    pub y: i32,
    /// Cells from west to east.
    pub w: i32,
    /// Cells from north to south.
    pub h: i32,
}

/// A whole tile map with the part of it the agent sees. x grows eastwards, y southwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TileView {
    /// Which set of tiles the ids belong to, such as `crafter`.
    pub set: String,
    /// Cells from west to east.
    pub width: u16,
    /// Cells from north to south.
    pub height: u16,
    /// One tile id a cell, row by row (`y * width + x`), objects drawn over the ground.
    #[serde(serialize_with = "cells_as_text", deserialize_with = "cells_from_text")]
    pub cells: Vec<u8>,
    /// The part of the map the agent sees.
    pub window: Rect,
    /// The agent's cell.
    pub player: (i32, i32),
    /// Where the agent looks: one step as (dx, dy).
    pub facing: (i8, i8),
    /// Daylight, 0 (dark) to 1.
    pub light: f32,
    /// The agent sleeps.
    pub asleep: bool,
}

impl TileView {
    /// The tile at a cell; `None` beyond the map.
    pub fn tile(&self, x: i32, y: i32) -> Option<u8> {
        if x < 0 || y < 0 || x >= i32::from(self.width) || y >= i32::from(self.height) {
            return None;
        }
        self.cells
            .get(y as usize * usize::from(self.width) + x as usize)
            .copied()
    }
}

/// A terminal's screen: a character and a colour for each cell, and where the cursor is. All rows have `width` characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawGrid")]
pub struct GridView {
    /// Cells of a row.
    pub width: u16,
    /// One text a row, one character a cell, blanks kept; no control characters.
    pub rows: Vec<String>,
    /// One text a row, one character a cell: `0` to `f`, the 16 colours of a terminal (0 black, 1 red, 2 green, 3 yellow,
    /// 4 blue, 5 magenta, 6 cyan, 7 white, 8 to f the same, bright); `.` for the terminal's own colour.
    pub colours: Vec<String>,
    /// Column and row of the cursor, from 0.
    #[serde(default)]
    pub cursor: Option<(u16, u16)>,
}

/// A screen as somebody wrote it.
#[derive(Deserialize)]
struct RawGrid {
    width: u16,
    rows: Vec<String>,
    colours: Vec<String>,
    #[serde(default)]
    cursor: Option<(u16, u16)>,
}

impl TryFrom<RawGrid> for GridView {
    type Error = String;

    fn try_from(raw: RawGrid) -> Result<Self, Self::Error> {
        let grid = Self {
            width: raw.width,
            rows: raw.rows,
            colours: raw.colours,
            cursor: raw.cursor,
        };
        grid.check().map(|()| grid)
    }
}

impl GridView {
    /// Rows a screen may have, and cells of a row.
    pub const MOST: usize = 500;

    /// Whether it is what it must be.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        let width = usize::from(self.width);
        if width == 0 || width > Self::MOST || self.rows.is_empty() || self.rows.len() > Self::MOST {
            return Err(format!("a screen has 1 to {} rows and columns", Self::MOST));
        }
        if self.rows.len() != self.colours.len() {
            return Err(format!(
                "a screen has {} rows of characters and {} of colours",
                self.rows.len(),
                self.colours.len()
            ));
        }
        for (index, (row, colours)) in self.rows.iter().zip(&self.colours).enumerate() {
            if row.chars().count() != width || colours.chars().count() != width {
                return Err(format!(
                    "row {index} of a screen has not {width} characters and colours"
                ));
            }
            if row.chars().any(char::is_control) {
                return Err(format!("row {index} of a screen holds a control character"));
            }
            if let Some(other) = colours.chars().find(|c| !matches!(c, '0'..='9' | 'a'..='f' | '.')) {
                return Err(format!(
                    "row {index} of a screen holds the colour {other:?}; there are 0 to f and `.`"
                ));
            }
        }
        match self.cursor {
            Some((column, row)) if column >= self.width || usize::from(row) >= self.rows.len() => Err(format!(
                "the cursor is at column {column}, row {row}, beyond the screen"
            )),
            _ => Ok(()),
        }
    }
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureView {
    /// Pixels from west to east.
    pub width: u16,
    /// Pixels from north to south.
    pub height: u16,
    /// Red, green and blue of each pixel, a byte each, row by row, in base64.
    pub rgb: String,
}

/// Cells are written as one printable ASCII character each (`0` + id), which is short, readable
/// in an export, and compresses well over steps.
fn cells_as_text<S: Serializer>(cells: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if cells.iter().fold(0, |most, cell| most.max(*cell)) > 78 {
        return Err(serde::ser::Error::custom("tile id above 78"));
    }
    let text = cells.iter().map(|cell| b'0' + cell).collect();
    serializer.serialize_str(&String::from_utf8(text).map_err(serde::ser::Error::custom)?)
}

fn cells_from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let mut cells = String::deserialize(deserializer)?.into_bytes();
    // Without an early end, so that many are looked at at once: maps are read by the thousand.
    let fine = cells.iter_mut().fold(true, |fine, cell| {
        *cell = cell.wrapping_sub(b'0');
        fine & (*cell <= 78)
    });
    match fine {
        true => Ok(cells),
        false => Err(serde::de::Error::custom("a tile map holds a character that is no tile")),
    }
}
