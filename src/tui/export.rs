//! A drawn screen as a file: plain text, text with colours, or a picture (SVG).
//!
//! Owns the forms. Must not know what is on the screen.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use super::theme::{NAMED, Slot, Theme};

/// A form a screen is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Characters only.
    Text,
    /// Characters with ANSI colours.
    Ansi,
    /// A picture.
    Svg,
}

impl Format {
    /// The form that a file name's ending asks for: `.svg`, `.ansi`, anything else is text.
    pub fn of_name(name: &str) -> Self {
        match name
            .rsplit_once('.')
            .map(|(_, end)| end.to_ascii_lowercase())
            .as_deref()
        {
            Some("svg") => Self::Svg,
            Some("ansi" | "ans") => Self::Ansi,
            _ => Self::Text,
        }
    }
}

/// Writes a screen.
pub(crate) fn export(buf: &Buffer, format: Format, theme: &Theme) -> String {
    match format {
        Format::Text => text(buf),
        Format::Ansi => ansi(buf),
        Format::Svg => svg(buf, theme),
    }
}

/// The cells of a row with their column; what a wide character covers is left out.
fn row(buf: &Buffer, y: u16) -> impl Iterator<Item = (u16, &Cell)> {
    let mut skip = 0;
    (0..buf.area.width).filter_map(move |x| {
        let cell = buf.cell((buf.area.x + x, buf.area.y + y))?;
        if skip > 0 {
            skip -= 1;
            return None;
        }
        skip = cell.symbol().width().saturating_sub(1);
        Some((x, cell))
    })
}

fn text(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buf.area.height {
        let line: String = row(buf, y).map(|(_, cell)| cell.symbol()).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn ansi(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buf.area.height {
        let mut last = None;
        for (_, cell) in row(buf, y) {
            let style = (cell.fg, cell.bg, cell.modifier);
            if last != Some(style) {
                out.push_str("\u{1b}[0");
                for (flag, code) in [
                    (Modifier::BOLD, ";1"),
                    (Modifier::DIM, ";2"),
                    (Modifier::ITALIC, ";3"),
                    (Modifier::UNDERLINED, ";4"),
                    (Modifier::REVERSED, ";7"),
                ] {
                    if cell.modifier.contains(flag) {
                        out.push_str(code);
                    }
                }
                color_code(&mut out, cell.fg, 38);
                color_code(&mut out, cell.bg, 48);
                out.push('m');
                last = Some(style);
            }
            out.push_str(cell.symbol());
        }
        out.push_str("\u{1b}[0m\n");
    }
    out
}

fn color_code(out: &mut String, color: Color, base: u8) {
    // Writing into a string cannot fail.
    let _ = match color {
        Color::Reset => Ok(()),
        Color::Rgb(r, g, b) => write!(out, ";{base};2;{r};{g};{b}"),
        Color::Indexed(n) => write!(out, ";{base};5;{n}"),
        named => write!(out, ";{base};5;{}", index(named)),
    };
}

/// The number of one of the 16 colours.
fn index(color: Color) -> u8 {
    NAMED.iter().position(|known| *known == color).unwrap_or(7) as u8
}

/// Pixels of a character cell; DejaVu Sans Mono at 15 pixels is 9.03 wide.
const CELL: (f32, f32) = (9.03, 18.0);

fn svg(buf: &Buffer, theme: &Theme) -> String {
    let (columns, rows) = (buf.area.width, buf.area.height);
    let (width, height) = (f32::from(columns) * CELL.0, f32::from(rows) * CELL.1);
    let ground = rgb(theme.color(Slot::Background), theme.rgb(Slot::Background));
    let plain = rgb(theme.color(Slot::Text), theme.rgb(Slot::Text));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.2} {height:.2}\" shape-rendering=\"crispEdges\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"15\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{ground}\"/>\n"
    );
    for y in 0..rows {
        svg_grounds(&mut out, buf, y, (&ground, &plain), theme);
        svg_texts(&mut out, buf, y, (&ground, &plain), theme);
    }
    out.push_str("</svg>\n");
    out
}

/// Ink and ground of a cell as they show.
fn paints(cell: &Cell, (ground, plain): (&str, &str), theme: &Theme) -> (String, String) {
    let resolve = |color, none: &str| match color {
        Color::Reset => none.to_owned(),
        color => rgb(color, theme.rgb(Slot::Text)),
    };
    let (ink, back) = (resolve(cell.fg, plain), resolve(cell.bg, ground));
    if cell.modifier.contains(Modifier::REVERSED) {
        (back, ink)
    } else {
        (ink, back)
    }
}

