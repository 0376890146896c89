//! Sensitivity: of which component 10 % less buys most tail.
//!
//! Not the share of a component in the tail: what runs while nobody waits has a share too, and
//! what everybody waits for counts once for each. Every component is made faster in a replay of
//! its own, which is what causal profiling (Curtsinger and Berger, *Coz*, SOSP 2015) does to a
//! running program by slowing everything else down.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::components::Components;
use crate::model::{CLASSES, GC, Model, NOT_RUNNING, Trigger};
use crate::scenario::Scenario;

/// What is left of a component.
pub(crate) const LEFT: f64 = 0.9;
/// Routes, and resources, that are tried: those with most work, or that were waited for most.
const TRIED: usize = 12;
/// And those of the others with most in few pieces: what waits behind a piece of work, or for a
/// wait, goes with its square (the mean residual time of renewal theory).
const TRIED_FOR_PIECES: usize = 6;

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

/// Routes and resources that were not tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Untried {
    pub routes: usize,
    pub resources: usize,
}

impl Untried {
    /// What is to be said of them.
    pub(crate) fn note(self) -> Option<String> {
        let Self { routes, resources } = self;
        let counted = |count: usize, noun: &str| match count {
            0 => None,
            1 => Some(format!("1 more {noun}")),
            _ => Some(format!("{count} more {noun}s")),
        };
        let each = [counted(routes, "route"), counted(resources, "resource")];
        let which: Vec<String> = each.into_iter().flatten().collect();
        (!which.is_empty()).then(|| {
            format!(
                "of which 10 % buys most, {} with less time, and in smaller pieces, not tried; \
                 --set tries any",
                which.join(" and ")
            )
        })
    }
}

/// The components of a recording that are worth a replay, and how many others there are.
pub(crate) fn candidates(models: &[Model], components: &Components) -> (Vec<Candidate>, Untried) {
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
    let (routes, untried_routes) = most(&totals.routes);
    let (resources, untried_resources) = most(&totals.resources);
    add("native".to_owned(), native, &|it| it.work.native = LEFT);
    add("gc".to_owned(), gc, &|it| it.work.gc = LEFT);
    add("jit".to_owned(), jit, &|it| it.work.jit = LEFT);
    add("ic".to_owned(), ic, &|it| it.work.ic = LEFT);
    add(
        "not-running".to_owned(),
        totals.classes[NOT_RUNNING],
        &|it| {
            it.work.not_running = LEFT;
        },
    );
    for (route, total_ns) in routes {
        let name = format!("route:{}.exec", components.routes()[route]);
        add(name, total_ns, &|it| {
            let work = it.of_route(route as u32);
            (work.native, work.gc, work.jit, work.ic) = (LEFT, LEFT, LEFT, LEFT);
        });
    }
    for (resource, total_ns) in resources {
        let name = format!("resource:{}.io", components.resources()[resource]);
        add(name, total_ns, &|it| {
            *it.of_resource(resource as u32) = LEFT
        });
    }
    let untried = Untried {
        routes: untried_routes,
        resources: untried_resources,
    };
    (all, untried)
}

/// Those with a name that have most, most first, and how many with any time are not among them.
fn most(totals: &[Total]) -> (Vec<(usize, u64)>, usize) {
    let numbered = totals.iter().copied().enumerate().skip(1);
    let mut rest: Vec<(usize, Total)> = numbered.filter(|(_, one)| one.ns > 0).collect();
    rest.sort_by_key(|&(number, one)| (Reverse(one.ns), number));
    let mut tried: Vec<_> = rest.drain(..rest.len().min(TRIED)).collect();
    rest.sort_by_key(|&(number, one)| (Reverse(one.squares), number));
    tried.extend(rest.drain(..rest.len().min(TRIED_FOR_PIECES)));
    let tried = tried.into_iter().map(|(number, one)| (number, one.ns));
    (tried.collect(), rest.len())
}

/// Time of one component, and in how large pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Total {
    ns: u64,
    squares: u128,
}

impl Total {
    fn add(&mut self, ns: u64) {
        self.ns += ns;
        self.squares += u128::from(ns) * u128::from(ns);
    }
}

/// Time by component in all that was recorded.
struct Totals {
    classes: [u64; CLASSES],
    routes: Vec<Total>,
    resources: Vec<Total>,
}

impl Totals {
    fn of(models: &[Model], components: &Components) -> Self {
        let mut totals = Self {
            classes: [0; CLASSES],
            routes: vec![Total::default(); components.routes().len()],
            resources: vec![Total::default(); components.resources().len()],
        };
        for model in models {
            let mut works = model.works();
            for (number, event) in (0..).zip(&model.events) {
                // What an event does for a route is one piece, wherever it is cut.
                let mut pieces: BTreeMap<usize, u64> = BTreeMap::new();
                for (work_ns, route) in works.by_ref().take(model.steps_of(number).len()) {
                    let sums = totals.classes.iter_mut().zip(work_ns);
                    sums.for_each(|(sum, part)| *sum += part);
                    *pieces.entry(route).or_default() += work_ns[..4].iter().sum::<u64>();
                }
                for (route, ns) in pieces {
                    totals.routes[route].add(ns);
                }
                totals.classes[GC] += event.lead_gc_ns;
                totals.resources[event.wait.resource as usize].add(match event.trigger {
                    Trigger::Released { delay_ns } => delay_ns,
                    Trigger::Job { job } => model.pool.jobs[job as usize].run_ns,
                    Trigger::Arrival {
                        at_ns, since_ns, ..
                    } => at_ns - since_ns,
                });
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_little_work_in_large_pieces_is_tried_too() {
        let mut totals = vec![Total::default(); 23];
        for (number, total) in totals.iter_mut().enumerate().skip(1) {
            (0..100 - number).for_each(|_| total.add(1_000));
        }
        // The last of all, but for one that did nothing.
        totals[21] = Total::default();
        totals[21].add(9_300);
        totals[22] = Total::default();
        let (tried, untried) = most(&totals);
        let numbers: Vec<usize> = tried.iter().map(|one| one.0).collect();
        assert_eq!(numbers[..12], (1..=12).collect::<Vec<_>>());
        assert_eq!(numbers[12..], [13, 21, 14, 15, 16, 17]);
        assert_eq!(untried, 3);
        assert_eq!(most(&totals[..6]).1, 0);
    }
}
