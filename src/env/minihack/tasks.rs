//! The eight tasks BALROG plays in MiniHack: their levels, actions, characters and what the agent is told of each.
//!
//! Owns this table and the instruction prompt. Must not touch files or the game.

use crate::env::nethack::keys;

/// What the agent is told; words in capitals stand for what differs.
const INSTRUCTION: &str = include_str!("instruction.txt");

/// Steps after which a task is cut off, as BALROG sets it.
pub(super) const STEP_LIMIT: u32 = 100;

/// Where a task's level comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A des-file of MiniHack's package.
    Shipped(&'static str),
    /// A maze of so many cells on each side, drawn by the game.
    Maze(usize),
    /// Two dark rooms and a corridor, with six giant rats.
    DarkBattle,
    /// A puzzle from a folder of the Boxoban levels.
    Boxoban(&'static str),
}

/// One task.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// Its name in MiniHack's registry.
    pub id: &'static str,
    /// Its level.
    pub source: Source,
    /// Its actions, by BALROG's names.
    pub actions: &'static [&'static str],
    /// The character as the game's `name` option wants it; `@` for one the seed draws.
    pub character: &'static str,
    /// Every question of the game waits for an answer; else only a few do, the others are declined.
    pub answers_questions: bool,
    /// The goal, as the agent is told.
    goal: &'static str,
}

/// The four directions in which boulders are pushed.
const CARDINAL: &[&str] = &["north", "east", "south", "west"];
/// The eight directions.
const COMPASS: &[&str] = &[
    "north",
    "east",
    "south",
    "west",
    "northeast",
    "southeast",
    "southwest",
    "northwest",
];
/// The eight directions and what opens a way.
const CORRIDOR: &[&str] = &[
    "north",
    "east",
    "south",
    "west",
    "northeast",
    "southeast",
    "southwest",
    "northwest",
    "open",
    "kick",
    "search",
];
/// What BALROG lets an agent do where MiniHack gives nearly the whole keyboard.
const SKILLS: &[&str] = &[
    "north",
    "east",
    "south",
    "west",
    "northeast",
    "southeast",
    "southwest",
    "northwest",
    "far north",
    "far east",
    "far south",
    "far west",
    "far northeast",
    "far southeast",
    "far southwest",
    "far northwest",
    "down",
    "wait",
    "more",
    "apply",
    "close",
    "eat",
    "force",
    "kick",
    "loot",
    "open",
    "pickup",
    "pray",
    "puton",
    "quaff",
    "search",
    "zap",
];

/// The character MiniHack gives to tasks that were made for a fighter.
const KNIGHT: &str = "kni-hum-law-fem";

const MAZE_GOAL: &str = "find the way through the maze and step onto the stairs down, shown as `>`.";
const CORRIDOR_GOAL: &str =
    "find the room with the stairs down, shown as `>`, through doors and corridors, and step onto them.";
const BATTLE_GOAL: &str = "cross the dark corridor to the far room and step onto the stairs down, shown as `>`. \
     Giant rats wait there: fight them where only one can reach you.";
const QUEST_GOAL: &str = "get past the monsters and across the lava to the room behind it, and step onto the stairs \
     down, shown as `>`. What lies on the floor near the start can freeze lava.";
const BOXOBAN_GOAL: &str = "push every boulder, shown as `` ` `` , onto a fountain, shown as `{`. You push a boulder by walking \
     against it; you cannot pull one, nor push two at once. What is pushed into a corner stays there.";

/// Every task.
pub(super) const TASKS: &[Task] = &[
    Task {
        id: "MiniHack-MazeWalk-9x9-v0",
        source: Source::Maze(9),
        actions: COMPASS,
        character: "@",
        answers_questions: false,
        goal: MAZE_GOAL,
    },
    Task {
        id: "MiniHack-MazeWalk-15x15-v0",
        source: Source::Maze(15),
        actions: COMPASS,
        character: "@",
        answers_questions: false,
        goal: MAZE_GOAL,
    },
    Task {
        id: "MiniHack-Corridor-R3-v0",
        source: Source::Shipped("corridor3.des"),
        actions: CORRIDOR,
        character: "@",
        answers_questions: false,
        goal: CORRIDOR_GOAL,
    },
    Task {
        id: "MiniHack-CorridorBattle-Dark-v0",
        source: Source::DarkBattle,
        actions: COMPASS,
        character: KNIGHT,
        answers_questions: false,
        goal: BATTLE_GOAL,
    },
    Task {
        id: "MiniHack-Quest-Easy-v0",
        source: Source::Shipped("quest_easy.des"),
        actions: SKILLS,
        character: "@",
        answers_questions: true,
        goal: QUEST_GOAL,
    },
    Task {
        id: "MiniHack-Quest-Medium-v0",
        source: Source::Shipped("quest_medium.des"),
        actions: SKILLS,
        character: KNIGHT,
        answers_questions: true,
        goal: QUEST_GOAL,
    },
    Task {
        id: "MiniHack-Boxoban-Medium-v0",
        source: Source::Boxoban("medium/train"),
        actions: CARDINAL,
        character: "@",
        answers_questions: false,
        goal: BOXOBAN_GOAL,
    },
    Task {
        id: "MiniHack-Boxoban-Hard-v0",
        source: Source::Boxoban("hard"),
        actions: CARDINAL,
        character: "@",
        answers_questions: false,
        goal: BOXOBAN_GOAL,
    },
];

