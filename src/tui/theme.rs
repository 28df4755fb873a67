//! Themes: colours named by what they mean, and how they degrade on lesser terminals.
//!
//! Owns the list of names and the files under `themes/`. Must not know where a colour is used.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

static THEMES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/themes");

macro_rules! slots {
    ($($(#[$doc:meta])* $slot:ident = $name:literal,)*) => {
        /// What a colour means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Slot { $($(#[$doc])* $slot,)* }

        impl Slot {
            /// Every slot, in the order of their numbers.
            pub const ALL: &'static [Slot] = &[$(Slot::$slot,)*];

            /// The name in a theme file.
            pub fn name(self) -> &'static str {
                match self { $(Slot::$slot => $name,)* }
            }
        }
    };
}

slots! {
    /// Behind everything.
    Background = "background",
    /// Behind the header and the hint line.
    Surface = "surface",
    /// Behind what lies over the screen.
    Overlay = "overlay",
    /// Behind the selected row of the focused pane.
    Selection = "selection",
    /// Behind the selected row of another pane.
    SelectionIdle = "selection_idle",
    /// Behind what a search found.
    Match = "match",
    /// Behind an added line.
    AddedGround = "added_ground",
    /// Behind a removed line.
    RemovedGround = "removed_ground",
    /// Plain text.
    Text = "text",
    /// Text of second rank.
    Dim = "dim",
    /// Text of third rank: line numbers, rules.
    Faint = "faint",
    /// A pane's border.
    Border = "border",
    /// The focused pane's border.
    BorderFocus = "border_focus",
    /// A pane's title.
    Title = "title",
    /// What stands out.
    Accent = "accent",
    /// A key in hints and help.
    Key = "key",
    /// A heading, a file name.
    Heading = "heading",
    /// Quoted text.
    Quote = "string",
    /// It went well.
    Good = "good",
    /// It went wrong.
    Bad = "bad",
    /// It needs a look.
    Warn = "warn",
    /// A notice.
    Info = "info",
    /// The live end.
    Live = "live",
    /// Paused.
    Paused = "paused",
    /// The cursor on the timeline.
    Cursor = "cursor",
    /// A reward.
    Reward = "reward",
    /// A memory write.
    Write = "write",
    /// A memory read.
    Read = "read",
    /// An invalid action or an error.
    Invalid = "invalid",
    /// A stuck spell.
    Stuck = "stuck",
    /// A person's doing.
    Human = "human",
    /// The LOG phase.
    Log = "log",
    /// The PLAN phase.
    Plan = "plan",
    /// A committed action.
    Action = "action",
    /// A tag of the protocol.
    Tag = "tag",
    /// An argument inside a tag.
    Argument = "argument",
    /// A thinking block.
    Thinking = "thinking",
    /// An added line.
    Added = "added",
    /// A removed line.
    Removed = "removed",
    /// A changed line.
    Changed = "changed",
    /// Health.
    Health = "health",
    /// Food.
    Food = "food",
    /// Drink.
    Drink = "drink",
    /// Energy.
    Energy = "energy",
}

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
}

/// Why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// No theme has this name.
    #[error("there is no theme `{name}`; the themes are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The file does not parse.
    #[error("themes/{name}.toml: {cause}")]
    File {
        /// The theme.
        name: String,
        /// What is wrong.
        cause: String,
    },
}

/// A theme file as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    dark: bool,
    inherits: Option<String>,
    #[serde(default)]
    colors: BTreeMap<String, String>,
}

/// A checked theme, its colours already fit for the terminal.
#[derive(Debug, Clone)]
pub struct Theme {
    name: String,
    dark: bool,
    depth: Depth,
    rgb: Vec<(u8, u8, u8)>,
    colors: Vec<Color>,
}

impl Theme {
    /// Names of the themes in the binary.
    pub fn names() -> Vec<String> {
        let mut names: Vec<String> = THEMES
            .files()
            .filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        names
    }

