//! Marks what a search looks for wherever it stands on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Lays a style over every place of an area that shows the text; capitals and small letters are
/// alike. Goes by what is drawn, row by row.
pub(crate) fn mark(buf: &mut Buffer, area: Rect, text: &str, style: Style) {
    let needle: Vec<String> = text
        .chars()
        .filter(|c| !c.is_control())
        .map(|c| c.to_lowercase().collect())
        .collect();
    if needle.is_empty() {
        return;
    }
    let area = area.intersection(buf.area);
    for y in area.top()..area.bottom() {
        let row: Vec<(u16, String)> = (area.left()..area.right())
            .filter_map(|x| Some((x, buf.cell((x, y))?.symbol())))
            // The second half of a wide letter holds nothing.
            .filter(|(_, symbol)| !symbol.is_empty())
            .map(|(x, symbol)| (x, symbol.to_lowercase()))
            .collect();
        let mut at = 0;
        while at + needle.len() <= row.len() {
            let here = &row[at..at + needle.len()];
            if here.iter().zip(&needle).all(|((_, symbol), wanted)| symbol == wanted) {
                for (x, _) in here {
                    if let Some(cell) = buf.cell_mut((*x, y)) {
                        cell.set_style(style);
                    }
                }
                at += needle.len();
            } else {
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Color;

    #[test]
    fn every_place_is_marked_and_nothing_else() {
        let area = Rect::new(0, 0, 20, 2);
        let mut buf = Buffer::empty(area);
        buf.set_string(0, 0, "a Tree, a tree", Style::new());
        buf.set_string(0, 1, "漢字 TREE", Style::new());
        mark(&mut buf, Rect::new(0, 0, 99, 99), "tree", Style::new().bg(Color::Red));
        let marked: Vec<(u16, u16)> = area
            .positions()
            .filter(|at| buf[*at].bg == Color::Red)
            .map(|at| (at.x, at.y))
            .collect();
        let expected: Vec<(u16, u16)> = (2..6)
            .chain(10..14)
            .map(|x| (x, 0))
            .chain((5..9).map(|x| (x, 1)))
            .collect();
        assert_eq!(marked, expected);
        let before = buf.clone();
        mark(&mut buf, area, "", Style::new().bg(Color::Blue));
        mark(&mut buf, area, "tower", Style::new().bg(Color::Blue));
        assert_eq!(buf, before);
    }
}