impl Task {
    /// The task of this name; the first where none is named.
    pub(super) fn find(name: Option<&str>) -> Option<&'static Self> {
        match name {
            None => TASKS.first(),
            Some(name) => TASKS.iter().find(|task| task.id == name),
        }
    }

    /// What its success is, in words.
    pub(super) fn success(&self) -> &'static str {
        match self.source {
            Source::Boxoban(_) => "every boulder is on a fountain",
            _ => "on the stairs down",
        }
    }

    /// Names of all tasks, for an error.
    pub(super) fn known() -> String {
        let ids: Vec<&str> = TASKS.iter().map(|task| task.id).collect();
        ids.join(", ")
    }

    /// The rules as the agent is told them.
    pub(super) fn instruction_prompt(&self) -> String {
        let words = self
            .actions
            .iter()
            .filter_map(|name| keys::WORDS.iter().find(|word| word.name == *name))
            .copied();
        let has = |name| self.actions.contains(&name);
        let mut hints = String::from("Hints");
        if has("open") {
            hints.push_str(
                "\n- Closed doors are opened with open and a direction; a locked one may give way to kick and a \
                 direction. Doors cannot be passed diagonally. Where no way leads on, search several times beside \
                 walls and dead ends.",
            );
        }
        if self.answers_questions {
            hints.push_str("\n- Where the game asks for the letter of an item, an action answers with its key: ");
            hints.push_str(&self.letters());
            hints.push('.');
        }
        INSTRUCTION
            .trim_end()
            .replacen("GOAL", self.goal, 1)
            .replacen("ACTIONS", &keys::listed(words), 1)
            .replacen("HINTS", &hints, 1)
            .replacen("LIMIT", &STEP_LIMIT.to_string(), 1)
    }

    /// Which action sends which small letter.
    fn letters(&self) -> String {
        let mut letters: Vec<(u8, &str)> = self
            .actions
            .iter()
            .filter_map(|name| keys::key(name).map(|key| (key, *name)))
            .filter(|(key, _)| key.is_ascii_lowercase())
            .collect();
        letters.sort_unstable();
        let told: Vec<String> = letters
            .iter()
            .map(|(key, name)| format!("{} {name}", char::from(*key)))
            .collect();
        told.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_tasks_are_balrogs_eight() {
        let ids: BTreeSet<&str> = TASKS.iter().map(|task| task.id).collect();
        assert_eq!(ids.len(), 8);
        let knights: Vec<&str> = TASKS
            .iter()
            .filter(|task| task.character == KNIGHT)
            .map(|task| task.id)
            .collect();
        assert_eq!(knights, ["MiniHack-CorridorBattle-Dark-v0", "MiniHack-Quest-Medium-v0"]);
        assert_eq!(SKILLS.len(), 32);
    }

    #[test]
    fn tasks_are_found_by_name() {
        assert_eq!(Task::find(None).unwrap().id, "MiniHack-MazeWalk-9x9-v0");
        assert_eq!(Task::find(Some("MiniHack-Boxoban-Hard-v0")).unwrap().actions, CARDINAL);
        assert!(Task::find(Some("MiniHack-Boxoban-Unfiltered-v0")).is_none());
        assert!(Task::find(Some("")).is_none());
    }

    #[test]
    fn a_prompt_names_every_action_with_a_meaning_and_the_goal() {
        for task in TASKS {
            let prompt = task.instruction_prompt();
            for action in task.actions {
                let line = prompt
                    .lines()
                    .find(|line| line.starts_with(&format!("{action}: ")))
                    .unwrap_or_else(|| panic!("{}: {action} is not in the prompt", task.id));
                assert!(line.len() > action.len() + 8, "{}: `{line}` says nothing", task.id);
            }
            let distinct: BTreeSet<&&str> = task.actions.iter().collect();
            assert_eq!(distinct.len(), task.actions.len());
            assert!(prompt.contains(task.goal) && prompt.contains("100 steps"));
            for word in ["GOAL", "ACTIONS", "HINTS", "LIMIT"] {
                assert!(!prompt.contains(word), "{}: {word}", task.id);
            }
        }
    }

    #[test]
    fn letters_of_items_are_told_where_they_are_asked_for() {
        let quest = Task::find(Some("MiniHack-Quest-Easy-v0")).unwrap().instruction_prompt();
        assert!(
            quest.contains("its key: a apply, b southwest, c close, e eat, h west,"),
            "{quest}"
        );
        let maze = Task::find(None).unwrap().instruction_prompt();
        assert!(!maze.contains("letter of an item") && !maze.contains("Doors"));
    }
}
