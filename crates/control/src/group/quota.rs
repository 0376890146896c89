//! Raises the CPU quota of a control group for the time of a boost, and has it paid back.
//!
//! A write takes about a µs and takes effect at once, also for a group that is throttled. Never
//! to "no quota" and back: that patches the kernel's code and takes ms. Whoever drives this lever
//! must live outside the group: a throttled process cannot ask for anything.

mod paying;
mod self_test;

use std::os::fd::BorrowedFd;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::group::CpuGroup;
use crate::group::assumed::AssumedUse;
use crate::group::ledger::Ledger;
use crate::group::repayment::Repayment;
use crate::held::Held;
use crate::host::Host;
use crate::knob::Knob;
use crate::lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
use crate::saved::{Restored, SavedSetting, SavedState};
use crate::syscalls;
use crate::topology::cpus_online;

const KIND: LeverKind = LeverKind::Quota;
/// The kernel's own minimum.
const LOWEST_US: u32 = 1_000;
/// How often the account must be looked at.
const UPKEEP_NS: u64 = 10_000_000;

/// The quota of one group.
#[derive(Debug)]
pub struct Quota {
    host: Host,
    group: CpuGroup,
    lever: Lever,
    saved: SavedState,
    held: Held,
    knob: Knob,
    period_us: u32,
    ledger: Ledger,
    /// While something is owed.
    repayment: Option<Repayment>,
    /// The group came to what it may owe, and has not paid all of it back.
    is_refused: bool,
    /// Where nobody keeps an account of the group's use.
    assumed: AssumedUse,
    last_ns: u64,
    /// When the group was filled up last by a write.
    written_ns: Option<u64>,
    /// The quota that the group goes back to.
    before_us: u32,
    now: Option<u32>,
}

impl Quota {
    /// Opens the quota of a group. The peak, unless asked for, is twice the quota; the group may
    /// be ahead of its quota by `debt_max_us` of CPU time, or the quota of one period.
    ///
    /// # Errors
    ///
    /// When the group has no limit to raise, or the file cannot be written.
    pub fn open(
        host: &Host,
        group: &CpuGroup,
        asked: &Asked,
        debt_max_us: Option<u32>,
    ) -> Result<Self, ControlError> {
        let (quota_us, period_us) = group.limit(host)?;
        let unavailable = |why: String| ControlError::Unavailable { lever: KIND, why };
        let no_limit = || unavailable(format!("the group /{} has no limit to raise", group.path));
        let quota_us = quota_us.ok_or_else(no_limit)?;
        group.check_undivided(host, KIND)?;
        let cpus = u32::try_from(cpus_online(host)?.len()).unwrap_or(u32::MAX);
        // What is written beyond it the kernel refuses (v1), or takes and does not give (v2).
        let outer_us = group.outer_limit_us(host, period_us)?.unwrap_or(u32::MAX);
        let of_machine_us = period_us.saturating_mul(cpus);
        let highest = of_machine_us.min(outer_us).max(quota_us);
        let range = Range {
            unit: Unit::Microseconds,
            lowest: LOWEST_US.min(quota_us),
            highest,
            base: quota_us,
            peak: quota_us.saturating_mul(2).min(highest),
        }
        .narrowed(KIND, asked)?;
        if range.base == range.peak {
            let path = &group.path;
            return Err(unavailable(match outer_us < of_machine_us {
                true => format!("the groups around /{path} give it no more than its own quota"),
                false => format!("the group /{path} may use all {cpus} CPUs already"),
            }));
        }
        let domain = Domain::Group(group.path.clone());
        let place = group.quota_place();
        let debt_max_us = debt_max_us.unwrap_or(range.base);
        Ok(Self {
            lever: Lever {
                kind: KIND,
                domain: domain.clone(),
                range,
                about: format!(
                    "CPU quota of /{} per {period_us} µs; at most {debt_max_us} µs ahead, \
                     which are given back",
                    group.path
                ),
                transition_ns: Some(0),
                is_emulated: false,
            },
            saved: SavedState {
                lever: KIND,
                domain,
                settings: vec![SavedSetting::of_file(host, &place)?],
            },
            // No lower than a burst that another raises: who has one has both.
            held: Held::open(host, group.marks(host)?)?,
            knob: Knob::open(host, place)?,
            ledger: Ledger::new(range.base, period_us, u64::from(debt_max_us) * 1000),
            repayment: None,
            is_refused: false,
            period_us,
            assumed: AssumedUse::default(),
            last_ns: 0,
            written_ns: None,
            before_us: quota_us,
            now: None,
            group: group.clone(),
            host: host.clone(),
        })
    }

