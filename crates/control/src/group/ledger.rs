//! The account of a raised quota: what a group took beyond its limit, and owes.
//!
//! Every write of a quota refills it, so that a lever without an account would simply lift the
//! limit that somebody set. With it a group may be ahead of its limit by a fixed amount at most,
//! and pays that back by staying below the limit later.

/// What one group owes; pure, told the time and the use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    quota_us: u64,
    period_us: u64,
    debt_max_ns: u64,
    debt_ns: u64,
    last: Option<(u64, u64)>,
}

impl Ledger {
    /// The account of a group with this quota per period.
    pub fn new(quota_us: u32, period_us: u32, debt_max_ns: u64) -> Self {
        Self {
            quota_us: quota_us.into(),
            period_us: u64::from(period_us).max(1),
            debt_max_ns,
            debt_ns: 0,
            last: None,
        }
    }

    /// Takes in the time and the group's use since ever, both in ns; the first call begins the
    /// account. Use below the quota pays back, but is not saved up: that is what burst is for.
    pub fn settle(&mut self, now_ns: u64, used_ns: u64) {
        if let Some((last_ns, last_used_ns)) = self.last {
            let elapsed_ns = u128::from(now_ns.saturating_sub(last_ns));
            let due_ns = elapsed_ns * u128::from(self.quota_us) / u128::from(self.period_us);
            let used_ns = used_ns.saturating_sub(last_used_ns);
            let debt_ns = (u128::from(self.debt_ns) + u128::from(used_ns)).saturating_sub(due_ns);
            self.debt_ns = u64::try_from(debt_ns).unwrap_or(u64::MAX);
        }
        self.last = Some((now_ns, used_ns));
    }

    /// CPU time taken beyond the quota and not yet given back, in ns.
    pub fn debt_ns(&self) -> u64 {
        self.debt_ns
    }

    /// How far the group may be ahead, in ns.
    pub fn debt_max_ns(&self) -> u64 {
        self.debt_max_ns
    }

    /// Whether the group may go on above its quota.
    pub fn has_credit(&self) -> bool {
        self.debt_ns < self.debt_max_ns
    }
}

#[cfg(test)]
mod tests {
    use super::Ledger;

    /// 60 ms per 100 ms, at most 30 ms ahead.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(60_000, 100_000, 30_000_000);
        ledger.settle(1_000_000_000, 7);
        ledger
    }

    #[test]
    fn use_beyond_the_quota_is_owed_and_use_below_pays_it_back() {
        let mut ledger = ledger();
        ledger.settle(1_100_000_000, 80_000_007);
        assert_eq!((ledger.debt_ns(), ledger.has_credit()), (20_000_000, true));
        ledger.settle(1_150_000_000, 120_000_007);
        assert_eq!((ledger.debt_ns(), ledger.has_credit()), (30_000_000, false));
        ledger.settle(1_200_000_000, 140_000_007);
        assert_eq!((ledger.debt_ns(), ledger.has_credit()), (20_000_000, true));
    }

    #[test]
    fn what_is_not_used_is_not_saved_up() {
        let mut ledger = ledger();
        ledger.settle(9_000_000_000, 7);
        ledger.settle(9_100_000_000, 100_000_007);
        assert_eq!(ledger.debt_ns(), 40_000_000);
    }

    #[test]
    fn clocks_that_go_back_pay_nothing_and_numbers_without_sense_do_no_harm() {
        let mut ledger = ledger();
        ledger.settle(0, 50_000_007);
        assert_eq!(ledger.debt_ns(), 50_000_000);
        ledger.settle(u64::MAX, 0);
        assert_eq!(ledger.debt_ns(), 0);
        ledger.settle(0, u64::MAX);
        assert!(!ledger.has_credit());
    }
}
