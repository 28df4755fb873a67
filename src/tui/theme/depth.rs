//! How many colours a terminal shows, and the nearest one it has that can still be read.
//!
//! Owns palettes and contrast. Must not know what a colour means.

use std::sync::LazyLock;

use ratatui::style::Color;

use super::Rgb;

/// How many colours a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None: marks, words and modifiers carry everything.
    Mono,
    /// The 16 of old.
    Ansi16,
    /// The 256-colour palette.
    Ansi256,
    /// 24 bits.
    True,
}

impl Depth {
    /// From the environment: `NO_COLOR`, `COLORTERM`, `TERM`.
    pub fn detect() -> Self {
        let get = |name| std::env::var(name).unwrap_or_default();
        Self::from_variables(&get("NO_COLOR"), &get("COLORTERM"), &get("TERM"))
    }

    /// The rule behind [`Depth::detect`]; unset variables are empty.
    pub fn from_variables(no_color: &str, colorterm: &str, term: &str) -> Self {
        const RICH: &[&str] = &["kitty", "ghostty", "alacritty", "wezterm", "foot", "direct"];
        if !no_color.is_empty() || term == "dumb" {
            Self::Mono
        } else if matches!(colorterm, "truecolor" | "24bit") || RICH.iter().any(|name| term.contains(name)) {
            Self::True
        } else if term.contains("256color") {
            Self::Ansi256
        } else {
            Self::Ansi16
        }
    }

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mono => "no colours",
            Self::Ansi16 => "16 colours",
            Self::Ansi256 => "256 colours",
            Self::True => "true colour",
        }
    }
}

/// The 16 colours by name, in the order of their numbers.
pub(in crate::tui) const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// What the 16 colours look like in xterm and on the Linux console. People choose their own, so a
/// colour is only used where it can be read in both.
pub(super) const PALETTES: [[Rgb; 16]; 2] = [
    [
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ],
    [
        (0, 0, 0),
        (170, 0, 0),
        (0, 170, 0),
        (170, 85, 0),
        (0, 0, 170),
        (170, 0, 170),
        (0, 170, 170),
        (170, 170, 170),
        (85, 85, 85),
        (255, 85, 85),
        (85, 255, 85),
        (255, 255, 85),
        (85, 85, 255),
        (255, 85, 255),
        (85, 255, 255),
        (255, 255, 255),
    ],
];

/// The ground that a terminal of 16 colours is taken to have under a dark or a light theme.
pub(super) fn terminal_ground(dark: bool) -> Rgb {
    if dark { (0, 0, 0) } else { (255, 255, 255) }
}

/// The contrast of two colours as WCAG 2 defines it, from 1 to 21.
pub(super) fn contrast(a: Rgb, b: Rgb) -> f32 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// A part of a colour as light; a table, since letters ask for it cell by cell.
fn linear(value: u8) -> f32 {
    static LIGHT: LazyLock<Vec<f32>> = LazyLock::new(|| {
        (0..=255u8)
            .map(|value| {
                let value = f32::from(value) / 255.0;
                if value <= 0.040_45 {
                    value / 12.92
                } else {
                    ((value + 0.055) / 1.055).powf(2.4)
                }
            })
            .collect()
    });
    LIGHT.get(usize::from(value)).copied().unwrap_or(1.0)
}

