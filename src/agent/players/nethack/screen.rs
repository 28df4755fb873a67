//! Reading NetHack's text: message, map, cursor, status, inventory, and what the game asks.
//!
//! Owns the forms of the observation; must not decide anything.

/// A place: column from 0, row from 1, as the cursor line has them.
pub(super) type Cell = (i32, i32);

/// Columns of the map, and one more than its last row.
pub(super) const WIDTH: usize = 80;
pub(super) const HEIGHT: usize = 22;

/// The eight steps by the names of their actions.
pub(super) const STEPS: [(&str, Cell); 8] = [
    ("north", (0, -1)),
    ("east", (1, 0)),
    ("south", (0, 1)),
    ("west", (-1, 0)),
    ("northeast", (1, -1)),
    ("southeast", (1, 1)),
    ("southwest", (-1, 1)),
    ("northwest", (-1, -1)),
];

/// The step an action takes.
pub(super) fn step_of(action: &str) -> Option<Cell> {
    STEPS.iter().find(|(name, _)| *name == action).map(|(_, step)| *step)
}

/// A place one step on.
pub(super) fn beyond(cell: Cell, step: Cell) -> Cell {
    (cell.0 + step.0, cell.1 + step.1)
}

/// What a cell is to somebody who walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    Unseen,
    Solid,
    Floor,
    Corridor,
    /// Walked into, it opens; neither kind of door is passed diagonally.
    ClosedDoor,
    OpenDoor,
    Boulder,
    Trap,
}

/// What the game waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A menu or a text covers the map.
    Menu,
    More,
    Direction,
    /// A question with answers in brackets, or any other: see the message.
    Question,
}

/// The status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Status {
    pub(super) level: u32,
    pub(super) hp: u32,
    pub(super) most: u32,
    /// 0 where the game does not show it.
    pub(super) turn: u32,
    /// 0 not hungry, 1 hungry, 2 weak or worse.
    pub(super) hunger: u8,
    /// Blind, confused, stunned or hallucinating.
    pub(super) dazed: bool,
}

/// An observation.
#[derive(Debug)]
pub(super) struct Screen<'a> {
    pub(super) message: &'a str,
    words: &'a str,
    rows: Vec<[char; WIDTH]>,
    pub(super) cursor: Option<Cell>,
    pub(super) status: Option<Status>,
    inventory: &'a str,
    pub(super) asked: Option<Asked>,
    /// The description speaks of iron bars: `#` is one.
    bars: bool,
    /// It speaks of spellbooks: `+` may be one.
    books: bool,
    /// Open doors one or two steps away, which the description tells from walls.
    doors: Vec<Cell>,
}

