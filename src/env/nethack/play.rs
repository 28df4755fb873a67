//! A game played by action names: what NLE's environment and BALROG's wrappers do around each key.
//!
//! Owns the order of things within a step: the key, the questions that are answered for the player, the world's
//! judgement, leaving a game that the world ends, and texts that are read on to their end (AutoMore). Knows no
//! rewards and no tasks: a [`Rules`] brings those.

use serde_json::{Map, Value, json};

use super::date;
use super::ends::{self, End};
use super::game::{Game, GameError, GameOptions};
use super::observation::{Observation, Stats, stat};
use super::{screen, text};
use crate::types::{Digest, Frame, View};

const SPACE: u8 = 32;
const ESC: u8 = 27;
const RETURN: u8 = 13;
/// `#quit`, as one key.
const QUIT: u8 = 0x80 | b'q';
/// What the game writes where it waits for a key.
const MORE: &str = "--More--";
/// Questions that are the player's own even where others are declined.
const KEPT_QUESTIONS: [&[u8]; 4] = [b"eat", b"attack", b"direction?", b"pray"];
/// Keys sent on the program's own account in one go; the game needs a handful.
const MOST_KEYS: u32 = 1000;

/// What a world says of a key that was played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::env) struct Judgement {
    /// Reward.
    pub(in crate::env) reward: f64,
    /// Whether the world ends the episode here. The game's own end comes first.
    pub(in crate::env) end: Option<End>,
}

/// A key that was played.
pub(in crate::env) struct Turn<'a> {
    /// The status numbers before it.
    pub(in crate::env) before: &'a Stats,
    /// What the game shows after it.
    pub(in crate::env) now: &'a Observation,
    /// The hero is alive and the game under way; otherwise the status numbers are zero.
    pub(in crate::env) in_normal_game: bool,
    /// The game is over.
    pub(in crate::env) done: bool,
    /// Keys judged in this episode, this one included: NLE's steps.
    pub(in crate::env) steps: u32,
}

/// What a world adds to the game.
pub(in crate::env) trait Rules {
    /// Whether the player meets every question, menu and text (NetHackChallenge) or is spared them (MiniHack).
    fn everything_is_asked(&self) -> bool;

    /// Whether the player meets every question that one key answers, even where menus and texts are spared.
    fn questions_are_asked(&self) -> bool {
        self.everything_is_asked()
    }

    /// Looks at the first screen.
    fn begin(&mut self, _seen: &Observation) {}

    /// Judges a key.
    fn judge(&mut self, turn: &Turn<'_>) -> Judgement;
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::env) struct Outcome {
    /// Sum of the rewards of all its keys.
    pub(in crate::env) reward: f64,
    /// Reward of its last key.
    pub(in crate::env) last_reward: f64,
    /// How the episode ended, if it did.
    pub(in crate::env) end: Option<End>,
    /// The same in words.
    pub(in crate::env) reason: Option<String>,
}

/// A game with a world's rules.
pub(in crate::env) struct Play<R> {
    game: Game,
    rules: R,
    /// Keys judged.
    steps: u32,
    /// Keys sent since the last action.
    keys: Vec<u8>,
    message: String,
    /// The last status numbers of the living hero.
    stats: Stats,
    role: &'static str,
    digest: Digest,
    end: Option<End>,
}

impl<R: Rules> Play<R> {
    /// Starts a game. `identity` is what the world adds to what decides the game's course: its task, its level.
    pub(in crate::env) fn start(
        options: &GameOptions<'_>,
        mut rules: R,
        identity: &[&[u8]],
    ) -> Result<Self, GameError> {
        let game = Game::start(options)?;
        rules.begin(game.seen());
        let mut play = Self {
            role: text::hero_name(game.seen()),
            stats: game.seen().blstats,
            message: text::latin1(&text::message(game.seen())),
            game,
            rules,
            steps: 0,
            keys: Vec::new(),
            digest: Digest::default(),
            end: None,
        };
        let seed = options.seed.to_le_bytes();
        let names: [&[u8]; 5] = [
            options.engine.folder().as_bytes(),
            options.options.as_bytes(),
            options.character.as_bytes(),
            date::SHOWN_TEXT.as_bytes(),
            &seed,
        ];
        let first = Digest::of_parts(names.iter().chain(identity).copied());
        play.digest = chained(first, "", play.game.seen());
        Ok(play)
    }

    /// Plays an action by its key. Nothing happens once the episode ended.
    pub(in crate::env) fn act(&mut self, action: &str, key: u8) -> Outcome {
        self.keys.clear();
        let mut outcome = Outcome {
            reward: 0.0,
            last_reward: 0.0,
            end: self.end,
            reason: None,
        };
        if self.end.is_none() {
            self.step(key, &mut outcome);
            let mut message = self.read();
            while self.end.is_none() && message.contains(MORE) {
                message = message.replace(MORE, "\n");
                self.step(RETURN, &mut outcome);
                message.push_str(&self.read());
            }
            self.message = message;
            self.digest = chained(self.digest, action, self.game.seen());
        }
        outcome.end = self.end;
        outcome.reason = self.end.map(|end| ends::reason(end, self.game.seen()));
        outcome
    }