fn svg_grounds(out: &mut String, buf: &Buffer, y: u16, base: (&str, &str), theme: &Theme) {
    let mut run: Option<(u16, u16, String)> = None;
    let mut flush = |run: &mut Option<(u16, u16, String)>| {
        if let Some((from, to, fill)) = run.take()
            && fill != base.0
        {
            rect(out, from, to, f32::from(y), 1.0, &fill);
        }
    };
    for (x, cell) in row(buf, y) {
        let wide = cell.symbol().width().max(1) as u16;
        let (_, back) = paints(cell, base, theme);
        match &mut run {
            Some((_, to, fill)) if *fill == back && *to == x => *to = x + wide,
            _ => {
                flush(&mut run);
                run = Some((x, x + wide, back));
            }
        }
    }
    flush(&mut run);
    for (x, cell) in row(buf, y).filter(|(_, cell)| cell.symbol() == "▀") {
        let (ink, _) = paints(cell, base, theme);
        rect(out, x, x + 1, f32::from(y), 0.5, &ink);
    }
}

fn rect(out: &mut String, from: u16, to: u16, y: f32, height: f32, fill: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{fill}\"/>",
        f32::from(from) * CELL.0,
        y * CELL.1,
        f32::from(to - from) * CELL.0,
        height * CELL.1
    );
}

/// One text element for each run of equal style; blanks end a run, so that columns stay exact.
fn svg_texts(out: &mut String, buf: &Buffer, y: u16, base: (&str, &str), theme: &Theme) {
    let mut run: Option<(u16, String, String, Modifier)> = None;
    for (x, cell) in row(buf, y) {
        let symbol = cell.symbol();
        if symbol == " " || symbol == "▀" || symbol.is_empty() {
            svg_text(out, y, run.take());
            continue;
        }
        let (ink, _) = paints(cell, base, theme);
        let style = cell.modifier & (Modifier::BOLD | Modifier::ITALIC | Modifier::UNDERLINED | Modifier::DIM);
        match &mut run {
            Some((_, text, fill, modifier))
                if *fill == ink && *modifier == style && symbol.is_ascii() && text.is_ascii() =>
            {
                text.push_str(symbol);
            }
            _ => {
                svg_text(out, y, run.take());
                run = Some((x, symbol.to_owned(), ink, style));
            }
        }
    }
    svg_text(out, y, run);
}

fn svg_text(out: &mut String, y: u16, run: Option<(u16, String, String, Modifier)>) {
    let Some((x, text, fill, modifier)) = run else {
        return;
    };
    let mut more = String::new();
    for (flag, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::DIM, " opacity=\"0.7\""),
    ] {
        if modifier.contains(flag) {
            more.push_str(attribute);
        }
    }
    let wide = text.width() as f32 * CELL.0;
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{:.2}\" y=\"{:.2}\" textLength=\"{wide:.2}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{more}>{text}</text>",
        f32::from(x) * CELL.0,
        f32::from(y) * CELL.1 + 13.8,
    );
}

/// A colour as `#rrggbb`; named and indexed ones as terminals usually show them.
fn rgb(color: Color, none: (u8, u8, u8)) -> String {
    const NAMED: [(u8, u8, u8); 16] = [
        (0, 0, 0),
        (205, 49, 49),
        (13, 158, 90),
        (180, 140, 20),
        (60, 110, 220),
        (170, 70, 180),
        (17, 148, 178),
        (190, 190, 190),
        (110, 110, 110),
        (241, 96, 96),
        (50, 200, 130),
        (230, 200, 70),
        (100, 150, 250),
        (214, 120, 220),
        (60, 190, 220),
        (240, 240, 240),
    ];
    let (r, g, b) = match color {
        Color::Reset => none,
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Indexed(n @ 0..16) => NAMED[usize::from(n)],
        Color::Indexed(n @ 16..232) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let n = n - 16;
            (level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        Color::Indexed(n) => {
            let level = 8 + 10 * (n - 232);
            (level, level, level)
        }
        named => NAMED[usize::from(index(named))],
    };
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn sample() -> Buffer {
        let mut buf = Buffer::empty(Rect::new(0, 0, 8, 2));
        buf.set_string(
            0,
            0,
            "漢<b>",
            Style::new().fg(Color::Rgb(1, 2, 3)).add_modifier(Modifier::BOLD),
        );
        buf.set_string(0, 1, "▀", Style::new().fg(Color::Red).bg(Color::Indexed(16)));
        buf
    }

    #[test]
    fn text_keeps_columns() {
        assert_eq!(export(&sample(), Format::Text, &testing::theme()), "漢<b>\n▀\n");
    }

    #[test]
    fn ansi_names_every_colour_once_a_run() {
        let out = export(&sample(), Format::Ansi, &testing::theme());
        assert!(out.starts_with("\u{1b}[0;1;38;2;1;2;3m漢<b>"), "{out:?}");
        assert!(out.contains("38;5;1;48;5;16m▀"));
    }

    #[test]
    fn svg_escapes_and_draws_half_blocks_as_rectangles() {
        let out = export(&sample(), Format::Svg, &testing::theme());
        assert!(out.contains("&lt;b&gt;"));
        assert!(!out.contains('▀'));
        assert!(out.contains("height=\"9.00\""));
        assert_eq!(Format::of_name("a.SVG"), Format::Svg);
        assert_eq!(Format::of_name("a"), Format::Text);
    }
}
