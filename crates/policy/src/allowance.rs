//! What a policy may still boost of a loop: a part of what another would have boosted so far.
//!
//! What is boosted follows from what is asked for in a way that differs from loop to loop, so who
//! asks for a share of the work gets more of one and less of another. Here what was boosted is
//! counted, and the more of it there was, the less is asked for.

/// A measure is what is allowed of so much work; what is too much is told in these.
const WORK_NS: f64 = 0.25e9;
/// With so many measures too much nothing is left.
const SPENT: f64 = 3.0;
/// Of what was not used, so many are kept.
const UNUSED: f64 = 1.0;
/// What is too much, or was not used, fades in so much work. By age and not by size: a boost that
/// is longer than what is allowed of seconds would be forgotten at once.
const FADES_NS: f64 = 10e9;
/// A loop that has not worked so much yet forgets in as much as it has, but no sooner than in this:
/// what is boosted while a service starts says little of it, and would be paid for in seconds.
const FADES_MIN_NS: f64 = 0.5e9;

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Allowance {
    /// Work so far, up to what it fades in.
    seen_ns: f64,
    /// Boosted beyond what was allowed.
    over_ns: f64,
    /// The same in measures.
    off: f64,
}

impl Allowance {
    /// So much was worked, for so long it was boosted, and this share of the work is allowed of
    /// late, of this work `allowed_ns`.
    pub(crate) fn spend(&mut self, work_ns: f64, boosted_ns: f64, allowed_ns: f64, share: f64) {
        let measure_ns = share * WORK_NS;
        self.seen_ns = (self.seen_ns + work_ns).min(FADES_NS);
        let left = (1.0 - work_ns / self.seen_ns.max(FADES_MIN_NS)).max(0.0);
        let over_ns = self.over_ns * left + boosted_ns - allowed_ns;
        self.over_ns = over_ns.max(-UNUSED * measure_ns);
        self.off = self.over_ns / measure_ns;
    }

    /// How much of what is allowed to ask for: 1 while no more was boosted, then less.
    pub(crate) fn factor(&self) -> f64 {
        let much = 1.0 + self.off.max(0.0);
        1.0 / (much * much)
    }

    /// Whether nothing is left, so that asking for less is no bound.
    pub(crate) fn is_spent(&self) -> bool {
        self.off >= SPENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    #[test]
    fn who_has_boosted_as_much_as_is_allowed_asks_for_just_that() {
        let mut allowance = Allowance::default();
        assert_eq!(allowance.factor(), 1.0);
        for _ in 0..100 {
            allowance.spend(0.0, 5.0 * MS, 0.0, 0.1);
            assert!(allowance.factor() < 1.0);
            allowance.spend(0.0, 0.0, 5.0 * MS, 0.1);
            assert!((allowance.factor() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn of_what_was_not_used_some_is_kept_and_nothing_is_asked_for_once_all_is_spent() {
        let mut allowance = Allowance::default();
        allowance.spend(0.0, 0.0, 500.0 * MS, 0.1);
        assert_eq!(allowance.factor(), 1.0);
        // Kept of it is a tenth of a quarter of a second.
        allowance.spend(0.0, 50.0 * MS, 0.0, 0.1);
        assert_eq!((allowance.factor(), allowance.is_spent()), (0.25, false));
        allowance.spend(0.0, 50.0 * MS, 0.0, 0.1);
        assert_eq!((allowance.factor(), allowance.is_spent()), (0.0625, true));
        allowance.spend(0.0, 0.0, MS, 0.1);
        assert!(!allowance.is_spent());
    }

    #[test]
    fn what_was_spent_fades_and_a_small_share_of_late_does_not_forgive_it() {
        let mut allowance = Allowance::default();
        allowance.spend(0.0, 100.0 * MS, 0.0, 0.1);
        allowance.spend(0.0, 0.0, 0.0, 0.001);
        allowance.spend(0.0, 0.0, 0.0, 0.1);
        assert!(allowance.is_spent());
        for _ in 0..100 {
            allowance.spend(300.0 * MS, 0.0, 0.0, 0.1);
        }
        assert!(allowance.factor() > 0.5);
    }

    /// Of a loop that has worked for as long as anything is remembered, and owes nothing.
    fn started() -> Allowance {
        let mut allowance = Allowance::default();
        for _ in 0..10_000 {
            allowance.spend(MS, 0.0, 0.0, 0.1);
        }
        allowance
    }

    #[test]
    fn what_was_boosted_while_a_service_started_is_soon_forgotten() {
        let is_spent_after = |mut allowance: Allowance, work_ms: u32| {
            for _ in 0..500 {
                allowance.spend(MS, 0.4 * MS, 0.0, 0.1);
            }
            (0..work_ms).for_each(|_| allowance.spend(MS, 0.0, 0.0, 0.1));
            allowance.is_spent()
        };
        let new = Allowance::default();
        assert!(is_spent_after(new, 50));
        assert!(!is_spent_after(new, 500));
        // Who has worked for long pays for long.
        assert!(is_spent_after(started(), 5_000));
        assert!(!is_spent_after(started(), 15_000));
    }

    #[test]
    fn boosts_that_are_longer_than_what_is_allowed_of_seconds_wait_for_it() {
        for boost_ms in [1, 50] {
            let mut allowance = started();
            let mut boosts = 0;
            // 100 s of work, a thousandth of which may be boosted.
            for _ in 0..100_000 {
                let is_boosted = !allowance.is_spent();
                boosts += i32::from(is_boosted);
                let boosted_ns = f64::from(i32::from(is_boosted) * boost_ms) * MS;
                allowance.spend(MS, boosted_ns, 0.001 * MS, 0.001);
            }
            let spent_ms = boosts * boost_ms;
            assert!((100..=300).contains(&spent_ms), "{spent_ms} by {boost_ms}");
        }
    }
}
