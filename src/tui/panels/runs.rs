//! The list of runs with their episodes, and what is known of the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{runs_side, start};
use crate::tui::columns::{self, Column};
use crate::tui::data::{RunEntry, RunState};
use crate::tui::keymap::{Action, Place};
use crate::tui::live::LiveEpisode;
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
    if runs.deleted > 0 {
        let key = state.keymap.shown(Place::Runs, Action::Undo);
        let said = format!(" · {} deleted ({key} brings back)", runs.deleted);
        title.push(Span::styled(said, theme.style(Slot::Warn)));
    }
    let inner = view::pane(buf, list_area, title, true, theme);
    if !runs.loaded {
        text::put_line(buf, inner, 0, &Line::styled("looking for runs", theme.style(Slot::Dim)));
        return;
    }
    if runs.rows.is_empty() {
        let key = state.keymap.shown(Place::Global, Action::Back);
        let said = format!("No run fits the filter; {key} shows all.");
        text::put_line(buf, inner, 0, &Line::styled(said, theme.style(Slot::Dim)));
        return;
    }
    let live = state.is_playing_a_run();
    let columns = columns::fitting(usize::from(inner.width), &runs.columns, live);
    let heading = columns.iter().map(|(column, width)| Cell {
        said: column.name().to_owned(),
        style: theme.style(Slot::Faint),
        width: *width,
        number: column.is_number(),
    });
    draw_cells(heading, inner, buf);
    let rows = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    };
    let height = usize::from(rows.height);
    let mut scroll = runs.scroll;
    scroll.reveal(runs.rows.len(), height);
    let visible = scroll.visible(runs.rows.len(), height);
    for (y, index) in (0..).zip(visible) {
        let row = runs.rows[index];
        let place = Rect {
            y: rows.y + y,
            height: 1,
            ..rows
        };
        draw_row(state, row, &columns, place, buf);
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
        runs_side::draw(state, entry, row, side, buf);
    }
}

struct Cell {
    said: String,
    style: Style,
    width: usize,
    number: bool,
}

fn draw_cells(cells: impl Iterator<Item = Cell>, area: Rect, buf: &mut Buffer) {
    let mut x = area.x + 1;
    for cell in cells {
        if x >= area.right() {
            break;
        }
        let said = text::clean(&cell.said);
        let said = if cell.number {
            text::pad_left(&said, cell.width)
        } else {
            text::pad(&said, cell.width)
        };
        text::put(buf, x, area.y, area.right() - x, &said, cell.style);
        x += cell.width as u16 + 1;
    }
}

fn draw_row(state: &State, row: RunRow, columns: &[(Column, usize)], area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let entry = &state.runs.entries[row.entry];
    if let RunState::Broken(problem) = &entry.state {
        let name = entry.path.file_name();
        let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let line = Line::from(vec![
            Span::styled(" ✗ broken ", theme.bold(Slot::Bad)),
            Span::styled(format!("{} ", text::clean(&name)), theme.style(Slot::Text)),
            Span::styled(text::clean(problem).into_owned(), theme.style(Slot::Dim)),
        ]);
        text::put_line(buf, area, 0, &line);
        return;
    }
    if entry.episodes.len() > 1 && !row.below {
        let open = state.runs.unfolded.contains(&entry.path);
        let sign = if open { "▾" } else { "▸" };
        text::put(buf, area.x, area.y, 1, sign, theme.bold(Slot::Accent));
    }
    let facts = Facts::of(state, entry, row);
    let cells = columns.iter().map(|(column, width)| {
        let (said, style) = facts.cell(*column, entry, row, theme);
        Cell {
            said,
            style,
            width: *width,
            number: column.is_number(),
        }
    });
    draw_cells(cells, area, buf);
}

/// What is known of a row: the record's numbers, and newer ones while it plays.
struct Facts<'a> {
    episode: Option<&'a EpisodeSummary>,
    steps: u32,
    progression: f64,
    tokens: u64,
    /// Steps a second, while it plays.
    rate: Option<f64>,
}

impl<'a> Facts<'a> {
    fn of(state: &'a State, entry: &'a RunEntry, row: RunRow) -> Self {
        let live = state.live_of(&entry.path);
        let of_live = |episode: &EpisodeSummary| -> Option<&LiveEpisode> {
            let found = live?.episodes.get(&episode.episode)?;
            (!found.ended).then_some(found)
        };
        let steps =
            |episode: &EpisodeSummary| of_live(episode).map_or(episode.steps, |live| live.steps.max(episode.steps));
        let score = |episode: &EpisodeSummary| of_live(episode).map_or(episode.progression, |live| live.progression);
        let tokens = |episode: &EpisodeSummary| episode.prompt_tokens + episode.completion_tokens;
        let rate = |episode: &EpisodeSummary| of_live(episode).map(|live| live.rate);
        match row.episode.and_then(|index| entry.episodes.get(index)) {
            Some(episode) => Self {
                episode: Some(episode),
                steps: steps(episode),
                progression: score(episode),
                tokens: tokens(episode),
                rate: rate(episode),
            },
            None => Self {
                episode: None,
                steps: entry.episodes.iter().map(steps).sum(),
                progression: entry.episodes.iter().map(score).sum::<f64>() / entry.episodes.len().max(1) as f64,
                tokens: entry.episodes.iter().map(tokens).sum(),
                rate: live.map(|_| entry.episodes.iter().filter_map(rate).sum()),
            },
        }
    }

