//! The replay at base speed, for schemes that look ahead: who is slow there, and since when the
//! loop was busy when it came.
//!
//! Apart from what a scenario's replay tells, since nobody is shown this one.

use bobtail_trace::record::Ns;

use super::Run;
use crate::agenda::Due;
use crate::components::Components;
use crate::model::Model;
use crate::scenario::Scenario;

/// A request of a replay without a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AtBase {
    pub latency_ns: u64,
    pub came_ns: Ns,
    /// Since when the loop had not slept when it came; when it came, if the loop slept.
    pub busy_since_ns: Ns,
}

/// Each request, those of warm-up too, without a policy.
pub(crate) fn at_base_speed(
    model: &Model,
    scenario: &Scenario,
    components: &Components,
) -> Vec<AtBase> {
    let mut run = Run::new(model, scenario, components);
    run.slept = Some(Vec::new());
    let mut batch: Vec<Due> = Vec::new();
    while run.turn(&mut batch) {}
    let slept = run.slept.take().unwrap_or_default();
    let each = 0..model.requests.len();
    each.map(|request| {
        let came_ns = run.came_ns(request);
        let before = slept.partition_point(|&(from_ns, _)| from_ns <= came_ns);
        let woke_ns = before.checked_sub(1).map_or(0, |at| slept[at].1);
        AtBase {
            latency_ns: run.latency_ns(request),
            came_ns,
            busy_since_ns: woke_ns.min(came_ns),
        }
    })
    .collect()
}
