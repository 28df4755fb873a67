//! The eight tasks BALROG plays in MiniHack: their levels, actions, characters and what the agent is told of each.
//!
//! Owns this table and the instruction prompt. Must not touch files or the game.

use std::fmt::Write as _;

/// Steps after which a task is cut off, as BALROG sets it.
pub const STEP_LIMIT: u32 = 100;

/// Where a task's level comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
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
pub struct Task {
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

const MAZE_GOAL: &str = "Find the way through the maze and step onto the stairs down, shown as `>`.";
const CORRIDOR_GOAL: &str =
    "Find the room with the stairs down, shown as `>`, through doors and corridors, and step onto them.";
const BATTLE_GOAL: &str = "Cross the dark corridor to the far room and step onto the stairs down, shown as `>`. \
     Giant rats wait there: fight them where only one can reach you.";
const QUEST_GOAL: &str = "Get past the monsters and across the lava to the room behind it, and step onto the stairs \
     down, shown as `>`. What lies on the floor near the start can freeze lava.";
const BOXOBAN_GOAL: &str = "Push every boulder, shown as `` ` `` , onto a fountain, shown as `{`. You push a boulder by walking \
     against it; you cannot pull one, nor push two at once. What is pushed into a corner stays there.";

/// Every task.
pub const TASKS: &[Task] = &[
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

/// What an action does, for the prompt.
fn meaning(action: &str) -> &'static str {
    match action {
        "down" => "go down the stairs you stand on",
        "wait" => "let one turn pass",
        "more" => "read on when a message ends in --More--",
        "apply" => "use a tool, such as a horn",
        "close" => "close a door beside you",
        "eat" => "eat something",
        "force" => "force the lock of a box",
        "kick" => "kick something beside you, such as a locked door",
        "loot" => "open a box you stand on",
        "open" => "open a door beside you",
        "pickup" => "pick up what lies where you stand",
        "pray" => "pray to your god",
        "puton" => "put on a ring, an amulet or a blindfold",
        "quaff" => "drink a potion",
        "search" => "look for hidden doors and passages beside you",
        "zap" => "zap a wand",
        _ => "",
    }
}

impl Task {
    /// The task of this name; the first where none is named.
    pub fn find(name: Option<&str>) -> Option<&'static Self> {
        match name {
            None => TASKS.first(),
            Some(name) => TASKS.iter().find(|task| task.id == name),
        }
    }

    /// Names of all tasks, for an error.
    pub fn known() -> String {
        let ids: Vec<&str> = TASKS.iter().map(|task| task.id).collect();
        ids.join(", ")
    }

    /// The rules as the agent is told them.
    pub fn instruction_prompt(&self) -> String {
        let mut text = String::from(
            "You are an agent playing MiniHack, small challenges set in the game NetHack. These are the only valid \
             actions, each with what it does:\n\n",
        );
        for action in self.actions {
            // Writing into a text cannot fail.
            let _ = match action.strip_prefix("far ") {
                Some(direction) => writeln!(text, "{action}: run {direction} until something interesting comes,"),
                None if COMPASS.contains(action) => {
                    writeln!(text, "{action}: move one step {action}, or attack what stands there,")
                }
                None => writeln!(text, "{action}: {},", meaning(action)),
            };
        }
        text.truncate(text.trim_end_matches([',', '\n']).len());
        text.push_str(".\n\n");
        if self.actions.contains(&"kick") {
            text.push_str("Where the game asks in which direction, answer with the action of that direction.\n");
        }
        // Writing into a text cannot fail.
        let _ = write!(
            text,
            "Your goal: {}\n\
             You have {STEP_LIMIT} steps, and steps that let no time pass cost a little. Walking against a wall, or \
             repeating an action that changed nothing, helps nobody.",
            self.goal
        );
        text
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
        }
    }
}
