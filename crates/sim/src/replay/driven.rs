//! The replay while a policy drives a lever: times follow from the speed.
//!
//! Apart from the loop itself, which runs through millions of events once for each change, nearly
//! all of them without a policy.

use bobtail_trace::record::Ns;

use super::Run;
use crate::agenda::Due;
use crate::ahead::Ahead;
use crate::components::Components;
use crate::gear::Gear;
use crate::model::{Action, EventIx, GC, Model, NO_REQUEST, Phase, Trigger};
use crate::pace::Pace;
use crate::scenario::{Scenario, scaled};

/// What a replay under a policy has beside the rest.
pub(super) struct Driven {
    pub pace: Pace,
    /// Of collections before callbacks.
    gc_factor: f64,
    /// Of routes: a collection in their work takes no time, so there is none.
    is_uncollected: Vec<bool>,
    /// How long the loop worked for what counts as its use ([`crate::uses`]).
    pub busy_ns: u64,
    busy_events: std::ops::Range<usize>,
    busy_steps: std::ops::Range<usize>,
    /// Requests by the events with which they come, where somebody follows them.
    sources: Vec<(EventIx, u32)>,
}

impl Driven {
    fn is_followed(&self) -> bool {
        !self.sources.is_empty()
    }

    /// An event will be ready then, or what it tells came then, and with it come its requests.
    fn expect(&mut self, model: &Model, event: EventIx, told_ns: Ns) {
        let from = self.sources.partition_point(|one| one.0 < event);
        let of_event = self.sources[from..].iter();
        for &(_, request) in of_event.take_while(|one| one.0 == event) {
            let before_ns = model.requests[request as usize].before_ns;
            let came_ns = told_ns.saturating_add_signed(-before_ns);
            self.pace.expect(request, came_ns);
        }
    }
}

impl Run<'_> {
    /// Lets the policy of a scenario drive the loop of this number, where it has one.
    pub(super) fn drive(
        &mut self,
        scenario: &Scenario,
        components: &Components,
        gear: Gear,
        ahead: &Ahead,
        number: usize,
    ) {
        let Some(drive) = &scenario.drive else { return };
        let model = self.model;
        let routes = scenario.by_route(components);
        let follower = ahead.follower(number, model, drive);
        let mut sources: Vec<(EventIx, u32)> = Vec::new();
        if follower.is_some() {
            let numbered = model.requests.iter().zip(0..);
            sources.extend(numbered.map(|(one, number)| (one.source, number)));
            sources.sort_unstable();
        }
        let busy_events = model.span_events.0..model.span_events.1;
        let mut driven = Driven {
            pace: Pace::new(drive, gear, follower, model.span_ns.0),
            gc_factor: scenario.work.gc,
            is_uncollected: routes.iter().map(|factors| factors[GC] == 0.0).collect(),
            busy_ns: 0,
            busy_steps: first_step(model, busy_events.start)..first_step(model, busy_events.end),
            busy_events,
            sources,
        };
        if driven.is_followed() {
            for (ix, event) in model.events.iter().enumerate() {
                if let Trigger::Arrival {
                    is_released: false, ..
                } = event.trigger
                {
                    driven.expect(model, ix as EventIx, self.times.delay_ns[ix]);
                }
            }
        }
        self.driven = Some(Box::new(driven));
    }

    /// Somebody follows requests: an event will be ready then, whose own may come with it.
    #[inline]
    pub(super) fn expect(&mut self, event: EventIx, ready_ns: Ns) {
        if self.driven.as_ref().is_some_and(|one| one.is_followed()) {
            let told_ns = self.told_ns(event, ready_ns);
            if let Some(driven) = &mut self.driven {
                driven.expect(self.model, event, told_ns);
            }
        }
    }

    /// The kernel answered with these.
    pub(super) fn answered_with(&mut self, ready_ns: Ns, batch: &[Due]) {
        let Some(driven) = &mut self.driven else {
            return;
        };
        let pace = &mut driven.pace;
        let events = &self.model.events;
        let is_of_pool = |due: &&Due| events[due.1 as usize].is_of_pool();
        let of_pool = batch.iter().filter(is_of_pool).count();
        pace.pass(self.now.max(ready_ns));
        pace.poll_leave((batch.len() - of_pool + of_pool.min(1)) as u32);
    }

    /// The loop's way to a callback.
    pub(super) fn lead(&mut self, event: EventIx, lead_ns: u64, woken: bool, joins: bool) {
        let Some(driven) = &mut self.driven else {
            self.now += lead_ns;
            return;
        };
        let pace = &mut driven.pace;
        let known = &self.model.events[event as usize];
        pace.pass(self.now);
        pace.go_on_for(NO_REQUEST);
        let from_ns = pace.at_ns();
        let gc_ns = known
            .lead_gc_kind
            .map_or(0, |_| scaled(known.lead_gc_ns, driven.gc_factor))
            .min(lead_ns);
        if let Some(kind) = known.lead_gc_kind.filter(|_| gc_ns > 0) {
            pace.collect(kind);
            pace.work(gc_ns);
            pace.collected();
        }
        if woken {
            // The kernel wakes the thread no faster.
            pace.pass(pace.at_ns() + lead_ns - gc_ns);
        } else {
            pace.work(lead_ns - gc_ns);
        }
        if known.phase == Phase::Poll && !joins {
            pace.dispatch(known.is_of_pool());
        }
        self.now = pace.at_ns();
        if !woken && driven.busy_events.contains(&(event as usize)) {
            driven.busy_ns += self.now - from_ns;
        }
    }

    /// Under a policy.
    pub(super) fn paced(&mut self, step: usize) {
        let Some(driven) = &mut self.driven else {
            return;
        };
        let pace = &mut driven.pace;
        let from_ns = pace.at_ns();
        let fixed_ns = self.times.fixed_ns[step];
        let known = self.model.steps[step];
        pace.go_on_for(known.request);
        pace.work(self.times.duration_ns[step].saturating_sub(fixed_ns));
        pace.pass(pace.at_ns() + fixed_ns);
        match known.action {
            Action::Collect(kind) => {
                let request = self.model.requests.get(known.request as usize);
                let route = request.map_or(0, |one| one.route as usize);
                if !driven.is_uncollected[route] {
                    pace.collect(kind);
                }
            }
            Action::Collected => pace.collected(),
            Action::Sink(request) => pace.answered(request),
            _ => {}
        }
        self.now = pace.at_ns();
        if driven.busy_steps.contains(&step) {
            driven.busy_ns += self.now - from_ns;
        }
    }
}

/// The first step of an event, or the end of all.
pub(super) fn first_step(model: &Model, event: usize) -> usize {
    let first = model.events.get(event).map(|one| one.first_step as usize);
    first.unwrap_or(model.steps.len())
}
