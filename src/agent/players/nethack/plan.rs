//! PLAN: what to do next. Rules in order of urgency; the first that applies decides.

use crate::protocol::print_action;

use super::boxoban;
use super::notes::Notes;
use super::prompt::Prompt;
use super::route::{Daring, Edge, Routes, is_corner, is_edge};
use super::screen::{Asked, Cell, Ground, STEPS, Screen, Status, beyond};

/// Creatures that hurt who hits them, or that must not be hit.
const LEFT_ALONE: [&str; 13] = [
    "floating eye",
    "blue jelly",
    "spotted jelly",
    "brown mold",
    "yellow mold",
    "green mold",
    "red mold",
    "gas spore",
    "cockatrice",
    "chickatrice",
    "shopkeeper",
    "watchman",
    "watch captain",
];
/// Words of things that can be eaten at any time.
const FOOD: [&str; 22] = [
    "ration",
    "apple",
    "orange",
    "pear",
    "melon",
    "banana",
    "carrot",
    "wafer",
    "cake",
    "cookie",
    "candy",
    "gunyoki",
    "slime mold",
    "clove of garlic",
    "sprig of wolfsbane",
    "eucalyptus",
    "kelp frond",
    "royal jelly",
    "fortune",
    "papaya",
    "food item",
    "egg",
];
/// Turns between two prayers, and before the first.
const PRAYERS_APART: u32 = 900;
const FIRST_PRAYER: u32 = 120;
/// Kicks that a door is given.
const MOST_KICKS: u32 = 15;
/// Moves that it steps back from several enemies.
const STEP_BACK: u32 = 5;
/// Searches at a place before another one is looked for.
const SEARCHES: u32 = 7;

/// An action and the reason for it.
#[derive(Debug)]
struct Choice {
    action: &'static str,
    why: &'static str,
}

const fn choice(action: &'static str, why: &'static str) -> Option<Choice> {
    Some(Choice { action, why })
}

/// Commits an action.
pub(super) fn commit(prompt: &Prompt<'_>) -> String {
    let (action, why) = match &prompt.screen {
        Some(screen) => {
            let mind = Mind::new(prompt, screen);
            let chosen = match screen.asked {
                Some(asked) => mind.answer(asked),
                None => mind.decide(),
            };
            mind.possible(chosen)
        }
        None => ("search".to_owned(), "The prompt shows no observation."),
    };
    format!("{why}\n{}", print_action(&action))
}

/// A creature beside the player.
struct Neighbour {
    direction: &'static str,
    cell: Cell,
    hostile: bool,
    tame: bool,
}

/// All a decision is made from.
struct Mind<'a> {
    prompt: &'a Prompt<'a>,
    screen: &'a Screen<'a>,
    notes: Notes,
    status: Status,
    pos: Cell,
    near: Vec<Neighbour>,
}

impl<'a> Mind<'a> {
    fn new(prompt: &'a Prompt<'a>, screen: &'a Screen<'a>) -> Self {
        let notes = prompt.notes();
        let pos = match (screen.asked, screen.cursor, notes.last) {
            (None, Some(cell), _) => cell,
            (_, _, Some(last)) => last.cell,
            _ => screen.find('@').next().unwrap_or((1, 1)),
        };
        let near = STEPS
            .iter()
            .filter_map(|(direction, step)| {
                let cell = beyond(pos, *step);
                if !screen.creature(cell) {
                    return None;
                }
                let name = screen.beside(direction).unwrap_or("");
                // A statue shows as what it is of, and blocks nobody.
                if name.ends_with(" statue") {
                    return None;
                }
                let tame = name.starts_with("tame ");
                let leave = LEFT_ALONE.contains(&name) || notes.peaceful.contains(name);
                Some(Neighbour {
                    direction,
                    cell,
                    hostile: !tame && !leave,
                    tame,
                })
            })
            .collect();
        Self {
            prompt,
            screen,
            notes,
            status: screen.status.unwrap_or_default(),
            pos,
            near,
        }
    }

