//! A long run with the real NetHack's frames, where it is installed.
//!
//! Owns who walks there: somebody who goes about at random. What the agent thinks and notes is made up.

use std::sync::Arc;

use super::synthetic::{Player, Style};
use crate::env::{self, World};
use crate::types::{Body, Event, Frame};

/// Steps of a run whose frames are NetHack's.
pub(super) struct Walk {
    player: Player,
    world: Box<dyn World>,
    next: Frame,
    seed: u64,
    dice: u64,
}

impl Walk {
    /// A walk; `None` where the game is not installed.
    pub(super) fn new() -> Option<Self> {
        let seed = 42;
        let mut world = env::open("nethack").ok()?;
        Some(Self {
            player: Player::new(Style::Short),
            next: world.reset(seed).ok()?,
            world,
            seed,
            dice: 1,
        })
    }

    /// Goes one step on; another game begins where one is over.
    fn walk(&mut self) -> anyhow::Result<Frame> {
        // xorshift64; the first 16 actions are the directions.
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        let actions = &self.world.spec().actions;
        let action = actions[(self.dice % 16) as usize % actions.len()].clone();
        let after = if self.next.terminated || self.next.truncated {
            self.seed += 1;
            self.world.reset(self.seed)?
        } else {
            self.world.step(&action)?
        };
        Ok(std::mem::replace(&mut self.next, after))
    }
}

impl Iterator for Walk {
    type Item = anyhow::Result<Vec<Event>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut events = self.player.next()?;
        for event in &mut events {
            if let Body::Observed { frame } = &mut event.body {
                match self.walk() {
                    Ok(seen) => *frame = Arc::new(seen),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        Some(Ok(events))
    }
}
