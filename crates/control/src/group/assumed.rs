//! The most that a group can have used, where nobody keeps an account of its use.
//!
//! Not what its quota gives over time alone: whoever writes a quota, or a burst, has the kernel
//! fill up what the group has left of this period (`tg_set_cfs_bandwidth` calls
//! `__refill_cfs_bandwidth_runtime`, `kernel/sched/core.c` and `fair.c`), also with the same value.

/// See the module; pure, told what passes and what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AssumedUse {
    used_ns: u64,
}

impl AssumedUse {
    /// Time passed under a quota.
    pub fn pass(&mut self, elapsed_ns: u64, quota_us: u32, period_us: u32) {
        let most_ns = u128::from(elapsed_ns) * u128::from(quota_us) / u128::from(period_us.max(1));
        self.add(u64::try_from(most_ns).unwrap_or(u64::MAX));
    }

    /// A quota was written.
    pub fn fill_up(&mut self, quota_us: u32) {
        self.add(u64::from(quota_us) * 1000);
    }

    /// CPU time in ns, since this was made.
    pub fn used_ns(&self) -> u64 {
        self.used_ns
    }

    fn add(&mut self, ns: u64) {
        self.used_ns = self.used_ns.saturating_add(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::AssumedUse;

    #[test]
    fn what_time_gives_and_each_write_add_up() {
        let mut used = AssumedUse::default();
        used.fill_up(120_000);
        used.pass(50_000_000, 120_000, 100_000);
        used.fill_up(60_000);
        assert_eq!(used.used_ns(), 240_000_000);
        used.pass(u64::MAX, u32::MAX, 0);
        assert_eq!(used.used_ns(), u64::MAX);
    }
}
