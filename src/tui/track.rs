//! What the agent has seen of the map and where it was: a fold over the record, step by step.
//!
//! Owns how far the fold is: a few bytes a step, so that going back costs nothing. It runs on the
//! loader's thread, some steps at a time.

use super::data::{MapMark, MapView};
use crate::store::Reader;
use crate::types::{EpisodeNo, Rect, StepNo, StepRecord, View};

/// Steps folded before somebody else has a turn.
const SOME: usize = 64;
/// Steps after which a map that is not done shows what it has.
const OFTEN: usize = 1024;
/// Cells of the trail that show.
const TRAIL: usize = 400;
/// Steps remembered; an episode longer than this shows its map up to here.
const MOST: usize = 1_000_000;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stop {
    player: (i16, i16),
    window: (i16, i16, u8, u8),
    mark: Option<MapMark>,
}

/// A fold over an episode.
#[derive(Debug, Default)]
pub(super) struct Track {
    episode: EpisodeNo,
    size: (u16, u16),
    /// One entry a finished step, from the first on.
    stops: Vec<Stop>,
    told: usize,
}

impl Track {
    /// Takes in some steps on the way to `step`; true when it is there, or as far as it can be.
    pub(super) fn advance(&mut self, reader: &Reader, episode: EpisodeNo, step: StepNo) -> bool {
        if self.episode != episode {
            *self = Self {
                episode,
                ..Self::default()
            };
        }
        let end = (step.index() + 1).min(MOST);
        let until = end.min(self.stops.len() + SOME);
        while self.stops.len() < until {
            let at = StepNo(self.stops.len() as u32);
            let Ok(record) = reader.step(episode, at) else {
                return true;
            };
            // A step that is not over will say more later: it is taken in when it is.
            let Some(stop) = self.stop(&record) else {
                return true;
            };
            self.stops.push(stop);
        }
        self.stops.len() >= end
    }

    fn stop(&mut self, record: &StepRecord) -> Option<Stop> {
        let frame = record.frame()?;
        let View::Tiles(view) = &frame.view else {
            return None;
        };
        let outcome = record.outcome();
        if outcome.is_none() && !frame.terminated && !frame.truncated {
            return None;
        }
        self.size = (view.width, view.height);
        let short = |value: i32| value.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
        let few = |value: i32| value.clamp(0, 255) as u8;
        let Rect { x, y, w, h } = view.window;
        let mark = match outcome {
            _ if frame.terminated => Some(MapMark::Death),
            Some(outcome) if outcome.terminated => Some(MapMark::Death),
            Some(outcome) if outcome.reward > 0.0 => Some(MapMark::Reward),
            _ => None,
        };
        Some(Stop {
            player: (short(view.player.0), short(view.player.1)),
            window: (short(x), short(y), few(w), few(h)),
            mark,
        })
    }

    /// What is known as of `step`: when it is `there`, else now and then on the way.
    pub(super) fn view(&mut self, step: StepNo, there: bool) -> Option<MapView> {
        let upto = self.stops.len().min(step.index() + 1);
        if !there && upto < self.told + OFTEN {
            return None;
        }
        self.told = if there { 0 } else { upto };
        let (width, height) = (i32::from(self.size.0), i32::from(self.size.1));
        let mut view = MapView {
            episode: self.episode,
            step,
            upto: if there { step } else { StepNo(upto as u32) },
            seen: vec![false; (width * height) as usize],
            ..MapView::default()
        };
        let mut before = None;
        for stop in &self.stops[..upto] {
            // The window moves with the player: who stands still sees the same cells.
            if before != Some(stop.window) {
                let (x, y, w, h) = stop.window;
                for y in i32::from(y).max(0)..(i32::from(y) + i32::from(h)).min(height) {
                    let row = y * width;
                    let (from, to) = (i32::from(x).max(0), (i32::from(x) + i32::from(w)).min(width));
                    if from < to {
                        view.seen[(row + from) as usize..(row + to) as usize].fill(true);
                    }
                }
                before = Some(stop.window);
            }
            if let Some(mark) = stop.mark {
                view.marks.push((cell(stop), mark));
            }
        }
        // Backwards from the newest, so that a long episode costs no more than a short one.
        for stop in self.stops[..upto].iter().rev() {
            if view.trail.last() != Some(&cell(stop)) {
                view.trail.push(cell(stop));
            }
            if view.trail.len() == TRAIL {
                break;
            }
        }
        view.trail.reverse();
        Some(view)
    }
}

fn cell(stop: &Stop) -> (i32, i32) {
    (i32::from(stop.player.0), i32::from(stop.player.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use crate::types::Body;

    fn folded(steps: u32) -> Track {
        let mut track = Track::default();
        for step in 0..steps {
            let stop = track.stop(&testing::record(step)).unwrap();
            track.stops.push(stop);
        }
        track
    }

    #[test]
    fn the_map_is_what_was_seen_up_to_the_step_and_no_more() {
        let mut track = folded(30);
        // The fixture walks from x 28 to 36 and starts again; the window is 9 by 7 around it.
        let first = track.view(StepNo(0), true).unwrap();
        assert_eq!(first.seen.iter().filter(|seen| **seen).count(), 63);
        assert_eq!(first.trail, [(28, 32)]);
        assert!(first.marks.is_empty());
        let later = track.view(StepNo(8), true).unwrap();
        assert_eq!(later.seen.iter().filter(|seen| **seen).count(), 17 * 7);
        assert_eq!(later.trail.first(), Some(&(28, 32)));
        assert_eq!(later.trail.last(), Some(&(36, 32)));
        assert_eq!(later.marks, [((31, 32), MapMark::Reward), ((36, 32), MapMark::Reward)]);
        // Back again: nothing of later steps stays.
        assert_eq!(track.view(StepNo(0), true).unwrap(), first);
    }

    #[test]
    fn the_end_of_the_game_is_marked_and_an_open_step_waits() {
        let mut track = Track::default();
        let mut record = testing::record(5);
        for body in &mut record.events {
            if let Body::StepFinished { terminated, .. } = body {
                *terminated = true;
            }
        }
        assert_eq!(track.stop(&record).unwrap().mark, Some(MapMark::Death));
        record.events.retain(|body| !matches!(body, Body::StepFinished { .. }));
        assert_eq!(track.stop(&record), None);
    }

    #[test]
    fn ten_thousand_steps_stay_cheap() {
        let mut track = folded(9);
        let some = track.stops.clone();
        track.stops = some.iter().copied().cycle().take(10_000).collect();
        let began = std::time::Instant::now();
        let view = track.view(StepNo(9_999), true).unwrap();
        // Far from a measurement; a fold over whole frames would take seconds.
        assert!(began.elapsed().as_millis() < 1000);
        assert_eq!(view.trail.len(), TRAIL);
        assert_eq!(view.upto, StepNo(9_999));
        assert!(std::mem::size_of::<Stop>() <= 16);
    }

    #[test]
    fn a_fold_on_its_way_tells_now_and_then() {
        let mut track = folded(9);
        let some = track.stops.clone();
        track.stops = some.iter().copied().cycle().take(1500).collect();
        assert_eq!(track.view(StepNo(9_999), false).unwrap().upto, StepNo(1500));
        assert!(track.view(StepNo(9_999), false).is_none());
    }
}
