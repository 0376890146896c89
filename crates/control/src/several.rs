//! Several levers of one kind moved as one: a service whose CPUs have more than one clock.
//!
//! The arbitration between services stays by domain; this only spares an owner the loop.

use std::os::fd::BorrowedFd;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::host::Host;
use crate::lever::{Domain, Lever};
use crate::saved::{Restored, SavedState};

/// Parts that are tested, of one kind and driver: each takes a part of a second.
const TESTED_MAX: usize = 8;

/// Levers that are always at the same speed.
#[derive(Debug)]
pub struct Several {
    lever: Lever,
    saved: SavedState,
    parts: Vec<Box<dyn Actuator>>,
}

impl Several {
    /// Makes one of the first and the others. The range described is what they have in common;
    /// each part clamps for itself.
    pub fn of(first: Box<dyn Actuator>, others: Vec<Box<dyn Actuator>>) -> Self {
        let mut lever = first.lever().clone();
        let mut saved = first.saved().clone();
        let mut parts = vec![first];
        for part in others {
            let other = part.lever();
            lever.domain = union(lever.domain, &other.domain);
            lever.range.lowest = lever.range.lowest.max(other.range.lowest);
            lever.range.highest = lever.range.highest.min(other.range.highest);
            lever.transition_ns = lever.transition_ns.max(other.transition_ns);
            saved.settings.extend(part.saved().settings.iter().cloned());
            parts.push(part);
        }
        saved.domain = lever.domain.clone();
        if parts.len() > 1 {
            lever.about = format!("{} domains, each {}", parts.len(), lever.about);
        }
        Self {
            lever,
            saved,
            parts,
        }
    }
}

fn union(one: Domain, other: &Domain) -> Domain {
    match (one, other) {
        (Domain::Cpus(mut cpus), Domain::Cpus(more)) => {
            cpus.extend(more);
            cpus.sort_unstable();
            cpus.dedup();
            Domain::Cpus(cpus)
        }
        (one, _) => one,
    }
}

impl Actuator for Several {
    fn lever(&self) -> &Lever {
        &self.lever
    }

    fn saved(&self) -> &SavedState {
        &self.saved
    }

    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let mut applied = Applied {
            value: self.lever.range.value(self.lever.kind, speed)?,
            is_changed: false,
        };
        for part in &mut self.parts {
            applied.is_changed |= part.apply(speed)?.is_changed;
        }
        Ok(applied)
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        let mut first = Ok(());
        for part in &mut self.parts {
            first = first.and(part.undo());
        }
        first
    }

    fn put_back(&mut self, host: &Host) -> Restored {
        let mut all = Restored::default();
        for part in &mut self.parts {
            let mut one = part.put_back(host);
            all.restored += one.restored;
            all.gone += one.gone;
            all.differing.append(&mut one.differing);
            all.failed.append(&mut one.failed);
        }
        all
    }

    fn let_go(&mut self) {
        self.parts.iter_mut().for_each(|part| part.let_go());
    }

    fn locks(&self) -> Vec<BorrowedFd<'_>> {
        self.parts.iter().flat_map(|part| part.locks()).collect()
    }

    /// Of some of them, all over the machine; what the slowest of those was seen to do.
    fn self_test(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        let mut slowest: Option<SelfTest> = None;
        let every = self.parts.len().div_ceil(TESTED_MAX);
        for part in self.parts.iter_mut().step_by(every) {
            let test = part.self_test(gauge)?;
            let is_slower = |other: &SelfTest| test.measured < other.measured;
            if slowest.as_ref().is_none_or(is_slower) {
                slowest = Some(test);
            }
        }
        Ok(slowest.unwrap_or_default())
    }

    fn upkeep_ns(&self) -> Option<u64> {
        self.parts.iter().filter_map(|part| part.upkeep_ns()).min()
    }

    fn owes(&self) -> bool {
        self.parts.iter().any(|part| part.owes())
    }
}
