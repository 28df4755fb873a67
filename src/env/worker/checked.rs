//! What a worker tells, checked and cleaned before anybody sees it.
//!
//! Owns the bounds of names, numbers and views. Text is data: what a terminal would act on becomes visible signs.

use base64::Engine as _;
use serde_json::Value;

use super::messages::{DEFAULT_STEP_LIMIT, RawFrame, RawSpec, Shown};
use crate::protocol::sanitize::{clean, clean_line};
use crate::types::{Digest, Frame, GridView, Rect, TileView, View, WorldSpec};

/// Characters of a name: a world's, a task's, an action's.
const NAME_CHARS: usize = 200;
/// Actions of a world.
const ACTIONS: usize = 10_000;
/// Pixels of a side of a picture.
const PICTURE_SIDE: u16 = 2048;
/// How far from the map's corner a window may begin, and how large it may be.
const FAR: i32 = 10_000;
/// Characters of a line that an error quotes.
const QUOTED: usize = 160;

/// A line as an error shows it: cut and cleaned.
pub(super) fn quoted(line: &[u8]) -> String {
    // Four bytes a character at most, so the end that is cut off cannot spoil what is shown.
    let start = &line[..line.len().min(QUOTED * 4 + 4)];
    let text = String::from_utf8_lossy(start);
    let text = text.trim_end_matches(['\n', '\r']);
    let mut shown: String = text.chars().take(QUOTED).collect();
    if start.len() < line.len() || text.chars().count() > QUOTED {
        shown.push('…');
    }
    clean_line(&shown).into_owned()
}

/// Text for people and models; line ends and tabs stay.
pub(super) fn text(text: &str) -> String {
    clean(text).into_owned()
}

/// The same without a copy where there is nothing to do.
fn cleaned(text: String) -> String {
    match clean(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(clean) => clean,
    }
}

fn name(what: &str, name: &str) -> Result<(), String> {
    if name.trim().is_empty() || name.trim() != name {
        return Err(format!("{what} is empty, or has blanks around it"));
    }
    if name.chars().count() > NAME_CHARS {
        return Err(format!("{what} has more than {NAME_CHARS} characters"));
    }
    if clean_line(name) != name {
        return Err(format!("{what} `{}` holds control characters", clean_line(name)));
    }
    Ok(())
}

pub(super) fn spec(raw: RawSpec) -> Result<WorldSpec, String> {
    let engine = raw.engine.unwrap_or_else(|| "worker".to_owned());
    let engine_version = raw.engine_version.unwrap_or_else(|| "unknown".to_owned());
    let task = raw.task.unwrap_or_else(|| "default".to_owned());
    for (what, text) in [
        ("the world's name", &raw.name),
        ("the engine's name", &engine),
        ("the engine's version", &engine_version),
        ("the task's name", &task),
    ] {
        name(what, text)?;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !raw.name.chars().all(plain) {
        return Err(format!(
            "the world's name `{}` may have letters, digits, `-`, `_` and `.` only",
            raw.name
        ));
    }
    if raw.actions.len() > ACTIONS {
        return Err(format!("the world has more than {ACTIONS} actions"));
    }
    let mut seen = std::collections::HashSet::new();
    for action in &raw.actions {
        name("an action's name", action.as_str())?;
        if !seen.insert(action.as_str()) {
            return Err(format!("the world has the action `{action}` twice"));
        }
    }
    let fallback = match (raw.fallback, raw.actions.first()) {
        (_, None) => return Err("the world has no actions".to_owned()),
        (None, Some(first)) => first.clone(),
        (Some(fallback), _) if seen.contains(fallback.as_str()) => fallback,
        (Some(fallback), _) => {
            return Err(format!(
                "the fallback `{}` is none of the actions",
                text(fallback.as_str())
            ));
        }
    };
    let step_limit = raw.step_limit.unwrap_or(DEFAULT_STEP_LIMIT);
    if step_limit == 0 {
        return Err("the step limit is 0".to_owned());
    }
    Ok(WorldSpec {
        name: raw.name,
        engine,
        engine_version,
        task,
        actions: raw.actions,
        instruction_prompt: cleaned(raw.instruction_prompt),
        fallback,
        step_limit,
        command: None,
    })
}

pub(super) fn frame(raw: RawFrame) -> Result<Shown, String> {
    let progression = raw.progression.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&progression) {
        return Err(format!("the progression is {progression}, not from 0 to 1"));
    }
    if !raw.reward.is_finite() {
        return Err(format!("the reward is {}", raw.reward));
    }
    let mut info = raw.info.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    if !info.is_object() {
        return Err("`info` is no object".to_owned());
    }
    clean_value(&mut info);
    let view = match raw.view {
        Some(view) => self::view(view.0)?,
        None => View::Text,
    };
    Ok(Shown {
        has_digest: raw.digest.is_some(),
        frame: Frame {
            long: cleaned(raw.long),
            short: cleaned(raw.short.unwrap_or_default()),
            view,
            reward: raw.reward,
            terminated: raw.terminated,
            truncated: raw.truncated && !raw.terminated,
            progression,
            info,
            digest: raw.digest.unwrap_or(Digest([0; 16])),
        },
    })
}

fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(clean) = clean(text) {
                *text = clean;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(clean_value),
        Value::Object(map) => {
            if map.keys().any(|key| clean_line(key) != *key) {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(key, value)| (clean_line(&key).into_owned(), value))
                    .collect();
            }
            map.values_mut().for_each(clean_value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn view(view: View) -> Result<View, String> {
    match view {
        View::Tiles(mut tiles) => {
            tiles.set = clean_line(&tiles.set).into_owned();
            check_tiles(&tiles)?;
            Ok(View::Tiles(tiles))
        }
        View::Grid(mut grid) => {
            grid.check()?;
            for row in &mut grid.rows {
                if let std::borrow::Cow::Owned(clean) = clean_line(row) {
                    *row = clean;
                }
            }
            Ok(View::Grid(grid))
        }
        View::Picture(picture) => {
            let (width, height) = (picture.width, picture.height);
            if width == 0 || height == 0 || width > PICTURE_SIDE || height > PICTURE_SIDE {
                return Err(format!("a picture has 1 to {PICTURE_SIDE} pixels a side"));
            }
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(&picture.rgb)
                .map_err(|error| format!("the picture's `rgb` is no base64: {error}"))?;
            let expected = usize::from(width) * usize::from(height) * 3;
            if bytes.len() != expected {
                return Err(format!(
                    "the picture has {} bytes; {width} x {height} pixels take {expected}",
                    bytes.len()
                ));
            }
            Ok(View::Picture(picture))
        }
        View::Text => Ok(View::Text),
    }
}

fn check_tiles(tiles: &TileView) -> Result<(), String> {
    let (width, height) = (usize::from(tiles.width), usize::from(tiles.height));
    if width == 0 || height == 0 || width > GridView::MOST || height > GridView::MOST {
        return Err(format!("a map has 1 to {} tiles a side", GridView::MOST));
    }
    if tiles.cells.len() != width * height {
        return Err(format!("a map of {width} x {height} has {} tiles", tiles.cells.len()));
    }
    if tiles.tile(tiles.player.0, tiles.player.1).is_none() {
        return Err(format!("the player {:?} is beyond the map", tiles.player));
    }
    let Rect { x, y, w, h } = tiles.window;
    let near = |from: i32, size: i32| (-FAR..=FAR).contains(&from) && (1..=FAR).contains(&size);
    if !near(x, w) || !near(y, h) {
        return Err("the map's window is empty, or too far out".to_owned());
    }
    if !(0.0..=1.0).contains(&tiles.light) {
        return Err(format!("the light is {}, not from 0 to 1", tiles.light));
    }
    Ok(())
}

/// Names a frame that came without a digest: by the one before it, what led here and what was shown. `info` is left
/// out, where a worker may put what differs between equal episodes, such as times.
pub(super) fn digest(before: Option<Digest>, by: &[u8], frame: &Frame) -> Digest {
    let view = serde_json::to_vec(&frame.view).unwrap_or_default();
    let ends = [u8::from(frame.terminated), u8::from(frame.truncated)];
    Digest::of_parts([
        before.map(|digest| digest.0).unwrap_or_default().as_slice(),
        by,
        frame.long.as_bytes(),
        frame.short.as_bytes(),
        &view,
        &frame.reward.to_bits().to_le_bytes(),
        &frame.progression.to_bits().to_le_bytes(),
        &ends,
    ])
}