    /// CPU time taken beyond the quota and not yet given back, in ns, at the last `apply`.
    pub fn debt_ns(&self) -> u64 {
        self.ledger.debt_ns()
    }

    fn settle(&mut self) -> Result<(), ControlError> {
        let now_ns = syscalls::now_ns();
        let elapsed_ns = now_ns.saturating_sub(self.last_ns);
        if self.last_ns > 0 {
            // Also while it is not held: the group goes on with what it had before.
            let quota_us = self.now.unwrap_or(self.before_us);
            self.assumed.pass(elapsed_ns, quota_us, self.period_us);
        }
        let used_ns = self.group.used_ns(&self.host)?;
        self.last_ns = now_ns;
        let used_ns = used_ns.unwrap_or(self.assumed.used_ns());
        self.ledger.settle(now_ns, used_ns);
        Ok(())
    }
}

impl Actuator for Quota {
    fn lever(&self) -> &Lever {
        &self.lever
    }

    fn saved(&self) -> &SavedState {
        &self.saved
    }

    /// Reads the group's account (which allocates) and writes one file, or none. The value is
    /// the base or less instead of the peak while the group has no credit.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let wanted = self.lever.range.value(KIND, speed)?;
        self.settle()?;
        let allowed = self.allowed(wanted)?;
        if !self.held.is_taken() {
            self.held.take(&self.host, &self.saved)?;
            // Not written where it stands: that would fill the group up.
            self.now = Some(self.before_us);
        }
        let before = self.now;
        let value = self.write(allowed)?;
        let is_changed = before != Some(value);
        Ok(Applied { value, is_changed })
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        let host = self.host.clone();
        self.put_back(&host).into_result()
    }

    fn put_back(&mut self, host: &Host) -> Restored {
        if !self.held.is_taken() {
            return Restored::default();
        }
        // Where it fails the group is gone, or that is found out by what follows.
        drop(self.settle());
        self.now = None;
        if self.saved.check_unchanged(host).is_ok() {
            // Written once more, it would fill the group up.
            self.held.let_go();
            return Restored {
                restored: 1,
                ..Restored::default()
            };
        }
        self.fill_up(self.before_us);
        self.held.put_back(host, &self.saved)
    }

    fn let_go(&mut self) {
        self.held.let_go();
    }

    fn locks(&self) -> Vec<BorrowedFd<'_>> {
        self.held.descriptors()
    }

    /// That the kernel keeps both values; and, where threads can be put into the group, that it
    /// gives the group more at the peak. On a machine too busy for the group to come to its limit
    /// there is nothing to measure, and what the kernel keeps must do.
    fn self_test(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        let outcome = self.test_held(gauge);
        let undone = self.undo();
        // What the test itself took is not the group's debt.
        let Range { base, .. } = self.lever.range;
        self.ledger = Ledger::new(base, self.period_us, self.ledger.debt_max_ns());
        self.repayment = None;
        self.is_refused = false;
        self.written_ns = None;
        let test = outcome?;
        undone?;
        Ok(test)
    }

    fn upkeep_ns(&self) -> Option<u64> {
        Some(UPKEEP_NS)
    }

    fn owes(&self) -> bool {
        self.ledger.debt_ns() > 0 || self.is_filled_up()
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Nobody is left to tell; what could not be put back is in the owner's journal.
        drop(self.undo());
    }
}
