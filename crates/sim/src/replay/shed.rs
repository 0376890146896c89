//! The replay while requests are turned away: what they would have done takes no time.
//!
//! Apart from the loop itself for the same reason as what a policy drives.

use std::ops::Range;
use std::sync::Arc;

use bobtail_trace::record::Ns;

use super::Run;
use super::driven::first_step;
use crate::components::Components;
use crate::model::{Action, EventIx, GC, Model, Trigger};
use crate::scenario::{Scenario, scaled};
use crate::shedding::{Closed, Door};
use crate::times::with_load;

/// What a replay has beside the rest where requests are turned away.
pub(super) struct Sifted {
    door: Door,
    /// Of steps: what of them is a collection.
    gc_ns: Vec<u64>,
    /// Of collections before callbacks.
    gc_factor: f64,
    /// The step that is done is for a request that is turned away.
    is_away: bool,
    /// Work of the loop that nobody has to do any more, of what counts as its use
    /// ([`crate::uses`]); and of the pool.
    spared_ns: u64,
    spared_pool_ns: u64,
    busy_steps: Range<usize>,
}

/// What came of turning requests away.
#[derive(Debug, Default)]
pub(super) struct Away {
    /// When nobody was let in.
    pub closed: Vec<Closed>,
    pub turned_away: Vec<bool>,
    pub spared_ns: u64,
    pub spared_pool_ns: u64,
}

impl Sifted {
    pub(super) fn finish(self, model: &Model) -> Away {
        let (closed, turned_away) = self.door.finish(model);
        Away {
            closed,
            turned_away,
            spared_ns: self.spared_ns,
            spared_pool_ns: self.spared_pool_ns,
        }
    }
}

impl Run<'_> {
    /// Turns requests away, where the scenario says so. They come when they are planned to.
    pub(super) fn sift(&mut self, scenario: &Scenario, components: &Components) {
        let Some(shedding) = scenario.shedding else {
            return;
        };
        let model = self.model;
        let routes = scenario.by_route(components);
        let gc_ns = model
            .works()
            .map(|(work_ns, route)| scaled(work_ns[GC], routes[route][GC]));
        let comes_ns = model.requests.iter().map(|one| {
            let source = one.source as usize;
            match model.events[source].trigger {
                Trigger::Arrival { .. } => {
                    self.times.delay_ns[source].saturating_add_signed(-one.before_ns)
                }
                // Something in this process brings it: about when it did.
                Trigger::Released { .. } | Trigger::Job { .. } => {
                    with_load(model, scenario, one.arrival_ns)
                }
            }
        });
        let (first, last) = model.span_events;
        self.sifted = Some(Box::new(Sifted {
            door: Door::new(shedding, comes_ns.collect()),
            gc_ns: gc_ns.collect(),
            gc_factor: scenario.work.gc,
            is_away: false,
            spared_ns: 0,
            spared_pool_ns: 0,
            busy_steps: first_step(model, first)..first_step(model, last),
        }));
    }

    /// How long the loop's way to a callback takes without a collection that waits.
    pub(super) fn sifted_lead_ns(&mut self, event: EventIx, lead_ns: u64) -> u64 {
        let known = &self.model.events[event as usize];
        let (Some(sifted), Some(kind)) = (&mut self.sifted, known.lead_gc_kind) else {
            return lead_ns;
        };
        let gc_ns = scaled(known.lead_gc_ns, sifted.gc_factor);
        if sifted.door.puts_off(kind, gc_ns, self.now) {
            return lead_ns.saturating_sub(gc_ns);
        }
        lead_ns
    }

    /// Takes what waits and what is spared out of a step that begins now.
    pub(super) fn sift_step(&mut self, step: usize) {
        let Some(sifted) = &mut self.sifted else {
            return;
        };
        let known = &self.model.steps[step];
        let (work_ns, gc_ns) = (self.times.duration_ns[step], sifted.gc_ns[step]);
        sifted.is_away = sifted.door.turns_away(known.request, self.now);
        let takes_ns = if sifted.is_away {
            0
        } else {
            sifted.door.takes_ns(work_ns, gc_ns)
        };
        if sifted.is_away && sifted.busy_steps.contains(&step) {
            sifted.spared_ns += work_ns;
        }
        Arc::make_mut(&mut self.times.duration_ns)[step] = takes_ns;
        match known.action {
            Action::Collect(kind) => sifted
                .door
                .collect(kind, known.request, self.now + takes_ns),
            Action::Collected => sifted.door.collected(),
            Action::Sink(request) => sifted.door.answer(request),
            _ => {}
        }
    }

    /// Whether a job of the pool is of a request that is turned away, which submits none.
    pub(super) fn is_spared(&mut self, job_ns: u64) -> bool {
        let Some(sifted) = self.sifted.as_mut().filter(|one| one.is_away) else {
            return false;
        };
        sifted.spared_pool_ns += job_ns;
        true
    }

    /// After an event: collections for which nobody waits any more.
    pub(super) fn open_again(&mut self) {
        if let Some(sifted) = &mut self.sifted {
            let until_ns: Ns = sifted.door.open_again(self.now);
            self.now = until_ns;
        }
    }
}
