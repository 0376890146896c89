//! All loops of a recording: each by itself, or several that share a frequency domain.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use super::{AllReplayed, Replayed, Run};
use crate::ahead::Ahead;
use crate::components::Components;
use crate::domain::Domain;
use crate::gear::Gear;
use crate::model::Model;
use crate::scenario::Scenario;

/// Runs all loops of a recording, which share what a scheme aims at, and the lever where the
/// scenario says so.
pub fn replay_all(models: &[Model], scenario: &Scenario, components: &Components) -> AllReplayed {
    let ahead = Ahead::of(models, scenario, components);
    AllReplayed {
        loops: replay_ahead(models, scenario, components, &ahead),
        aim: ahead.aim(),
    }
}

/// The same, with what the scheme is told given.
pub(crate) fn replay_ahead(
    models: &[Model],
    scenario: &Scenario,
    components: &Components,
    ahead: &Ahead,
) -> Vec<Replayed> {
    let lever = scenario.drive.as_ref().map(|drive| drive.lever);
    let run = |number: usize, gear: Gear| {
        let mut run = Run::new(&models[number], scenario, components);
        run.drive(scenario, components, gear, ahead, number);
        run.finish()
    };
    let together = lever.map_or(1, |lever| lever.domain_loops.max(1) as usize);
    let latency_ns = lever.map_or(0, |lever| lever.latency_ns);
    let firsts = (0..models.len()).step_by(together);
    let domains = firsts.map(|first| first..first.saturating_add(together).min(models.len()));
    domains
        .flat_map(|loops| match loops.len() {
            1 => vec![run(loops.start, Gear::own())],
            _ => of_domain(loops, latency_ns, &run),
        })
        .collect()
}

/// Each on a thread, of which the domain lets one run at a time.
fn of_domain(
    loops: Range<usize>,
    latency_ns: u64,
    run: &(impl Fn(usize, Gear) -> Replayed + Sync),
) -> Vec<Replayed> {
    let domain = Arc::new(Domain::new(loops.len(), latency_ns));
    thread::scope(|scope| {
        let each = loops.enumerate().map(|(number, of_all)| {
            let domain = Arc::clone(&domain);
            scope.spawn(move || {
                let _turn = Turn::begin(Arc::clone(&domain), number);
                run(of_all, Gear::Shared { domain, number })
            })
        });
        let each: Vec<_> = each.collect();
        let joined = each.into_iter().map(|one| one.join());
        joined
            .map(|one| one.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// A member's part in its domain; ends also when its replay panics, or the others would wait.
struct Turn {
    domain: Arc<Domain>,
    number: usize,
}

impl Turn {
    fn begin(domain: Arc<Domain>, number: usize) -> Self {
        domain.begin(number);
        Self { domain, number }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.domain.end(self.number);
    }
}
