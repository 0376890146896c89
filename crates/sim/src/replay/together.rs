//! All loops of a recording: each by itself, or several that share a frequency domain.

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
    match lever.filter(|lever| lever.is_shared && models.len() > 1) {
        Some(lever) => {
            let domain = Domain::new(models.len(), lever.latency_ns);
            of_domain(Arc::new(domain), models.len(), &run)
        }
        None => (0..models.len())
            .map(|number| run(number, Gear::own()))
            .collect(),
    }
}

/// Each on a thread, of which the domain lets one run at a time.
fn of_domain(
    domain: Arc<Domain>,
    members: usize,
    run: &(impl Fn(usize, Gear) -> Replayed + Sync),
) -> Vec<Replayed> {
    thread::scope(|scope| {
        let each = (0..members).map(|number| {
            let domain = Arc::clone(&domain);
            scope.spawn(move || {
                let _turn = Turn::begin(Arc::clone(&domain), number);
                run(number, Gear::Shared { domain, number })
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
