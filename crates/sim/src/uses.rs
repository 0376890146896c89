//! Uses: how much of their time the loop and the pool would need.
//!
//! From the work itself, not from how long a replay was busy: one that falls behind is busy all the
//! time, and how far behind it is depends on how long was recorded.

use crate::model::{EventIx, Model, Trigger};
use crate::scenario::Scenario;

/// See the module.
#[derive(Debug)]
pub(crate) struct Uses {
    pub of_loop: f64,
    pub pool: f64,
    /// How long what was recorded takes under this load.
    span_ns: f64,
}

impl Uses {
    /// Of what was recorded between the first arrival and the last response, by the time that it
    /// takes under this load.
    pub(crate) fn of(
        model: &Model,
        scenario: &Scenario,
        duration_ns: &[u64],
        lead_ns: &[u64],
        delay_ns: &[u64],
        threads: u32,
    ) -> Self {
        let span_ns = (model.span_ns.1 - model.span_ns.0).max(1) as f64 / scenario.rate;
        let (mut loop_ns, mut pool_ns) = (0, 0);
        for ix in model.span_events.0..model.span_events.1 {
            let event = &model.events[ix];
            loop_ns += if event.woken { 0 } else { lead_ns[ix] };
            loop_ns += duration_ns[model.steps_of(ix as EventIx)]
                .iter()
                .sum::<u64>();
            if let Trigger::Job { .. } = event.trigger {
                pool_ns += delay_ns[ix];
            }
        }
        Self {
            span_ns,
            of_loop: loop_ns as f64 / span_ns,
            pool: pool_ns as f64 / span_ns / f64::from(threads.max(1)),
        }
    }

    /// Of the loop, if it works so long for the same.
    pub(crate) fn share(&self, busy_ns: u64) -> f64 {
        busy_ns as f64 / self.span_ns
    }
}
