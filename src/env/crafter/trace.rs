//! An episode written down record by record, to compare one implementation with another.
//!
//! The form is that of the recorded oracle: a header, one record per state, a closing line. Maps and
//! objects are named by FNV-1a hashes, so that a record stays small.

use serde::Serialize;
use serde_json::{Value, json};

use super::engine::{Engine, Mode, Outcome};
use super::map::Object;
use super::rules::ACHIEVEMENTS;
use super::{text, tiles};

/// A state of an episode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Step of the environment.
    pub t: u64,
    /// The action that led here; `null` for the first state.
    pub a: Option<u8>,
    /// Reward.
    pub r: f64,
    /// 1 when the episode is over.
    pub d: u8,
    /// Position.
    pub p: [i32; 2],
    /// Facing.
    pub f: [i32; 2],
    /// Health, food, drink, energy.
    pub s: [u8; 4],
    /// The other items.
    pub i: [u8; 12],
    /// Achievements so far, one bit each in alphabetical order.
    pub u: u32,
    /// 1 when asleep.
    pub z: u8,
    /// Counters: hunger, thirst, fatigue, recovery.
    pub c: [f64; 4],
    /// Number of objects.
    pub n: usize,
    /// Hash of the materials, column by column.
    pub m: String,
    /// Hash of the objects, sorted.
    pub o: String,
    /// Hash of the objects in order of creation, with their counters.
    pub oo: String,
    /// Hash of the table of chunks.
    pub ch: String,
    /// Daylight, rounded to six decimals.
    #[serde(rename = "L")]
    pub light: f64,
    /// The next random word.
    pub x: u32,
    /// Hash of both texts (BALROG only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub th: Option<String>,
    /// The long text, in some records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tl: Option<String>,
    /// The short text, in some records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<String>,
}

/// The first line.
pub fn header(engine: &Engine, name: &str, seed: i128, policy: &str) -> Value {
    let options = engine.options();
    json!({
        "name": name,
        "seed": i64::try_from(seed).map_or_else(|_| json!(seed.to_string()), |seed| json!(seed)),
        "episode": options.episode as i64,
        "mode": match options.mode { Mode::Raw => "raw", Mode::Balrog => "balrog" },
        "size": [options.size, options.size],
        "length": options.length,
        "policy": policy,
        "world_seed": engine.world_seed(),
    })
}

/// The last line.
pub fn closing(engine: &Engine) -> Value {
    let achievements: serde_json::Map<String, Value> = ACHIEVEMENTS
        .iter()
        .zip(engine.player().achievements)
        .map(|(name, count)| ((*name).to_owned(), json!(count)))
        .collect();
    let score = f64::from(engine.player().unlocked());
    let is_balrog = engine.options().mode == Mode::Balrog;
    let progression = is_balrog.then_some(score / ACHIEVEMENTS.len() as f64);
    json!({
        "end": 1,
        // The agent's own: BALROG's reset takes the first step of the environment.
        "steps": engine.steps() - u64::from(is_balrog),
        "ach": achievements,
        "score": score,
        "progression": progression,
    })
}

/// Makes the records of one episode.
#[derive(Debug, Default)]
pub struct Tracer {
    slept: Option<bool>,
}

impl Tracer {
    /// A tracer at the start of an episode.
    pub fn new() -> Self {
        Self::default()
    }

    /// The record of the engine's state. The texts are in the first record, in every fiftieth, where
    /// sleep begins or ends, and where the episode is over.
    pub fn record(&mut self, engine: &Engine, action: Option<u8>, outcome: Outcome) -> Record {
        let player = engine.player();
        let body = engine.map().player();
        let sleeping = player.sleeping;
        let mut record = Record {
            t: engine.steps(),
            a: action,
            r: outcome.reward,
            d: u8::from(outcome.done),
            p: [body.pos.x, body.pos.y],
            f: [body.facing.x, body.facing.y],
            s: std::array::from_fn(|n| player.items[n]),
            i: std::array::from_fn(|n| player.items[4 + n]),
            u: bits(&player.achievements),
            z: u8::from(sleeping),
            c: [player.hunger, player.thirst, player.fatigue, player.recover],
            n: engine.map().objects().count(),
            m: fnv(engine.map().materials().iter().copied()),
            o: sorted_objects(engine),
            oo: ordered_objects(engine),
            ch: chunks(engine),
            light: (engine.light() * 1e6).round_ties_even() / 1e6,
            x: engine.rng().peek(),
            th: None,
            tl: None,
            ts: None,
        };
        if engine.options().mode == Mode::Balrog {
            let long = text::long(engine.map(), player);
            let short = text::short(&player.items);
            record.th = Some(fnv(long.bytes().chain([0]).chain(short.bytes())));
            let changed = self.slept.is_none_or(|slept| slept != sleeping);
            if changed || record.t.is_multiple_of(50) || outcome.done {
                record.tl = Some(long);
                record.ts = Some(short);
            }
        }
        self.slept = Some(sleeping);
        record
    }
}

fn bits(achievements: &[u32; 22]) -> u32 {
    achievements
        .iter()
        .enumerate()
        .fold(0, |bits, (n, count)| bits | (u32::from(*count > 0) << n))
}

/// FNV-1a, 64 bits, as 16 hexadecimal digits.
fn fnv(bytes: impl Iterator<Item = u8>) -> String {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The four bytes that name an object; the player's health is an item.
fn object_bytes(engine: &Engine, object: &Object) -> [u8; 4] {
    let health = match object.kind {
        tiles::PLAYER => engine.player().health(),
        _ => object.health,
    };
    [object.kind, object.pos.x as u8, object.pos.y as u8, health]
}

fn sorted_objects(engine: &Engine) -> String {
    let mut objects: Vec<[u8; 4]> = engine
        .map()
        .objects()
        .map(|object| object_bytes(engine, object))
        .collect();
    objects.sort_unstable();
    fnv(objects.into_iter().flatten())
}

fn ordered_objects(engine: &Engine) -> String {
    fnv(engine.map().objects().flat_map(|object| {
        let aux = match object.kind {
            tiles::PLAYER | tiles::ARROW => ((object.facing.x + 1) * 3 + object.facing.y + 1) as u16,
            _ => object.counter,
        };
        let [kind, x, y, health] = object_bytes(engine, object);
        let [low, high] = aux.to_le_bytes();
        [kind, x, y, health, low, high]
    }))
}

fn chunks(engine: &Engine) -> String {
    let map = engine.map();
    fnv(map.chunks().iter().flat_map(|chunk| {
        let head = [chunk.origin.x as u8, chunk.origin.y as u8, chunk.members.len() as u8];
        let members = chunk.members.iter().flat_map(|slot| {
            let pos = map.get(*slot).pos;
            [pos.x as u8, pos.y as u8]
        });
        head.into_iter().chain(members)
    }))
}
