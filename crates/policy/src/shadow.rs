//! What Combined would boost of a loop that another policy drives: the yardstick of a budget.
//!
//! A budget in shares of the work says nothing by itself: 5 % is next to nothing where collections
//! take half of the time, and waste where nothing is ever late. What the paper's best policy
//! would spend on the same loop is a measure that fits both.

use crate::combined::{Combined, CombinedDecider};
use crate::decision::{Decider, LeverFacts};
use crate::looks::BOOSTED_NS;
use crate::reading::Reading;
use crate::recent_part::RecentPart;
use crate::speed::Speed;

/// How much faster the paper's peak is than its base (VEE'19, section 6: 4.0 and 2.6 GHz).
const SPEED_UP: f64 = 4.0 / 2.6;
/// What it would boost is told of the work of so much time.
const BOOSTED_WINDOW_NS: f64 = 1e9;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Shadow {
    combined: CombinedDecider,
    boosted: RecentPart,
    last: Looked,
}

/// What Combined saw and decided.
#[derive(Debug, Clone, Copy)]
struct Looked {
    now_ns: u64,
    collects: bool,
    speed: Speed,
}

impl Shadow {
    pub(crate) fn new(lever: &LeverFacts) -> Self {
        Self {
            combined: Combined::default().start(lever),
            boosted: RecentPart::new(BOOSTED_WINDOW_NS),
            last: Looked {
                now_ns: 0,
                collects: false,
                speed: Speed::Base,
            },
        }
    }

    /// Takes a reading in; so much was worked since the last, at the speed of whoever drives. For
    /// how long Combined would have boosted meanwhile, in ns, idle time too. Its work counts as
    /// long as it would have taken then: else what it would boost is told half as long again as it
    /// would be, wherever the loop is not boosted.
    pub(crate) fn learn(&mut self, reading: &Reading, work_ns: u64, at: Speed) -> f64 {
        let passed_ns = reading.now_ns.saturating_sub(self.last.now_ns);
        let boosted_ns = self.boosted_ns(reading, passed_ns) as f64;
        let part = boosted_ns / passed_ns.max(1) as f64;
        let work_ns = work_ns as f64;
        let (fast_ns, slow_ns) = (work_ns * part, work_ns * (1.0 - part));
        let (fast_own_ns, slow_own_ns) = match at {
            Speed::Peak => (fast_ns, slow_ns * SPEED_UP),
            _ => (fast_ns / SPEED_UP, slow_ns),
        };
        self.boosted.add(fast_own_ns as u64, true);
        self.boosted.add(slow_own_ns as u64, false);
        self.look(reading);
        boosted_ns - fast_ns + fast_own_ns
    }

    /// For how long it boosted since it looked last. Who drives may not have looked for long, when
    /// Combined itself would have, had it boosted.
    fn boosted_ns(&self, reading: &Reading, passed_ns: u64) -> u64 {
        let last = &self.last;
        if last.speed != Speed::Peak {
            return 0;
        }
        let is_same = last.collects || reading.head_ns >= passed_ns;
        if is_same {
            passed_ns
        } else {
            passed_ns.min(BOOSTED_NS)
        }
    }

    fn look(&mut self, reading: &Reading) {
        let now_ns = reading.now_ns;
        let decision = self.combined.decide(reading);
        self.last = Looked {
            now_ns,
            collects: reading.collection.is_some(),
            speed: decision.speed,
        };
    }

    /// The part of the work of late that it would have boosted; none before enough was seen.
    pub(crate) fn part(&self) -> Option<f64> {
        self.boosted.get().filter(|_| self.combined.is_ready())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::LoopTotals;

    const MS: u64 = 1_000_000;

    /// Combined looks at a loop; it decided that last.
    fn decided(shadow: &mut Shadow, now_ns: u64, speed: Speed) {
        shadow.last = Looked {
            now_ns,
            collects: false,
            speed,
        };
    }

    fn shadow() -> Shadow {
        Shadow::new(&LeverFacts::default())
    }

    /// Of a loop that Combined would boost every other millisecond of, driven at a speed.
    fn part_at(speed: Speed) -> f64 {
        let mut shadow = shadow();
        for look in 0..400 {
            decided(&mut shadow, 0, [Speed::Base, Speed::Peak][look % 2]);
            let reading = Reading {
                now_ns: MS,
                head_ns: MS,
                ..Reading::default()
            };
            shadow.learn(&reading, MS, speed);
        }
        shadow.boosted.get().unwrap()
    }

    #[test]
    fn a_combined_that_keeps_a_boost_for_a_while_would_be_told_wrong() {
        let Combined { gc, queue } = Combined::default();
        assert_eq!((gc.hold_ns, queue.hold_ns), (0, 0));
    }

    #[test]
    fn it_is_told_by_how_long_combined_would_work() {
        let speed_up = 4.0 / 2.6;
        let at_base = part_at(Speed::Base);
        let expected = 1.0 / (1.0 + speed_up);
        assert!((at_base - expected).abs() < 0.01, "{at_base} {expected}");
        assert!((part_at(Speed::Peak) - expected).abs() < 0.01);
    }

    /// For how long Combined boosted, of 5 ms in which there was no look; in ms.
    fn boosted_ms(head_ns: u64, collects: bool) -> f64 {
        let mut shadow = shadow();
        decided(&mut shadow, 10 * MS, Speed::Peak);
        shadow.last.collects = collects;
        let reading = Reading {
            now_ns: 15 * MS,
            head_ns,
            ..Reading::default()
        };
        shadow.learn(&reading, 0, Speed::Base) / MS as f64
    }

    #[test]
    fn a_boost_ends_when_combined_would_have_looked_again_unless_the_same_goes_on() {
        assert_eq!(boosted_ms(0, false), 0.5);
        assert_eq!(boosted_ms(2 * MS, false), 0.5, "another event");
        assert_eq!(boosted_ms(7 * MS, false), 5.0, "the same event");
        assert_eq!(boosted_ms(0, true), 5.0, "V8 tells of a collection's end");
    }

    #[test]
    fn a_boost_for_a_queue_is_looked_at_again_as_often_as_by_who_boosts() {
        let mut shadow = shadow();
        // Of 300 events that took 0.1 ms each, one of 3 ms and more, and long after one of 1 ms.
        let at = |now_ms: u64, head_ms: u64| Reading {
            now_ns: now_ms * MS,
            head_ns: head_ms * MS,
            totals: LoopTotals {
                events: 300,
                events_ns: 30 * MS,
                ..LoopTotals::default()
            },
            ..Reading::default()
        };
        let mut boosted_ns = |reading| shadow.learn(&reading, 0, Speed::Base);
        assert_eq!(boosted_ns(at(12, 3)), 0.0);
        assert_eq!(boosted_ns(at(15, 6)), 3.0 * MS as f64);
        assert_eq!(boosted_ns(at(40, 1)), BOOSTED_NS as f64);
    }
}
