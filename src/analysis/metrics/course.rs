//! An episode's numbers over its steps, in bounded room: from a few points on, every other one is dropped.

use super::{Meter, Metrics};
use crate::types::StepNo;

/// Points that are kept at most.
const MOST: usize = 1024;

/// The numbers as they were after some of the steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// Every so many steps there is a point; a power of two, 0 before the first.
    stride: u32,
    points: Vec<(StepNo, Metrics)>,
}

impl Course {
    /// The meter has taken in a step.
    pub(in crate::analysis) fn note(&mut self, step: StepNo, meter: &Meter) {
        self.stride = self.stride.max(1);
        if !step.0.is_multiple_of(self.stride) {
            return;
        }
        if self.points.len() >= MOST {
            self.stride *= 2;
            let stride = self.stride;
            self.points.retain(|(step, _)| step.0.is_multiple_of(stride));
            if !step.0.is_multiple_of(stride) {
                return;
            }
        }
        self.points.push((step, meter.metrics()));
    }

    /// The numbers as of a step: after the last step up to it that there is a point for.
    pub fn at(&self, step: StepNo) -> Option<&(StepNo, Metrics)> {
        let after = self.points.partition_point(|(at, _)| *at <= step);
        self.points.get(after.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Body;

    #[test]
    fn a_long_episode_has_few_points_and_each_step_a_near_one() {
        let (mut meter, mut course) = (Meter::new(&[]), Course::default());
        assert_eq!(course.at(StepNo(0)), None);
        for step in 0..5000 {
            let end = Body::StepFinished {
                reward: 0.0,
                terminated: false,
                truncated: false,
                progression: 0.0,
                state_patch: None,
                ms: 1.0,
            };
            meter.take(StepNo(step), &end).unwrap();
            course.note(StepNo(step), &meter);
        }
        assert!(course.points.len() <= MOST);
        for step in [0, 1, 7, 8, 4999] {
            let (at, metrics) = course.at(StepNo(step)).unwrap();
            assert!(at.0 <= step && step - at.0 < 8);
            assert_eq!(metrics.steps, u64::from(at.0) + 1);
        }
    }
}
