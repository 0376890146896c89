//! Sensitivity: of which component 10 % less buys most tail.
//!
//! Not the share of a component in the tail: what runs while nobody waits has a share too, and
//! what everybody waits for counts once for each. Every component is made faster in a replay of
//! its own, which is what causal profiling (Curtsinger and Berger, *Coz*, SOSP 2015) does to a
//! running program by slowing everything else down.

use serde::Serialize;

use crate::components::Components;
use crate::model::{CLASSES, GC, Model, Trigger};
use crate::scenario::Scenario;

/// What is left of a component.
pub(crate) const LEFT: f64 = 0.9;
/// Routes, and resources, that are tried: those with most work, or that were waited for most.
const TRIED: usize = 12;

/// What 10 % less of one component would bring.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sensitivity {
    /// As it is written in a change.
    pub component: String,
    /// Time of it in the whole recording.
    pub total_ns: u64,
    /// By how much the tail becomes shorter; longer is below 0.
    pub gain_ns: i64,
    /// 95 %; none where the recording is too short to tell.
    pub gain_interval_ns: Option<[i64; 2]>,
}

/// A component with its change.
pub(crate) struct Candidate {
    pub component: String,
    pub total_ns: u64,
    pub scenario: Scenario,
}

/// The components of a recording that are worth a replay.
pub(crate) fn candidates(models: &[Model], components: &Components) -> Vec<Candidate> {
    let totals = Totals::of(models, components);
    let mut all = Vec::new();
    let mut add = |component: String, total_ns: u64, change: &dyn Fn(&mut Scenario)| {
        if total_ns > 0 {
            let mut scenario = Scenario::unchanged();
            change(&mut scenario);
            all.push(Candidate {
                component,
                total_ns,
                scenario,
            });
        }
    };
    let [native, gc, jit, ic, ..] = totals.classes;
    add("native".to_owned(), native, &|it| it.work.native = LEFT);
    add("gc".to_owned(), gc, &|it| it.work.gc = LEFT);
    add("jit".to_owned(), jit, &|it| it.work.jit = LEFT);
    add("ic".to_owned(), ic, &|it| it.work.ic = LEFT);
    for (route, total_ns) in most(&totals.routes) {
        let name = format!("route:{}.exec", components.routes()[route]);
        add(name, total_ns, &|it| {
            let work = it.of_route(route as u32);
            (work.native, work.gc, work.jit, work.ic) = (LEFT, LEFT, LEFT, LEFT);
        });
    }
    for (resource, total_ns) in most(&totals.resources) {
        let name = format!("resource:{}.io", components.resources()[resource]);
        add(name, total_ns, &|it| {
            *it.of_resource(resource as u32) = LEFT
        });
    }
    all
}

/// Those with a name that have most, most first.
fn most(totals: &[u64]) -> Vec<(usize, u64)> {
    let mut all: Vec<(usize, u64)> = totals.iter().copied().enumerate().skip(1).collect();
    all.sort_by_key(|&(number, total_ns)| (std::cmp::Reverse(total_ns), number));
    all.truncate(TRIED);
    all
}

/// Time by component in all that was recorded.
struct Totals {
    classes: [u64; CLASSES],
    routes: Vec<u64>,
    resources: Vec<u64>,
}

impl Totals {
    fn of(models: &[Model], components: &Components) -> Self {
        let mut totals = Self {
            classes: [0; CLASSES],
            routes: vec![0; components.routes().len()],
            resources: vec![0; components.resources().len()],
        };
        for model in models {
            for (work_ns, route) in model.works() {
                let sums = totals.classes.iter_mut().zip(work_ns);
                sums.for_each(|(sum, part)| *sum += part);
                totals.routes[route] += work_ns[..4].iter().sum::<u64>();
            }
            for event in &model.events {
                totals.classes[GC] += event.lead_gc_ns;
                totals.resources[event.wait.resource as usize] += match event.trigger {
                    Trigger::Released { delay_ns } => delay_ns,
                    Trigger::Job { job } => model.pool.jobs[job as usize].run_ns,
                    Trigger::Arrival {
                        at_ns, since_ns, ..
                    } => at_ns - since_ns,
                };
            }
        }
        totals
    }
}
