//! `paced`: spends a little less than Combined would, on what it expects to shorten the tail more.
//! Ours.
//!
//! No threshold fits all loops: the `share` at which `deadline` does better than Combined for less
//! is 0.1 on one service and 0.3 on another. What Combined would spend fits each, and is told by
//! Combined itself, deciding on the same readings and driving nothing. This has an account: it gets
//! `spend` of the time that Combined would boost, and pays for its own boosts. The more is left,
//! the more backlogs count as late. What is not late is not boosted: a driver looks at most every
//! millisecond or so (its budget), and so long a boost of a short event lasts.

use std::fmt;

use crate::arguments::Arguments;
use crate::combined::{Combined, CombinedDecider};
use crate::deadline::{self, Deadline, DeadlineDecider};
use crate::decision::{Decider, Decision, LeverFacts, Reasons};
use crate::error::PolicyError;
use crate::queue_boost::QueueBoost;
use crate::reading::Reading;
use crate::speed::Speed;

pub(crate) const NAME: &str = "paced";
/// What is left is told in this; so much makes the share of late backlogs e times as large.
const UNIT_NS: f64 = 500e6;
/// No more is saved or owed: what was long ago must not decide for long.
const MOST: f64 = 2.5;
/// Nothing is boosted by who owes more, but backlogs as old as `BEHIND_NS`.
const OWED_MOST: f64 = 1.0;
/// A loop that has not caught up for so long does not keep up at base speed, and what comes
/// meanwhile waits longer and longer.
const BEHIND_NS: u64 = 500_000_000;
/// The share is kept within these.
const SHARES: (f64, f64) = (0.01, 0.8);

/// Boost within Combined's means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paced {
    /// What is late; its share is that of an account that is even.
    pub late: Deadline,
    /// Of the time that Combined would boost, what this spends.
    pub spend: f64,
}

impl Default for Paced {
    fn default() -> Self {
        let share = 0.14;
        Self {
            late: Deadline {
                share,
                ..Deadline::default()
            },
            spend: 0.8,
        }
    }
}

impl Paced {
    /// The settings of `deadline`, and `spend`.
    pub(crate) fn parse(mut arguments: Arguments<'_>) -> Result<Self, PolicyError> {
        let default = Self::default();
        let policy = Self {
            late: Deadline::settings(&mut arguments, &default.late)?,
            spend: arguments.number("spend", default.spend, 0.01..=1.0)?,
        };
        arguments.finish(NAME)?;
        Ok(policy)
    }

    /// Begins to decide for one loop.
    pub fn start(&self, lever: &LeverFacts) -> PacedDecider {
        PacedDecider {
            policy: *self,
            late: self.late.start(lever),
            account: Account {
                spend: self.spend,
                left_ns: 0.0,
                last_ns: None,
                is_boosted: false,
                model: Combined::default().start(lever),
                model_was: None,
                worked_ns: 0,
            },
        }
    }
}

impl fmt::Display for Paced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = self.late.to_string();
        let settings = late.strip_prefix(deadline::NAME).unwrap_or(&late);
        let settings = settings.trim_start_matches(':');
        write!(f, "{NAME}:{settings},spend={}", self.spend)
    }
}

/// `paced` at work.
#[derive(Debug, Clone)]
pub struct PacedDecider {
    policy: Paced,
    late: DeadlineDecider,
    account: Account,
}

impl Decider for PacedDecider {
    fn decide(&mut self, reading: &Reading) -> Decision {
        let left = self.account.left(reading);
        // Of a library: the last bits of the machine's own differ between machines.
        let share = self.policy.late.share * libm::exp(left);
        self.late.set_share(share.clamp(SHARES.0, SHARES.1));
        let late = self.late.decide(reading);
        let reasons = match self.late.age_ns(reading.now_ns) {
            BEHIND_NS.. => Reasons::BACKLOG,
            _ => Reasons::when(left > -OWED_MOST, late.reasons),
        };
        self.account.is_boosted = !reasons.is_empty();
        Decision {
            speed: if reasons.is_empty() {
                Speed::Base
            } else {
                Speed::Peak
            },
            reasons,
            ..late
        }
    }
}

/// What may be spent.
#[derive(Debug, Clone)]
struct Account {
    spend: f64,
    /// Boosted time that is left; below 0 what was spent too much.
    left_ns: f64,
    /// When it was settled last.
    last_ns: Option<u64>,
    /// This boosts since then.
    is_boosted: bool,
    model: CombinedDecider,
    /// What Combined decided then.
    model_was: Option<Speed>,
    /// How long the loop had worked until then.
    worked_ns: u64,
}

impl Account {
    /// What is left at this moment, in units.
    fn left(&mut self, reading: &Reading) -> f64 {
        let now_ns = reading.now_ns;
        let passed_ns = now_ns.saturating_sub(self.last_ns.unwrap_or(now_ns));
        self.last_ns = Some(now_ns);
        let worked_ns = reading.busy_ns().saturating_sub(self.worked_ns);
        self.worked_ns = reading.busy_ns();
        if self.model_was == Some(Speed::Peak) {
            // A driver may not look while the loop is idle, in which only a hold lasts.
            let most_ns = worked_ns.saturating_add(QueueBoost::default().hold_ns);
            self.left_ns += self.spend * passed_ns.min(most_ns) as f64;
        }
        if self.is_boosted {
            self.left_ns -= passed_ns as f64;
        }
        self.left_ns = self.left_ns.clamp(-MOST * UNIT_NS, MOST * UNIT_NS);
        self.model_was = Some(self.model.decide(reading).speed);
        self.left_ns / UNIT_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::LoopTotals;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_idle_loop_earns_nothing() {
        let mut account = Paced::default().start(&LeverFacts::default()).account;
        let mut reading = Reading::default();
        // Events of 0.1 ms, so that 8 ms are long.
        for _ in 0..1_000 {
            reading.now_ns += MS;
            reading.totals.events += 1;
            reading.totals.events_ns += 100_000;
            account.left(&reading);
        }
        reading.now_ns += 8 * MS;
        reading.head_ns = 8 * MS;
        let before = account.left(&reading);
        assert_eq!(account.model_was, Some(Speed::Peak));
        // It ended 1 ms later, and nobody looked for a second.
        let idle = Reading {
            now_ns: reading.now_ns + 1_000 * MS,
            head_ns: 0,
            totals: LoopTotals {
                events: reading.totals.events + 1,
                events_ns: reading.totals.events_ns + 9 * MS,
                ..reading.totals
            },
            ..reading
        };
        let earned_ns = (account.left(&idle) - before) * UNIT_NS;
        // The millisecond, and Combined's hold.
        assert!((earned_ns - 0.8 * 2e6).abs() < 1.0, "{earned_ns}");
    }
}
