//! What each glyph is called, after BALROG's tables: a name that is seen from anywhere ("full"), or one that is told
//! only along the hero's lines of sight ("seen").
//!
//! Owns the table of names and their plurals. `monsters.txt`, `objects.txt` and `cmap.txt` hold the names of species,
//! objects and map symbols in the game's own order.

use std::sync::LazyLock;

/// Species of monsters.
const SPECIES: usize = 381;

/// When a name is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Wherever on the map it is.
    Always,
    /// Only along the hero's eight lines.
    InLine,
    /// Only along those lines, which it ends.
    EndsLine,
}

/// A name, shared by all glyphs that bear it.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) one: String,
    pub(super) many: String,
}

/// The names of all glyphs.
#[derive(Debug)]
pub(super) struct Names {
    /// Each name once.
    names: Vec<Name>,
    /// For each glyph the number of its name, if it has one.
    glyphs: Vec<Option<(u16, Told)>>,
}

impl Names {
    /// When a glyph's name is told and its number.
    pub(super) fn of(&self, glyph: i16) -> Option<(u16, Told)> {
        self.glyphs.get(usize::try_from(glyph).ok()?).copied().flatten()
    }

    /// A name by its number.
    pub(super) fn name(&self, number: u16) -> Option<&Name> {
        self.names.get(usize::from(number))
    }

    /// The name of a glyph that is told from anywhere; empty for others.
    pub(super) fn full(&self, glyph: i16) -> &str {
        match self.of(glyph) {
            Some((number, Told::Always)) => self.name(number).map_or("", |name| &name.one),
            _ => "",
        }
    }
}

/// The table.
pub(super) static NAMES: LazyLock<Names> = LazyLock::new(build);

fn build() -> Names {
    let mut table = Builder::default();
    let monsters: Vec<&str> = include_str!("monsters.txt").lines().collect();
    let each = |table: &mut Builder, of: &dyn Fn(&str) -> String| {
        for species in &monsters {
            table.add(of(species), Told::Always);
        }
    };
    each(&mut table, &|x| x.to_owned());
    each(&mut table, &|x| format!("tame {x}"));
    table.add("invisible creature".into(), Told::Always);
    each(&mut table, &|x| format!("detected {x}"));
    each(&mut table, &|x| format!("{x} corpse"));
    each(&mut table, &|x| format!("ridden {x}"));
    for object in include_str!("objects.txt").lines() {
        table.add(object.into(), Told::Always);
    }
    for (index, symbol) in include_str!("cmap.txt").lines().enumerate() {
        match symbol.split_once(' ') {
            Some(("full", name)) => table.add(name.into(), Told::Always),
            // The dark and the ten walls and corners after it.
            Some((_, name)) if index <= 11 => table.add(name.into(), Told::EndsLine),
            Some((_, name)) => table.add(name.into(), Told::InLine),
            None => table.glyphs.push(None),
        }
    }
    let places = [
        "top left",
        "top center",
        "top right",
        "middle left",
        "middle center",
        "middle right",
        "bottom left",
        "bottom center",
        "bottom right",
    ];
    for _ in 0..7 {
        for place in places {
            table.add(format!("explosion {place}"), Told::Always);
        }
    }
    for _ in 0..8 {
        for slant in ["horizontal", "vertical", "left slant", "right slant"] {
            table.add(format!("{slant} zap beam"), Told::Always);
        }
    }
    for _ in 0..SPECIES {
        for place in places.iter().filter(|place| **place != "middle center") {
            table.add(format!("swallow {place}"), Told::Always);
        }
    }
    for fear in ["worry", "concern", "anxiety", "disquiet", "alarm", "dread"] {
        table.add(format!("unknown creature causing you {fear}"), Told::Always);
    }
    each(&mut table, &|x| format!("{x} statue"));
    Names {
        names: table.names,
        glyphs: table.glyphs,
    }
}

#[derive(Default)]
struct Builder {
    names: Vec<Name>,
    glyphs: Vec<Option<(u16, Told)>>,
    numbers: std::collections::HashMap<String, u16>,
}

impl Builder {
    /// The name of the next glyph.
    fn add(&mut self, name: String, told: Told) {
        let number = match self.numbers.get(&name) {
            Some(number) => *number,
            None => {
                // There are fewer names than glyphs, which fit.
                let number = self.names.len() as u16;
                self.names.push(Name {
                    many: plural(&name),
                    one: name.clone(),
                });
                self.numbers.insert(name, number);
                number
            }
        };
        self.glyphs.push(Some((number, told)));
    }
}

/// The plural of a name, by BALROG's rules; several are not English.
fn plural(name: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&["boots", "shoes", "scales", "lenses", "bars"]) {
        return name.to_owned();
    }
    match name {
        "can of grease" => return "cans of grease".into(),
        "Master of Thieves" => return "Masters of Thieves".into(),
        "ice" => return "area of ice".into(),
        "lava" => return "area of lava".into(),
        _ => {}
    }
    for first in [
        "worthless piece",
        "unknown creature",
        "boom",
        "shield",
        "swallow",
        "scroll",
    ] {
        if let Some(rest) = name.strip_prefix(first).filter(|rest| rest.starts_with(' ')) {
            return format!("{}{rest}", regular(first));
        }
    }
    regular(name)
}

fn regular(name: &str) -> String {
    let stem = |cut: usize, ending: &str| format!("{}{ending}", &name[..name.len() - cut]);
    let mut last = name.chars().rev();
    let (end, before) = (last.next(), last.next());
    let vowel = |c: char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u');
    if end == Some('y') && before.is_some_and(|c| !vowel(c)) {
        stem(1, "ies")
    } else if ["z", "x", "sh", "ss"].iter().any(|ending| name.ends_with(ending)) {
        stem(0, "es")
    } else if name.ends_with("ff") {
        stem(2, "ves")
    } else if name.ends_with('f') {
        stem(1, "ves")
    } else if name.ends_with('s') {
        stem(0, "es")
    } else {
        stem(0, "s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Glyphs there are.
    const GLYPHS: usize = 5976;

    fn recorded() -> serde_json::Value {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/nethack/glyph_names.json.gz"
        );
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn every_glyph_has_the_recorded_name() {
        let recorded = recorded();
        let (full, seen, plurals) = (&recorded["full"], &recorded["visual"], &recorded["plural"]);
        assert_eq!(NAMES.glyphs.len(), GLYPHS);
        for glyph in 0..GLYPHS {
            let name = NAMES
                .of(glyph as i16)
                .and_then(|(number, told)| Some((NAMES.name(number)?, told)));
            let (one, told) = name.map_or(("", Told::Always), |(name, told)| (&*name.one, told));
            let (is_full, is_seen) = if told == Told::Always { (one, "") } else { ("", one) };
            assert_eq!(
                (full[glyph].as_str(), seen[glyph].as_str()),
                (Some(is_full), Some(is_seen)),
                "glyph {glyph}"
            );
            if let Some((name, _)) = name {
                assert_eq!(Some(&*name.many), plurals[&name.one].as_str(), "{}", name.one);
            }
        }
        assert!(NAMES.of(-1).is_none() && NAMES.of(i16::MAX).is_none());
    }

    #[test]
    fn lines_end_at_walls_and_the_dark() {
        let ends = |glyph: i16| NAMES.of(glyph).map(|(_, told)| told);
        assert_eq!(ends(2359), Some(Told::EndsLine));
        assert_eq!(ends(2370), Some(Told::EndsLine));
        assert_eq!(ends(2371), Some(Told::InLine));
        assert_eq!(ends(2374), Some(Told::Always));
        assert_eq!(ends(2378), None);
    }
}
