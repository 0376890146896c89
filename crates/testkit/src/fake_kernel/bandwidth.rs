//! Quota and burst of control groups, as `tg_set_cfs_bandwidth` of `kernel/sched/core.c` has them.
//!
//! Apart from the other rules because these go beyond one file: groups of v1 bound each other, and
//! whatever is written, the group's CPU time of this period is filled up.

use std::path::Path;

use super::rules::{EINVAL, Setting};

/// `min_cfs_quota_period`
const QUOTA_MIN_US: u32 = 1_000;
/// `BW_SHIFT`
const RATIO_SHIFT: u32 = 20;

const V1_QUOTA: &str = "cpu.cfs_quota_us";
const V1_PERIOD: &str = "cpu.cfs_period_us";
const V1_BURST: &str = "cpu.cfs_burst_us";

impl Setting<'_> {
    pub(super) fn quota_v1(&mut self, value: &str) -> Result<(), i32> {
        if value != "-1" {
            let quota_us = checked(value, self.number(V1_BURST).ok())?;
            self.check_around(ratio(quota_us, self.number(V1_PERIOD)?))?;
            self.refill(quota_us);
        }
        self.set(self.path.to_owned(), value);
        Ok(())
    }

    /// `QUOTA [PERIOD]`; the period stays if it is not told.
    pub(super) fn quota_v2(&mut self, value: &str) -> Result<(), i32> {
        let (quota, period) = value.split_once(' ').unwrap_or((value, ""));
        if quota != "max" {
            let quota_us = checked(quota, self.number("cpu.max.burst").ok())?;
            self.refill(quota_us);
        }
        let before = self.text("cpu.max")?;
        let period = match (period, before.split_once(' ')) {
            ("", Some((_, period))) => period,
            (period, _) => period,
        };
        let text = format!("{quota} {period}");
        self.set(self.path.to_owned(), &text);
        Ok(())
    }

    pub(super) fn burst_v1(&mut self, value: &str) -> Result<(), i32> {
        self.burst(V1_QUOTA, value)
    }

    pub(super) fn burst_v2(&mut self, value: &str) -> Result<(), i32> {
        self.burst("cpu.max", value)
    }

    /// Not above the quota.
    fn burst(&mut self, quota_file: &str, value: &str) -> Result<(), i32> {
        let burst_us: u32 = value.parse().map_err(|_| EINVAL)?;
        let quota = self.text(quota_file)?.split(' ').next().unwrap_or_default();
        if let Ok(quota_us) = quota.parse() {
            if burst_us > quota_us {
                return Err(EINVAL);
            }
            self.refill(quota_us);
        }
        self.set(self.path.to_owned(), value);
        Ok(())
    }

    /// `__refill_cfs_bandwidth_runtime`
    fn refill(&mut self, quota_us: u32) {
        let directory = self.path.with_file_name("");
        let directory = directory.components().collect();
        *self.tree.refilled_us.entry(directory).or_insert(0) += u64::from(quota_us);
    }

    /// `tg_cfs_schedulable_down`: in v1 no group may have more of its period than the next one
    /// around it that has a limit; in v2 the lower of both holds, and nothing is refused.
    fn check_around(&self, own: u64) -> Result<(), i32> {
        let Some(directory) = self.path.parent() else {
            return Ok(());
        };
        let mut around = directory.ancestors().skip(1);
        if around
            .find_map(|outer| self.ratio_of(outer))
            .is_some_and(|outer| own > outer)
        {
            return Err(EINVAL);
        }
        let inner = self.tree.texts.keys().filter_map(|file| {
            let inner = file.parent().filter(|_| file.ends_with(V1_QUOTA))?;
            let next = inner
                .ancestors()
                .skip(1)
                .find(|outer| *outer == directory || self.ratio_of(outer).is_some());
            (inner.starts_with(directory) && next == Some(directory)).then_some(inner)
        });
        let mut ratios = inner.filter_map(|inner| self.ratio_of(inner));
        match ratios.any(|inner| inner > own) {
            true => Err(EINVAL),
            false => Ok(()),
        }
    }

    /// What a group of v1 may use of its period; none without a limit.
    fn ratio_of(&self, directory: &Path) -> Option<u64> {
        let text = |name: &str| self.tree.texts.get(&directory.join(name));
        let quota_us = text(V1_QUOTA)?.trim().parse().ok()?;
        Some(ratio(quota_us, text(V1_PERIOD)?.trim().parse().ok()?))
    }
}

/// At least 1 ms, and not below the burst.
fn checked(value: &str, burst_us: Option<u32>) -> Result<u32, i32> {
    let quota_us: u32 = value.parse().map_err(|_| EINVAL)?;
    if quota_us < QUOTA_MIN_US || burst_us.is_some_and(|burst_us| quota_us < burst_us) {
        return Err(EINVAL);
    }
    Ok(quota_us)
}

/// `to_ratio`
fn ratio(quota_us: u32, period_us: u32) -> u64 {
    (u64::from(quota_us) << RATIO_SHIFT) / u64::from(period_us.max(1))
}

#[cfg(test)]
mod tests {
    use bobtail_control::{Domain, LeverKind};
    use bobtail_control::{Place, SavedSetting, SavedState};

    use crate::fake_kernel::FakeKernel;

    const OUTER: &str = "sys/fs/cgroup/cpu/pod";
    const INNER: &str = "sys/fs/cgroup/cpu/pod/between/svc";

    /// A limited group, one without a limit in it, and a limited one in that.
    fn nested() -> FakeKernel {
        let kernel = FakeKernel::with_cpus(4);
        kernel.group_v1("pod", 90_000);
        kernel.group_v1("pod/between", -1);
        kernel.group_v1("pod/between/svc", 60_000);
        kernel
    }

    /// Writes a quota as a lever's put-back does; the kernel's error number if it refuses.
    fn write(kernel: &FakeKernel, directory: &str, quota: &str) -> Option<i32> {
        let path = directory.strip_prefix("sys/fs/cgroup/").expect("a group");
        let saved = SavedState {
            lever: LeverKind::Quota,
            domain: Domain::Group(String::new()),
            settings: vec![SavedSetting::File {
                place: Place::cgroup(format!("{path}/cpu.cfs_quota_us")),
                value: quota.to_owned(),
            }],
        };
        match saved.restore(&kernel.host()).into_result() {
            Err(bobtail_control::ControlError::Write { cause, .. }) => cause.raw_os_error(),
            other => other.map(|()| None).expect("a refusal of the kernel"),
        }
    }

    #[test]
    fn groups_of_v1_bound_each_other() {
        let kernel = nested();
        assert_eq!(write(&kernel, INNER, "90001"), Some(super::EINVAL));
        assert_eq!(write(&kernel, OUTER, "59999"), Some(super::EINVAL));
        assert_eq!(write(&kernel, INNER, "90000"), None);
        assert_eq!(write(&kernel, INNER, "50000"), None);
        assert_eq!(write(&kernel, OUTER, "50000"), None);
    }

    #[test]
    fn each_write_of_a_quota_fills_it_up() {
        let kernel = nested();
        write(&kernel, INNER, "50000");
        write(&kernel, INNER, "50000");
        write(&kernel, INNER, "999");
        assert_eq!(kernel.refilled_us(INNER), 100_000);
        assert_eq!(kernel.refilled_us(OUTER), 0);
    }
}
