//! Lets a control group save up unused quota and spend it later: the kernel's own account.
//!
//! The first thing to recommend in a container: it removes most throttling, without a boost, and
//! nobody gets more than the limit in the long run: as long as it is raised once. Each write of it
//! fills the group up as one of the quota does (`tg_set_cfs_bandwidth`); who moved it at each boost
//! had 0.97 of a CPU where 0.30 were allowed. So it stays up between boosts, and is raised again no
//! sooner than [`REST_PERIODS`] after it was put back.

use std::os::fd::BorrowedFd;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::group::CpuGroup;
use crate::host::Host;
use crate::lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
use crate::plain_setting::{Notation, PlainSetting};
use crate::saved::{Restored, SavedState};
use crate::syscalls;

const KIND: LeverKind = LeverKind::Burst;
/// Periods of the group between two raises. Raising and putting back each fill it up by its quota
/// and burst at most, which is no more than the quota: 4 % of the quota.
const REST_PERIODS: u64 = 100;

/// The burst of one group.
#[derive(Debug)]
pub struct Burst {
    setting: PlainSetting,
    rest_ns: u64,
    /// What it stands at while it is raised.
    raised: Option<u32>,
    /// When it was put back.
    rests_since_ns: Option<u64>,
}

/// Opens the burst of a group; the peak, unless asked for, is the quota, which the kernel allows
/// at most.
///
/// # Errors
///
/// When the group has no quota, the kernel no burst (before 5.14), or it is at its highest already.
pub fn open(host: &Host, group: &CpuGroup, asked: &Asked) -> Result<Burst, ControlError> {
    let unavailable = |why: String| Err(ControlError::Unavailable { lever: KIND, why });
    let (Some(quota_us), period_us) = group.limit(host)? else {
        return unavailable(format!("the group /{} has no quota to save up", group.path));
    };
    let place = group.burst_place();
    if host.read_if_there(&place)?.is_none() {
        return unavailable("the kernel has no CPU burst (Linux 5.14)".to_owned());
    }
    let range = Range {
        unit: Unit::Microseconds,
        lowest: 0,
        highest: quota_us,
        base: host.read_number(&place)?,
        peak: quota_us,
    }
    .narrowed(KIND, asked)?;
    if range.base == range.peak {
        return unavailable(format!("the burst of /{} is its quota already", group.path));
    }
    let lever = Lever {
        kind: KIND,
        domain: Domain::Group(group.path.clone()),
        range,
        about: format!("CPU burst of /{}, per {period_us} µs", group.path),
        transition_ns: Some(0),
        is_emulated: false,
    };
    // Who has the quota could not lower it below a burst that another raises.
    let marks = vec![group.quota_place()];
    Ok(Burst {
        setting: PlainSetting::open(host, lever, vec![place], marks, Notation::Number)?,
        rest_ns: u64::from(period_us) * 1_000 * REST_PERIODS,
        raised: None,
        rests_since_ns: None,
    })
}

impl Actuator for Burst {
    fn lever(&self) -> &Lever {
        self.setting.lever()
    }

    fn saved(&self) -> &SavedState {
        self.setting.saved()
    }

    /// Writes once; at base nothing, and says what stands.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let range = self.lever().range;
        let value = range.value(KIND, speed)?;
        let is_changed = false;
        if let Some(value) = self.raised {
            return Ok(Applied { value, is_changed });
        }
        if !range.is_raised(value) {
            return Ok(Applied { value, is_changed });
        }
        let now_ns = syscalls::now_ns();
        let rests = |since_ns| now_ns.saturating_sub(since_ns) < self.rest_ns;
        if self.rests_since_ns.is_some_and(rests) {
            let rest_s = self.rest_ns / 1_000_000_000;
            return Err(ControlError::Unavailable {
                lever: KIND,
                why: format!("each write fills the group up: it is raised once in {rest_s} s"),
            });
        }
        let applied = self.setting.apply(speed)?;
        self.raised = Some(value);
        Ok(applied)
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        self.rest();
        self.setting.undo()
    }

    fn put_back(&mut self, host: &Host) -> Restored {
        self.rest();
        self.setting.put_back(host)
    }

    fn let_go(&mut self) {
        self.setting.let_go();
    }

    fn locks(&self) -> Vec<BorrowedFd<'_>> {
        self.setting.locks()
    }

    fn self_test(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        self.setting.self_test(gauge)
    }
}

impl Burst {
    fn rest(&mut self) {
        if self.raised.take().is_some() {
            self.rests_since_ns = Some(syscalls::now_ns());
        }
    }
}
