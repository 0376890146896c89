//! How far below its base a quota can be lowered, to give back what was taken beyond it.
//!
//! Asked of the kernel's files each time instead of once, because others change them: a burst or
//! the quota of a group inside may have grown since the lever was opened.

use crate::error::ControlError;
use crate::group::{CpuGroup, Version, join};
use crate::host::{Host, Place};
use crate::lever::Range;

/// While something is owed and nothing boosted, the quota is lower by this share of it.
const SHARE: u32 = 10;
/// A floor that keeps a group from paying back is looked at again after so long.
const FLOOR_LOOK_NS: u64 = 1_000_000_000;

/// The quota at which a group pays back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repayment {
    pub(super) value_us: u32,
    read_ns: u64,
}

impl Repayment {
    /// Looks how low the quota of a group can be now.
    pub(super) fn read(
        host: &Host,
        group: &CpuGroup,
        range: &Range,
        period_us: u32,
        now_ns: u64,
    ) -> Result<Self, ControlError> {
        let floor_us = group.floor_us(host, period_us)?.max(range.lowest);
        let wanted_us = range.base - range.base / SHARE;
        Ok(Self {
            value_us: wanted_us.max(floor_us).min(range.base),
            read_ns: now_ns,
        })
    }

    /// At the base, where the kernel has refused a lower quota.
    pub(super) fn at_base(base_us: u32, now_ns: u64) -> Self {
        Self {
            value_us: base_us,
            read_ns: now_ns,
        }
    }

    /// Whether it is to be looked anew whether a lower quota is possible.
    pub(super) fn is_to_be_read(&self, base_us: u32, now_ns: u64) -> bool {
        self.value_us == base_us && now_ns.saturating_sub(self.read_ns) >= FLOOR_LOOK_NS
    }
}

impl CpuGroup {
    /// The lowest quota, in µs of this period, that the burst and the groups inside allow.
    ///
    /// `tg_set_cfs_bandwidth` (`kernel/sched/core.c`) refuses a quota below the burst, in both
    /// versions; in v1 `tg_cfs_schedulable_down` also one that is less of its period than that of a
    /// group inside, with EINVAL both. A group without a quota passes on the limit around it, so
    /// that those inside it count as well.
    fn floor_us(&self, host: &Host, period_us: u32) -> Result<u32, ControlError> {
        let mut floor_us = match host.read_if_there(&self.burst_place())? {
            Some(_) => host.read_number(&self.burst_place())?,
            // Before Linux 5.14 there is none.
            None => 0,
        };
        if self.version == Version::V2 {
            return Ok(floor_us);
        }
        let mut directories = vec![self.directory.clone()];
        while let Some(directory) = directories.pop() {
            for name in host.list(&Place::cgroup(directory.clone()))? {
                let mut inner = self.clone();
                inner.directory = join(&directory, &name);
                if !inner.is_there(host) {
                    continue;
                }
                if let (Some(quota_us), inner_period_us) = inner.limit(host)? {
                    let of_period = u64::from(quota_us) * u64::from(period_us);
                    let of_period = of_period.div_ceil(u64::from(inner_period_us.max(1)));
                    floor_us = floor_us.max(u32::try_from(of_period).unwrap_or(u32::MAX));
                } else {
                    directories.push(inner.directory);
                }
            }
        }
        Ok(floor_us)
    }

    /// Whether this is a group: a directory of one also has plain files.
    fn is_there(&self, host: &Host) -> bool {
        host.read(&self.quota_place()).is_ok()
    }
}
