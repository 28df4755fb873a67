//! The dialogs that start a run and an optimization, and the choice of columns.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::columns::Column;
use crate::tui::curate::SelectForm;
use crate::tui::fields::{Field, Fields};
use crate::tui::layout;
use crate::tui::optimize::OptimizeForm;
use crate::tui::start::{Form, What};
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::view;
use crate::tui::widgets::text;

/// Columns of a field's name.
const NAMES: usize = 10;

/// A dialog of fields as it is drawn.
struct Dialog<'a, F> {
    title: &'a str,
    fields: &'a Fields<F>,
    /// Nothing is typed now.
    busy: bool,
    /// What there is to choose from in the field that is written in.
    choices: Vec<&'a str>,
}

/// Over the screen: the dialog that starts a run.
pub(crate) fn draw(state: &State, form: &Form, area: Rect, buf: &mut Buffer) {
    let dialog = Dialog {
        title: "New run",
        fields: &form.fields,
        busy: form.starting,
        choices: form.choices(form.fields.field()),
    };
    draw_dialog(state, &dialog, area, buf, |wide| below(state, form, wide));
}

/// Over the screen: the dialog that starts an optimization.
pub(crate) fn draw_optimize(state: &State, form: &OptimizeForm, area: Rect, buf: &mut Buffer) {
    let dialog = Dialog {
        title: "New optimization",
        fields: &form.fields,
        busy: false,
        choices: form.choices(form.fields.field()),
    };
    draw_dialog(state, &dialog, area, buf, |wide| {
        fault_or(state, &form.fields, &form.command(), wide)
    });
}

/// Over the screen: the dialog that makes a data selection.
pub(crate) fn draw_select(state: &State, form: &SelectForm, area: Rect, buf: &mut Buffer) {
    let dialog = Dialog {
        title: "New selection",
        fields: &form.fields,
        busy: false,
        choices: form.choices(form.fields.field()),
    };
    draw_dialog(state, &dialog, area, buf, |wide| {
        fault_or(state, &form.fields, &form.outlook(), wide)
    });
}

/// What is wrong, or what will happen.
fn fault_or<F: Field>(state: &State, fields: &Fields<F>, said: &str, wide: usize) -> Vec<Line<'static>> {
    let theme = &state.theme;
    match &fields.error {
        Some(error) => wrapped(&format!("✗ {}", text::clean(error)), wide, theme.bold(Slot::Bad)),
        None => wrapped(&text::clean(said), wide, theme.style(Slot::Faint)),
    }
}

/// A line a field, what may be written, the choices, what is wrong.
fn draw_dialog<F: Field>(
    state: &State,
    dialog: &Dialog<'_, F>,
    area: Rect,
    buf: &mut Buffer,
    below: impl FnOnce(usize) -> Vec<Line<'static>>,
) {
    let own = dialog.fields;
    let fields: Vec<(&'static str, &str)> = F::ALL.iter().map(|field| (field.name(), own.text(*field))).collect();
    let at = own.field().place();
    let theme = &state.theme;
    let count = fields.len() as u16;
    let place = layout::centred(area, 78.min(area.width - 2), count + 9);
    let inner = view::over(buf, place, dialog.title, theme);
    let wide = usize::from(inner.width);
    let longest = fields.iter().map(|(name, _)| name.len() + 1).max().unwrap_or(0);
    let names = NAMES.max(longest);
    for (row, (name, said)) in (0..).zip(&fields) {
        let here = usize::from(row) == at;
        let sign = if here { "▶ " } else { "  " };
        let said = text::clean(said).into_owned();
        let room = wide.saturating_sub(names + 6);
        let said = if text::width(&said) > room {
            text::cut_left(&said, room).into_owned()
        } else {
            said
        };
        let mut spans = vec![
            Span::styled(sign, theme.bold(Slot::Accent)),
            Span::styled(text::pad(name, names), theme.style(Slot::Dim)),
            Span::styled(said, theme.bold(Slot::Text)),
        ];
        if here && !dialog.busy {
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
    let about = Line::styled(format!("  {}", own.field().about()), theme.style(Slot::Dim));
    text::put_line(buf, inner, count + 1, &about);
    if !dialog.choices.is_empty() {
        let mut spans = vec![Span::styled("  there is: ", theme.style(Slot::Faint))];
        for choice in &dialog.choices {
            let chosen = fields.get(at).is_some_and(|(_, said)| said == choice);
            let style = if chosen {
                theme.bold(Slot::Accent)
            } else {
                theme.style(Slot::Text)
            };
            spans.push(Span::styled(format!("{}  ", text::clean(choice)), style));
        }
        text::put_line(buf, inner, count + 2, &Line::from(spans));
    }
    for (row, line) in (count + 3..inner.height).zip(below(wide)) {
        text::put_line(buf, inner, row, &line);
    }
}

/// Lines of a text below the fields.
fn wrapped(said: &str, wide: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    text::wrap(said, wide.saturating_sub(2))
        .into_iter()
        .map(|range| Line::styled(format!("  {}", &said[range]), style))
        .collect()
}

/// What is wrong, what goes on, or the command that does the same.
fn below(state: &State, form: &Form, wide: usize) -> Vec<Line<'static>> {
    let theme = &state.theme;
    if let Some(error) = &form.fields.error {
        return wrapped(&format!("✗ {}", text::clean(error)), wide, theme.bold(Slot::Bad));
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
        let of = |what: What| form.fields.trimmed(what).to_owned();
        let specialist = match crate::agent::wanted(Some(form.fields.text(What::Specialist))) {
            Some(specialist) => format!(" --specialist {specialist}"),
            None => String::new(),
        };
        format!(
            "automem watch --env {} --scaffold {} --model {}{specialist} --seeds {} --max-steps {} --workers {}",
            of(What::World),
            of(What::Scaffold),
            of(What::Model),
            of(What::Seeds),
            of(What::Steps),
            of(What::Workers)
        )
    };
    let slot = if form.starting { Slot::Info } else { Slot::Faint };
    wrapped(&text::clean(&said), wide, theme.style(slot))
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