    /// What the game is answered.
    fn answer(&self, asked: Asked) -> (String, &'static str) {
        let message = self.screen.message;
        let plain = |action: &str, why| (action.to_owned(), why);
        match asked {
            Asked::Menu => plain("esc", "A text covers the map; I close it."),
            Asked::More => plain("more", "The text goes on."),
            Asked::Direction if self.prompt.previous == "kick" => match self.door_to_kick() {
                Some(direction) => plain(direction, "I kick the door there."),
                None => plain("esc", "There is nothing to kick."),
            },
            Asked::Direction => plain("esc", "I want no direction."),
            Asked::Question if message.contains("want to pray") => plain("y", "Yes, I pray."),
            Asked::Question if message.contains("eat it?") => plain("n", "I do not eat what lies here."),
            Asked::Question if message.contains("want to eat?") => {
                let offered = self.screen.offered();
                match offered.iter().find(|letter| self.is_food(**letter)).or(offered.first()) {
                    Some(letter) => (letter.to_string(), "I eat this."),
                    None => plain("esc", "There is nothing to eat."),
                }
            }
            Asked::Question => plain("esc", "I leave the question."),
        }
    }

    fn decide(&self) -> (String, &'static str) {
        let chosen = None
            .or_else(|| self.pray())
            .or_else(|| self.eat(2))
            .or_else(|| self.step_back())
            .or_else(|| self.fight())
            .or_else(|| self.eat(1))
            .or_else(|| self.come_round())
            .or_else(|| self.solve())
            .or_else(|| self.shake_loose())
            .or_else(|| self.descend())
            .or_else(|| self.explore(Daring::default(), is_edge))
            .or_else(|| self.kick())
            .or_else(|| self.explore(Daring::default(), is_corner))
            .or_else(|| self.search(60))
            .or_else(|| {
                let daring = Daring {
                    boulders: true,
                    traps: true,
                };
                self.explore(daring, is_corner)
            })
            .or_else(|| self.search(u32::MAX))
            .unwrap_or(Choice {
                action: "search",
                why: "I know nothing better.",
            });
        (chosen.action.to_owned(), chosen.why)
    }

