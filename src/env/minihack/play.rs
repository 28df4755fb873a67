//! One episode of a task: keys sent as NLE and MiniHack send them, rewards and ends as MiniHack counts them.
//!
//! Owns what stands between an action's key and the game: questions declined, texts read on, the game left
//! once the episode is over. Knows nothing of actions' names and of texts for the agent.

use crate::env::nethack::{COLUMNS, Game, Observation, stat};

use super::tasks::{STEP_LIMIT, Source, Task};

const SPACE: u8 = 32;
const ESCAPE: u8 = 27;
/// Leaves the game: the command, and the answer to its question.
const QUIT: [u8; 2] = [0x80 | b'q', b'y'];
/// Questions that wait for an answer in every task, by words in them.
const ANSWERED: [&[u8]; 4] = [b"eat", b"attack", b"direction?", b"pray"];
/// Spaces after which a text that goes on and on is left alone.
const MOST_SPACES: u32 = 1000;
/// Reward of a step that lets no time pass.
const NO_TIME: f64 = -0.01;
/// Boxoban's reward of every step, and of a boulder put on a fountain.
const BOXOBAN_STEP: f64 = -0.001;
const BOXOBAN_BOULDER: f64 = 0.1;

/// How an episode stands, by MiniHack's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Cut off at the step limit.
    Aborted = -1,
    /// Under way.
    Running = 0,
    /// The game ended: the hero died, or left it.
    Death = 1,
    /// The goal was reached.
    Successful = 2,
}

/// What came of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// MiniHack's reward.
    pub reward: f64,
    /// How the episode stands.
    pub status: Status,
    /// The goal is reached, even where MiniHack ended the episode for its length instead.
    pub success: bool,
}

/// An episode under way.
pub struct Play {
    game: Game,
    answers_questions: bool,
    /// Cells with a fountain at the start, where boulders on all of them are the goal.
    fountains: Option<Vec<usize>>,
    steps: u32,
    keys: Vec<u8>,
    /// What the game showed when the episode ended, before it was left.
    before_end: Option<Box<Observation>>,
}

impl Play {
    /// The episode of a game that stands at its first turn.
    pub fn new(game: Game, task: &Task) -> Self {
        let fountains = matches!(task.source, Source::Boxoban(_)).then(|| cells(game.seen(), b'{'));
        Self {
            game,
            answers_questions: task.answers_questions,
            fountains,
            steps: 0,
            keys: Vec::new(),
            before_end: None,
        }
    }

    /// The game.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// What the game showed last while it was played: at the end its farewell is not that.
    pub fn last_played(&self) -> &Observation {
        self.before_end.as_deref().unwrap_or_else(|| self.game.seen())
    }

    /// The keys sent since this was asked last.
    pub fn take_keys(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.keys)
    }

    /// One step of MiniHack: a key, and what NLE does by itself after it. When the episode ends the game is
    /// left, so that it shows its farewell.
    pub fn step(&mut self, key: u8) -> Outcome {
        let turn = self.game.seen().blstats[stat::TURN];
        let covered = self.covered();
        let before = Box::new(self.game.seen().clone());
        self.press(key);
        self.settle(true);
        self.steps += 1;
        let success = !self.game.done() && self.goal_reached();
        let status = if self.game.done() {
            Status::Death
        } else if self.steps >= STEP_LIMIT {
            Status::Aborted
        } else if success {
            Status::Successful
        } else {
            Status::Running
        };
        let won = status == Status::Successful;
        let reward = match (covered, self.covered()) {
            (Some(_), _) if won => 1.0,
            (Some(before), Some(after)) if status == Status::Running => {
                BOXOBAN_STEP + (f64::from(after) - f64::from(before)) * BOXOBAN_BOULDER
            }
            (Some(_), _) => 0.0,
            (None, _) => {
                let base = if won { 1.0 } else { 0.0 };
                base + if self.game.seen().blstats[stat::TURN] == turn { NO_TIME } else { 0.0 }
            }
        };
        match status {
            Status::Running => {}
            Status::Death => self.before_end = Some(before),
            Status::Aborted | Status::Successful => {
                self.before_end = Some(Box::new(self.game.seen().clone()));
                self.leave();
            }
        }
        Outcome {
            reward,
            status,
            success,
        }
    }

    /// Boulders that stand on fountains; `None` where they are not what counts.
    fn covered(&self) -> Option<u32> {
        let fountains = self.fountains.as_ref()?;
        let chars = &self.game.seen().chars;
        Some(fountains.iter().filter(|cell| chars[**cell] == b'`').count() as u32)
    }

    fn goal_reached(&self) -> bool {
        match &self.fountains {
            Some(fountains) => *fountains == cells(self.game.seen(), b'`'),
            None => self.game.seen().stands_on_stairs_down(),
        }
    }

    fn press(&mut self, key: u8) {
        if !self.game.done() {
            self.keys.push(key);
            self.game.press(key);
        }
    }

    /// What NLE does before it shows a frame: reads texts on, gives no lines of text, declines questions
    /// unless they wait for an answer.
    fn settle(&mut self, answers: bool) {
        let mut spaces = 0;
        while !self.game.done() {
            let seen = self.game.seen();
            if seen.waits_for_a_space() && spaces < MOST_SPACES {
                spaces += 1;
                self.press(SPACE);
            } else if seen.asks_for_a_line() {
                self.press(ESCAPE);
            } else if seen.asks_a_question() {
                let awaited = |words: &&[u8]| seen.message.windows(words.len()).any(|part| part == *words);
                if !(answers && (self.answers_questions || ANSWERED.iter().any(awaited))) {
                    self.press(ESCAPE);
                }
                return;
            } else {
                return;
            }
        }
    }

    /// Leaves the game.
    fn leave(&mut self) {
        self.settle(false);
        for key in QUIT {
            self.press(key);
        }
        self.settle(false);
    }
}

/// Cells of the map that show a character, in order.
fn cells(seen: &Observation, character: u8) -> Vec<usize> {
    (0..seen.chars.len())
        .filter(|cell| seen.chars[*cell] == character)
        .collect()
}
