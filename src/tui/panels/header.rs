//! The first row: program, screens, what is open, how it stands.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::tui::data::ControlView;
use crate::tui::keymap::Screen;
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::watch::Watch;
use crate::tui::widgets::text;
use crate::types::Role;

/// Columns from which on there is room for more than the step.
const WIDE: u16 = 120;

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    buf.set_style(area, theme.on(Slot::Text, Slot::Surface));
    let right = standing(state);
    let start = text::put_right(buf, area, 0, &right);
    let left = Rect {
        width: start.saturating_sub(area.x + 1),
        ..area
    };
    let tabs = screens(state, left.width >= 60);
    let used = tabs.width() as u16;
    text::put_line(buf, left, 0, &tabs);
    let middle = Rect {
        x: left.x + used,
        width: left.width.saturating_sub(used),
        ..left
    };
    if let Some(watch) = state.watch.as_ref().filter(|_| state.screen == Screen::Watch) {
        open_run(watch, middle, buf, theme);
    }
}

fn screens(state: &State, wide: bool) -> Line<'static> {
    let theme = &state.theme;
    let mut spans = vec![Span::styled(" automem ", theme.bold(Slot::Accent))];
    let names = [
        (Screen::Runs, "1 Runs", 0),
        (Screen::Watch, "2 Watch", 0),
        (Screen::Review, "3 Review", state.review.waiting()),
        (Screen::Curate, "4 Curate", state.curate.waiting()),
        (Screen::Lab, "5 Lab", 0),
    ];
    for (screen, name, waiting) in names {
        let here = screen == state.screen;
        // What waits for a person shows however narrow it is.
        let name = match waiting {
            0 => name.to_owned(),
            n if wide || here => format!("{name} ●{n}"),
            n => format!("{} ●{n}", &name[..1]),
        };
        if !here && waiting > 0 {
            spans.push(Span::styled(format!(" {name} "), theme.bold(Slot::Warn)));
            continue;
        }
        if !here && (!wide || (screen == Screen::Watch && !state.has_watch())) {
            continue;
        }
        let style = if here {
            theme
                .bold(Slot::Text)
                .patch(theme.selected(true))
                .remove_modifier(Modifier::UNDERLINED)
        } else {
            theme.style(Slot::Dim)
        };
        spans.push(Span::styled(format!(" {name} "), style));
    }
    Line::from(spans)
}

/// World, seed, scaffold, model: as much as fits, the world first.
fn open_run(watch: &Watch, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let meta = &watch.meta;
    let seed = watch
        .summary()
        .map_or_else(String::new, |summary| format!(" seed {}", summary.seed));
    let episode = if watch.episodes.len() > 1 {
        format!(" · episode {} of {}", watch.episode.0 + 1, watch.episodes.len())
    } else {
        String::new()
    };
    let model = if meta.model.is_llm {
        players(watch)
    } else {
        format!("{} (no LLM)", players(watch))
    };
    let parts = [
        format!("{}{seed}", meta.world.title()),
        meta.scaffold.name.clone(),
        model,
    ];
    let mut line = text::clean(&parts[0]).into_owned();
    for (at, part) in parts.iter().enumerate().skip(1) {
        let more = format!("{line} · {}", text::clean(part));
        // Which episode it is counts for more than who plays it.
        let kept = if at > 1 { text::width(&episode) } else { 0 };
        if text::width(&more) + kept + 2 > usize::from(area.width) {
            break;
        }
        line = more;
    }
    if text::width(&line) + text::width(&episode) + 2 <= usize::from(area.width) {
        line.push_str(&episode);
    }
    let wide = text::width(&line) as u16;
    // in the middle of what is left, if there is much left
    let shift = if area.width > wide + 20 {
        (area.width - wide) / 2
    } else {
        2
    };
    let place = Rect {
        x: area.x + shift,
        width: area.width.saturating_sub(shift),
        ..area
    };
    text::put_line(buf, place, 0, &Line::styled(line, theme.style(Slot::Title)));
}

