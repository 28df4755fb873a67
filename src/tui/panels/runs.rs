//! The list of runs with their episodes, and what is known of the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::start;
use crate::tui::data::{RunEntry, RunState};
use crate::tui::runs::RunRow;
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::widgets::{list, text};
use crate::types::{EndReason, EpisodeSummary};

/// Columns of the side panel, and from how many columns on it shows.
const SIDE: (u16, u16) = (46, 130);

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    if state.shows_start() {
        start::draw_empty(state, area, buf);
        return;
    }
    let (list_area, side) = if area.width >= SIDE.1 {
        let left = area.width - SIDE.0;
        (
            Rect { width: left, ..area },
            Some(Rect {
                x: area.x + left,
                width: SIDE.0,
                ..area
            }),
        )
    } else {
        (area, None)
    };
    let runs = &state.runs;
    let mut title = vec![
        Span::raw("Runs"),
        Span::styled(
            format!(" · {} · {}", runs.entries.len(), runs.sort.word()),
            theme.style(Slot::Dim),
        ),
    ];
    if !runs.filter.is_empty() {
        let said = format!(" · only `{}`", text::clean(&runs.filter));
        title.push(Span::styled(said, theme.style(Slot::Accent)));
    }
    let inner = view::pane(buf, list_area, title, true, theme);
    if !runs.loaded {
        text::put_line(buf, inner, 0, &Line::styled("looking for runs", theme.style(Slot::Dim)));
        return;
    }
    if runs.rows.is_empty() {
        let said = "No run fits the filter; Esc shows all.";
        text::put_line(buf, inner, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    }
    let columns = Columns::for_width(inner.width);
    columns.draw_heading(inner, buf, theme);
    let rows = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    };
    let height = usize::from(rows.height);
    let mut scroll = runs.scroll;
    scroll.reveal(runs.rows.len(), height);
    let visible = scroll.visible(runs.rows.len(), height);
    let mut before = None;
    for (y, index) in (0..).zip(visible) {
        let row = runs.rows[index];
        let first = before != Some(row.entry);
        before = Some(row.entry);
        let place = Rect {
            y: rows.y + y,
            height: 1,
            ..rows
        };
        columns.draw_row(&runs.entries[row.entry], row, first, place, buf, theme);
        if index == runs.scroll.selected {
            buf.set_style(place, theme.selected(true));
        }
    }
    list::scrollbar(
        buf,
        list_area,
        scroll.top,
        runs.rows.len(),
        height,
        theme.style(Slot::BorderFocus),
    );
    if let Some((side, (entry, row))) = side.zip(runs.selected()) {
        draw_side(entry, row, side, buf, theme);
    }
}

/// Widths of the columns; 0 leaves one out.
struct Columns {
    when: usize,
    world: usize,
    seed: usize,
    scaffold: usize,
    model: usize,
    steps: usize,
    score: usize,
    tokens: usize,
    state: usize,
}

impl Columns {
    fn for_width(width: u16) -> Self {
        let width = usize::from(width);
        let mut columns = Self {
            when: 11,
            world: 9,
            seed: 6,
            scaffold: 13,
            model: 17,
            steps: 6,
            score: 7,
            tokens: 8,
            state: 9,
        };
        if width < 98 {
            columns.world = 0;
        }
        if width < 86 {
            columns.tokens = 0;
        }
        if width < 70 {
            columns.when = 0;
        }
        let used: usize = columns
            .widths()
            .iter()
            .map(|width| if *width > 0 { width + 1 } else { 0 })
            .sum();
        let spare = width.saturating_sub(used + 1);
        columns.model += spare / 2;
        columns.scaffold += spare - spare / 2;
        columns
    }

    fn widths(&self) -> [usize; 9] {
        [
            self.when,
            self.world,
            self.seed,
            self.scaffold,
            self.model,
            self.steps,
            self.score,
            self.tokens,
            self.state,
        ]
    }

    fn draw_heading(&self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let names = [
            "began", "world", "seed", "scaffold", "model", "steps", "score", "tokens", "state",
        ];
        let cells = names.map(|name| (name.to_owned(), theme.style(Slot::Faint)));
        self.draw_cells(cells, area, buf);
    }

    fn draw_row(&self, entry: &RunEntry, row: RunRow, first: bool, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let plain = theme.style(Slot::Text);
        let dim = theme.style(Slot::Dim);
        if let RunState::Broken(problem) = &entry.state {
            let name = entry
                .path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let line = Line::from(vec![
                Span::styled(" ✗ broken ", theme.bold(Slot::Bad)),
                Span::styled(format!("{} ", text::clean(&name)), plain),
                Span::styled(text::clean(problem).into_owned(), dim),
            ]);
            text::put_line(buf, area, 0, &line);
            return;
        }
        let repeat = |said: String| if first { said } else { String::new() };
        let episode = row.episode.and_then(|index| entry.episodes.get(index));
        let model = if entry.is_llm {
            entry.model.clone()
        } else {
            format!("{} (no LLM)", entry.model)
        };
        let (word, style) = standing(entry, episode, theme);
        let cells = [
            (repeat(when(&entry.created)), dim),
            (repeat(entry.world.clone()), plain),
            (
                episode.map_or_else(|| "-".to_owned(), |episode| episode.seed.to_string()),
                theme.style(Slot::Accent),
            ),
            (repeat(entry.scaffold.clone()), plain),
            (repeat(model), if entry.is_llm { plain } else { dim }),
            (
                episode.map_or_else(String::new, |episode| episode.steps.to_string()),
                plain,
            ),
            (
                episode.map_or_else(String::new, |episode| score(&entry.world, episode)),
                theme.bold(Slot::Reward),
            ),
            (
                episode.map_or_else(String::new, |episode| {
                    text::bytes(episode.prompt_tokens + episode.completion_tokens)
                }),
                dim,
            ),
            (word, style),
        ];
        self.draw_cells(cells, area, buf);
    }