impl<'a> Screen<'a> {
    /// Reads the observation in a prompt; `None` when there is none.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let begin = match text.find("\nmessage:\n") {
            Some(at) => at + 1,
            None => text.starts_with("message:\n").then_some(0)?,
        };
        let text = &text[begin + "message:\n".len()..];
        let (message, rest) = text.split_once("\n\nlanguage observation:\n")?;
        let (words, rest) = rest.split_once("\n\ncursor:\n")?;
        let (cursor, rest) = rest.split_once("\n\nmap:\n")?;
        let mut rows = vec![[' '; WIDTH]];
        let mut lines = rest.split('\n');
        for line in lines.by_ref().take(HEIGHT - 1) {
            let mut row = [' '; WIDTH];
            row.iter_mut().zip(line.chars()).for_each(|(cell, c)| *cell = c);
            rows.push(row);
        }
        rows.resize(HEIGHT, [' '; WIDTH]);
        let status = rest.lines().take(HEIGHT + 1).find_map(read_status);
        let inventory = rest.split_once("\ninventory:\n").map_or("", |(_, text)| text);
        let at = read_cursor(cursor);
        let bars = words
            .lines()
            .any(|line| line.starts_with("iron bars ") || line.starts_with("bars "));
        let mut screen = Self {
            message: message.trim(),
            words,
            rows,
            cursor: at,
            status,
            inventory,
            asked: None,
            bars,
            books: words.contains("spellbook "),
            doors: at.map(|hero| open_doors(words, hero)).unwrap_or_default(),
        };
        screen.asked = screen.question(cursor);
        Some(screen)
    }

    fn question(&self, cursor: &str) -> Option<Asked> {
        let pages = self.rows.iter().any(|row| {
            let line: String = row.iter().collect();
            let end = line.trim_end();
            end.ends_with("(end)")
                || (end.ends_with(')') && end.rsplit_once('(').is_some_and(|(_, page)| is_page(page)))
        });
        if pages || self.status.is_none() {
            return Some(Asked::Menu);
        }
        if self.message.contains("--More--") {
            return Some(Asked::More);
        }
        if self.cursor.is_some_and(|(_, row)| row > 0) || cursor.starts_with("Yourself ") {
            return None;
        }
        let last = self.message.lines().last().unwrap_or("");
        Some(if last.contains("direction") {
            Asked::Direction
        } else {
            Asked::Question
        })
    }

    /// The character of a place.
    pub(super) fn at(&self, cell: Cell) -> char {
        usize::try_from(cell.1)
            .ok()
            .and_then(|y| self.rows.get(y))
            .zip(usize::try_from(cell.0).ok())
            .and_then(|(row, x)| row.get(x))
            .copied()
            .unwrap_or(' ')
    }

    /// All places, row by row.
    pub(super) fn cells() -> impl Iterator<Item = Cell> {
        (1..HEIGHT as i32).flat_map(|y| (0..WIDTH as i32).map(move |x| (x, y)))
    }

    /// All places that show a character.
    pub(super) fn find(&self, c: char) -> impl Iterator<Item = Cell> + '_ {
        Self::cells().filter(move |cell| self.at(*cell) == c)
    }

    /// What a place is to somebody who walks.
    pub(super) fn ground(&self, cell: Cell) -> Ground {
        match self.at(cell) {
            ' ' => Ground::Unseen,
            '#' if self.bars => Ground::Solid,
            '#' => Ground::Corridor,
            '}' => Ground::Solid,
            '^' => Ground::Trap,
            '`' | '0' => Ground::Boulder,
            c @ ('|' | '-' | '+') => self.door(cell, c),
            _ => Ground::Floor,
        }
    }

    /// Walls, doors and what looks like them: a door stands in a wall, and shows across it when it is open.
    fn door(&self, (x, y): Cell, c: char) -> Ground {
        let wall = |cell: Cell| matches!(self.at(cell), '|' | '-' | '+');
        let plain = |cell: Cell| matches!(self.at(cell), '|' | '-');
        let (west, east, north, south) = ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1));
        match c {
            '|' | '-' if self.doors.contains(&(x, y)) => Ground::OpenDoor,
            // From a corridor a door is seen before its walls.
            '+' if plain(west) || plain(east) || plain(north) || plain(south) || !self.books => Ground::ClosedDoor,
            '+' => Ground::Floor,
            '|' if self.at(west) == '-' && self.at(east) == '-' && !plain(north) && !plain(south) => Ground::OpenDoor,
            '-' if wall(north)
                && wall(south)
                && (self.at(north) == '|' || self.at(south) == '|')
                && !plain(west)
                && !plain(east) =>
            {
                Ground::OpenDoor
            }
            _ => Ground::Solid,
        }
    }

    /// Whether a creature is shown at a place.
    pub(super) fn creature(&self, cell: Cell) -> bool {
        let c = self.at(cell);
        c.is_ascii_alphabetic() && c != 'I' || matches!(c, '@' | '&' | ';' | ':' | '~' | '\'')
    }

    /// What the description says is beside the player in a direction.
    pub(super) fn beside(&self, direction: &str) -> Option<&'a str> {
        self.words.lines().find_map(|line| {
            let (name, where_) = line.rsplit_once(" adjacent ")?;
            where_.split([',', ' ']).any(|word| word == direction).then_some(name)
        })
    }

    /// Whether the description speaks of a thing at all.
    pub(super) fn speaks_of(&self, thing: &str) -> bool {
        self.words.lines().any(|line| line.starts_with(thing))
    }

    /// Letter and description of what is carried.
    pub(super) fn carried(&self) -> impl Iterator<Item = (char, &'a str)> + use<'a> {
        self.inventory.lines().map_while(|line| {
            let (letter, what) = line.split_once(": ")?;
            let mut letters = letter.chars();
            let letter = letters.next().filter(|_| letters.next().is_none())?;
            Some((letter, what))
        })
    }

    /// The letters a question offers: `[abc or ?*]`, with runs such as `a-d`.
    pub(super) fn offered(&self) -> Vec<char> {
        let last = self.message.lines().last().unwrap_or("");
        let Some((_, rest)) = last.rsplit_once('[') else {
            return Vec::new();
        };
        let list: Vec<char> = rest.split([']', ' ']).next().unwrap_or("").chars().collect();
        let mut letters = Vec::new();
        for (at, c) in list.iter().enumerate() {
            match (
                c,
                list.get(at + 1),
                at.checked_sub(1).and_then(|before| list.get(before)),
            ) {
                ('-', Some(to), Some(from)) if from.is_ascii_alphabetic() && to > from => {
                    letters.extend((*from..*to).skip(1));
                }
                (c, _, _) if c.is_ascii_alphabetic() => letters.push(*c),
                _ => {}
            }
        }
        letters
    }
}

