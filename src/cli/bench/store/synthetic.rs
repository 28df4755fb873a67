//! A made-up player that writes what a real one writes: growing notes, searches, long prompts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use super::probe::Random;
use crate::types::*;

/// How much the player says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Like the reference on its 2,000-step run: prompts of 4 to 6 kB, searches without a limit.
    Reference,
    /// Like a small local model: short prompts, results cut at 1 kB, notes pruned.
    Short,
}

/// Plays for ever; an item is one step's events.
pub(super) struct Player {
    style: Style,
    random: Random,
    step: u32,
    files: MemoryFiles,
    world: World,
    action: &'static str,
}

const ACTIONS: [&str; 6] = ["Move West", "Move East", "Move North", "Move South", "Do", "Noop"];
const THINGS: [&str; 8] = ["grass", "tree", "stone", "water", "cow", "path", "sand", "coal"];
const SIDES: [&str; 4] = ["north", "south", "west", "east"];
const LOG: &str = "actions_log.txt";
const MOST_NOTES: usize = 100_000;

impl Player {
    pub(super) fn new(style: Style) -> Self {
        let files = [
            (LOG, "# Actions\n"),
            ("landmarks.txt", ""),
            ("goals.txt", "Collect wood.\n"),
        ];
        Self {
            style,
            random: Random(42),
            step: 0,
            files: files
                .into_iter()
                .map(|(path, text)| (path.to_owned(), text.into()))
                .collect(),
            world: World::new(),
            action: "Noop",
        }
    }

    fn at(&self) -> At {
        At {
            episode: EpisodeNo(0),
            step: StepNo(self.step),
            agent: "agent".into(),
            memory_root: "ep_00".into(),
        }
    }

    fn search(&self, word: &str) -> String {
        let notes = self.files.get(LOG).map_or("", |text| text);
        let mut found = format!("── SEARCH {LOG} for '{word}' ──\n");
        let most = if self.style == Style::Short { 1024 } else { usize::MAX };
        for line in notes.lines().filter(|line| line.contains(word)) {
            if found.len() + line.len() > most {
                break;
            }
            found.push_str(line);
            found.push('\n');
        }
        found
    }

    fn turn(&self, phase: Phase, turn: u32, prompt: &str, response: &str, results: &str) -> Body {
        let tokens = (prompt.len() / 4) as u32;
        Body::TurnFinished {
            turn: Box::new(Turn {
                phase,
                turn: TurnNo(turn),
                role: Role::Agent,
                model: "synthetic".into(),
                prompt: prompt.to_owned(),
                spans: Vec::new(),
                response: response.to_owned(),
                tool_results: results.to_owned(),
                prompt_tokens: tokens,
                cached_tokens: tokens / 2,
                completion_tokens: (response.len() / 4) as u32,
                prompt_ms: 1.5,
                ms: f64::from(self.step % 977) * 1.37 + 3.1,
                sampling: Sampling::default(),
                grammar: false,
                stop: StopReason::End,
            }),
        }
    }

    /// The log phase of a step: look the last action up, write what came of it.
    fn log(&mut self, seen: &str, bodies: &mut Vec<Body>) {
        let before = self.files.get(LOG).cloned().unwrap_or_default();
        let line = format!("Step {} action '{}': now {seen}\n", self.step - 1, self.action);
        let after = if self.style == Style::Short && before.len() > MOST_NOTES {
            let half = before[before.len() / 2..]
                .find('\n')
                .map_or(0, |at| before.len() / 2 + at + 1);
            format!("{}{line}", &before[half..])
        } else {
            format!("{before}{line}")
        };
        let found = self.search(self.action);
        let prompt = template(
            self.style,
            Phase::Log,
            &format!("You took action: {}\n{seen}\n", self.action),
        );
        let response = format!(
            "<|SEARCH|>{LOG}|{}<|END|>\n<|APPEND|>{LOG}|{}<|END|>\n<|DONE|>",
            self.action,
            line.trim_end()
        );
        bodies.push(self.turn(Phase::Log, 0, &prompt, &response, &found));
        bodies.push(op(
            Phase::Log,
            "SEARCH",
            vec![LOG.into(), self.action.into()],
            found,
            Vec::new(),
        ));
        let change = MemoryChange::between(LOG, Some(&before), Some(&after));
        if let Some(change) = change {
            self.files.insert(LOG.to_owned(), after.into());
            let args = vec![LOG.into(), line.trim_end().into()];
            bodies.push(op(Phase::Log, "APPEND", args, "Appended.".into(), vec![change]));
        }
    }