    fn draw_cells(&self, cells: [(String, Style); 9], area: Rect, buf: &mut Buffer) {
        let mut x = area.x + 1;
        for (index, (width, (said, style))) in self.widths().into_iter().zip(cells).enumerate() {
            if width == 0 || x >= area.right() {
                continue;
            }
            let said = text::clean(&said);
            let number = matches!(index, 2 | 5 | 6 | 7);
            let said = if number {
                text::pad_left(&said, width)
            } else {
                text::pad(&said, width)
            };
            text::put(buf, x, area.y, area.right() - x, &said, style);
            x += width as u16 + 1;
        }
    }
}

/// `11-29 20:37` of an RFC 3339 time.
fn when(created: &str) -> String {
    match (created.get(5..10), created.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time}"),
        _ => String::new(),
    }
}

fn score(world: &str, episode: &EpisodeSummary) -> String {
    if world == "crafter" {
        format!("{:.0}/22", episode.progression * 22.0)
    } else {
        format!("{:.0}%", episode.progression * 100.0)
    }
}

fn standing(entry: &RunEntry, episode: Option<&EpisodeSummary>, theme: &Theme) -> (String, Style) {
    let over = episode.and_then(|episode| episode.end);
    match (&entry.state, over) {
        (RunState::Broken(_), _) => ("✗ broken".into(), theme.bold(Slot::Bad)),
        (_, Some(EndReason::Failed)) => ("✗ failed".into(), theme.style(Slot::Bad)),
        (_, Some(EndReason::Stopped)) => ("■ stopped".into(), theme.style(Slot::Warn)),
        (_, Some(EndReason::Terminated)) => ("✓ died".into(), theme.style(Slot::Good)),
        (_, Some(_)) => ("✓ done".into(), theme.style(Slot::Good)),
        (RunState::Running, None) => ("● running".into(), theme.bold(Slot::Live)),
        (RunState::Paused, None) => ("‖ paused".into(), theme.bold(Slot::Paused)),
        (RunState::Open | RunState::Done, None) => ("… open".into(), theme.style(Slot::Warn)),
    }
}

/// All that is known of the selected run.
fn draw_side(entry: &RunEntry, row: RunRow, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let name = entry
        .path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let title = vec![Span::raw(text::clean(&name).into_owned())];
    let inner = view::pane(buf, area, title, false, theme);
    let inner = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(1),
        ..inner
    };
    let fact = |name: &str, said: String| {
        Line::from(vec![
            Span::styled(text::pad(name, 11), theme.style(Slot::Dim)),
            Span::styled(text::clean(&said).into_owned(), theme.style(Slot::Text)),
        ])
    };
    let mut lines = Vec::new();
    if let RunState::Broken(problem) = &entry.state {
        let problem = text::clean(problem).into_owned();
        lines.extend(
            text::wrap(&problem, usize::from(inner.width))
                .into_iter()
                .map(|range| Line::styled(problem[range].to_owned(), theme.style(Slot::Bad))),
        );
    } else {
        lines.push(fact("began", entry.created.clone()));
        lines.push(fact("world", entry.world.clone()));
        lines.push(fact("scaffold", entry.scaffold.clone()));
        let kind = if entry.is_llm { "" } else { " (a program, no LLM)" };
        lines.push(fact("model", format!("{}{kind}", entry.model)));
        lines.push(fact(
            "limit",
            format!("{} steps an episode", text::grouped(entry.max_steps.into())),
        ));
        lines.push(Line::raw(""));
    }
    if let Some(episode) = row.episode.and_then(|index| entry.episodes.get(index)) {
        let share = match episode.prompt_tokens {
            0 => String::new(),
            all => format!(" ({:.0}% cached)", 100.0 * episode.cached_tokens as f64 / all as f64),
        };
        lines.push(Line::styled(
            format!("Episode {}", episode.episode),
            theme.bold(Slot::Title),
        ));
        lines.push(fact("seed", episode.seed.to_string()));
        lines.push(fact("steps", text::grouped(episode.steps.into())));
        lines.push(fact("return", format!("{:.1}", episode.total_reward)));
        lines.push(fact(
            "score",
            format!("{} ({:.1}%)", score(&entry.world, episode), episode.progression * 100.0),
        ));
        lines.push(fact(
            "prompt",
            format!("{} tokens{share}", text::grouped(episode.prompt_tokens)),
        ));
        lines.push(fact(
            "answers",
            format!("{} tokens", text::grouped(episode.completion_tokens)),
        ));
        let end = episode.end.map_or("not over", |end| end.word()).replace('_', " ");
        lines.push(fact("end", end));
        lines.push(Line::raw(""));
    }
    lines.push(Line::styled("On the command line", theme.bold(Slot::Title)));
    let run = entry.path.display().to_string();
    for verb in ["replay", "show", "verify"] {
        let room = usize::from(inner.width).saturating_sub(10 + verb.len());
        let run = text::clean(&run);
        let path = text::cut_left(&run, room);
        lines.push(Line::styled(format!("automem {verb} {path}"), theme.style(Slot::Dim)));
    }
    if entry.state == RunState::Open {
        lines.push(Line::styled("automem resume … goes on with it", theme.style(Slot::Dim)));
    }
    for (row, line) in (0..inner.height).zip(&lines) {
        text::put_line(buf, inner, row, line);
    }
}
