//! What a frame says beside its picture: vitals, inventory, achievements, what is in front.

use ratatui::text::{Line, Span};

use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::text;
use crate::types::{Frame, View};

const VITALS: [(&str, &str, Slot); 4] = [
    ("health", "♥", Slot::Health),
    ("food", "◖", Slot::Food),
    ("drink", "≋", Slot::Drink),
    ("energy", "↯", Slot::Energy),
];

/// Numbers that have a greatest value: their name, where they are in the info, where the greatest is.
const GAUGES: [(&str, &str, &str, Slot); 2] = [
    ("HP", "hp", "max_hp", Slot::Health),
    ("energy", "energy", "max_energy", Slot::Energy),
];

/// Numbers and words of a dungeon's explorer, in the order they are told: what stands before it, where it is in the info.
const FACTS: [(&str, &str); 7] = [
    ("Dlvl ", "dlvl"),
    ("Xp ", "xp_level"),
    ("AC ", "ac"),
    ("$", "gold"),
    ("T ", "turn"),
    ("", "hunger"),
    ("", "role"),
];

/// What a world tells of its player.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Status {
    /// Health and its like, as far as the world has them.
    pub(crate) vitals: Vec<(usize, u64)>,
    /// What is carried.
    pub(crate) inventory: Vec<(String, u64)>,
    /// What has been achieved how often; empty where the world has no such thing.
    pub(crate) achievements: Vec<(String, u64)>,
    /// What stands in front.
    pub(crate) facing: Option<String>,
    /// Which number, its value, its greatest value.
    pub(crate) gauges: Vec<(usize, i64, i64)>,
    /// More numbers and words, in words.
    pub(crate) facts: Vec<String>,
    /// How the episode ended, as the world says it.
    pub(crate) end: Option<String>,
}