    fn cell(&self, column: Column, entry: &RunEntry, row: RunRow, theme: &Theme) -> (String, Style) {
        let plain = theme.style(Slot::Text);
        let dim = theme.style(Slot::Dim);
        let once = |said: String| if row.below { String::new() } else { said };
        let several = self.episode.is_none();
        let begun = !entry.episodes.is_empty();
        match column {
            Column::Began if row.below => {
                let number = self.episode.map_or(0, |episode| episode.episode.0 + 1);
                (format!("  └ ep {number}"), dim)
            }
            Column::Began => (when(&entry.created), dim),
            Column::World => (once(entry.world.clone()), plain),
            Column::Seed => {
                let said = match self.episode {
                    Some(episode) => episode.seed.to_string(),
                    None => format!("×{}", entry.planned.max(entry.episodes.len())),
                };
                (said, theme.style(Slot::Accent))
            }
            Column::Scaffold => (once(entry.scaffold.clone()), plain),
            Column::Model if entry.is_llm => (once(entry.model.clone()), plain),
            Column::Model => (once(format!("{} (no LLM)", entry.model)), dim),
            Column::Steps if self.rate.is_some() && !several => (format!("{}/{}", self.steps, entry.max_steps), plain),
            Column::Steps if begun => (self.steps.to_string(), plain),
            Column::Score if begun => {
                let mean = if several { "ø" } else { "" };
                let said = format!("{mean}{}", score(&entry.world, self.progression));
                (said, theme.bold(Slot::Reward))
            }
            Column::Tokens if begun => (text::bytes(self.tokens), dim),
            Column::Steps | Column::Score | Column::Tokens => (String::new(), plain),
            Column::State => {
                let (mut word, style) = standing(entry, self.episode, theme);
                if let Some(rate) = self.rate.filter(|rate| *rate >= 0.5 && word.starts_with('●')) {
                    word = format!("{word} {rate:.0}/s");
                } else if several && self.rate.is_some() {
                    let over = entry.episodes.iter().filter(|episode| episode.end.is_some()).count();
                    word = format!("{word} {over}/{}", entry.planned);
                }
                (word, style)
            }
        }
    }
}

/// `11-29 20:37` of an RFC 3339 time.
pub(super) fn when(created: &str) -> String {
    match (created.get(5..10), created.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time}"),
        _ => String::new(),
    }
}

/// The score as the world counts it.
pub(super) fn score(world: &str, progression: f64) -> String {
    if world == "crafter" {
        format!("{:.0}/22", progression * 22.0)
    } else {
        format!("{:.0}%", progression * 100.0)
    }
}

/// How a row stands: a mark and a word.
fn standing(entry: &RunEntry, episode: Option<&EpisodeSummary>, theme: &Theme) -> (String, Style) {
    let several = episode.is_none() && entry.episodes.len() > 1;
    let any = |end: EndReason| entry.episodes.iter().any(|episode| episode.end == Some(end));
    let over = match (episode, &entry.state) {
        (Some(episode), _) => episode.end,
        (None, RunState::Done) if several && any(EndReason::Failed) => Some(EndReason::Failed),
        (None, RunState::Done) if several && any(EndReason::Stopped) => Some(EndReason::Stopped),
        (None, RunState::Done) => Some(EndReason::StepLimit),
        (None, _) => None,
    };
    match (&entry.state, over) {
        (RunState::Broken(_), _) => ("✗ broken".into(), theme.bold(Slot::Bad)),
        (_, Some(EndReason::Failed)) => ("✗ failed".into(), theme.style(Slot::Bad)),
        (_, Some(EndReason::Stopped)) => ("■ stopped".into(), theme.style(Slot::Warn)),
        (_, Some(EndReason::Terminated)) => ("✓ died".into(), theme.style(Slot::Good)),
        (_, Some(_)) => ("✓ done".into(), theme.style(Slot::Good)),
        (RunState::Running, None) => ("● running".into(), theme.bold(Slot::Live)),
        (RunState::Paused, None) => ("‖ paused".into(), theme.bold(Slot::Paused)),
        (RunState::Open | RunState::Done, None) => ("… resumable".into(), theme.style(Slot::Warn)),
    }
}
