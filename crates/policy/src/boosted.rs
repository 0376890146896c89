//! Which part of a loop's work was boosted of late, for policies that keep within one.

/// So much work counts, older work less and less: twice this is halved.
const WINDOW_NS: f64 = 1e9;
/// Before so much work nothing is told.
const ENOUGH_NS: f64 = 100e6;

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Boosted {
    work_ns: f64,
    boosted_ns: f64,
}

impl Boosted {
    /// So much was done, boosted or not.
    pub(crate) fn add(&mut self, work_ns: u64, is_boosted: bool) {
        let work_ns = work_ns as f64;
        self.work_ns += work_ns;
        if is_boosted {
            self.boosted_ns += work_ns;
        }
        if self.work_ns > 2.0 * WINDOW_NS {
            let left = WINDOW_NS / self.work_ns;
            self.work_ns *= left;
            self.boosted_ns *= left;
        }
    }

    /// The part that was boosted; 0 before enough was done.
    pub(crate) fn part(&self) -> f64 {
        if self.work_ns < ENOUGH_NS {
            return 0.0;
        }
        self.boosted_ns / self.work_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_when_enough_was_done_and_forgotten_after_a_while() {
        let mut boosted = Boosted::default();
        boosted.add(40_000_000, true);
        assert_eq!(boosted.part(), 0.0);
        boosted.add(120_000_000, false);
        assert_eq!(boosted.part(), 0.25);
        (0..100).for_each(|_| boosted.add(100_000_000, false));
        assert!(boosted.part() < 0.01, "{}", boosted.part());
        boosted.add(u64::MAX, true);
        assert!(boosted.part() > 0.99);
    }
}
