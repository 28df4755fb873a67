//! The engine: one episode of Crafter, step by step, without text.

use super::balance;
use super::creatures::Turn;
use super::map::{Map, Object};
use super::player::Player;
use super::rng::{self, Rng};
use super::tiles;
use super::worldgen;

/// Objects further away than this from the player stand still.
const ACTIVE_DISTANCE: i32 = 18;
/// Cells of the view that is drawn, noise included.
const VIEW_CELLS: (usize, usize) = (9, 7);
/// What the picture's side is divided by to get a cell's.
const VIEW_GRID: usize = 9;

/// How the game is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The bare environment: a picture is drawn once a step.
    Raw,
    /// BALROG's wrapper: one step of doing nothing at reset, and a second picture every step.
    Balrog,
}

/// What an episode depends on beside its seed and actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The wrapping.
    pub mode: Mode,
    /// Side of the picture in pixels: drawing by night consumes random numbers, a pixel at a time.
    pub size: usize,
    /// Steps after which the game itself ends; 0 for no end.
    pub length: u64,
    /// Which episode of one Python environment this stands for, from 1.
    pub episode: i128,
}

impl Options {
    /// The bare environment as it comes.
    pub const RAW: Self = Self {
        mode: Mode::Raw,
        size: 64,
        length: 10_000,
        episode: 1,
    };
    /// BALROG's as AutoMem configures it.
    pub const BALROG: Self = Self {
        mode: Mode::Balrog,
        size: 256,
        length: 10_000,
        episode: 1,
    };
}

/// What a step gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// A tenth of the health won or lost, and 1 when anything was achieved for the first time.
    pub reward: f64,
    /// The player is dead or the game's own length is reached.
    pub done: bool,
}

/// One episode under way.
#[derive(Debug, Clone)]
pub struct Engine {
    options: Options,
    world_seed: u32,
    map: Map,
    player: Player,
    rng: Rng,
    step: u64,
    light: f64,
    last_health: u8,
    unlocked: u32,
}

impl Engine {
    /// Starts an episode.
    pub fn new(options: Options, seed: i128) -> Self {
        let world_seed = rng::world_seed(seed, options.episode);
        let mut rng = Rng::new(world_seed);
        let mut map = Map::new();
        map.add(Object::new(tiles::PLAYER, worldgen::START));
        worldgen::generate(&mut map, &mut rng);
        let player = Player::new();
        let mut engine = Self {
            options,
            world_seed,
            map,
            last_health: player.health(),
            player,
            rng,
            step: 0,
            light: daylight(0),
            unlocked: 0,
        };
        engine.draw();
        if options.mode == Mode::Balrog {
            engine.step(0);
        }
        engine
    }

    /// Plays an action by its number; one that is none does nothing. A dead player does not stop it.
    pub fn step(&mut self, action: u8) -> Outcome {
        self.step += 1;
        self.light = daylight(self.step);
        self.update_objects(action);
        if self.step.is_multiple_of(10) {
            balance::balance(&mut self.map, &mut self.rng, self.light);
        }
        self.map.settle();
        self.draw();
        if self.options.mode == Mode::Balrog {
            self.draw();
        }
        self.outcome()
    }

    fn update_objects(&mut self, action: u8) {
        // Objects that appear in this step act from the next one on.
        let places = self.map.places();
        self.player.update(&mut self.map, &mut self.rng, action);
        for place in 1..places {
            let Some(slot) = self.map.place(place) else { continue };
            if self.map.player().pos.distance(self.map.get(slot).pos) < ACTIVE_DISTANCE {
                Turn {
                    map: &mut self.map,
                    player: &mut self.player,
                    rng: &mut self.rng,
                }
                .update(slot);
            }
        }
    }

    /// Drawing the picture changes nothing, but by night every pixel's noise takes a random number.
    fn draw(&mut self) {
        if self.light < 0.5 {
            let unit = self.options.size / VIEW_GRID;
            self.rng.skip(2 * VIEW_CELLS.0 * unit * VIEW_CELLS.1 * unit);
        }
    }

    fn outcome(&mut self) -> Outcome {
        let health = self.player.health();
        let mut reward = (f64::from(health) - f64::from(self.last_health)) / 10.0;
        self.last_health = health;
        let unlocked = self.player.unlocked();
        if unlocked > self.unlocked {
            self.unlocked = unlocked;
            reward += 1.0;
        }
        Outcome {
            reward,
            done: health == 0 || (self.options.length > 0 && self.step >= self.options.length),
        }
    }

    /// Writes down everything the future depends on, the materials excepted.
    pub(super) fn write_state(&self, out: &mut Vec<u8>) {
        out.extend(self.world_seed.to_le_bytes());
        out.extend(self.rng.position().to_le_bytes());
        out.extend(self.step.to_le_bytes());
        out.extend([
            self.last_health,
            self.player.remembered_health(),
            self.player.sleeping.into(),
        ]);
        out.extend(self.player.items);
        out.extend(self.player.achievements.iter().flat_map(|count| count.to_le_bytes()));
        let counters = [
            self.player.hunger,
            self.player.thirst,
            self.player.fatigue,
            self.player.recover,
        ];
        out.extend(counters.iter().flat_map(|counter| counter.to_bits().to_le_bytes()));
        for object in self.map.objects() {
            let [low, high] = object.counter.to_le_bytes();
            let facing = (object.facing.x + 1) * 3 + object.facing.y + 1;
            out.extend([object.kind, object.pos.x as u8, object.pos.y as u8, object.health]);
            out.extend([low, high, facing as u8]);
        }
        for chunk in self.map.chunks() {
            out.extend([u8::MAX, chunk.origin.x as u8, chunk.origin.y as u8]);
            for slot in &chunk.members {
                let pos = self.map.get(*slot).pos;
                out.extend([pos.x as u8, pos.y as u8]);
            }
        }
    }

    /// The options it was started with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The seed of its random numbers.
    pub fn world_seed(&self) -> u32 {
        self.world_seed
    }

    /// The map.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// The player.
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// Steps of the environment so far (BALROG's reset takes one).
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Daylight, 0 to 1.
    pub fn light(&self) -> f64 {
        self.light
    }

    /// The random numbers.
    pub fn rng(&self) -> &Rng {
        &self.rng
    }
}

/// Daylight at a step of the environment, 0 to 1; a day has 300 steps.
pub fn daylight(step: u64) -> f64 {
    let progress = (step as f64 / 300.0) % 1.0 + 0.3;
    1.0 - (std::f64::consts::PI * progress).cos().abs().powi(3)
}
