//! What stands where in a difference, whatever is in the texts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;

use super::*;
use crate::review::parts_of;
use crate::tui::testing;

fn files(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
    texts
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

fn diff(old: &[(&str, &str)], new: &[(&str, &str)]) -> Diff {
    let (old, new) = (files(old), files(new));
    let parts = parts_of(&old, &new).into_iter().map(|part| (part, None)).collect();
    Diff::new(&old, parts)
}

fn drawn(diff: &mut Diff, shape: Shape, rows: u16) -> Buffer {
    diff.fit(shape);
    let screen = 0..usize::from(rows).min(diff.len());
    diff.refine(&screen);
    let mut buf = Buffer::empty(Rect::new(0, 0, shape.columns, rows));
    let area = buf.area;
    let theme = testing::theme();
    diff.draw(
        &mut buf,
        area,
        0,
        &Look {
            theme: &theme,
            head: &|part| Line::raw(format!("hunk {part}")),
            tone: &|_| Tone::Plain,
            colours: &|_, _, _| None,
            current: Some(0),
            cursor: None,
        },
    );
    buf
}

fn lines(buf: &Buffer) -> Vec<String> {
    (0..buf.area.height)
        .map(|y| {
            let row: String = (0..buf.area.width).map(|x| buf[(x, y)].symbol()).collect();
            row.trim_end().to_owned()
        })
        .collect()
}

const UNIFIED: Shape = Shape {
    columns: 40,
    beside: false,
};
const BESIDE: Shape = Shape {
    columns: 60,
    beside: true,
};

#[test]
fn unified_and_beside_show_the_same_lines_with_their_numbers() {
    let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 10\n", "line ten\nline 10b\n");
    let mut diff = diff(&[("a.md", &old)], &[("a.md", &new)]);
    let shown = lines(&drawn(&mut diff, UNIFIED, 16));
    assert_eq!(shown[0], "a.md");
    assert_eq!(shown[1], "   ⋯ 6 lines are the same (Enter shows …");
    assert_eq!(shown[2], "   7   7   line 7");
    assert_eq!(shown[5], "▌hunk 0");
    assert_eq!(shown[6], "▌ 10     - line 10");
    assert_eq!(shown[7], "▌     10 + line ten");
    assert_eq!(shown[8], "▌     11 + line 10b");
    assert_eq!(shown[9], "  11  12   line 11");
    let shown = lines(&drawn(&mut diff, BESIDE, 16));
    assert_eq!(shown[6], "▌ 10 - line 10                │ 10 + line ten");
    assert_eq!(shown[7], "▌                             │ 11 + line 10b");
    assert_eq!(shown[8], "  11   line 11                │ 12   line 11");
}

#[test]
fn folds_open_one_by_one_and_all_together() {
    let old: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 30\n", "line thirty\n");
    let mut diff = diff(&[("a.md", &old)], &[("a.md", &new)]);
    diff.fit(UNIFIED);
    let short = diff.len();
    assert!(!diff.unfold(0) && diff.unfold(1), "the second row is a fold");
    assert_eq!(diff.len(), short + 25);
    diff.unfold_all();
    assert_eq!(diff.len(), 60 + 3);
    diff.unfold_all();
    assert_eq!(diff.len(), short);
}

#[test]
fn words_that_changed_are_marked() {
    let mut diff = diff(
        &[("a.md", "Write what you see to map.txt.\n")],
        &[("a.md", "Write what is new to map.txt.\n")],
    );
    let buf = drawn(
        &mut diff,
        Shape {
            columns: 60,
            beside: false,
        },
        5,
    );
    let marked = |y: u16| -> String {
        (0..40)
            .filter(|x| buf[(*x, y)].modifier.contains(Modifier::UNDERLINED))
            .map(|x| buf[(x, y)].symbol())
            .collect()
    };
    assert_eq!(
        (marked(2).as_str(), marked(3).as_str()),
        ("yousee", "isnew"),
        "{:?}",
        lines(&buf)
    );
}

#[test]
fn long_lines_are_wrapped_and_every_row_of_them_can_be_seen() {
    let long = "word ".repeat(20_000);
    let mut diff = diff(&[("a.md", "x\n")], &[("a.md", &long)]);
    diff.fit(UNIFIED);
    let rows = diff.rows_of(0);
    assert!(rows.len() > 3_000, "{rows:?}");
    let shown = lines(&drawn(&mut diff, UNIFIED, 6));
    assert!(shown[3].starts_with("▌      1 + word word"), "{shown:?}");
    assert!(shown[4].starts_with("▌        + word"), "{shown:?}");
    assert_eq!(diff.part_at(rows.end - 1), Some(0));
}

#[test]
fn a_lost_line_end_is_seen() {
    let mut diff = diff(&[("a.md", "x\n")], &[("a.md", "x")]);
    let shown = lines(&drawn(&mut diff, UNIFIED, 5));
    assert!(
        shown[3].contains("+ x") && shown[3].contains("(no line end)"),
        "{shown:?}"
    );
}

#[test]
fn parts_are_found_by_their_rows() {
    let old: String = (1..=90).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 30\n", "l30\n").replace("line 60\n", "");
    let mut diff = diff(
        &[("a.md", &old), ("b.md", "gone\n")],
        &[("a.md", &new), ("c.md", "new\n")],
    );
    diff.fit(UNIFIED);
    assert_eq!(diff.pieces.len(), 4);
    for part in 0..4 {
        let rows = diff.rows_of(part);
        assert_eq!(diff.part_at(rows.start), Some(part));
        assert_eq!(diff.part_at(rows.end - 1), Some(part));
        assert_eq!(diff.parts_in(&rows), part..part + 1);
    }
    assert_eq!(diff.part_at(0), Some(0), "before the first part it is that");
    assert_eq!(diff.parts_in(&(0..diff.len())), 0..4);
    assert_eq!((diff.file_of(1), diff.file_of(2), diff.file_of(3)), (0, 1, 2));
    let wanted = diff.sources(&(0..diff.len()), 5);
    assert_eq!(wanted[&(0, Side::Old)], [26..33, 56..63]);
    assert_eq!(wanted[&(2, Side::New)], vec![0..1; 1]);
}

#[test]
fn hostile_and_wide_text_is_drawn_harmless() {
    let evil =
        "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}a\tb\r\n漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 e\u{301}\u{200d}\n\0";
    let mut diff = diff(
        &[("a.md", evil), (evil, "x\n")],
        &[("a.md", &evil.replace('a', "b\u{1b}c")), (evil, "y\n")],
    );
    for columns in [3, 12, 20, 40, 90] {
        for beside in [false, true] {
            let buf = drawn(&mut diff, Shape { columns, beside }, 40);
            for cell in buf.content() {
                assert!(
                    !cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'),
                    "{:?}",
                    cell.symbol()
                );
            }
        }
    }
}

#[test]
fn five_thousand_parts_are_laid_out_at_once() {
    let old: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let new: String = (0..10_000)
        .map(|n| {
            if n % 2 == 0 {
                format!("new {n}\n")
            } else {
                format!("line {n}\n")
            }
        })
        .collect();
    let mut diff = diff(&[("a.md", &old)], &[("a.md", &new)]);
    assert_eq!(diff.pieces.len(), 5_000);
    let began = std::time::Instant::now();
    drawn(&mut diff, UNIFIED, 40);
    // Far from a measurement: `automem bench tui` is one.
    assert!(began.elapsed().as_millis() < 1000);
    assert_eq!(diff.part_at(diff.rows_of(4_321).start), Some(4_321));
}
