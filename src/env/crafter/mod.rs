//! Crafter, native: the rules of the Python package `crafter` 1.8.3 with the texts of BALROG's
//! wrapper, as AutoMem configures it.
//!
//! Owns the game. The same seed and actions give the same worlds, texts, rewards and random numbers
//! as the original, which recorded episodes in `tests/fixtures/crafter` prove. Where the original
//! depends on memory addresses (which of several creatures in a chunk disappears), the order of
//! entry counts. [`Engine`] plays without text; [`Crafter`] is the world an agent plays.

mod balance;
mod creatures;
mod engine;
mod map;
mod player;
mod rng;
mod rules;
mod simplex;
mod text;
pub mod tiles;
pub mod trace;
mod worldgen;

pub use engine::{Engine, Mode, Options, Outcome, daylight};
pub use map::{Map, Object, Pos, SIDE};
pub use player::Player;
pub use rng::{Rng, tuple_hash, world_seed};
pub(crate) use rules::item;
pub use rules::{ACHIEVEMENTS, ACTIONS, ITEMS};
pub use simplex::Simplex;
pub use text::{long, scene, short};

use serde_json::{Map as JsonMap, Value, json};

use super::{World, WorldError};
use crate::types::{Action, Digest, Frame, Rect, TileView, View, WorldSpec};

/// The rules as the agent is told them.
const INSTRUCTION: &str = include_str!("instruction.txt");
/// Steps of the agent in an episode.
const STEP_LIMIT: u32 = 2000;

/// Crafter as an agent plays it through BALROG's wrapper.
pub struct Crafter {
    spec: WorldSpec,
    engine: Option<Engine>,
    steps: u32,
    /// Digest of the materials, and how often they had changed by then.
    ground: Option<(u64, Digest)>,
    scratch: Vec<u8>,
}

impl Default for Crafter {
    fn default() -> Self {
        Self::new()
    }
}

impl Crafter {
    /// A world without an episode.
    pub fn new() -> Self {
        Self {
            spec: WorldSpec {
                name: "crafter".into(),
                engine: "automem-native".into(),
                engine_version: "1.8.3".into(),
                task: "default".into(),
                actions: ACTIONS.iter().map(|name| Action::from(*name)).collect(),
                instruction_prompt: INSTRUCTION.into(),
                fallback: Action::from(ACTIONS[0]),
                step_limit: STEP_LIMIT,
                command: None,
            },
            engine: None,
            steps: 0,
            ground: None,
            scratch: Vec::new(),
        }
    }

    fn frame(&mut self, engine: &Engine, outcome: Outcome) -> Frame {
        let long = text::long(engine.map(), engine.player());
        let short = text::short(&engine.player().items);
        let digest = self.digest(engine, outcome, &long, &short);
        Frame {
            view: View::Tiles(tile_view(engine)),
            reward: outcome.reward,
            terminated: outcome.done,
            truncated: !outcome.done && self.steps >= STEP_LIMIT,
            progression: f64::from(engine.player().unlocked()) / ACHIEVEMENTS.len() as f64,
            info: info(engine),
            digest,
            long,
            short,
        }
    }

    /// Names everything the future depends on, and what was shown.
    fn digest(&mut self, engine: &Engine, outcome: Outcome, long: &str, short: &str) -> Digest {
        let map = engine.map();
        let ground = match self.ground {
            Some((changes, digest)) if changes == map.changes() => digest,
            _ => Digest::of(map.materials()),
        };
        self.ground = Some((map.changes(), ground));
        let state = &mut self.scratch;
        state.clear();
        state.extend(ground.0);
        engine.write_state(state);
        state.extend(outcome.reward.to_bits().to_le_bytes());
        state.extend([u8::from(outcome.done)]);
        state.extend(self.steps.to_le_bytes());
        Digest::of_parts([state.as_slice(), long.as_bytes(), short.as_bytes()])
    }
}

impl World for Crafter {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn reset(&mut self, seed: u64) -> Result<Frame, WorldError> {
        let engine = Engine::new(Options::BALROG, i128::from(seed));
        self.steps = 0;
        self.ground = None;
        let frame = self.frame(
            &engine,
            Outcome {
                reward: 0.0,
                done: false,
            },
        );
        self.engine = Some(engine);
        Ok(frame)
    }

    fn step(&mut self, action: &Action) -> Result<Frame, WorldError> {
        let Some(mut engine) = self.engine.take() else {
            return Err(WorldError::NotReset {
                world: self.spec.name.clone(),
            });
        };
        let Some(number) = ACTIONS.iter().position(|name| *name == action.as_str()) else {
            self.engine = Some(engine);
            return Err(WorldError::UnknownAction {
                action: action.to_string(),
                world: self.spec.name.clone(),
            });
        };
        let outcome = engine.step(number as u8);
        self.steps += 1;
        let frame = self.frame(&engine, outcome);
        if !frame.terminated && !frame.truncated {
            self.engine = Some(engine);
        }
        Ok(frame)
    }
}

fn tile_view(engine: &Engine) -> TileView {
    let map = engine.map();
    let body = map.player();
    TileView {
        set: "crafter".into(),
        width: SIDE as u16,
        height: SIDE as u16,
        cells: map.picture().to_vec(),
        window: Rect {
            x: body.pos.x - text::REACH_X,
            y: body.pos.y - text::REACH_Y,
            w: 2 * text::REACH_X + 1,
            h: 2 * text::REACH_Y + 1,
        },
        player: (body.pos.x, body.pos.y),
        facing: (body.facing.x as i8, body.facing.y as i8),
        light: engine.light() as f32,
        asleep: engine.player().sleeping,
    }
}

/// Numbers for people: vitals, what is carried and what was achieved (nothing that is 0, vitals
/// excepted), and the environment's own step.
fn info(engine: &Engine) -> Value {
    let player = engine.player();
    let mut info = JsonMap::new();
    let (vitals, carried) = player.items.split_at(4);
    for (name, count) in ITEMS.iter().zip(vitals) {
        info.insert((*name).to_owned(), json!(count));
    }
    let named = |pairs: &mut dyn Iterator<Item = (&&str, u32)>| {
        let map: JsonMap<String, Value> = pairs
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        Value::Object(map)
    };
    let mut carried = ITEMS[4..].iter().zip(carried.iter().map(|count| u32::from(*count)));
    info.insert("inventory".into(), named(&mut carried));
    let mut achieved = ACHIEVEMENTS.iter().zip(player.achievements);
    info.insert("achievements".into(), named(&mut achieved));
    info.insert("env_step".into(), json!(engine.steps()));
    Value::Object(info)
}
