//! MiniHack's rewards and ends: the stairs, or Boxoban's boulders.
//!
//! Owns what a task counts. Must not press keys.

use crate::env::nethack::{End, Judgement, Observation, Rules, Turn, stat};

use super::tasks::{STEP_LIMIT, Source, Task};

/// Reward of a step that lets no time pass.
const NO_TIME: f64 = -0.01;
/// Boxoban's reward of every step, and of a boulder put on a fountain.
const BOXOBAN_STEP: f64 = -0.001;
const BOXOBAN_BOULDER: f64 = 0.1;

/// What a task counts in one episode.
#[derive(Debug)]
pub(super) struct Goal {
    answers_questions: bool,
    boulders: Option<Boulders>,
}

/// Boulders to be put on fountains.
#[derive(Debug, Default)]
struct Boulders {
    /// Cells with a fountain when the episode began.
    fountains: Vec<usize>,
    /// Fountains with a boulder.
    covered: u32,
}

impl Goal {
    /// The task's, in an episode that has not begun.
    pub(super) fn new(task: &Task) -> Self {
        Self {
            answers_questions: task.answers_questions,
            boulders: matches!(task.source, Source::Boxoban(_)).then(Boulders::default),
        }
    }
}

impl Rules for Goal {
    fn everything_is_asked(&self) -> bool {
        false
    }

    fn questions_are_asked(&self) -> bool {
        self.answers_questions
    }

    fn begin(&mut self, seen: &Observation) {
        if let Some(boulders) = &mut self.boulders {
            boulders.fountains = cells(seen, b'{');
        }
    }

    fn judge(&mut self, turn: &Turn<'_>) -> Judgement {
        let gained = self.boulders.as_mut().map(|boulders| boulders.look(turn.now));
        let reached = match &self.boulders {
            Some(boulders) => boulders.fountains == cells(turn.now, b'`'),
            None => turn.now.stands_on_stairs_down(),
        };
        // The game's own end comes first, the number of steps next: a goal that the last step reaches does not count.
        let end = match (turn.done, turn.steps >= STEP_LIMIT, reached) {
            (true, ..) => Some(End::Death),
            (_, true, _) => Some(End::Aborted),
            (.., true) => Some(End::Success),
            _ => None,
        };
        let won = if end == Some(End::Success) { 1.0 } else { 0.0 };
        let reward = match gained {
            Some(gained) if end.is_none() => BOXOBAN_STEP + gained * BOXOBAN_BOULDER,
            Some(_) => won,
            None if turn.now.blstats[stat::TURN] == turn.before[stat::TURN] => won + NO_TIME,
            None => won,
        };
        Judgement { reward, end }
    }
}

impl Boulders {
    /// How many more fountains are covered than when this was asked last.
    fn look(&mut self, seen: &Observation) -> f64 {
        let covered = self.fountains.iter().filter(|cell| seen.chars[**cell] == b'`').count() as u32;
        let gained = f64::from(covered) - f64::from(self.covered);
        self.covered = covered;
        gained
    }
}

/// Cells of the map that show a character, in order.
fn cells(seen: &Observation, character: u8) -> Vec<usize> {
    (0..seen.chars.len())
        .filter(|cell| seen.chars[*cell] == character)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(task: &str, start: &Observation) -> Goal {
        let mut goal = Goal::new(Task::find(Some(task)).unwrap());
        goal.begin(start);
        goal
    }

    fn turn<'a>(before: &'a Observation, now: &'a Observation, steps: u32) -> Turn<'a> {
        Turn {
            before: &before.blstats,
            now,
            in_normal_game: true,
            done: false,
            steps,
        }
    }

    fn judged(reward: f64, end: Option<End>) -> Judgement {
        Judgement { reward, end }
    }

    #[test]
    fn stairs_end_a_maze_and_time_that_stands_still_costs() {
        let before = Observation::default();
        let mut now = Observation::default();
        let mut goal = goal("MiniHack-MazeWalk-9x9-v0", &before);
        assert_eq!(goal.judge(&turn(&before, &now, 1)), judged(-0.01, None));
        now.blstats[stat::TURN] = 2;
        assert_eq!(goal.judge(&turn(&before, &now, 2)), judged(0.0, None));
        now.internal[4] = 1;
        assert_eq!(goal.judge(&turn(&before, &now, 3)), judged(1.0, Some(End::Success)));
        now.blstats[stat::TURN] = 0;
        assert_eq!(goal.judge(&turn(&before, &now, 3)), judged(0.99, Some(End::Success)));
    }

    #[test]
    fn the_last_step_is_cut_off_even_on_the_stairs() {
        let before = Observation::default();
        let mut now = Observation::default();
        now.blstats[stat::TURN] = 2;
        now.internal[4] = 1;
        let mut goal = goal("MiniHack-Corridor-R3-v0", &before);
        assert_eq!(
            goal.judge(&turn(&before, &now, STEP_LIMIT)),
            judged(0.0, Some(End::Aborted))
        );
    }

    #[test]
    fn death_comes_before_the_step_limit() {
        let (before, mut now) = (Observation::default(), Observation::default());
        now.blstats[stat::TURN] = 2;
        let mut last = turn(&before, &now, STEP_LIMIT);
        last.done = true;
        let mut goal = goal("MiniHack-Quest-Easy-v0", &before);
        assert_eq!(goal.judge(&last), judged(0.0, Some(End::Death)));
    }

    #[test]
    fn boulders_pay_as_they_reach_and_leave_fountains() {
        let mut seen = Observation::default();
        seen.chars[100] = b'{';
        seen.chars[200] = b'{';
        seen.chars[300] = b'`';
        seen.chars[301] = b'`';
        let before = seen.clone();
        let mut goal = goal("MiniHack-Boxoban-Hard-v0", &seen);
        assert_eq!(goal.judge(&turn(&before, &seen, 1)), judged(-0.001, None));
        (seen.chars[300], seen.chars[100]) = (b'.', b'`');
        assert_eq!(goal.judge(&turn(&before, &seen, 2)), judged(0.099, None));
        (seen.chars[100], seen.chars[101]) = (b'{', b'`');
        assert_eq!(goal.judge(&turn(&before, &seen, 3)), judged(-0.101, None));
        // The hero on a fountain hides it, which does not make it covered.
        seen.chars[200] = b'@';
        assert_eq!(goal.judge(&turn(&before, &seen, 4)), judged(-0.001, None));
        for cell in [101, 301] {
            seen.chars[cell] = b'.';
        }
        for cell in [100, 200] {
            seen.chars[cell] = b'`';
        }
        assert_eq!(goal.judge(&turn(&before, &seen, 5)), judged(1.0, Some(End::Success)));
        assert_eq!(
            goal.judge(&turn(&before, &seen, STEP_LIMIT)),
            judged(0.0, Some(End::Aborted))
        );
    }
}
