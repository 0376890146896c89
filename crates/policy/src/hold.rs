//! Keeps a boost for a minimum time, for levers that are not to be moved as often as events end.
//!
//! Not by default: a millisecond spares Combined 4 % of its moves and costs a tenth of what it
//! spends, in replays (`bench/runs/2026-11-30-seven-recordings`), for the same tail in the mean.

use crate::decision::{Decision, Reasons};
use crate::speed::Speed;

/// Since when a boost lasts, and for how long it does at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hold {
    hold_ns: u64,
    since_ns: Option<u64>,
}

impl Hold {
    pub(crate) fn new(hold_ns: u64) -> Self {
        Self {
            hold_ns,
            since_ns: None,
        }
    }

    /// The decision for these reasons at this time, and when the minimum ends, if that matters.
    pub(crate) fn decide(&mut self, now_ns: u64, reasons: Reasons) -> Decision {
        if !reasons.is_empty() {
            self.since_ns.get_or_insert(now_ns);
            return Decision {
                speed: Speed::Peak,
                reasons,
                look_again_ns: None,
            };
        }
        // A clock that went back must not prolong a boost.
        let ends_ns = self
            .since_ns
            .filter(|&since_ns| now_ns >= since_ns)
            .map(|since_ns| since_ns.saturating_add(self.hold_ns))
            .filter(|&ends_ns| now_ns < ends_ns);
        if ends_ns.is_none() {
            self.since_ns = None;
        }
        Decision {
            speed: if ends_ns.is_some() {
                Speed::Peak
            } else {
                Speed::Base
            },
            reasons: Reasons::when(ends_ns.is_some(), Reasons::HOLD),
            look_again_ns: ends_ns,
        }
    }
}