/// The open doors that are told with an exact distance.
fn open_doors(words: &str, hero: Cell) -> Vec<Cell> {
    let told = words.lines().filter_map(|line| {
        let (name, rest) = line
            .split_once(" open door ")
            .or_else(|| line.split_once(" open doors "))?;
        let far = [("adjacent ", 1), ("very near ", 2)];
        let (distance, directions) = far.iter().find_map(|(word, n)| Some((*n, rest.strip_prefix(word)?)))?;
        matches!(name, "vertical" | "horizontal").then_some((distance, directions))
    });
    told.flat_map(|(distance, directions)| {
        directions
            .split([',', ' '])
            .filter_map(step_of)
            .map(move |(dx, dy)| (hero.0 + dx * distance, hero.1 + dy * distance))
    })
    .collect()
}

/// `1 of 2)`.
fn is_page(page: &str) -> bool {
    page.trim_end_matches(')').split_once(" of ").is_some_and(|(n, of)| {
        [n, of]
            .iter()
            .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// The last line with `(x=47, y=18)`.
fn read_cursor(text: &str) -> Option<Cell> {
    let (_, rest) = text.rsplit_once("(x=")?;
    let (x, rest) = rest.split_once(", y=")?;
    let y = rest.split(')').next()?;
    Some((x.parse().ok()?, y.parse().ok()?)).filter(|(x, y)| (0..WIDTH as i32).contains(x) && (0..24).contains(y))
}

/// Reads `Dlvl:1 $:0 HP:16(16) Pw:2(2) AC:7 Xp:1/0 T:1 Hungry`.
fn read_status(line: &str) -> Option<Status> {
    if !line.starts_with("Dlvl:") && !line.contains(" HP:") {
        return None;
    }
    let mut status = Status::default();
    let mut read = false;
    for word in line.split_whitespace() {
        match word.split_once(':') {
            Some(("Dlvl", n)) => status.level = n.parse().unwrap_or(0),
            Some(("HP", n)) => {
                let (hp, most) = n.split_once('(')?;
                status.hp = hp.parse().unwrap_or(0);
                status.most = most.trim_end_matches(')').parse().unwrap_or(0);
                read = true;
            }
            Some(("T", n)) => status.turn = n.parse().unwrap_or(0),
            _ => match word {
                "Hungry" => status.hunger = 1,
                "Weak" | "Fainting" | "Fainted" => status.hunger = 2,
                "Blind" | "Conf" | "Stun" | "Hallu" => status.dazed = true,
                _ => {}
            },
        }
    }
    read.then_some(status)
}
