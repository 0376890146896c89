//! A scenario: by how much each component is changed.
//!
//! Factors of time: 0.7 is "30 % less". A component that is not named keeps its time.

use crate::components::Components;
use crate::model::{CLASSES, Wait};
use crate::scheme::Drive;
use crate::shedding::Shedding;

/// Factors of the work of the loop thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkFactors {
    pub native: f64,
    pub gc: f64,
    pub jit: f64,
    pub ic: f64,
    pub not_running: f64,
}

impl WorkFactors {
    /// Nothing is changed.
    pub const UNCHANGED: Self = Self {
        native: 1.0,
        gc: 1.0,
        jit: 1.0,
        ic: 1.0,
        not_running: 1.0,
    };

    /// As in [`crate::model::Step`]; what the loop itself does is no component.
    pub(crate) fn classes(&self) -> [f64; CLASSES] {
        let Self {
            native,
            gc,
            jit,
            ic,
            not_running,
        } = *self;
        [native, gc, jit, ic, not_running, 1.0]
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Of all routes.
    pub work: WorkFactors,
    /// Of all that is waited for but timers.
    pub io: f64,
    /// Times the load.
    pub rate: f64,
    /// Threads of the pool; `None` for as many as there are.
    pub pool: Option<u32>,
    /// A policy that drives a lever; the recording is at base speed.
    pub drive: Option<Drive>,
    /// Requests are turned away while a collection is due.
    pub shedding: Option<Shedding>,
    /// On top, by route.
    pub(crate) routes: Vec<(u32, WorkFactors)>,
    /// On top, by resource.
    pub(crate) resources: Vec<(u32, f64)>,
}

impl Scenario {
    /// Nothing is changed.
    pub fn unchanged() -> Self {
        Self {
            work: WorkFactors::UNCHANGED,
            io: 1.0,
            rate: 1.0,
            pool: None,
            drive: None,
            shedding: None,
            routes: Vec::new(),
            resources: Vec::new(),
        }
    }

    /// Changes the work of one route, by number.
    pub fn of_route(&mut self, route: u32) -> &mut WorkFactors {
        let at = self.routes.iter().position(|one| one.0 == route);
        let at = at.unwrap_or_else(|| {
            self.routes.push((route, WorkFactors::UNCHANGED));
            self.routes.len() - 1
        });
        &mut self.routes[at].1
    }

    /// Changes the time of one resource, by number.
    pub fn of_resource(&mut self, resource: u32) -> &mut f64 {
        let at = self.resources.iter().position(|one| one.0 == resource);
        let at = at.unwrap_or_else(|| {
            self.resources.push((resource, 1.0));
            self.resources.len() - 1
        });
        &mut self.resources[at].1
    }

    /// Whether a policy drives, and all else is as recorded.
    pub(crate) fn changes_policy_alone(&self) -> bool {
        let without = Self {
            drive: None,
            ..self.clone()
        };
        self.drive.is_some() && without == Self::unchanged()
    }

    /// Which classes are changed for themselves, in the order `gc`, `jit`, `ic`, `not-running`.
    /// What was not measured is a part of `native`, so with that it may change, but not alone.
    pub fn changes_alone(&self) -> [bool; 4] {
        // Who is turned away goes by the collections there were.
        let mut changed = [self.shedding.is_some(), false, false, false];
        let routes = self.routes.iter().map(|(_, factors)| factors);
        for one in routes.chain([&self.work]) {
            let is_alone = |factor: f64| factor != 1.0 && factor != one.native;
            let each = [
                is_alone(one.gc),
                is_alone(one.jit),
                is_alone(one.ic),
                one.not_running != 1.0,
            ];
            changed
                .iter_mut()
                .zip(each)
                .for_each(|(all, one)| *all |= one);
        }
        changed
    }

    /// Factors of each route, by number.
    pub(crate) fn by_route(&self, components: &Components) -> Vec<[f64; CLASSES]> {
        let work = self.work.classes();
        let mut all = vec![work; components.routes().len()];
        for (route, factors) in &self.routes {
            if let Some(one) = all.get_mut(*route as usize) {
                let own = factors.classes();
                one.iter_mut()
                    .zip(own)
                    .for_each(|(factor, own)| *factor *= own);
            }
        }
        all
    }

    /// Factors of each resource, by number.
    pub(crate) fn by_resource(&self, components: &Components) -> Vec<f64> {
        let mut all = vec![1.0; components.resources().len()];
        for (resource, factor) in &self.resources {
            if let Some(one) = all.get_mut(*resource as usize) {
                *one *= factor;
            }
        }
        all
    }

    /// The factor of what an event waits for.
    pub(crate) fn of_wait(&self, wait: &Wait, by_resource: &[f64]) -> f64 {
        let io = if wait.is_timer { 1.0 } else { self.io };
        io * by_resource[wait.resource as usize]
    }
}

/// A time under a factor; exactly the same under 1.
pub(crate) fn scaled(time_ns: u64, factor: f64) -> u64 {
    if factor == 1.0 {
        return time_ns;
    }
    (time_ns as f64 * factor).round() as u64
}