    fn plan(&mut self, seen: &str, bodies: &mut Vec<Body>) {
        let next = ACTIONS[self.random.below(6) as usize];
        let found = self.search(next);
        let prompt = template(self.style, Phase::Plan, &format!("{seen}\n"));
        let response = format!("I plan to {next}. Let me validate it.\n<|SEARCH|>{LOG}|{next}<|END|>");
        bodies.push(self.turn(Phase::Plan, 0, &prompt, &response, &found));
        bodies.push(op(
            Phase::Plan,
            "SEARCH",
            vec![LOG.into(), next.into()],
            found.clone(),
            Vec::new(),
        ));
        let answer = format!("Memory does not warn against it; committing.\n<|ACTION|>{next}<|END|>");
        let prompt = format!(
            "{prompt}{response}<|im_end|>\n<|im_start|>user\nSearch results:\n{found}\nDecide.<|im_end|>\n<|im_start|>assistant\n"
        );
        bodies.push(self.turn(Phase::Plan, 1, &prompt, &answer, ""));
        bodies.push(Body::ActionCommitted {
            raw: next.into(),
            validated: next.into(),
            repaired: false,
            by: ActionBy::Model,
        });
        self.action = next;
    }
}

impl Iterator for Player {
    type Item = Vec<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bodies = Vec::new();
        if self.step == 0 {
            bodies.push(Body::EpisodeStarted {
                seed: 42,
                inherited: self.files.clone(),
            });
        }
        let mut seen = String::new();
        for _ in 0..1 + self.random.below(4) {
            let (thing, side) = (self.random.below(8) as usize, self.random.below(4) as usize);
            let _ = write!(seen, "{} {} {}, ", THINGS[thing], 1 + self.random.below(4), SIDES[side]);
        }
        bodies.push(Body::Observed {
            frame: Arc::new(self.world.frame(self.step, &seen, &mut self.random)),
        });
        if self.step > 0 {
            self.log(&seen, &mut bodies);
        }
        self.plan(&seen, &mut bodies);
        bodies.push(Body::StepFinished {
            reward: if self.step % 89 == 7 { 1.0 } else { 0.0 },
            terminated: false,
            truncated: false,
            progression: f64::from(self.step / 89).min(22.0) / 22.0,
            state_patch: None,
            ms: f64::from(self.step % 983) * 2.11 + 5.3,
        });
        let at = self.at();
        self.step += 1;
        Some(bodies.into_iter().map(|body| Event { at: at.clone(), body }).collect())
    }
}

fn op(phase: Phase, name: &str, args: Vec<String>, text: String, changes: Vec<MemoryChange>) -> Body {
    Body::MemoryOp {
        op: Box::new(MemoryOp {
            phase,
            turn: TurnNo(0),
            op: name.to_owned(),
            args,
            by: Author::Model,
            outcome: OpOutcome {
                status: OpStatus::Ok,
                text,
                cut: 0,
            },
            changes,
        }),
    }
}

fn template(style: Style, phase: Phase, middle: &str) -> String {
    let rules = match (style, phase) {
        (Style::Reference, Phase::Log) => 40,
        (Style::Reference, Phase::Plan) => 60,
        (Style::Short, _) => 8,
    };
    let rule = |n| {
        format!(
            "{n}. In the {} phase, mind rule {n}: write down what is worth it, and say why.\n",
            phase.word()
        )
    };
    let rules: String = (0..rules).map(rule).collect();
    format!(
        "<|im_start|>system\nYou play a game.\n<|im_end|>\n<|im_start|>user\n{middle}\n{rules}<|im_end|>\n<|im_start|>assistant\n"
    )
}