/// Who plays at the cursor: the specialist may have been exchanged.
fn players(watch: &Watch) -> String {
    let meta = &watch.meta;
    let before = watch.cursor.previous().unwrap_or(watch.cursor);
    let said = [watch.cursor, before]
        .into_iter()
        .filter_map(|step| watch.record(step))
        .find(|record| record.turns().next().is_some());
    let Some(record) = said else {
        return meta.players();
    };
    match record.turns().find(|turn| turn.role == Role::Specialist) {
        Some(turn) => format!("{} + {}", meta.model.name, turn.model),
        None => meta.model.name.clone(),
    }
}

/// Live, paused, replay; the step; the score.
fn standing(state: &State) -> Line<'static> {
    let theme = &state.theme;
    let mut spans = Vec::new();
    if let Some(job) = &state.job {
        let share = if job.total > 0 {
            format!(" {:.0}%", 100.0 * job.done as f64 / job.total as f64)
        } else {
            String::new()
        };
        spans.push(Span::styled(format!("{}{share}  ", job.what), theme.style(Slot::Info)));
    }
    let Some(watch) = state.watch.as_ref().filter(|_| state.screen == Screen::Watch) else {
        match state.lives().count() {
            0 => {}
            1 => spans.push(Span::styled("● a run is running ", theme.bold(Slot::Live))),
            n => spans.push(Span::styled(format!("● {n} runs are running "), theme.bold(Slot::Live))),
        }
        return Line::from(spans);
    };
    let others = state.lives().filter(|live| live.path != watch.path).count();
    if others > 0 && state.size.0 >= WIDE {
        spans.push(Span::styled(format!("● {others} more  "), theme.style(Slot::Live)));
    }
    let (word, style) = word(state, watch);
    spans.push(Span::styled(word, style));
    let playing = state
        .live_here()
        .and_then(|live| live.episodes.get(&watch.episode))
        .filter(|episode| !episode.ended);
    let step = match playing {
        Some(episode) if state.size.0 >= WIDE => {
            let rate = if episode.rate >= 0.5 {
                format!(" at {:.0}/s", episode.rate)
            } else {
                String::new()
            };
            format!("  step {} of {}{rate}", watch.cursor, watch.meta.max_steps)
        }
        _ => format!("  step {}", watch.cursor),
    };
    spans.push(Span::styled(step, theme.bold(Slot::Text)));
    spans.push(Span::raw("  "));
    spans.push(Span::styled(score(watch), theme.bold(Slot::Reward)));
    spans.push(Span::raw(" "));
    Line::from(spans)
}

fn word(state: &State, watch: &Watch) -> (String, ratatui::style::Style) {
    let theme = &state.theme;
    if watch.playing {
        return (format!("▶ {}", watch.speed.word()), theme.bold(Slot::Good));
    }
    match state.live_here().map(|live| live.control) {
        Some(_) if !watch.at_end() => (format!("● live at {}", watch.end()), theme.style(Slot::Live)),
        Some(ControlView::Paused) => ("‖ PAUSED".to_owned(), theme.bold(Slot::Paused)),
        Some(ControlView::Stopping) => ("■ STOPPING".to_owned(), theme.bold(Slot::Paused)),
        Some(_) => ("● LIVE".to_owned(), theme.bold(Slot::Live)),
        None if watch.finished => ("replay".to_owned(), theme.style(Slot::Dim)),
        None if watch.follow => ("● following".to_owned(), theme.style(Slot::Live)),
        None => ("replay, open end".to_owned(), theme.style(Slot::Dim)),
    }
}

/// The score at the cursor, as the world counts it.
fn score(watch: &Watch) -> String {
    let progression = watch
        .shown
        .as_ref()
        .and_then(|record| record.frame())
        .map_or(0.0, |frame| frame.progression);
    if watch.meta.world.name == "crafter" {
        format!("{:.0}/22 ★", progression * 22.0)
    } else {
        format!("{:.0}% ★", progression * 100.0)
    }
}
