//! How long everything takes under a scenario that asks for no speed.
//!
//! Once for each replay and in flat rows, because the loop reads them millions of times.

use crate::components::Components;
use crate::model::{CLASSES, Model, Trigger};
use crate::scenario::{Scenario, scaled};

/// Under a scenario: of steps, of the leads of events, and of their delays.
pub(super) fn times(
    model: &Model,
    scenario: &Scenario,
    components: &Components,
) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let routes = scenario.by_route(components);
    let resources = scenario.by_resource(components);
    let is_unchanged = routes.iter().all(|factors| *factors == [1.0; CLASSES]);
    let duration_ns: Vec<u64> = if is_unchanged {
        // So it is under most policies.
        model.step_ns.clone()
    } else {
        let scaled_work = model.works().map(|(work_ns, route)| {
            let classes = work_ns.iter().zip(&routes[route]);
            let scaled = classes.map(|(&part_ns, &factor)| scaled(part_ns, factor));
            scaled.sum()
        });
        scaled_work.collect()
    };
    let events = model.events.iter();
    let lead_ns = events
        .clone()
        .map(|one| one.lead_ns - one.lead_gc_ns + scaled(one.lead_gc_ns, scenario.work.gc));
    let delay_ns = events.map(|one| {
        let factor = scenario.of_wait(&one.wait, &resources);
        match one.trigger {
            Trigger::Released { delay_ns } => scaled(delay_ns, factor),
            Trigger::Job { job } => scaled(model.pool.jobs[job as usize].run_ns, factor),
            Trigger::Arrival {
                at_ns, since_ns, ..
            } => scaled(at_ns - since_ns, factor),
        }
    });
    (duration_ns, lead_ns.collect(), delay_ns.collect())
}
