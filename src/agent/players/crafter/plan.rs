//! PLAN: what to do next. Rules in order of urgency; the first that applies decides.

mod craft;
mod moves;
mod needs;

use super::atlas::{Atlas, Means};
use super::log::look;
use super::notes::{self, Memory};
use super::prompt::{Cell, Observation, Prompt, is_ground, step_of};
pub(super) use crate::env::crafter::item;
use crate::env::crafter::tiles;

/// The first turn: look up what matters for a decision.
pub(super) fn consult(prompt: &Prompt<'_>) -> String {
    let mut text = String::from("Where am I, what is around, what is done?\n");
    if prompt.tracked().is_some() {
        super::keyed::consult(&mut text);
        return text;
    }
    // The notes of this step are written already.
    for file in notes::files_before(notes::MAP, prompt.step + 1, 24) {
        look(&mut text, "TAIL", &[&file, "24"]);
    }
    super::log::recollect(&mut text, prompt);
    text
}

/// The second turn: commit an action.
pub(super) fn commit(prompt: &Prompt<'_>) -> String {
    let choice = if prompt.observation.is_there {
        Mind::new(prompt).decide()
    } else {
        Choice::new("Noop", "The prompt shows no observation.")
    };
    let mut text = choice.why;
    text.push('\n');
    look(&mut text, "ACTION", &[choice.action]);
    text.truncate(text.trim_end().len());
    text
}

/// An action and the reason for it.
#[derive(Debug)]
struct Choice {
    action: &'static str,
    why: String,
}

impl Choice {
    fn new(action: &'static str, why: impl Into<String>) -> Self {
        Self {
            action,
            why: why.into(),
        }
    }
}

/// All a decision is made from.
struct Mind<'a> {
    now: &'a Observation,
    memory: Memory,
    atlas: Atlas,
    step: u32,
    pos: Cell,
    facing: Cell,
    /// It went to and fro: whatever is only an opportunity is left alone for a while.
    is_torn: bool,
}

impl<'a> Mind<'a> {
    fn new(prompt: &'a Prompt<'a>) -> Self {
        let memory = Memory::of(prompt);
        let pos = memory.position();
        let mut mind = Self {
            now: &prompt.observation,
            atlas: Atlas::draw(&memory.map, pos, &prompt.observation),
            step: prompt.step,
            pos,
            facing: memory.map.last().map_or((0, 1), |note| note.facing),
            memory,
            is_torn: false,
        };
        mind.is_torn = mind.is_dithering();
        mind
    }

    fn decide(&self) -> Choice {
        if self.now.asleep {
            return Choice::new("Sleep", "I am asleep.");
        }
        if self.now.is_blind() {
            return self.leave_the_edge();
        }
        None.or_else(|| self.fight())
            .or_else(|| self.craft())
            .or_else(|| self.recover())
            .or_else(|| self.flee())
            .or_else(|| self.urgent_needs())
            .or_else(|| self.rest())
            .or_else(|| self.plant())
            .or_else(|| self.small_needs().filter(|_| !self.is_torn))
            .or_else(|| self.hunt().filter(|_| !self.is_torn))
            .or_else(|| self.progress())
            .or_else(|| self.explore())
            .filter(|choice| self.is_harmless(choice))
            .unwrap_or_else(|| self.wander())
    }

    /// Whether the choice does not lead into lava.
    fn is_harmless(&self, choice: &Choice) -> bool {
        step_of(choice.action).is_none_or(|step| self.atlas.is_safe((self.pos.0 + step.0, self.pos.1 + step.1)))
    }

    fn has(&self, item: usize) -> bool {
        self.now.items[item] > 0
    }

    fn count(&self, item: usize) -> u8 {
        self.now.items[item]
    }

    /// Whether something can be laid down in front.
    fn can_place(&self) -> bool {
        is_ground(self.now.front)
    }

    fn is_near(&self, tile: u8) -> bool {
        self.now.find(tile).is_some_and(|seen| seen.is_near())
    }

    /// Whether monsters are many: evening and night. A day has 300 steps.
    fn is_dark(&self) -> bool {
        (180..285).contains(&(self.step % 300))
    }

    fn means(&self) -> Means {
        let digs = self.has(item::WOOD_PICKAXE);
        Means {
            digs,
            bridges: digs && self.count(item::STONE) >= 2,
        }
    }

    fn is_danger_near(&self, within: i32) -> bool {
        [tiles::ZOMBIE, tiles::SKELETON, tiles::ARROW]
            .iter()
            .any(|kind| self.now.distance(*kind) <= within)
    }
}
