//! `gc-boost`: peak speed while V8 collects garbage (VEE'19, section 6.1).
//!
//! The paper boosts every collection. Most levers of today are slower than a scavenge, so that the
//! boost would begin when the collection is over: by default a kind of collection is boosted only
//! if it is expected to last longer than the lever takes. `worth=0` is the paper's.

use std::fmt;

use crate::arguments::{Arguments, duration_text};
use crate::decision::{Decider, Decision, LeverFacts, Reasons};
use crate::error::PolicyError;
use crate::hold::Hold;
use crate::pauses::Pauses;
use crate::reading::Reading;

pub(crate) const NAME: &str = "gc-boost";
pub(crate) const HOLD_MAX_NS: u64 = 1_000_000_000;

/// Boost collections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GcBoost {
    /// How long a boost lasts at least.
    pub hold_ns: u64,
    /// A kind is boosted when its mean pause is at least this many times the lever's latency.
    pub worth: f64,
}

impl Default for GcBoost {
    fn default() -> Self {
        Self {
            hold_ns: 0,
            worth: 1.0,
        }
    }
}

impl GcBoost {
    pub(crate) fn parse(mut arguments: Arguments<'_>) -> Result<Self, PolicyError> {
        let policy = Self::settings(&mut arguments, "hold", "worth")?;
        arguments.finish(NAME)?;
        Ok(policy)
    }

    /// Its settings, by the names that they have in the policy it is part of.
    pub(crate) fn settings(
        arguments: &mut Arguments<'_>,
        hold: &'static str,
        worth: &'static str,
    ) -> Result<Self, PolicyError> {
        let default = Self::default();
        Ok(Self {
            hold_ns: arguments.duration_ns(hold, default.hold_ns, 0..=HOLD_MAX_NS)?,
            worth: arguments.number(worth, default.worth, 0.0..=1000.0)?,
        })
    }

    /// Begins to decide for one loop.
    pub fn start(&self, lever: &LeverFacts) -> GcBoostDecider {
        GcBoostDecider {
            worthwhile_ns: self.worth * lever.latency_ns as f64,
            hold: Hold::new(self.hold_ns),
            pauses: Pauses::new(),
        }
    }
}

impl fmt::Display for GcBoost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hold = duration_text(self.hold_ns);
        write!(f, "{NAME}:hold={hold},worth={}", self.worth)
    }
}

/// GC-Boost at work.
#[derive(Debug, Clone)]
pub struct GcBoostDecider {
    worthwhile_ns: f64,
    hold: Hold,
    pauses: Pauses,
}

impl Decider for GcBoostDecider {
    fn decide(&mut self, reading: &Reading) -> Decision {
        self.pauses.learn(reading);
        let collects = reading
            .collection
            .is_some_and(|now| self.pauses.lasts(now.kind, self.worthwhile_ns));
        self.hold
            .decide(reading.now_ns, Reasons::when(collects, Reasons::COLLECTION))
    }
}