fn luminance((r, g, b): Rgb) -> f32 {
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/// Lightness and the two colour axes of the Oklab space (Ottosson 2020), where distances are what
/// eyes see.
fn oklab((r, g, b): Rgb) -> [f32; 3] {
    let (r, g, b) = (linear(r), linear(g), linear(b));
    let l = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
    let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
    let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
    [
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    ]
}

fn distance(a: Rgb, b: Rgb) -> f32 {
    apart(oklab(a), oklab(b))
}

fn apart(a: [f32; 3], b: [f32; 3]) -> f32 {
    a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// The hue as an angle in degrees; `None` for a grey.
fn hue((r, g, b): Rgb) -> Option<f32> {
    let (max, min) = (r.max(g).max(b), r.min(g).min(b));
    let spread = f32::from(max - min);
    if spread < 30.0 {
        return None;
    }
    let (r, g, b, top) = (f32::from(r), f32::from(g), f32::from(b), f32::from(max));
    let sixth = if top == r {
        ((g - b) / spread).rem_euclid(6.0)
    } else if top == g {
        (b - r) / spread + 2.0
    } else {
        (r - g) / spread + 4.0
    };
    Some(sixth * 60.0)
}

/// Angle between two hues, in degrees; `None` when one of the colours is a grey.
fn hue_apart(a: Rgb, b: Rgb) -> Option<f32> {
    let apart = (hue(a)? - hue(b)?).abs();
    Some(apart.min(360.0 - apart))
}

/// The colour of a number from 16 on: the cube of 216, then 24 greys.
pub(super) fn indexed(number: u8) -> Rgb {
    if number >= 232 {
        let level = 8 + 10 * (number - 232);
        return (level, level, level);
    }
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    let n = number.saturating_sub(16);
    (level(n / 36), level(n / 6 % 6), level(n % 6))
}

/// The nearest of the 240 fixed colours that satisfies `wanted`.
fn nearest256(rgb: Rgb, wanted: impl Fn(Rgb) -> bool) -> Option<u8> {
    static FIXED: LazyLock<Vec<(u8, [f32; 3])>> =
        LazyLock::new(|| (16..=255).map(|number| (number, oklab(indexed(number)))).collect());
    let lab = oklab(rgb);
    FIXED
        .iter()
        .filter(|(number, _)| wanted(indexed(*number)))
        .map(|(number, other)| (*number, apart(*other, lab)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(number, _)| number)
}

/// A colour as paint: near to it, whatever stands beside it. Cheap: pictures ask for every pixel.
pub(super) fn paint(rgb: Rgb, depth: Depth, dark: bool) -> Color {
    match depth {
        Depth::Mono => Color::Reset,
        Depth::Ansi16 => ansi16(rgb, dark),
        Depth::Ansi256 => Color::Indexed(ansi256(rgb)),
        Depth::True => Color::Rgb(rgb.0, rgb.1, rgb.2),
    }
}

/// The paint of a letter on the paint of its ground, changed to black or white where it could not
/// be told from it.
pub(super) fn pair(letter: Rgb, ground: Rgb, depth: Depth, dark: bool) -> (Color, Color) {
    let (ink, back) = (paint(letter, depth, dark), paint(ground, depth, dark));
    let readable = (0..PALETTES.len()).all(|palette| match (shown(ink, palette), shown(back, palette)) {
        (Some(ink), Some(back)) => contrast(ink, back) >= 3.0,
        _ => true,
    });
    if readable {
        return (ink, back);
    }
    let light = contrast(ground, (255, 255, 255)) > contrast(ground, (0, 0, 0));
    let clear = if light { (255, 255, 255) } else { (0, 0, 0) };
    (paint(clear, depth, true), back)
}

/// The nearest of the 240 fixed colours (cube and greys) of the 256-colour palette.
fn ansi256((r, g, b): Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = |value: u8| {
        let mut best = 0usize;
        for (index, level) in LEVELS.iter().enumerate() {
            if level.abs_diff(value) < LEVELS[best].abs_diff(value) {
                best = index;
            }
        }
        best
    };
    let distance = |x: Rgb| {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(x.0, r) + square(x.1, g) + square(x.2, b)
    };
    let (ri, gi, bi) = (nearest(r), nearest(g), nearest(b));
    let cube = (LEVELS[ri], LEVELS[gi], LEVELS[bi]);
    let mean = (u32::from(r) + u32::from(g) + u32::from(b)) / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    let grey_level = 8 + grey * 10;
    if distance((grey_level, grey_level, grey_level)) < distance(cube) {
        232 + grey
    } else {
        (16 + 36 * ri + 6 * gi + bi) as u8
    }
}

/// One of the 16 colours by hue, so that a pastel does not end as grey.
fn ansi16((r, g, b): Rgb, bright: bool) -> Color {
    let (max, min) = (r.max(g).max(b), r.min(g).min(b));
    let spread = max - min;
    if spread < 40 {
        return match max {
            0..=50 => Color::Black,
            51..=140 => Color::DarkGray,
            141..=215 => Color::Gray,
            _ => Color::White,
        };
    }
    let (rf, gf, bf) = (f32::from(r), f32::from(g), f32::from(b));
    let spread = f32::from(spread);
    let hue = 60.0
        * if max == r {
            ((gf - bf) / spread).rem_euclid(6.0)
        } else if max == g {
            (bf - rf) / spread + 2.0
        } else {
            (rf - gf) / spread + 4.0
        };
    let pair = match hue as u32 {
        0..=20 | 330..=360 => (Color::Red, Color::LightRed),
        21..=75 => (Color::Yellow, Color::LightYellow),
        76..=165 => (Color::Green, Color::LightGreen),
        166..=200 => (Color::Cyan, Color::LightCyan),
        201..=255 => (Color::Blue, Color::LightBlue),
        _ => (Color::Magenta, Color::LightMagenta),
    };
    if bright && max > 150 { pair.1 } else { pair.0 }
}

/// A ground that differs from those named, where the palette has one.
pub(super) fn ground(rgb: Rgb, depth: Depth, others: &[Color]) -> Color {
    match depth {
        Depth::Ansi256 => {
            let taken = |other: Rgb| {
                others
                    .iter()
                    .any(|color| matches!(color, Color::Indexed(n) if indexed(*n) == other))
            };
            nearest256(rgb, |color| !taken(color)).map_or_else(|| paint(rgb, depth, true), Color::Indexed)
        }
        // 16 colours are the user's own: their ground and their plain text fit each other.
        Depth::Ansi16 | Depth::Mono => Color::Reset,
        Depth::True => paint(rgb, depth, true),
    }
}

/// A colour to write in: the nearest there is that has the wanted contrast to every ground. In 16
/// colours the ground is the terminal's own, and what cannot be read becomes plain text.
pub(super) fn ink(rgb: Rgb, grounds: &[Rgb], wanted: f32, depth: Depth, dark: bool) -> Color {
    let least = |color: Rgb, grounds: &[Rgb]| {
        grounds
            .iter()
            .map(|ground| contrast(color, *ground))
            .fold(21.0, f32::min)
    };
    match depth {
        Depth::Mono | Depth::True => paint(rgb, depth, true),
        Depth::Ansi256 => nearest256(rgb, |color| least(color, grounds) >= wanted)
            .or_else(|| (16..=255u8).max_by(|a, b| least(indexed(*a), grounds).total_cmp(&least(indexed(*b), grounds))))
            .map_or(Color::Reset, Color::Indexed),
        Depth::Ansi16 => {
            let ground = [terminal_ground(dark)];
            let readable = |at: &usize| PALETTES.iter().all(|palette| least(palette[*at], &ground) >= wanted);
            let worth = |at: usize| match hue_apart(PALETTES[0][at], rgb) {
                // Bright ones stand out on black, the others on white.
                Some(apart) if apart <= MOST_APART => Some(apart + if dark == (at < 8) { 10.0 } else { 0.0 }),
                Some(_) => None,
                None if hue(rgb).is_some() => None,
                None => Some(distance(PALETTES[0][at], rgb)),
            };
            (0..16)
                .filter(readable)
                .filter_map(|at| Some((at, worth(at)?)))
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .map_or(Color::Reset, |(at, _)| match NAMED[at] {
                    Color::Black if !dark => Color::Reset,
                    Color::White if dark => Color::Reset,
                    color => color,
                })
        }
    }
}

/// Degrees between two hues up to which one may stand for the other.
const MOST_APART: f32 = 75.0;

/// What a colour looks like; `None` for the terminal's own.
pub(super) fn shown(color: Color, palette: usize) -> Option<Rgb> {
    match color {
        Color::Reset => None,
        Color::Rgb(r, g, b) => Some((r, g, b)),
        Color::Indexed(n) if n >= 16 => Some(indexed(n)),
        Color::Indexed(n) => Some(PALETTES[palette][usize::from(n)]),
        named => NAMED
            .iter()
            .position(|known| *known == named)
            .map(|at| PALETTES[palette][at]),
    }
}