impl Status {
    /// Reads it from the world's info, and from its text where the info is silent.
    pub(crate) fn of(frame: &Frame) -> Self {
        let counts = |name: &str| -> Vec<(String, u64)> {
            let object = frame.info.get(name).and_then(|value| value.as_object());
            object
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((text::clean(&name.replace('_', " ")).into_owned(), value.as_u64()?)))
                .collect()
        };
        let number = |name: &str| frame.info.get(name).and_then(serde_json::Value::as_i64);
        let gauges: Vec<_> = GAUGES
            .iter()
            .enumerate()
            .filter_map(|(index, (_, value, most, _))| Some((index, number(value)?, number(most)?)))
            .collect();
        let fact = |(before, name): &(&str, &str)| {
            let value = frame.info.get(*name)?;
            let said = match value.as_str() {
                Some(word) => word.to_owned(),
                None => value.as_i64()?.to_string(),
            };
            (!said.is_empty()).then(|| format!("{before}{}", text::clean(text::head(&said, 40))))
        };
        let facts = FACTS.iter().filter(|_| !gauges.is_empty()).filter_map(fact).collect();
        let end = frame.info.get("end_reason").and_then(serde_json::Value::as_str);
        let vitals = VITALS
            .iter()
            .filter(|_| gauges.is_empty())
            .enumerate()
            .filter_map(|(index, (name, ..))| {
                let told = frame.info.get(*name).and_then(serde_json::Value::as_u64);
                Some((index, told.or_else(|| written(&frame.short, name))?))
            })
            .collect();
        let facing = frame
            .long
            .split_once("You face ")
            .and_then(|(_, rest)| rest.split_once(" at your front"))
            .map(|(name, _)| text::clean(text::head(name, 40)).into_owned());
        Self {
            vitals,
            inventory: counts("inventory")
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect(),
            achievements: counts("achievements"),
            facing,
            gauges,
            facts,
            end: end.map(|end| text::clean(text::head(end, 200)).into_owned()),
        }
    }

    /// Lines for a column of this width, the most important first.
    pub(crate) fn lines(&self, frame: &Frame, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = self.gauge_lines(columns, theme);
        lines.extend(self.vital_lines(columns, theme));
        if let Some(end) = &self.end {
            lines.push(Line::styled(
                text::cut(end, columns).into_owned(),
                theme.bold(Slot::Bad),
            ));
        }
        lines.extend(
            flow(
                self.facts
                    .iter()
                    .map(|fact| vec![Span::styled(fact.clone(), theme.style(Slot::Text))]),
                columns,
                " · ",
            )
            .into_iter()
            .filter(|line| line.width() > 0),
        );
        if let Some(line) = self.place_line(frame, theme) {
            lines.push(line);
        }
        lines.extend(self.inventory_lines(columns, theme));
        lines.extend(self.achievement_lines(frame.progression, columns, theme));
        lines
    }

    /// A bar for each number with a greatest value.
    fn gauge_lines(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let gauges = self.gauges.iter().map(|(index, value, most)| {
            let (name, .., slot) = GAUGES[*index];
            let bar = columns.saturating_sub(20).clamp(4, 14) as i64;
            let share = if *most > 0 {
                (*value).clamp(0, *most) * bar / *most
            } else {
                0
            };
            let full = if *value > 0 { share.max(1) } else { 0 } as usize;
            let low = *most > 0 && *value * 3 <= *most && *index == 0;
            let style = if low {
                theme.bold(Slot::Bad)
            } else {
                theme.bold(Slot::Text)
            };
            vec![
                Span::styled(text::pad(name, 7), theme.style(Slot::Dim)),
                Span::styled("▮".repeat(full), theme.style(slot)),
                Span::styled("▯".repeat(bar as usize - full), theme.style(Slot::Faint)),
                Span::styled(format!(" {value}({most}){}", if low { " low" } else { "" }), style),
            ]
        });
        flow(gauges, columns, "  ")
            .into_iter()
            .filter(|line| line.width() > 0)
            .collect()
    }

    fn vital_lines(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let gauge = |(index, value): &(usize, u64), bar: usize| -> Vec<Span<'static>> {
            let (name, sign, slot) = VITALS[*index];
            let full = (*value as usize).min(bar);
            let style = if *value <= 3 {
                theme.bold(Slot::Bad)
            } else {
                theme.bold(Slot::Text)
            };
            vec![
                Span::styled(format!("{sign} "), theme.style(slot)),
                Span::styled(text::pad(name, 7), theme.style(Slot::Dim)),
                Span::styled("▮".repeat(full), theme.style(slot)),
                Span::styled("▯".repeat(bar - full), theme.style(Slot::Faint)),
                Span::styled(format!(" {value} "), style),
            ]
        };
        let two = columns >= 46;
        self.vitals
            .chunks(if two { 2 } else { 1 })
            .map(|pair| {
                Line::from(
                    pair.iter()
                        .flat_map(|vital| {
                            let mut spans = gauge(vital, 9);
                            spans.push(Span::raw(if two { "  " } else { "" }));
                            spans
                        })
                        .collect::<Vec<_>>(),
                )
            })
            .collect()
    }

    fn place_line(&self, frame: &Frame, theme: &Theme) -> Option<Line<'static>> {
        let mut parts = Vec::new();
        if let Some(facing) = &self.facing {
            parts.push(format!("facing {facing}"));
        }
        if let View::Tiles(view) = &frame.view {
            parts.push(
                match view.light {
                    _ if view.asleep => "asleep",
                    light if light < 0.3 => "night",
                    light if light < 0.6 => "dusk",
                    _ => "day",
                }
                .to_owned(),
            );
            parts.push(format!("at {},{}", view.player.0, view.player.1));
        }
        (!parts.is_empty()).then(|| Line::styled(parts.join(" · "), theme.style(Slot::Dim)))
    }

    fn inventory_lines(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        if self.inventory.is_empty() && (self.vitals.is_empty() || !self.gauges.is_empty()) {
            return Vec::new();
        }
        if self.inventory.is_empty() {
            return vec![Line::styled("carrying nothing", theme.style(Slot::Dim))];
        }
        let items = self.inventory.iter().map(|(name, count)| {
            vec![
                Span::styled(format!("{name} "), theme.style(Slot::Text)),
                Span::styled(count.to_string(), theme.bold(Slot::Accent)),
            ]
        });
        flow(items, columns, "  ")
    }

    fn achievement_lines(&self, progression: f64, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        if self.achievements.is_empty() {
            return Vec::new();
        }
        let done = self.achievements.iter().filter(|(_, count)| *count > 0).count();
        // A world may name only those that are done; the score is their share.
        let all = if progression > 0.0 {
            (done as f64 / progression).round() as usize
        } else {
            0
        };
        let heading = format!("achievements {done} of {}", all.max(self.achievements.len()));
        let mut lines = vec![Line::raw(""), Line::styled(heading, theme.bold(Slot::Title))];
        let wide = (columns / 22).clamp(1, 3);
        let down = self.achievements.len().div_ceil(wide);
        let cell = columns / wide;
        for row in 0..down {
            let spans = (0..wide)
                .filter_map(|column| self.achievements.get(column * down + row))
                .flat_map(|(name, count)| {
                    let (sign, mark, slot) = match count {
                        0 => ("·", Slot::Faint, Slot::Faint),
                        _ => ("★", Slot::Reward, Slot::Text),
                    };
                    let times = if *count > 1 {
                        format!(" ×{count}")
                    } else {
                        String::new()
                    };
                    let room = cell.saturating_sub(3 + text::width(&times));
                    let name = text::cut(name, room).into_owned();
                    let blank = " ".repeat(room.saturating_sub(text::width(&name)) + 1);
                    [
                        Span::styled(format!("{sign} "), theme.style(mark)),
                        Span::styled(name, theme.style(slot)),
                        Span::styled(format!("{times}{blank}"), theme.style(Slot::Dim)),
                    ]
                })
                .collect::<Vec<_>>();
            lines.push(Line::from(spans));
        }
        lines
    }
}

/// The number after `- name:` in a text.
fn written(text: &str, name: &str) -> Option<u64> {
    let rest = text.split_once(&format!("- {name}: "))?.1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Puts items on as many lines as they need.
fn flow(items: impl Iterator<Item = Vec<Span<'static>>>, columns: usize, between: &str) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = vec![Line::default()];
    for item in items {
        let wide: usize = item.iter().map(Span::width).sum();
        let used = lines.last().map_or(0, Line::width);
        if used > 0 && used + between.len() + wide > columns {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            if !line.spans.is_empty() {
                line.push_span(Span::raw(between.to_owned()));
            }
            item.into_iter().for_each(|span| line.push_span(span));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn the_text_serves_where_the_info_is_silent() {
        let mut frame = testing::frame(5);
        let told = Status::of(&frame);
        assert_eq!(told.vitals.len(), 4);
        frame.info = serde_json::Value::Null;
        let read = Status::of(&frame);
        assert_eq!(read.vitals, told.vitals);
        assert_eq!(read.facing.as_deref(), Some("tree"));
    }

    #[test]
    fn lines_fit_their_column() {
        let theme = testing::theme();
        for columns in [28, 36, 46, 54] {
            let frame = testing::frame(5);
            for line in Status::of(&frame).lines(&frame, columns, &theme) {
                assert!(line.width() <= columns, "{} > {columns}: {line:?}", line.width());
            }
        }
    }
}
