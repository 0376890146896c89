//! Keeps the cost of looking within a share of what the loops themselves use.
//!
//! A look costs 3 to 20 µs, mostly the wake-up, and more in a virtual machine; one every 200 µs
//! costs a service that is mostly idle half as much again as its work. So the period that a policy
//! asks for is the shortest, and is stretched by what looking was found to cost.

/// Shortest time over which is measured.
const WINDOW_NS: u64 = 50_000_000;
/// No longer than this, however dear a look is: an event of some ms shall still be seen.
const STRETCHED_MAX_NS: u64 = 10_000_000;

/// What was used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// CPU time of the thread that looks.
    pub own_ns: u64,
    /// Looks so far.
    pub looks: u64,
    /// Busy time of all loops so far.
    pub loops_ns: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Share of the loops' busy time; none is no bound.
    share: Option<f64>,
    since: Option<(u64, Used)>,
    period_ns: u64,
}

impl Budget {
    /// Looking may cost this share of the loops' busy time.
    pub(crate) fn new(share: Option<f64>) -> Self {
        Self {
            share,
            since: None,
            period_ns: 0,
        }
    }

    /// The shortest time between two looks from now on.
    pub(crate) fn period_ns(&mut self, now_ns: u64, used: Used) -> u64 {
        let Some(share) = self.share else {
            return 0;
        };
        let (since_ns, since) = *self.since.get_or_insert((now_ns, used));
        let window_ns = now_ns.saturating_sub(since_ns);
        let looks = used.looks.saturating_sub(since.looks);
        if window_ns < WINDOW_NS || looks == 0 {
            return self.period_ns;
        }
        self.since = Some((now_ns, used));
        let per_look_ns = used.own_ns.saturating_sub(since.own_ns) as f64 / looks as f64;
        let busy_ns = used.loops_ns.saturating_sub(since.loops_ns) as f64;
        // So many looks may be paid for in such a window.
        let affordable = share * busy_ns / per_look_ns.max(1.0);
        let period_ns = (window_ns as f64 / affordable.max(1e-9)).min(STRETCHED_MAX_NS as f64);
        self.period_ns = period_ns as u64;
        self.period_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Budget {
        fn after(&mut self, ms: u64, own_us: u64, looks: u64, loops_ms: u64) -> u64 {
            let used = Used {
                own_ns: own_us * 1_000,
                looks,
                loops_ns: loops_ms * 1_000_000,
            };
            self.period_ns(ms * 1_000_000, used)
        }
    }

    #[test]
    fn looks_are_as_often_as_they_are_paid_for() {
        let mut budget = Budget::new(Some(0.02));
        assert_eq!(budget.after(0, 0, 0, 0), 0, "nothing is known");
        assert_eq!(budget.after(40, 900, 90, 20), 0, "too short a time");
        // Half busy: 50 of 100 ms, of which 1 ms may be used; a look takes 10 µs, so 100 of them.
        assert_eq!(budget.after(100, 5_000, 500, 50), 1_000_000);
        // The same with looks that take 2 µs.
        assert_eq!(budget.after(200, 5_200, 600, 100), 200_000);
        // Idle: not beyond the bound.
        assert_eq!(budget.after(300, 5_400, 700, 100), STRETCHED_MAX_NS);
    }

    #[test]
    fn without_a_bound_nothing_is_stretched() {
        let mut budget = Budget::new(None);
        assert_eq!(budget.after(0, 0, 0, 0), 0);
        assert_eq!(budget.after(1000, 900_000, 5000, 1), 0);
    }
}
