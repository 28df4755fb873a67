//! Themes: colours named by what they mean, fit for the terminal they are shown on.
//!
//! Owns the list of names and the styles made of them. Must not know where a colour is used.

mod depth;
mod file;
#[cfg(test)]
mod tests;

use ratatui::style::{Color, Modifier, Style};

pub use depth::Depth;
pub(super) use depth::NAMED;
pub use file::{ThemeError, Themes};

use crate::types::Digest;

/// A colour.
pub(crate) type Rgb = (u8, u8, u8);

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

impl Slot {
    /// Grounds that text of any kind may stand on.
    const GROUNDS: [Self; 7] = [
        Self::Background,
        Self::Surface,
        Self::Overlay,
        Self::Selection,
        Self::SelectionIdle,
        Self::AddedGround,
        Self::RemovedGround,
    ];

    fn is_ground(self) -> bool {
        Self::GROUNDS.contains(&self) || self == Self::Match
    }

    /// The contrast it needs to its grounds (WCAG 2: 4.5 for text, 3 for lines and marks), and
    /// these grounds.
    fn needs(self) -> (f32, &'static [Self]) {
        match self {
            Self::Border | Self::BorderFocus | Self::Cursor => (3.0, &Self::GROUNDS[..3]),
            _ => (4.5, &Self::GROUNDS),
        }
    }
}

/// A checked theme, its colours already fit for the terminal.
#[derive(Debug, Clone)]
pub struct Theme {
    key: String,
    name: String,
    dark: bool,
    terminal: Depth,
    depth: Depth,
    digest: Digest,
    rgb: Vec<Rgb>,
    colors: Vec<Color>,
}

impl Theme {
    /// Loads one of the shipped themes for terminals of the given depth.
    ///
    /// # Errors
    /// When there is no such theme or its file is wrong.
    pub fn load(name: &str, depth: Depth) -> Result<Self, ThemeError> {
        Themes::default().load(name, depth)
    }

    /// What it was loaded by: its name, or its path.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its ground is dark.
    pub fn is_dark(&self) -> bool {
        self.dark
    }

    /// How many colours it uses.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// How many colours the terminal shows.
    pub fn terminal(&self) -> Depth {
        self.terminal
    }

    /// Of the files it was made of.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The colour of a slot.
    pub fn color(&self, slot: Slot) -> Color {
        self.colors.get(slot as usize).copied().unwrap_or(Color::Reset)
    }

    /// The colour of a slot before it was made fit for the terminal.
    pub fn rgb(&self, slot: Slot) -> Rgb {
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
            _ => self.on(Slot::Text, Slot::Match),
        }
    }

    /// Any colour as paint, made fit for the terminal.
    pub fn fit(&self, rgb: Rgb) -> Color {
        depth::paint(rgb, self.depth, self.dark)
    }

    /// A letter's colour on a ground, made fit for the terminal so that both can be told apart.
    pub fn pair(&self, letter: Rgb, ground: Rgb) -> (Color, Color) {
        depth::pair(letter, ground, self.depth, self.dark)
    }

    /// What a drawn colour looks like; `None` for the terminal's own.
    pub fn shown(&self, color: Color) -> Option<Rgb> {
        depth::shown(color, 0)
    }

    /// A letter's colour on the terminal's own ground.
    pub fn ink(&self, rgb: Rgb) -> Color {
        depth::ink(rgb, &[self.rgb(Slot::Background)], 3.0, self.depth, self.dark)
    }

    /// Chooses a colour for every slot: the grounds first, then what can be read on them.
    fn resolve(&mut self) {
        let mut colors = vec![Color::Reset; Slot::ALL.len()];
        let lying = [Slot::Background, Slot::Surface, Slot::Overlay];
        for slot in lying {
            colors[slot as usize] = depth::ground(self.rgb(slot), self.depth, &[]);
        }
        let taken = lying.map(|slot| colors[slot as usize]);
        for slot in Slot::ALL
            .iter()
            .filter(|slot| slot.is_ground() && !lying.contains(slot))
        {
            colors[*slot as usize] = depth::ground(self.rgb(*slot), self.depth, &taken);
        }
        for slot in Slot::ALL.iter().filter(|slot| !slot.is_ground()) {
            let (wanted, on) = slot.needs();
            let mut grounds: Vec<Rgb> = on
                .iter()
                .map(|ground| depth::shown(colors[*ground as usize], 0).unwrap_or_else(|| self.rgb(*ground)))
                .collect();
            if *slot == Slot::Text {
                grounds.push(depth::shown(colors[Slot::Match as usize], 0).unwrap_or_default());
            }
            colors[*slot as usize] = match (self.depth, slot) {
                // 16 colours are the user's own: plain text is the terminal's.
                (Depth::Ansi16, Slot::Text | Slot::Cursor | Slot::Title) => Color::Reset,
                _ => depth::ink(self.rgb(*slot), &grounds, wanted, self.depth, self.dark),
            };
        }
        self.colors = colors;
    }
}

impl Themes {
    /// Loads a theme by its name or path for terminals of the given depth.
    ///
    /// # Errors
    /// When there is no such theme or a file is wrong: file, line, column and what to do.
    pub fn load(&self, key: &str, terminal: Depth) -> Result<Theme, ThemeError> {
        let content = self.read(key)?;
        let mut theme = Theme {
            key: key.to_owned(),
            name: content.name,
            dark: content.dark,
            terminal,
            depth: if content.monochrome { Depth::Mono } else { terminal },
            digest: content.digest,
            rgb: content.rgb,
            colors: Vec::new(),
        };
        theme.resolve();
        Ok(theme)
    }
}