    /// Loads a theme for terminals of the given depth.
    ///
    /// # Errors
    /// When there is no such theme or its file is wrong.
    pub fn load(name: &str, depth: Depth) -> Result<Self, ThemeError> {
        let mut colors = BTreeMap::new();
        let raw = collect(name, &mut colors, 0)?;
        let wrong = |cause| ThemeError::File {
            name: name.to_owned(),
            cause,
        };
        let mut rgb = Vec::with_capacity(Slot::ALL.len());
        for slot in Slot::ALL {
            let text = colors
                .remove(slot.name())
                .ok_or_else(|| wrong(format!("no colour `{}`", slot.name())))?;
            rgb.push(parse_hex(&text).ok_or_else(|| wrong(format!("`{text}` is no colour; write it as #rrggbb")))?);
        }
        if let Some(extra) = colors.keys().next() {
            return Err(wrong(format!("`{extra}` is the name of no colour")));
        }
        let mut theme = Self {
            name: raw.name,
            dark: raw.dark,
            depth,
            rgb,
            colors: Vec::new(),
        };
        theme.colors = Slot::ALL.iter().map(|&slot| theme.resolve(slot)).collect();
        Ok(theme)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its ground is dark.
    pub fn is_dark(&self) -> bool {
        self.dark
    }

    /// What the terminal can show.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// The colour of a slot.
    pub fn color(&self, slot: Slot) -> Color {
        self.colors.get(slot as usize).copied().unwrap_or(Color::Reset)
    }

    /// The colour of a slot before it was made fit for the terminal.
    pub fn rgb(&self, slot: Slot) -> (u8, u8, u8) {
        self.rgb.get(slot as usize).copied().unwrap_or_default()
    }

    /// Text in the colour of a slot.
    pub fn style(&self, slot: Slot) -> Style {
        let style = Style::new().fg(self.color(slot));
        match slot {
            Slot::Dim | Slot::Faint if self.depth == Depth::Mono => style.add_modifier(Modifier::DIM),
            _ => style,
        }
    }

    /// Bold text in the colour of a slot.
    pub fn bold(&self, slot: Slot) -> Style {
        self.style(slot).add_modifier(Modifier::BOLD)
    }

    /// Plain text on the theme's ground.
    pub fn base(&self) -> Style {
        Style::new().fg(self.color(Slot::Text)).bg(self.color(Slot::Background))
    }

    /// Text of a slot on the ground of another.
    pub fn on(&self, text: Slot, ground: Slot) -> Style {
        self.style(text).bg(self.color(ground))
    }

    /// What is laid over a selected row.
    pub fn selected(&self, focused: bool) -> Style {
        match (self.depth, focused) {
            (Depth::Mono | Depth::Ansi16, true) => Style::new().add_modifier(Modifier::REVERSED),
            (Depth::Mono | Depth::Ansi16, false) => Style::new().add_modifier(Modifier::UNDERLINED),
            (_, true) => Style::new().bg(self.color(Slot::Selection)),
            (_, false) => Style::new().bg(self.color(Slot::SelectionIdle)),
        }
    }

    /// What is laid over a place that a search found.
    pub fn matched(&self) -> Style {
        match self.depth {
            Depth::Mono | Depth::Ansi16 => Style::new().add_modifier(Modifier::REVERSED),
            _ => Style::new().bg(self.color(Slot::Match)),
        }
    }

    /// Any colour, made fit for the terminal.
    pub fn fit(&self, rgb: (u8, u8, u8)) -> Color {
        match self.depth {
            Depth::Mono => Color::Reset,
            Depth::Ansi16 => ansi16(rgb, self.dark),
            Depth::Ansi256 => ansi256(rgb),
            Depth::True => Color::Rgb(rgb.0, rgb.1, rgb.2),
        }
    }

    fn resolve(&self, slot: Slot) -> Color {
        let ground = matches!(
            slot,
            Slot::Background
                | Slot::Surface
                | Slot::Overlay
                | Slot::Selection
                | Slot::SelectionIdle
                | Slot::Match
                | Slot::AddedGround
                | Slot::RemovedGround
        );
        match (self.depth, slot) {
            // 16 colours are the user's own: their ground and their plain text fit each other.
            (Depth::Ansi16, _) if ground => Color::Reset,
            (Depth::Ansi16, Slot::Text | Slot::Cursor | Slot::Title) => Color::Reset,
            (Depth::Ansi16, Slot::Faint | Slot::Border) => Color::DarkGray,
            (Depth::Ansi16, Slot::Dim) if self.dark => Color::Gray,
            (Depth::Ansi16, Slot::Dim) => Color::DarkGray,
            _ => self.fit(self.rgb(slot)),
        }
    }
}

/// Reads a theme and those it inherits from; what is nearer wins.
fn collect(name: &str, into: &mut BTreeMap<String, String>, depth: usize) -> Result<Raw, ThemeError> {
    let text = THEMES
        .get_file(format!("{name}.toml"))
        .and_then(|file| file.contents_utf8())
        .ok_or_else(|| ThemeError::Unknown {
            name: name.to_owned(),
            known: Theme::names().join(", "),
        })?;
    let wrong = |cause: String| ThemeError::File {
        name: name.to_owned(),
        cause,
    };
    let raw: Raw = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    for (key, value) in &raw.colors {
        into.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some(parent) = &raw.inherits {
        if depth > 4 {
            return Err(wrong("it inherits from itself".to_owned()));
        }
        collect(parent, into, depth + 1)?;
    }
    Ok(raw)
}

fn parse_hex(text: &str) -> Option<(u8, u8, u8)> {
    let digits = text.strip_prefix('#')?;
    if digits.len() != 6 || !digits.is_ascii() {
        return None;
    }
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some((part(0)?, part(2)?, part(4)?))
}

/// The nearest of the 240 fixed colours (cube and greys) of the 256-colour palette.
fn ansi256((r, g, b): (u8, u8, u8)) -> Color {
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
    let distance = |x: (u8, u8, u8)| {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(x.0, r) + square(x.1, g) + square(x.2, b)
    };
    let (ri, gi, bi) = (nearest(r), nearest(g), nearest(b));
    let cube = (LEVELS[ri], LEVELS[gi], LEVELS[bi]);
    let mean = (u32::from(r) + u32::from(g) + u32::from(b)) / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    let grey_level = 8 + grey * 10;
    if distance((grey_level, grey_level, grey_level)) < distance(cube) {
        Color::Indexed(232 + grey)
    } else {
        Color::Indexed((16 + 36 * ri + 6 * gi + bi) as u8)
    }
}

/// One of the 16 colours by hue, so that a pastel does not end as grey.
fn ansi16((r, g, b): (u8, u8, u8), bright: bool) -> Color {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    }

    fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_theme_loads_with_every_name_at_every_depth() {
        let names = Theme::names();
        for needed in ["dark", "light", "colorblind"] {
            assert!(names.iter().any(|name| name == needed), "{needed} is missing");
        }
        for name in names {
            for depth in [Depth::Mono, Depth::Ansi16, Depth::Ansi256, Depth::True] {
                let theme = Theme::load(&name, depth).unwrap();
                assert_eq!(theme.name(), name);
                assert_eq!(theme.colors.len(), Slot::ALL.len());
            }
        }
        assert!(Theme::load("none", Depth::True).is_err());
    }

    #[test]
    fn text_can_be_read_on_every_ground() {
        use Slot::*;
        let grounds = [Background, Surface, Overlay, Selection, SelectionIdle];
        let texts = [
            Text, Dim, Title, Accent, Key, Heading, Quote, Good, Bad, Warn, Info, Live, Paused, Reward, Write, Read,
            Invalid, Stuck, Human, Log, Plan, Action, Tag, Argument, Thinking, Added, Removed, Changed, Health, Food,
            Drink, Energy,
        ];
        for name in Theme::names() {
            let theme = Theme::load(&name, Depth::True).unwrap();
            for ground in grounds {
                for text in texts {
                    let wanted = if ground == Background { 4.5 } else { 3.0 };
                    let got = contrast(theme.rgb(text), theme.rgb(ground));
                    assert!(got >= wanted, "{name}: {text:?} on {ground:?} has contrast {got:.2}");
                }
            }
            assert!(
                contrast(theme.rgb(Faint), theme.rgb(Background)) >= 3.0,
                "{name}: faint"
            );
        }
    }

    #[test]
    fn depth_follows_the_environment() {
        assert_eq!(Depth::from_variables("1", "truecolor", "xterm-256color"), Depth::Mono);
        assert_eq!(Depth::from_variables("", "truecolor", "xterm"), Depth::True);
        assert_eq!(Depth::from_variables("", "", "tmux-256color"), Depth::Ansi256);
        assert_eq!(Depth::from_variables("", "", "xterm-kitty"), Depth::True);
        assert_eq!(Depth::from_variables("", "", "linux"), Depth::Ansi16);
        assert_eq!(Depth::from_variables("", "", "dumb"), Depth::Mono);
    }

    #[test]
    fn lesser_depths_keep_the_hue() {
        assert_eq!(ansi16((0x8f, 0xce, 0x6b), true), Color::LightGreen);
        assert_eq!(ansi16((0xf7, 0x76, 0x8e), true), Color::LightRed);
        assert_eq!(ansi256((0, 0, 0)), Color::Indexed(16));
        assert_eq!(ansi256((255, 255, 255)), Color::Indexed(231));
    }
}
