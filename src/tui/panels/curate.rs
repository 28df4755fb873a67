//! The Curate screen: the list of data selections, or the open one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::review_list::Table;
use super::{curate_balance, curate_open};
use crate::review::Standing;
use crate::tui::keymap::{Action, Place};
use crate::tui::layout;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

pub(crate) use curate_balance::lines as balance_lines;
pub(crate) use curate_open::{rows, settle_talk};

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    match &state.curate.open {
        Some(open) => curate_open::draw(state, open, buf),
        None if state.curate.list.is_empty() => empty(state, area, buf),
        None => list(state, area, buf),
    }
}

fn list(state: &State, area: Rect, buf: &mut Buffer) {
    let curate = &state.curate;
    let doing = curate
        .working
        .as_ref()
        .map(|word| format!(" · {word}"))
        .unwrap_or_default();
    let table = Table {
        title: (
            "Curate",
            format!(
                "{} · waiting for you: {}{doing}",
                text::counted(curate.list.len() as u64, "data selection"),
                curate.waiting()
            ),
        ),
        list: &curate.list,
        scroll: curate.scroll,
        names: ["accepted", "items"],
        cells,
    };
    table.draw(state, area, buf);
}

fn cells(standing: &Standing) -> [String; 2] {
    let Some(items) = &standing.items else {
        return Default::default();
    };
    let all = match &standing.dataset {
        Some((_, _, examples)) => format!("→ {} examples", text::grouped(u64::from(*examples))),
        None => format!(
            "{} of {}",
            text::grouped(u64::from(items.selected)),
            text::grouped(u64::from(items.count))
        ),
    };
    [text::grouped(u64::from(items.accepted)), all]
}

fn empty(state: &State, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let (dim, plain) = (theme.style(Slot::Dim), theme.style(Slot::Text));
    if let Some(word) = &state.curate.working {
        text::put_line(buf, area, 0, &Line::styled(format!(" {word}"), theme.bold(Slot::Live)));
    } else if !state.curate.loaded {
        text::put_line(buf, area, 0, &Line::styled(" looking for data selections", dim));
        return;
    }
    let said = |words: &'static str, style: Style| Line::styled(words, style);
    let lines = [
        said("No training data waits for a decision.", theme.bold(Slot::Title)),
        Line::default(),
        said(
            "A memory specialist is trained on LOG phases and PLAN consultations that",
            dim,
        ),
        said(
            "you accept here, one by one or many at once. First play some episodes:",
            dim,
        ),
        said(
            "  automem run --env crafter --scaffold crafter-v1 --model MODEL --seeds 100..119",
            plain,
        ),
        Line::from(vec![
            Span::styled("Then ", dim),
            Span::styled(
                state.keymap.shown(Place::Curate, Action::NewSelection),
                theme.bold(Slot::Key),
            ),
            Span::styled(" selects candidates from them by rules.", dim),
        ]),
        Line::default(),
        said("Nothing is trained on before you commit your decisions.", dim),
    ];
    let place = layout::centred(area, 82.min(area.width - 2), lines.len() as u16);
    for (row, line) in (0..).zip(&lines) {
        text::put_line(buf, place, row, line);
    }
}
