//! How long who decides does not look, and whether a loop that goes to work wakes it meanwhile.
//!
//! The same live and replayed: how often a policy is asked is a part of what it brings.
//!
//! To be woken is a look like any other, and a service with a request every few milliseconds would
//! have one with each, whatever its budget. So looks are owed and paid back by time, and while more
//! than one is owed nobody wakes for work.

use crate::budget::{Budget, Used};

/// It looks again after so long at the latest: the loop may have gone to work just when the driver
/// went to sleep, which a fence at every turn of the loop would rule out, at its cost.
pub const ASLEEP_NS: u64 = 10_000_000;

/// While it boosts, it looks again after so long at the latest: a boost is not to last much longer
/// than its policy wants, whatever that costs.
pub(crate) const BOOSTED_NS: u64 = 500_000;

/// More looks than that are not owed: boosts and collections have theirs whatever they cost, and
/// who paid all of it back would not look for long.
const OWED_MAX: u64 = 4;

/// Without work for so long, who looks waits for a loop that goes to work instead.
pub const IDLE_NS: u64 = 2_000_000;

/// Since when looks found nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Idle {
    since_ns: Option<u64>,
}

impl Idle {
    /// Takes a look in; whether there was nothing to do for a while.
    pub fn is_idle(&mut self, now_ns: u64, is_working: bool) -> bool {
        self.since_ns = match self.since_ns {
            _ if is_working => None,
            since_ns => since_ns.or(Some(now_ns)),
        };
        self.since_ns
            .is_some_and(|since_ns| now_ns - since_ns >= IDLE_NS)
    }
}

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// When it looked, by the clock of the readings.
    pub now_ns: u64,
    /// When the policy wants to look again.
    pub again_ns: u64,
    /// No loop has had work for a while.
    pub is_idle: bool,
    pub is_boosted: bool,
}

/// How long it does not look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub until_ns: u64,
    /// A loop that goes to work ends it.
    pub is_wakeable: bool,
}

/// When to look, within what that may cost.
#[derive(Debug)]
pub struct Looks {
    budget: Budget,
    account: Account,
}

impl Looks {
    /// Looking may cost this share of the loops' busy time; none is no bound.
    pub fn within(share: Option<f64>) -> Self {
        Self {
            budget: Budget::new(share),
            account: Account::default(),
        }
    }

    /// What follows from a look, with what was used until then.
    pub fn pause(&mut self, look: Look, used: Used) -> Pause {
        let affordable_ns = self.budget.period_ns(look.now_ns, used);
        self.account.pause(look, affordable_ns)
    }
}

/// The looks that are not paid for yet.
#[derive(Debug, Default)]
struct Account {
    paid_until_ns: u64,
}

impl Account {
    /// What follows from a look; one in `affordable_ns` is paid for, 0 without a bound.
    fn pause(&mut self, look: Look, affordable_ns: u64) -> Pause {
        let now_ns = look.now_ns;
        let owed_until_ns = self.paid_until_ns.max(now_ns) + affordable_ns;
        self.paid_until_ns = owed_until_ns.min(now_ns + OWED_MAX * affordable_ns);
        let is_one_owed = self.paid_until_ns <= now_ns + affordable_ns;
        let until_ns = if look.is_boosted {
            self.paid_until_ns.min(now_ns + BOOSTED_NS)
        } else if look.is_idle && is_one_owed {
            now_ns + ASLEEP_NS
        } else {
            self.paid_until_ns.min(now_ns + ASLEEP_NS)
        };
        let wanted_ns = if look.is_idle { now_ns } else { look.again_ns };
        Pause {
            until_ns: until_ns.max(wanted_ns),
            is_wakeable: look.is_idle && is_one_owed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFFORDABLE_NS: u64 = 3_000_000;

    fn idle(now_ns: u64) -> Look {
        Look {
            now_ns,
            again_ns: 0,
            is_idle: true,
            is_boosted: false,
        }
    }

    fn busy(now_ns: u64, again_ns: u64) -> Look {
        Look {
            again_ns,
            is_idle: false,
            ..idle(now_ns)
        }
    }

    fn pause(until_ns: u64, is_wakeable: bool) -> Pause {
        Pause {
            until_ns,
            is_wakeable,
        }
    }

    #[test]
    fn work_wakes_it_only_while_no_more_than_one_look_is_owed() {
        let mut account = Account::default();
        let first = account.pause(idle(0), AFFORDABLE_NS);
        assert_eq!(first, pause(ASLEEP_NS, true), "owed for 3 ms");
        let woken = account.pause(busy(1_000_000, 1_200_000), AFFORDABLE_NS);
        assert_eq!(woken, pause(6_000_000, false), "two are owed");
        let collected = account.pause(idle(2_000_000), AFFORDABLE_NS);
        assert_eq!(collected, pause(9_000_000, false), "three are");
        let paid = account.pause(idle(9_000_000), AFFORDABLE_NS);
        assert_eq!(paid, pause(9_000_000 + ASLEEP_NS, true));
    }

    #[test]
    fn no_more_than_four_looks_are_owed_and_it_looks_in_time_whatever_is() {
        let mut account = Account::default();
        let mut owed = |at_us: u64| {
            account
                .pause(busy(at_us * 1_000, 0), AFFORDABLE_NS)
                .until_ns
        };
        let ms = 1_000_000;
        assert_eq!([owed(0), owed(1), owed(2)], [3 * ms, 6 * ms, 9 * ms]);
        // Four would be 12 ms away.
        assert_eq!(
            [owed(3), owed(4)],
            [3_000, 4_000].map(|now_ns| now_ns + ASLEEP_NS)
        );
        // 9 ms later three of the four are paid back.
        let (later_us, two_ns) = (4 + 9_000, 2 * AFFORDABLE_NS);
        assert_eq!(owed(later_us), later_us * 1_000 + two_ns);
    }

    #[test]
    fn a_boost_is_looked_at_soon_whatever_is_owed_but_not_before_the_policy_wants_it() {
        let mut account = Account::default();
        let boosted = |now_ns, again_ns| Look {
            is_boosted: true,
            ..busy(now_ns, again_ns)
        };
        let soon = account.pause(boosted(1_000_000, 1_200_000), AFFORDABLE_NS);
        assert_eq!(soon, pause(1_000_000 + BOOSTED_NS, false));
        let held = account.pause(boosted(1_000_000, 5_000_000), AFFORDABLE_NS);
        assert_eq!(held, pause(5_000_000, false));
    }

    #[test]
    fn without_a_budget_it_looks_as_the_policy_wants() {
        let mut account = Account::default();
        assert_eq!(account.pause(busy(0, 200), 0), pause(200, false));
        for now_ns in [200, 300] {
            let expected = pause(now_ns + ASLEEP_NS, true);
            assert_eq!(account.pause(idle(now_ns), 0), expected);
        }
    }
}
