//! The exact prompt and answer of a turn, over the whole body.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::tui::inspector::{self, Inspector, Part};
use crate::tui::layout;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::{found, list, text};
use crate::types::StopReason;

pub(crate) fn draw(state: &State, inspector: &Inspector, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    Clear.render(area, buf);
    buf.set_style(area, theme.base());
    let turn = &inspector.turn;
    let head = Line::from(vec![
        Span::styled(format!(" step {} ", inspector.step), theme.bold(Slot::Text)),
        Span::styled(turn.phase.word(), theme.bold(Slot::Accent)),
        Span::styled(
            format!(
                " turn {} of {} · {} · {} · temperature {} · seed {}{}",
                inspector.index + 1,
                inspector.count,
                text::clean(&turn.model),
                turn.role.word(),
                turn.sampling.temperature,
                turn.sampling.seed,
                if turn.grammar { " · grammar" } else { "" },
            ),
            theme.style(Slot::Dim),
        ),
    ]);
    text::put_line(buf, area, 0, &head);
    let share = match turn.prompt_tokens {
        0 => String::new(),
        all => format!(", {} cached", cached(turn.cached_tokens, all)),
    };
    let stop = match turn.stop {
        StopReason::End | StopReason::Stop => "",
        StopReason::Length => " · cut at its token limit",
        StopReason::Cancelled => " · cancelled",
    };
    let titles = [
        format!(
            " · {} tokens{share} · {}",
            text::grouped(turn.prompt_tokens.into()),
            text::duration(turn.prompt_ms)
        ),
        format!(
            " · {} tokens · {}{stop}",
            text::grouped(turn.completion_tokens.into()),
            text::duration(turn.ms - turn.prompt_ms)
        ),
    ];
    let parts = [
        ("Prompt", Part::Prompt, &inspector.prompt),
        ("Answer", Part::Answer, &inspector.answer),
    ];
    for (index, (name, part, folded)) in parts.into_iter().enumerate() {
        let document = folded.document();
        let place = inspector::areas(area)[index];
        let title = vec![
            Span::raw(name),
            Span::styled(titles[index].clone(), theme.style(Slot::Dim)),
        ];
        let focused = inspector.part == part;
        let inner = view::pane(buf, place, title, focused, theme);
        let top = inspector.scroll[index].top;
        document.draw(buf, inner, top, theme.style(Slot::Text));
        if let Some(search) = state.searched() {
            found::mark(buf, inner, search, theme.matched());
        }
        let selected = inspector.scroll[index].selected;
        if focused && (top..top + usize::from(inner.height)).contains(&selected) {
            let row = Rect {
                y: inner.y + (selected - top) as u16,
                height: 1,
                ..inner
            };
            buf.set_style(row, theme.selected(true));
        }
        let thumb = theme.style(if focused { Slot::BorderFocus } else { Slot::Faint });
        list::scrollbar(
            buf,
            place,
            top,
            document.len(),
            usize::from(layout::shrink(place).height),
            thumb,
        );
    }
}

fn cached(cached: u32, all: u32) -> String {
    format!(
        "{} ({:.0}%)",
        text::grouped(cached.into()),
        100.0 * f64::from(cached) / f64::from(all)
    )
}