    /// The action, or another where the world does not take it.
    fn possible(&self, (action, why): (String, &'static str)) -> (String, &'static str) {
        if self.prompt.can(&action) {
            return (action, why);
        }
        let free = (0..STEPS.len())
            .map(|at| STEPS[(at + self.prompt.step as usize) % STEPS.len()])
            .find(|(name, step)| {
                let ground = self.screen.ground(beyond(self.pos, *step));
                self.prompt.can(name) && matches!(ground, Ground::Floor | Ground::Corridor)
            })
            .map_or("north", |(name, _)| name);
        (free.to_owned(), "This world lacks what I wanted to do.")
    }

    fn is_food(&self, letter: char) -> bool {
        self.screen
            .carried()
            .any(|(carried, what)| carried == letter && is_food(what))
    }

    fn pray(&self) -> Option<Choice> {
        let Status { hp, most, turn, .. } = self.status;
        let dying = hp * 7 < most || hp < 6 && most > hp;
        let heard = match self.notes.prayed {
            Some(last) => turn >= last + PRAYERS_APART,
            None => turn >= FIRST_PRAYER,
        };
        let starving = self.status.hunger == 2 && !self.screen.carried().any(|(_, what)| is_food(what));
        ((dying || starving) && heard && self.prompt.can("pray")).then_some(Choice {
            action: "pray",
            why: "Only a prayer helps now.",
        })
    }

    fn eat(&self, hunger: u8) -> Option<Choice> {
        let beset = hunger < 2 && self.near.iter().any(|one| one.hostile);
        let has = self.screen.carried().any(|(_, what)| is_food(what));
        (self.status.hunger >= hunger && has && !beset && self.prompt.can("eat")).then_some(Choice {
            action: "eat",
            why: "I am hungry and carry food.",
        })
    }

    /// Beset by several, it steps to where fewer can reach it, if that is near.
    fn step_back(&self) -> Option<Choice> {
        let free = |cell: Cell| {
            matches!(
                self.screen.ground(cell),
                Ground::Floor | Ground::Corridor | Ground::OpenDoor
            )
        };
        let open = |cell: Cell| STEPS.iter().filter(|(_, step)| free(beyond(cell, *step))).count();
        let many = self.near.iter().filter(|one| one.hostile).count() >= 2;
        if !many || open(self.pos) <= 2 {
            return None;
        }
        let mut taken = self.taken();
        taken.extend(self.near.iter().map(|one| one.cell));
        let routes = Routes::from(self.screen, &self.notes, self.pos, &taken, Daring::default());
        let narrow = routes
            .order
            .iter()
            .skip(1)
            .take_while(|cell| routes.moves(**cell).is_some_and(|moves| moves <= STEP_BACK))
            .find(|cell| free(**cell) && open(**cell) <= 2 && !self.screen.creature(**cell))?;
        choice(routes.first(*narrow)?, "They are many; I go where fewer reach me.")
    }

    fn fight(&self) -> Option<Choice> {
        let enemy = self.near.iter().find(|one| {
            let slanted = |(dx, dy): Cell| dx != 0 && dy != 0;
            let step = (one.cell.0 - self.pos.0, one.cell.1 - self.pos.1);
            // Through a door nobody reaches slantwise.
            let barred = slanted(step) && self.notes.no_way.contains(&(self.pos, one.direction.to_owned()));
            one.hostile && !barred
        })?;
        choice(enemy.direction, "An enemy stands there; I attack.")
    }

    /// Blind or confused, it waits a while.
    fn come_round(&self) -> Option<Choice> {
        let waited = self.notes.searched.get(&self.pos).copied().unwrap_or(0);
        (self.status.dazed && waited < 40 && self.prompt.can("search")).then_some(Choice {
            action: "search",
            why: "I wait until my head is clear.",
        })
    }

    fn solve(&self) -> Option<Choice> {
        if !self.prompt.is_boxoban {
            return None;
        }
        let action = boxoban::next(self.screen, &self.notes, self.pos)?;
        choice(action, "The boulders go to the fountains this way.")
    }

    /// When nothing moved for some steps, anything else is tried.
    fn shake_loose(&self) -> Option<Choice> {
        let still = self.notes.last.map_or(0, |last| last.still);
        if still < 4 || still % 2 == 1 {
            return None;
        }
        let start = self.prompt.step as usize / 2;
        (0..STEPS.len())
            .map(|at| STEPS[(at * 3 + start) % STEPS.len()])
            .find(|(name, step)| {
                let to = beyond(self.pos, *step);
                !self.taken().contains(&to)
                    && !self.notes.no_way.contains(&(self.pos, (*name).to_owned()))
                    && matches!(self.screen.ground(to), Ground::Floor | Ground::Corridor)
            })
            .and_then(|(name, _)| choice(name, "I do not get on; another way, whichever."))
    }

    /// Places beside the player that somebody holds who is neither fought nor pushed aside.
    fn taken(&self) -> Vec<Cell> {
        self.near.iter().filter(|one| !one.tame).map(|one| one.cell).collect()
    }

    fn routes(&self, daring: Daring) -> Routes {
        Routes::from(self.screen, &self.notes, self.pos, &self.taken(), daring)
    }

    fn stairs(&self) -> impl Iterator<Item = Cell> + '_ {
        let seen = self.screen.speaks_of("stairs down") || self.screen.speaks_of("ladder down");
        self.notes
            .stairs
            .iter()
            .copied()
            .chain(self.screen.find('>').filter(move |_| seen))
    }

    fn descend(&self) -> Option<Choice> {
        if self.prompt.is_boxoban {
            return None;
        }
        if self.stairs().any(|cell| cell == self.pos) && self.prompt.can("down") {
            let tired = self.status.hp * 2 < self.status.most;
            let rested = self.notes.searched.get(&self.pos).copied().unwrap_or(0) >= 40;
            return if tired && !rested && self.prompt.can("search") && self.status.hunger == 0 {
                choice("search", "I rest before I go down.")
            } else {
                choice("down", "Here are the stairs down.")
            };
        }
        [false, true].into_iter().find_map(|traps| {
            let routes = self.routes(Daring { boulders: false, traps });
            let to = self
                .stairs()
                .filter(|cell| *cell != self.pos)
                .min_by_key(|cell| routes.moves(*cell).unwrap_or(u32::MAX))?;
            choice(routes.first(to)?, "I go to the stairs down.")
        })
    }

