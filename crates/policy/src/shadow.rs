//! What Combined would boost of a loop that another policy drives: the yardstick of a budget.
//!
//! A budget in shares of the work says nothing by itself: 5 % is next to nothing where collections
//! take half of the time, and waste where nothing is ever late. What the paper's best policy
//! would spend on the same loop is a measure that fits both.

use crate::boosted::Boosted;
use crate::combined::{Combined, CombinedDecider};
use crate::decision::{Decider, LeverFacts};
use crate::reading::Reading;
use crate::speed::Speed;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Shadow {
    combined: CombinedDecider,
    boosted: Boosted,
    /// What it decided last.
    speed: Speed,
}

impl Shadow {
    pub(crate) fn new(lever: &LeverFacts) -> Self {
        Self {
            combined: Combined::default().start(lever),
            boosted: Boosted::default(),
            speed: Speed::Base,
        }
    }

    /// Takes a reading in; so much was worked since the last.
    pub(crate) fn learn(&mut self, reading: &Reading, work_ns: u64) {
        self.boosted.add(work_ns, self.speed == Speed::Peak);
        self.speed = self.combined.decide(reading).speed;
    }

    /// The part of the work of late that it would have boosted; 0 before enough was done.
    pub(crate) fn part(&self) -> f64 {
        self.boosted.part()
    }
}
