//! Beside the list of runs: what is known of the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::runs::score;
use crate::tui::data::{RunEntry, RunState};
use crate::tui::keymap::{Action, Place};
use crate::tui::runs::RunRow;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::text;

/// All that is known of the selected run.
pub(super) fn draw(state: &State, entry: &RunEntry, row: RunRow, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
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
        if entry.planned > 1 {
            let over = entry.episodes.iter().filter(|episode| episode.end.is_some()).count();
            lines.push(fact("episodes", format!("{over} of {} are over", entry.planned)));
        }
        if entry.elsewhere {
            lines.push(fact("lies", "outside this workspace".to_owned()));
        }
        match state.live_of(&entry.path) {
            Some(_) => lines.push(fact("played by", "this program".to_owned())),
            None if entry.state == RunState::Running => {
                lines.push(fact("played by", "another process".to_owned()));
            }
            None => {}
        }
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
            format!(
                "{} ({:.1}%)",
                score(&entry.world, episode.progression),
                episode.progression * 100.0
            ),
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
        let key = state.keymap.shown(Place::Runs, Action::ResumeRun);
        let said = format!("automem resume …, or {key}, goes on with it");
        lines.push(Line::styled(said, theme.style(Slot::Dim)));
    }
    for (row, line) in (0..inner.height).zip(&lines) {
        text::put_line(buf, inner, row, line);
    }
}
