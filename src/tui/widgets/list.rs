//! Scrolling: which part of something long is on the screen. Only visible rows are ever built.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Where a list or a text is scrolled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scroll {
    /// First visible row.
    pub(crate) top: usize,
    /// Selected row; for texts without a selection it stays 0.
    pub(crate) selected: usize,
}

impl Scroll {
    /// Moves the selection and keeps it on the screen.
    pub(crate) fn select(&mut self, to: usize, len: usize, height: usize) {
        self.selected = to.min(len.saturating_sub(1));
        self.reveal(len, height);
    }

    /// Moves the selection by so many rows.
    pub(crate) fn select_by(&mut self, rows: isize, len: usize, height: usize) {
        self.select(self.selected.saturating_add_signed(rows), len, height);
    }

    /// Scrolls without a selection.
    pub(crate) fn scroll_by(&mut self, rows: isize, len: usize, height: usize) {
        self.top = self.top.saturating_add_signed(rows).min(len.saturating_sub(height));
    }

    /// Brings the selection onto the screen with a margin of two rows where there is room.
    pub(crate) fn reveal(&mut self, len: usize, height: usize) {
        let margin = if height > 8 { 2 } else { 0 };
        if self.selected < self.top + margin {
            self.top = self.selected.saturating_sub(margin);
        } else if self.selected + margin >= self.top + height {
            self.top = (self.selected + margin + 1).saturating_sub(height);
        }
        self.top = self.top.min(len.saturating_sub(height));
    }

    /// The rows on the screen.
    pub(crate) fn visible(&self, len: usize, height: usize) -> std::ops::Range<usize> {
        let top = self.top.min(len.saturating_sub(height));
        top..(top + height).min(len)
    }
}

/// Draws a scroll bar over the right border of a pane, if not everything is visible.
pub(crate) fn scrollbar(buf: &mut Buffer, border: Rect, top: usize, len: usize, height: usize, style: Style) {
    if len <= height || height < 3 || border.height < 3 {
        return;
    }
    let track = usize::from(border.height - 2);
    let thumb = (height * track / len).clamp(1, track);
    let place = (top * (track - thumb) + (len - height) / 2) / (len - height);
    for row in place..(place + thumb).min(track) {
        if let Some(cell) = buf.cell_mut((border.right() - 1, border.y + 1 + row as u16)) {
            cell.set_symbol("┃").set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selection_stays_on_the_screen() {
        let mut scroll = Scroll::default();
        scroll.select_by(30, 100, 10);
        assert_eq!(scroll.selected, 30);
        assert!(scroll.visible(100, 10).contains(&30));
        scroll.select(99, 100, 10);
        assert_eq!(scroll.visible(100, 10), 90..100);
        scroll.select_by(-200, 100, 10);
        assert_eq!(scroll.visible(100, 10), 0..10);
        scroll.select(5, 3, 10);
        assert_eq!(scroll.selected, 2);
        scroll.select(5, 0, 10);
        assert_eq!(scroll.visible(0, 10), 0..0);
    }

    #[test]
    fn the_bar_reaches_both_ends() {
        let area = Rect::new(0, 0, 4, 12);
        let thumb_rows = |top| {
            let mut buf = Buffer::empty(area);
            scrollbar(&mut buf, area, top, 1000, 10, Style::new());
            (0..12).filter(|&y| buf[(3, y)].symbol() == "┃").collect::<Vec<_>>()
        };
        assert_eq!(thumb_rows(0), [1]);
        assert_eq!(thumb_rows(990), [10]);
    }
}