/// A map on which a few things move about.
pub(super) struct World {
    cells: Vec<u8>,
    things: Vec<(usize, usize)>,
}

impl World {
    pub(super) fn new() -> Self {
        let mut random = Random(7);
        let mut cells = vec![1u8; 64 * 64];
        for _ in 0..220 {
            let (x, y, kind) = (random.below(64), random.below(64), 1 + random.below(8) as u8);
            for dy in 0..3 + random.below(4) {
                for dx in 0..3 + random.below(4) {
                    cells[((y + dy) % 64 * 64 + (x + dx) % 64) as usize] = kind;
                }
            }
        }
        let things = (0..12)
            .map(|_| (random.below(64) as usize, random.below(64) as usize))
            .collect();
        Self { cells, things }
    }

    /// The next frame.
    pub(super) fn frame(&mut self, step: u32, seen: &str, random: &mut Random) -> Frame {
        for (at, thing) in self.things.iter_mut().enumerate() {
            if at == 0 || random.below(3) == 0 {
                match random.below(4) {
                    0 => thing.0 = (thing.0 + 1) % 64,
                    1 => thing.0 = (thing.0 + 63) % 64,
                    2 => thing.1 = (thing.1 + 1) % 64,
                    _ => thing.1 = (thing.1 + 63) % 64,
                }
            }
        }
        let mut cells = self.cells.clone();
        for (at, (x, y)) in self.things.iter().enumerate() {
            cells[y * 64 + x] = 12 + (at % 6) as u8;
        }
        let (x, y) = self.things.first().map_or((0, 0), |&(x, y)| (x as i32, y as i32));
        Frame {
            long: format!("You see:\n{seen}"),
            short: format!(
                "Your status:\n- health: {}/9\n- food: {}/9",
                1 + step % 9,
                1 + step / 30 % 9
            ),
            view: View::Tiles(TileView {
                set: "crafter".into(),
                width: 64,
                height: 64,
                cells,
                window: Rect {
                    x: x - 4,
                    y: y - 3,
                    w: 9,
                    h: 7,
                },
                player: (x, y),
                facing: (0, 1),
                light: (step % 300) as f32 / 300.0,
                asleep: false,
            }),
            reward: 0.0,
            terminated: false,
            truncated: false,
            progression: 0.0,
            info: serde_json::json!({"achievements": {"collect_wood": step / 100, "wake_up": step / 300}}),
            digest: Digest::of(step.to_le_bytes()),
        }
    }
}

/// The description of a made-up run.
pub(super) fn meta() -> RunMeta {
    RunMeta {
        id: RunId("00000000-0000-7000-8000-000000000000".into()),
        created: "2026-01-01T00:00:00Z".into(),
        automem: env!("CARGO_PKG_VERSION").into(),
        world: WorldSpec {
            name: "crafter".into(),
            engine: "synthetic".into(),
            engine_version: "0".into(),
            task: "default".into(),
            actions: ACTIONS.into_iter().map(Action::from).collect(),
            instruction_prompt: String::new(),
            fallback: "Noop".into(),
            step_limit: u32::MAX,
            command: None,
        },
        seeds: vec![42],
        max_steps: u32::MAX,
        scaffold: ScaffoldRef {
            name: "synthetic".into(),
            version: "0".into(),
            parent: None,
            digest: Digest::default(),
            files: BTreeMap::new(),
        },
        model: ModelRef {
            name: "synthetic".into(),
            backend: "synthetic".into(),
            is_llm: false,
            details: BTreeMap::new(),
        },
        specialist: None,
        sampling: Sampling::default(),
        workers: 1,
        exact: true,
        origin: None,
    }
}