    fn explore(&self, daring: Daring, edge: Edge) -> Option<Choice> {
        let routes = self.routes(daring);
        let to = routes.frontier(self.screen, &self.notes, edge)?;
        choice(routes.first(to)?, "I explore: that way lies something unseen.")
    }

    fn door_to_kick(&self) -> Option<&'static str> {
        STEPS[..4]
            .iter()
            .find(|(_, step)| {
                let cell = beyond(self.pos, *step);
                let given = self.notes.locked.get(&cell).copied().unwrap_or(0);
                self.screen.ground(cell) == Ground::ClosedDoor && given < MOST_KICKS
            })
            .map(|(name, _)| *name)
    }

    fn kick(&self) -> Option<Choice> {
        if !self.prompt.can("kick") {
            return None;
        }
        let routes = self.routes(Daring::default());
        let door = self
            .notes
            .locked
            .iter()
            .filter(|(cell, kicks)| self.screen.ground(**cell) == Ground::ClosedDoor && **kicks < MOST_KICKS)
            .filter_map(|(cell, _)| Some((routes.moves(*cell)?, *cell)))
            .min()?;
        match door {
            (1, _) => choice("kick", "The door is locked; I kick it in."),
            (_, cell) => choice(routes.first(cell)?, "I go to the locked door."),
        }
    }

    /// Searches for what is hidden where it is most likely; `most` searches a place.
    fn search(&self, most: u32) -> Option<Choice> {
        if !self.prompt.can("search") || self.prompt.is_boxoban {
            return None;
        }
        let routes = self.routes(Daring::default());
        let searched = |cell: Cell| -> u32 {
            let around = STEPS.iter().map(|(_, step)| beyond(cell, *step));
            around
                .chain([cell])
                .filter_map(|cell| self.notes.searched.get(&cell))
                .sum()
        };
        let place = routes
            .order
            .iter()
            .filter(|cell| searched(**cell) < most)
            .filter_map(|cell| {
                let hope = self.hope(*cell)?;
                let rounds = i64::from(searched(*cell) / SEARCHES);
                Some((i64::from(routes.moves(*cell)?) + 14 * rounds - hope, *cell))
            })
            .min()?
            .1;
        if place == self.pos {
            return choice("search", "Something may be hidden here.");
        }
        choice(routes.first(place)?, "I go where something may be hidden.")
    }

    /// How likely a place is to have something hidden beside it; `None` where it cannot be.
    fn hope(&self, cell: Cell) -> Option<i64> {
        let ground = |cell| self.screen.ground(cell);
        if !matches!(ground(cell), Ground::Floor | Ground::Corridor | Ground::OpenDoor) && cell != self.pos {
            return None;
        }
        let ways = STEPS
            .iter()
            .filter(|(_, step)| !matches!(ground(beyond(cell, *step)), Ground::Unseen | Ground::Solid))
            .count();
        let dead_end = if ways <= 1 { 25 } else { 0 };
        let blank: i64 = STEPS[..4]
            .iter()
            .filter(|(_, step)| matches!(ground(beyond(cell, *step)), Ground::Unseen | Ground::Solid))
            .map(|(_, step)| {
                // What lies behind the wall: nine wide, eight deep.
                let side = (step.1, step.0);
                let behind = (2..10).flat_map(|far| (-4..=4).map(move |aside| (far, aside)));
                let cells = behind.map(|(far, aside)| {
                    (
                        cell.0 + step.0 * far + side.0 * aside,
                        cell.1 + step.1 * far + side.1 * aside,
                    )
                });
                let unseen = cells
                    .filter(|(x, y)| (1..79).contains(x) && (1..21).contains(y) && ground((*x, *y)) == Ground::Unseen)
                    .count();
                unseen as i64 / 6
            })
            .max()?;
        (blank >= 3 || dead_end > 0).then_some(blank + dead_end)
    }
}

fn is_food(what: &str) -> bool {
    FOOD.iter().any(|word| what.contains(word)) && !what.contains("corpse")
}
