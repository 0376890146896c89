//! `combined`: peak speed while either GC-Boost or Queue Boost wants it (VEE'19, section 6.3).
//!
//! The third part of the paper's Combined, the heap's sizes, is set when a service starts and is
//! not a decision.

use std::fmt;

use crate::arguments::{Arguments, duration_text};
use crate::decision::{Decider, Decision, LeverFacts};
use crate::error::PolicyError;
use crate::gc_boost::{GcBoost, GcBoostDecider};
use crate::queue_boost::{self, QueueBoost, QueueBoostDecider};
use crate::reading::Reading;
use crate::speed::Speed;

pub(crate) const NAME: &str = "combined";

/// Both boosts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Combined {
    /// What boosts collections.
    pub gc: GcBoost,
    /// What boosts a loop that is behind.
    pub queue: QueueBoost,
}

impl Combined {
    /// Queue Boost's settings by their names; GC-Boost's as `gc-hold` and `gc-worth`.
    pub(crate) fn parse(mut arguments: Arguments<'_>) -> Result<Self, PolicyError> {
        let policy = Self {
            gc: GcBoost::settings(&mut arguments, "gc-hold", "gc-worth")?,
            queue: QueueBoost::settings(&mut arguments)?,
        };
        arguments.finish(NAME)?;
        Ok(policy)
    }

    /// Begins to decide for one loop.
    pub fn start(&self, lever: &LeverFacts) -> CombinedDecider {
        CombinedDecider {
            gc: self.gc.start(lever),
            queue: self.queue.start(),
        }
    }
}

impl fmt::Display for Combined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hold = duration_text(self.gc.hold_ns);
        let queue = self.queue.to_string();
        let settings = queue.strip_prefix(queue_boost::NAME).unwrap_or(&queue);
        let settings = settings.trim_start_matches(':');
        write!(
            f,
            "{NAME}:gc-hold={hold},gc-worth={},{settings}",
            self.gc.worth
        )
    }
}

/// Combined at work.
#[derive(Debug, Clone)]
pub struct CombinedDecider {
    gc: GcBoostDecider,
    queue: QueueBoostDecider,
}

impl CombinedDecider {
    /// Whether enough was seen for all that it boosts.
    pub(crate) fn is_ready(&self) -> bool {
        self.queue.is_ready()
    }
}

impl Decider for CombinedDecider {
    fn decide(&mut self, reading: &Reading) -> Decision {
        let (gc, queue) = (self.gc.decide(reading), self.queue.decide(reading));
        let is_boosted = gc.speed == Speed::Peak || queue.speed == Speed::Peak;
        let (first, second) = (gc.look_again_ns, queue.look_again_ns);
        Decision {
            speed: if is_boosted { Speed::Peak } else { Speed::Base },
            reasons: gc.reasons | queue.reasons,
            look_again_ns: first.into_iter().chain(second).min(),
        }
    }
}