    /// One step of NLE.
    fn step(&mut self, key: u8, outcome: &mut Outcome) {
        let before = self.game.seen().blstats;
        self.press(key);
        if self.game.seen().is_game_over() || !self.rules.everything_is_asked() {
            self.spare_questions(true);
        }
        self.steps += 1;
        let judgement = self.rules.judge(&Turn {
            before: &before,
            now: self.game.seen(),
            in_normal_game: self.game.in_normal_game(),
            done: self.game.done(),
            steps: self.steps,
        });
        outcome.last_reward = judgement.reward;
        outcome.reward += judgement.reward;
        if self.game.seen().blstats[stat::MAX_HP] > 0 {
            self.stats = self.game.seen().blstats;
        }
        if self.game.done() {
            self.end = Some(End::Death);
        } else if judgement.end.is_some() {
            self.end = judgement.end;
            self.quit();
        }
    }

    fn press(&mut self, key: u8) {
        self.keys.push(key);
        self.game.press(key);
    }

    fn read(&self) -> String {
        text::latin1(&text::message(self.game.seen()))
    }

    /// Goes on past texts and declines questions; those in [`KEPT_QUESTIONS`] stay, if they may.
    fn spare_questions(&mut self, keep: bool) {
        for _ in 0..MOST_KEYS {
            let seen = self.game.seen();
            if self.game.done() {
                return;
            }
            if seen.waits_for_a_space() {
                self.press(SPACE);
            } else if seen.asks_for_a_line() {
                self.press(ESC);
            } else {
                let asked = |question: &&[u8]| seen.message.windows(question.len()).any(|window| window == *question);
                let kept = keep && (self.rules.questions_are_asked() || KEPT_QUESTIONS.iter().any(asked));
                if seen.asks_a_question() && !kept {
                    self.press(ESC);
                }
                return;
            }
        }
    }

    /// Leaves the game by its own command, so that its last screen tells how it went.
    fn quit(&mut self) {
        self.spare_questions(false);
        if self.game.done() {
            return;
        }
        self.press(QUIT);
        self.press(b'y');
        self.spare_questions(false);
    }

    /// The last status numbers of the living hero.
    pub(in crate::env) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// What is shown after a reset or an action. `progression` is the world's; `extra` goes into `info`.
    pub(in crate::env) fn frame(
        &self,
        outcome: Option<&Outcome>,
        progression: f64,
        extra: Map<String, Value>,
    ) -> Frame {
        let seen = self.game.seen();
        let mut info = self.info(outcome);
        info.extend(extra);
        Frame {
            long: text::safe(text::long(seen, &self.message)),
            short: text::safe(text::short(seen)),
            view: View::Grid(screen::grid(seen)),
            reward: outcome.map_or(0.0, |outcome| outcome.reward),
            terminated: self.end.is_some_and(|end| end != End::Aborted),
            truncated: self.end == Some(End::Aborted),
            progression,
            info: Value::Object(info),
            digest: self.digest,
        }
    }

    /// What people and metrics are told; numbers are those of the living hero.
    fn info(&self, outcome: Option<&Outcome>) -> Map<String, Value> {
        let mut info = Map::new();
        let stats = &self.stats;
        info.insert("position".into(), json!([stats[stat::X], stats[stat::Y]]));
        for (name, index) in [
            ("hp", stat::HP),
            ("max_hp", stat::MAX_HP),
            ("depth", stat::DEPTH),
            ("dlvl", stat::DLVL),
            ("xp_level", stat::LEVEL),
            ("turn", stat::TURN),
            ("gold", stat::GOLD),
            ("ac", stat::AC),
            ("energy", stat::ENERGY),
            ("max_energy", stat::MAX_ENERGY),
            ("score", stat::SCORE),
        ] {
            info.insert(name.into(), json!(stats[index]));
        }
        info.insert("hunger".into(), json!(hunger(stats[stat::HUNGER])));
        if !self.role.is_empty() {
            info.insert("role".into(), json!(self.role));
        }
        info.insert(
            "end_reason".into(),
            json!(outcome.and_then(|outcome| outcome.reason.as_deref())),
        );
        info.insert("env_steps".into(), json!(self.steps));
        match outcome {
            Some(_) => info.insert("keys".into(), json!(self.keys)),
            None => info.insert(
                "date".into(),
                match self.game.date_is_pinned() {
                    true => json!(date::SHOWN_TEXT),
                    false => json!(format!("{} (not pinned)", jiff::Timestamp::now())),
                },
            ),
        };
        info
    }
}

/// The game's words for hunger.
fn hunger(state: i64) -> &'static str {
    match state {
        0 => "satiated",
        1 => "not hungry",
        2 => "hungry",
        3 => "weak",
        4 => "fainting",
        5 => "fainted",
        _ => "starved",
    }
}

/// Digest of a state: of the one before, the action, and everything shown.
fn chained(before: Digest, action: &str, seen: &Observation) -> Digest {
    let mut all = Vec::with_capacity(24 << 10);
    all.extend(seen.glyphs.iter().flat_map(|number| number.to_le_bytes()));
    all.extend(seen.inv_glyphs.iter().flat_map(|number| number.to_le_bytes()));
    all.extend(seen.blstats.iter().flat_map(|number| number.to_le_bytes()));
    for part in [&seen.program_state[..], &seen.internal, &seen.misc] {
        all.extend(part.iter().flat_map(|number| number.to_le_bytes()));
    }
    all.extend(seen.tty_colors.iter().map(|number| *number as u8));
    let bytes: [&[u8]; 9] = [
        &seen.chars,
        &seen.colors,
        &seen.specials,
        &seen.message,
        &seen.inv_strs,
        &seen.inv_letters,
        &seen.inv_oclasses,
        &seen.tty_chars,
        &seen.tty_cursor,
    ];
    for part in bytes {
        all.extend_from_slice(part);
    }
    // All parts but the action have a fixed length; one long part is hashed many times faster than many short ones.
    Digest::of_parts([&before.0[..], action.as_bytes(), &all])
}
