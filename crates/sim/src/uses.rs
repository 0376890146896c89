//! Uses: how much of their time the loop and the pool would need.
//!
//! From the work itself, not from how long a replay was busy: one that falls behind is busy all the
//! time, and how far behind it is depends on how long was recorded.

use crate::model::{Action, Event, EventIx, Model, Step, Trigger, steps_of};

/// Which events the load brings: what comes from outside with it, and what that releases.
pub(crate) fn of_load(events: &[Event], steps: &[Step]) -> Vec<bool> {
    let mut is_of_load = vec![false; events.len()];
    for (ix, event) in events.iter().enumerate() {
        if let Trigger::Arrival { is_load, .. } = event.trigger {
            is_of_load[ix] = is_load;
        }
        for step in &steps[steps_of(events, steps, ix as EventIx)] {
            if let Action::Release(released) = step.action {
                is_of_load[released as usize] |= is_of_load[ix];
            }
        }
    }
    is_of_load
}

/// What there is to do between the first arrival and the last response: what comes of itself, and
/// what the load brings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    loop_ns: [u64; 2],
    pool_ns: [u64; 2],
}

impl Demand {
    pub(crate) fn of(
        model: &Model,
        duration_ns: &[u64],
        lead_ns: &[u64],
        delay_ns: &[u64],
    ) -> Self {
        let (mut loop_ns, mut pool_ns) = ([0; 2], [0; 2]);
        for ix in model.span_events.0..model.span_events.1 {
            let event = &model.events[ix];
            let kind = usize::from(model.is_of_load[ix]);
            let steps = model.steps_of(ix as EventIx);
            loop_ns[kind] += if event.woken { 0 } else { lead_ns[ix] };
            loop_ns[kind] += duration_ns[steps].iter().sum::<u64>();
            if let Trigger::Job { .. } = event.trigger {
                pool_ns[kind] += delay_ns[ix];
            }
        }
        Self { loop_ns, pool_ns }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Uses {
    pub of_loop: f64,
    pub pool: f64,
    /// What the loop works for that, and the pool.
    work_ns: u64,
    jobs_ns: u64,
}

impl Uses {
    /// Of what was recorded between the first arrival and the last response. The load comes as
    /// often as the scenario has it; intervals and what else comes of itself, as in the recording.
    pub(crate) fn of(demand: &Demand, model: &Model, rate: f64, threads: u32) -> Self {
        let span_ns = (model.span_ns.1 - model.span_ns.0).max(1) as f64;
        let used =
            |[other_ns, load_ns]: [u64; 2]| (other_ns as f64 + load_ns as f64 * rate) / span_ns;
        Self {
            of_loop: used(demand.loop_ns),
            pool: used(demand.pool_ns) / f64::from(threads.max(1)),
            work_ns: demand.loop_ns.iter().sum(),
            jobs_ns: demand.pool_ns.iter().sum(),
        }
    }

    /// Of the loop, if so much of the work is spared.
    pub(crate) fn without(&self, spared_ns: u64) -> f64 {
        match spared_ns {
            0 => self.of_loop,
            _ => self.share(self.work_ns.saturating_sub(spared_ns)),
        }
    }

    /// Of the pool, likewise.
    pub(crate) fn pool_without(&self, spared_ns: u64) -> f64 {
        match spared_ns {
            0 => self.pool,
            _ => self.pool * (1.0 - spared_ns as f64 / self.jobs_ns.max(spared_ns) as f64),
        }
    }

    /// Of the loop, if it works so long for the same.
    pub(crate) fn share(&self, busy_ns: u64) -> f64 {
        self.of_loop * busy_ns as f64 / self.work_ns.max(1) as f64
    }
}
