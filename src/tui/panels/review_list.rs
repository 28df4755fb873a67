//! The list of proposals: what waits first; what was rejected, stale or promoted stays in sight.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::review::{gate_in_short, standing};
use super::runs::when;
use crate::review::Standing;
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::view;
use crate::tui::widgets::list::Scroll;
use crate::tui::widgets::{list, text};

/// Columns of state, name, hunks, gate, author, time.
const WIDTHS: [usize; 6] = [14, 5, 9, 16, 22, 11];

/// How a list of proposals is drawn.
pub(super) struct Table<'a> {
    /// Its name and what is said of it.
    pub(super) title: (&'static str, String),
    /// The proposals.
    pub(super) list: &'a [Standing],
    /// Where it is scrolled to.
    pub(super) scroll: Scroll,
    /// Names of the third and of the fourth column.
    pub(super) names: [&'static str; 2],
    /// What stands in them.
    pub(super) cells: fn(&Standing) -> [String; 2],
}

pub(crate) fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    let review = &state.review;
    let table = Table {
        title: (
            "Review",
            format!("{} in all · waiting for you: {}", review.list.len(), review.waiting()),
        ),
        list: &review.list,
        scroll: review.scroll,
        names: ["decided", "gate"],
        cells: |proposal| {
            let parts = proposal.parts.len();
            [
                format!("{}/{parts}", parts - proposal.waiting()),
                gate_in_short(proposal),
            ]
        },
    };
    table.draw(state, area, buf);
}

impl Table<'_> {
    /// Draws it with a heading; only rows on the screen are built.
    pub(super) fn draw(&self, state: &State, area: Rect, buf: &mut Buffer) {
        let theme = &state.theme;
        let title = vec![
            Span::raw(self.title.0),
            Span::styled(format!(" · {}", self.title.1), theme.style(Slot::Dim)),
        ];
        let inner = view::pane(buf, area, title, true, theme);
        let widths = widths(usize::from(inner.width));
        let names = ["state", "id", self.names[0], self.names[1], "author", "made"];
        let faint = theme.style(Slot::Faint);
        let heading = names.map(|name| (name.to_owned(), faint));
        put(
            buf,
            Rect { height: 1, ..inner },
            &widths,
            heading,
            ("title".to_owned(), faint),
        );
        let rows = Rect {
            y: inner.y + 1,
            height: inner.height.saturating_sub(1),
            ..inner
        };
        let height = usize::from(rows.height);
        let mut scroll = self.scroll;
        scroll.reveal(self.list.len(), height);
        for (y, index) in (0..).zip(scroll.visible(self.list.len(), height)) {
            let row = Rect {
                y: rows.y + y,
                height: 1,
                ..rows
            };
            self.draw_row(&self.list[index], &widths, row, buf, theme);
            if index == self.scroll.selected {
                buf.set_style(row, theme.selected(true));
            }
        }
        list::scrollbar(
            buf,
            area,
            scroll.top,
            self.list.len(),
            height,
            theme.style(Slot::BorderFocus),
        );
    }

    fn draw_row(&self, proposal: &Standing, widths: &[usize; 6], area: Rect, buf: &mut Buffer, theme: &Theme) {
        let (sign, word, slot) = standing(proposal);
        let style = if proposal.waits() {
            theme.bold(slot)
        } else {
            theme.style(slot)
        };
        let dim = theme.style(Slot::Dim);
        let [third, fourth] = (self.cells)(proposal);
        let cells = [
            (format!("{sign} {word}"), style),
            (proposal.id.to_string(), theme.style(Slot::Accent)),
            (third, dim),
            (fourth, dim),
            (proposal.author.clone(), dim),
            (when(&proposal.created), dim),
        ];
        let title = if proposal.waits() {
            theme.bold(Slot::Text)
        } else {
            theme.style(Slot::Text)
        };
        put(buf, area, widths, cells, (proposal.title.clone(), title));
    }
}

/// The columns that fit: what says least goes first.
fn widths(columns: usize) -> [usize; 6] {
    let mut widths = WIDTHS;
    for least in [4, 5, 2] {
        let used: usize = widths.iter().map(|width| width + usize::from(*width > 0)).sum();
        if used + 28 > columns {
            widths[least] = 0;
        }
    }
    widths
}

/// The cells, and the title in the room that is left: after the third.
fn put(buf: &mut Buffer, area: Rect, widths: &[usize; 6], cells: [(String, Style); 6], title: (String, Style)) {
    let used: usize = widths.iter().map(|width| width + usize::from(*width > 0)).sum();
    let room = usize::from(area.width).saturating_sub(used + 2);
    let mut line = vec![Span::raw(" ")];
    for (at, ((said, style), width)) in cells.into_iter().zip(widths).enumerate() {
        if at == 3 {
            let said = text::clean(text::head(&title.0, 500)).into_owned();
            line.push(Span::styled(format!("{} ", text::pad(&said, room)), title.1));
        }
        if *width > 0 {
            let said = text::clean(text::head(&said, 200)).into_owned();
            line.push(Span::styled(format!("{} ", text::pad(&said, *width)), style));
        }
    }
    text::put_line(buf, area, 0, &Line::from(line));
}
