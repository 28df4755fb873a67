//! The dialog that starts a run, and the choice of columns.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::columns::Column;
use crate::tui::layout;
use crate::tui::start::{Form, What};
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::text;

/// Columns of a field's name.
const NAMES: usize = 10;

/// Over the screen: a line a field, what may be written, the choices, what is wrong.
pub(crate) fn draw(state: &State, form: &Form, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let place = layout::centred(area, 78.min(area.width - 2), 15);
    let inner = view::over(buf, place, "New run", theme);
    let wide = usize::from(inner.width);
    for (row, what) in (0..).zip(What::ALL) {
        let here = what == form.field();
        let sign = if here { "▶ " } else { "  " };
        let said = text::clean(form.text(what)).into_owned();
        let room = wide.saturating_sub(NAMES + 6);
        let said = if text::width(&said) > room {
            text::cut_left(&said, room).into_owned()
        } else {
            said
        };
        let mut spans = vec![
            Span::styled(sign, theme.bold(Slot::Accent)),
            Span::styled(text::pad(what.name(), NAMES), theme.style(Slot::Dim)),
            Span::styled(said, theme.bold(Slot::Text)),
        ];
        if here && !form.starting {
            spans.push(Span::styled("▏", theme.bold(Slot::Key)));
        }
        text::put_line(buf, inner, row, &Line::from(spans));
        if here {
            let line = Rect {
                y: inner.y + row,
                height: 1,
                ..inner
            };
            buf.set_style(line, theme.selected(true));
        }
    }
    let what = form.field();
    let about = Line::styled(format!("  {}", what.about()), theme.style(Slot::Dim));
    text::put_line(buf, inner, 7, &about);
    let choices = form.choices(what);
    if !choices.is_empty() {
        let mut spans = vec![Span::styled("  there is: ", theme.style(Slot::Faint))];
        for choice in choices {
            let chosen = choice == form.text(what);
            let style = if chosen {
                theme.bold(Slot::Accent)
            } else {
                theme.style(Slot::Text)
            };
            spans.push(Span::styled(format!("{}  ", text::clean(choice)), style));
        }
        text::put_line(buf, inner, 8, &Line::from(spans));
    }
    for (row, line) in (9..inner.height).zip(below(state, form, wide)) {
        text::put_line(buf, inner, row, &line);
    }
}

/// What is wrong, what goes on, or the command that does the same.
fn below(state: &State, form: &Form, wide: usize) -> Vec<Line<'static>> {
    let theme = &state.theme;
    if let Some(error) = &form.error {
        let error = format!("✗ {}", text::clean(error));
        return text::wrap(&error, wide.saturating_sub(2))
            .into_iter()
            .map(|range| Line::styled(format!("  {}", &error[range]), theme.bold(Slot::Bad)))
            .collect();
    }
    let said = if form.starting {
        match &state.job {
            Some(job) if job.total > 0 => {
                format!("{} {:.0}%", job.what, 100.0 * job.done as f64 / job.total as f64)
            }
            Some(job) => job.what.clone(),
            None => "starting; a model may take a while to load".to_owned(),
        }
    } else if form.must_pull() {
        "the model is not here yet: it is fetched first (92 MB)".to_owned()
    } else {
        let of = |what: What| form.text(what).trim().to_owned();
        format!(
            "automem watch --env {} --scaffold {} --model {} --seeds {} --max-steps {} --workers {}",
            of(What::World),
            of(What::Scaffold),
            of(What::Model),
            of(What::Seeds),
            of(What::Steps),
            of(What::Workers)
        )
    };
    let said = text::clean(&said).into_owned();
    let slot = if form.starting { Slot::Info } else { Slot::Faint };
    text::wrap(&said, wide.saturating_sub(2))
        .into_iter()
        .map(|range| Line::styled(format!("  {}", &said[range]), theme.style(slot)))
        .collect()
}

/// Over the list of runs: which columns show.
pub(crate) fn draw_columns(state: &State, selected: usize, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let chosen = &state.runs.columns;
    let place = layout::centred(area, 56.min(area.width - 2), Column::ALL.len() as u16 + 5);
    let inner = view::over(buf, place, "Columns", theme);
    for (row, column) in (0..).zip(Column::ALL) {
        let shown = chosen.is_empty() || chosen.contains(&column);
        let sign = if shown { "[x] " } else { "[ ] " };
        let line = Line::from(vec![
            Span::styled(format!(" {sign}"), theme.bold(Slot::Accent)),
            Span::styled(column.name(), theme.style(Slot::Text)),
        ]);
        text::put_line(buf, inner, row, &line);
        if usize::from(row) == selected {
            let line = Rect {
                y: inner.y + row,
                height: 1,
                ..inner
            };
            buf.set_style(line, theme.selected(true));
        }
    }
    let row = Column::ALL.len() as u16 + 1;
    let said = " What does not fit the width is left out.";
    text::put_line(buf, inner, row, &Line::styled(said, theme.style(Slot::Dim)));
    let said = " `runs.columns` in config.toml keeps the choice.";
    text::put_line(buf, inner, row + 1, &Line::styled(said, theme.style(Slot::Faint)));
}
