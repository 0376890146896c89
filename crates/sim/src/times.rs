//! How long everything takes under a scenario that asks for no speed, and what comes when.
//!
//! In flat rows, because the loop reads them millions of times. Those of the recording are found
//! once; a scenario shares with them all that it does not change, which under most policies is
//! everything, so that a replay need not run through the recording before it begins.

use std::sync::{Arc, OnceLock};

use bobtail_trace::record::Ns;

use crate::agenda::{Due, Planned};
use crate::components::Components;
use crate::model::{CLASSES, EventIx, Model, NOT_RUNNING, Phase, Trigger, Wait};
use crate::scenario::{Scenario, scaled};
use crate::uses::Demand;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    /// Of steps.
    pub duration_ns: Arc<[u64]>,
    /// Of steps: what of that no speed changes.
    pub fixed_ns: Arc<[u64]>,
    /// Of events: between ready and begin on a loop that is free.
    pub lead_ns: Arc<[u64]>,
    /// Of events: between release and ready; of what comes from outside the time at which it does.
    pub delay_ns: Arc<[u64]>,
    /// What comes from outside, whatever happens here.
    pub planned: Arc<Planned>,
    pub demand: Demand,
}

/// The times of a recording, when they were asked for. A copy of a model finds its own, since what
/// is copied is about to be changed; and whether they were found makes no model another.
#[derive(Debug, Default)]
pub(crate) struct AsRecorded(OnceLock<Times>);

impl Clone for AsRecorded {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for AsRecorded {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Times {
    pub(crate) fn of(model: &Model, scenario: &Scenario, components: &Components) -> Self {
        let recorded = model.as_recorded.0.get_or_init(|| Self::recorded(model));
        let mut times = recorded.clone();
        let is_same_work = times.scale_work(model, scenario, components);
        let is_same_wait = times.scale_waits(model, scenario, components);
        if !(is_same_work && is_same_wait) {
            times.demand = Demand::of(model, &times.duration_ns, &times.lead_ns, &times.delay_ns);
        }
        times
    }

    fn recorded(model: &Model) -> Self {
        let duration_ns: Arc<[u64]> = model.work_ns.iter().map(|one| one.iter().sum()).collect();
        let fixed_ns = model.work_ns.iter().map(|one| one[NOT_RUNNING]);
        let lead_ns: Arc<[u64]> = model.events.iter().map(|one| one.lead_ns).collect();
        let delay_ns = delays_ns(model, |_| 1.0, |since_ns| since_ns);
        Self {
            planned: Arc::new(planned(model, &delay_ns)),
            demand: Demand::of(model, &duration_ns, &lead_ns, &delay_ns),
            fixed_ns: fixed_ns.collect(),
            duration_ns,
            lead_ns,
            delay_ns,
        }
    }

    /// What the loop itself takes; whether that is as recorded.
    fn scale_work(&mut self, model: &Model, scenario: &Scenario, components: &Components) -> bool {
        let routes = scenario.by_route(components);
        let is_same = routes.iter().all(|factors| *factors == [1.0; CLASSES]);
        if !is_same {
            let scaled_work = model.works().map(|(work_ns, route)| {
                let classes = work_ns.iter().zip(&routes[route]);
                let scaled = classes.map(|(&part_ns, &factor)| scaled(part_ns, factor));
                scaled.sum()
            });
            self.duration_ns = scaled_work.collect();
        }
        if routes.iter().any(|factors| factors[NOT_RUNNING] != 1.0) {
            let fixed_ns = model
                .works()
                .map(|(work_ns, route)| scaled(work_ns[NOT_RUNNING], routes[route][NOT_RUNNING]));
            self.fixed_ns = fixed_ns.collect();
        }
        let gc = scenario.work.gc;
        if gc != 1.0 {
            let leads_ns = model.events.iter();
            let leads_ns =
                leads_ns.map(|one| one.lead_ns - one.lead_gc_ns + scaled(one.lead_gc_ns, gc));
            self.lead_ns = leads_ns.collect();
        }
        is_same && gc == 1.0
    }

    /// What is waited for, and when the load comes; whether the former is as recorded.
    fn scale_waits(&mut self, model: &Model, scenario: &Scenario, components: &Components) -> bool {
        let resources = scenario.by_resource(components);
        let is_same = scenario.io == 1.0 && resources.iter().all(|factor| *factor == 1.0);
        if is_same && scenario.rate == 1.0 {
            return true;
        }
        let factor = |wait: &Wait| scenario.of_wait(wait, &resources);
        self.delay_ns = delays_ns(model, factor, |since_ns| {
            with_load(model, scenario, since_ns)
        });
        self.planned = Arc::new(planned(model, &self.delay_ns));
        is_same
    }
}

/// Of events, by the factor of what each waits for and when the load comes that came then.
fn delays_ns(
    model: &Model,
    factor: impl Fn(&Wait) -> f64,
    load_ns: impl Fn(Ns) -> Ns,
) -> Arc<[u64]> {
    let each = model.events.iter().map(|one| match one.trigger {
        Trigger::Released { delay_ns } => scaled(delay_ns, factor(&one.wait)),
        Trigger::Job { job } => scaled(model.pool.jobs[job as usize].run_ns, factor(&one.wait)),
        Trigger::Arrival {
            at_ns,
            since_ns,
            is_load,
            ..
        } => {
            let came_ns = if is_load { load_ns(since_ns) } else { since_ns };
            scaled(at_ns - since_ns, factor(&one.wait)) + came_ns
        }
    });
    each.collect()
}

/// When something comes that came then, under another load.
pub(crate) fn with_load(model: &Model, scenario: &Scenario, at_ns: Ns) -> Ns {
    // What came before the first request is no load.
    let after_ns = at_ns.saturating_sub(model.span_ns.0);
    at_ns - after_ns + scaled(after_ns, 1.0 / scenario.rate)
}

/// What nothing in this process brings.
fn planned(model: &Model, delay_ns: &[u64]) -> Planned {
    let (mut arrivals, mut timers, mut done): (Vec<Due>, Vec<Due>, Vec<Due>) = Default::default();
    for (ix, event) in model.events.iter().enumerate() {
        let Trigger::Arrival { is_released, .. } = event.trigger else {
            continue;
        };
        let due = (delay_ns[ix], ix as EventIx);
        match event.phase {
            _ if is_released => {}
            Phase::Poll if event.is_job => done.push(due),
            Phase::Timers => timers.push(due),
            _ => arrivals.push(due),
        }
    }
    Planned::new(arrivals, timers, done)
}
