//! What Combined would boost of a loop that another policy drives: the yardstick of a budget.
//!
//! A budget in shares of the work says nothing by itself: 5 % is next to nothing where collections
//! take half of the time, and waste where nothing is ever late. What the paper's best policy
//! would spend on the same loop is a measure that fits both.

use crate::combined::{Combined, CombinedDecider};
use crate::decision::{Decider, LeverFacts};
use crate::reading::Reading;
use crate::recent_part::RecentPart;
use crate::speed::Speed;

/// How much faster the paper's peak is than its base (VEE'19, section 6: 4.0 and 2.6 GHz).
const SPEED_UP: f64 = 4.0 / 2.6;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Shadow {
    combined: CombinedDecider,
    boosted: RecentPart,
    /// What it decided last.
    speed: Speed,
}

impl Shadow {
    pub(crate) fn new(lever: &LeverFacts) -> Self {
        Self {
            combined: Combined::default().start(lever),
            boosted: RecentPart::default(),
            speed: Speed::Base,
        }
    }

    /// Takes a reading in; so much was worked since the last, at the speed of whoever drives. What
    /// Combined would have boosted is counted as long as it would have taken then: else what it
    /// would boost is told half as long again as it would be, wherever the loop is not boosted.
    pub(crate) fn learn(&mut self, reading: &Reading, work_ns: u64, at: Speed) {
        let own_ns = match (at, self.speed) {
            (Speed::Base, Speed::Peak) => work_ns as f64 / SPEED_UP,
            (Speed::Peak, Speed::Base) => work_ns as f64 * SPEED_UP,
            _ => work_ns as f64,
        };
        self.boosted.add(own_ns as u64, self.speed == Speed::Peak);
        self.speed = self.combined.decide(reading).speed;
    }

    /// The part of the work of late that it would have boosted; 0 before enough was done.
    pub(crate) fn part(&self) -> f64 {
        self.boosted.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK_NS: u64 = 1_000_000;

    /// Of a loop that Combined would boost every other millisecond of, driven at a speed.
    fn part_at(speed: Speed) -> f64 {
        let mut shadow = Shadow::new(&LeverFacts::default());
        for look in 0..400 {
            shadow.speed = [Speed::Base, Speed::Peak][look % 2];
            shadow.learn(&Reading::default(), WORK_NS, speed);
        }
        shadow.part()
    }

    #[test]
    fn it_is_told_by_how_long_combined_would_work() {
        let speed_up = 4.0 / 2.6;
        let at_base = part_at(Speed::Base);
        let expected = 1.0 / (1.0 + speed_up);
        assert!((at_base - expected).abs() < 0.01, "{at_base} {expected}");
        assert!((part_at(Speed::Peak) - expected).abs() < 0.01);
    }
}
