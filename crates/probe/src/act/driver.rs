//! Looks at the sensed loops, lets a policy decide, and moves a lever: the act flow at work.
//!
//! A thread of its own, because a decision must also come while the loop is stuck in one event,
//! which is what Queue Boost is about; and because levers are system calls, which the loop shall
//! not make. The loop only wakes it: when V8 begins or ends a collection, and when it goes to work
//! after the driver has gone to sleep.

use bobtail_control::{Actuator, ControlError, Range};
use bobtail_policy::{
    ASLEEP_NS, Decider, Decision, Idle, LeverFacts, Look, Looks, Policy, Reading, Reasons, Speed,
    Used,
};

use crate::act::counters::{Counters, Counts};
use crate::act::sensed_loops;
use crate::act::senses;
use crate::act::waking;
use crate::clock::{monotonic_ns, thread_cpu_ns};

/// A loop that has been in one event for so long hangs: whatever its policy wants, it gets base
/// speed until it turns again. Nobody is served by its boost, and the driver, which is a thread of
/// its own, tells a bobtaild that the process lives.
const HUNG_NS: u64 = 10_000_000_000;
/// A lever that refused is not asked again before.
const REFUSED_NS: u64 = 100_000_000;

const REASONS: [Reasons; 4] = [
    Reasons::COLLECTION,
    Reasons::QUEUE_LENGTH,
    Reasons::HEAD,
    Reasons::LONG_TURN,
];

/// A policy with a lever in its hand.
pub struct Driver {
    policy: Policy,
    facts: LeverFacts,
    actuator: Box<dyn Actuator>,
    range: Range,
    /// By number of the loop: what decides for it.
    deciders: Vec<(usize, Box<dyn Decider>)>,
    speed: Option<Speed>,
    idle: Idle,
    counters: &'static Counters,
    counts: Counts,
    looks: Looks,
    /// When the lever is to hear of its owner, though nothing changes.
    upkeep_at_ns: u64,
    /// Not asked before, since it refused.
    ask_at_ns: u64,
}

/// What follows from a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// When to look again.
    pub look_ns: u64,
    /// No loop has had work for a while.
    pub is_idle: bool,
}

impl Driver {
    pub fn new(
        policy: Policy,
        facts: LeverFacts,
        actuator: Box<dyn Actuator>,
        counters: &'static Counters,
        looks: Looks,
    ) -> Self {
        let range = actuator.lever().range;
        Self {
            policy,
            facts,
            actuator,
            range,
            deciders: Vec::new(),
            speed: None,
            idle: Idle::default(),
            counters,
            counts: Counts::default(),
            looks,
            upkeep_at_ns: 0,
            ask_at_ns: 0,
        }
    }

    /// Decides by the readings of all loops, each with its number, and moves the lever. The
    /// fastest speed that a loop wants wins: they share the lever.
    ///
    /// # Errors
    /// The lever refused; it is asked again after a while.
    pub fn look(
        &mut self,
        now_ns: u64,
        readings: &[(usize, Reading)],
    ) -> Result<Next, ControlError> {
        let next = self.look_uncounted(now_ns, readings);
        self.counters.tell(&self.counts);
        next
    }

    fn look_uncounted(
        &mut self,
        now_ns: u64,
        readings: &[(usize, Reading)],
    ) -> Result<Next, ControlError> {
        self.counts.looks += 1;
        self.deciders
            .retain(|(index, _)| readings.iter().any(|(known, _)| known == index));
        let mut speed = None;
        let mut reasons = Reasons::default();
        let mut look_ns = now_ns.saturating_add(ASLEEP_NS);
        for (index, reading) in readings {
            let decision = self.decide(*index, reading);
            if reading.head_ns < HUNG_NS {
                speed = faster(speed, decision.speed);
                reasons = reasons | decision.reasons;
            }
            look_ns = look_ns.min(decision.look_again_ns.unwrap_or(u64::MAX));
        }
        let speed = speed.unwrap_or(Speed::Base);
        let is_working = readings
            .iter()
            .any(|(_, reading)| reading.head_ns > 0 || reading.collection.is_some());
        let is_idle = self
            .idle
            .is_idle(now_ns, is_working || speed == Speed::Peak);
        self.set(now_ns, speed, reasons)?;
        Ok(Next { look_ns, is_idle })
    }

    fn decide(&mut self, index: usize, reading: &Reading) -> Decision {
        let known = self.deciders.iter().position(|(known, _)| *known == index);
        let at = known.unwrap_or_else(|| {
            self.deciders.push((index, self.policy.start(&self.facts)));
            self.deciders.len() - 1
        });
        self.deciders[at].1.decide(reading)
    }

    fn set(&mut self, now_ns: u64, speed: Speed, reasons: Reasons) -> Result<(), ControlError> {
        let is_changed = self.speed != Some(speed);
        let is_due = is_changed && now_ns >= self.ask_at_ns || now_ns >= self.upkeep_at_ns;
        if !is_due {
            return Ok(());
        }
        let upkeep_ns = self.actuator.upkeep_ns().unwrap_or(u64::MAX);
        self.upkeep_at_ns = now_ns.saturating_add(upkeep_ns);
        let applied = match self.actuator.apply(speed) {
            Ok(applied) => applied,
            Err(error) => {
                self.counts.refused += 1;
                self.ask_at_ns = now_ns.saturating_add(REFUSED_NS);
                self.upkeep_at_ns = self.ask_at_ns;
                // Where it stands now is its own affair; it is no boost of this driver's.
                self.end_boost(now_ns);
                self.speed = None;
                return Err(error);
            }
        };
        if !is_changed {
            return Ok(());
        }
        self.end_boost(now_ns);
        // A lever may have nothing to give: a quota without credit stays where it was.
        let is_raised = self.range.is_raised(applied.value);
        let is_refused =
            speed == Speed::Peak && !is_raised && self.range.is_raised(self.range.peak);
        self.counts.refused += u64::from(is_refused);
        if is_raised {
            self.counts.boosts += 1;
            self.counts.boosted_since_ns = now_ns;
            for (reason, count) in REASONS.into_iter().zip(&mut self.counts.by_reason) {
                *count += u64::from(reasons.contains(reason));
            }
        }
        self.speed = Some(speed);
        Ok(())
    }

    fn end_boost(&mut self, now_ns: u64) {
        self.counts.boosted_ns = self.counts.boosted_until_ns(now_ns);
        self.counts.boosted_since_ns = 0;
    }

    /// Until the process ends.
    pub fn run(mut self) {
        waking::begin();
        let mut readings = Vec::with_capacity(8);
        loop {
            let seen = waking::seen();
            readings.clear();
            let loops = sensed_loops();
            readings.extend(
                loops
                    .iter()
                    .map(|shared| (shared.index, senses::read(shared))),
            );
            drop(loops);
            let now_ns = monotonic_ns();
            // What the lever refused is counted, and asked for again at the next look.
            let next = self.look(now_ns, &readings).unwrap_or(Next {
                look_ns: now_ns + ASLEEP_NS,
                is_idle: false,
            });
            let look = Look {
                now_ns,
                again_ns: next.look_ns,
                is_idle: next.is_idle,
                is_boosted: self.speed == Some(Speed::Peak),
            };
            let used = Used {
                own_ns: thread_cpu_ns(),
                looks: self.counts.looks,
                loops_ns: readings.iter().map(|(_, reading)| reading.busy_ns()).sum(),
            };
            // Told with the next look.
            self.counts.looking_ns = used.own_ns;
            let pause = self.looks.pause(look, used);
            let at_most_ns = pause.until_ns.saturating_sub(monotonic_ns()).max(1);
            waking::sleep(seen, at_most_ns, pause.is_wakeable);
        }
    }
}

/// The faster of two speeds; a frequency is slower than the peak and faster than the base.
fn faster(one: Option<Speed>, other: Speed) -> Option<Speed> {
    let rank = |speed| match speed {
        Speed::Peak => u32::MAX,
        Speed::Khz(khz) => khz,
        _ => 0,
    };
    match one {
        Some(one) if rank(one) >= rank(other) => Some(one),
        _ => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobtail_control::gauge::Gauge;
    use bobtail_control::{Applied, Asked, Domain, Lever, LeverKind, SavedState, SelfTest, Unit};
    use bobtail_policy::{Collection, CollectionKind, IDLE_NS};
    use std::sync::{Arc, LazyLock, Mutex};

    /// Notes what is asked of it.
    #[derive(Debug)]
    struct Noted(Arc<Mutex<Vec<Speed>>>, bool, Option<u64>);

    impl Actuator for Noted {
        fn lever(&self) -> &Lever {
            &LEVER
        }
        fn saved(&self) -> &SavedState {
            unreachable!("nothing is restored here")
        }
        fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
            if self.1 {
                let asked = Asked::default();
                return Err(ControlError::Unavailable {
                    lever: bobtail_control::LeverKind::Emulated,
                    why: format!("{asked:?}"),
                });
            }
            self.0.lock().unwrap().push(speed);
            let value = LEVER.range.value(LEVER.kind, speed)?;
            let is_changed = true;
            Ok(Applied { value, is_changed })
        }
        fn undo(&mut self) -> Result<(), ControlError> {
            Ok(())
        }
        fn self_test(&mut self, _: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
            unreachable!("tested before")
        }
        fn upkeep_ns(&self) -> Option<u64> {
            self.2
        }
    }

    static LEVER: LazyLock<Lever> = LazyLock::new(|| Lever {
        kind: LeverKind::Emulated,
        domain: Domain::Cpus(vec![0]),
        range: Range {
            unit: Unit::Khz,
            lowest: 2_600_000,
            highest: 4_000_000,
            base: 2_600_000,
            peak: 4_000_000,
        },
        about: String::new(),
        transition_ns: None,
        is_emulated: true,
    });

    /// Counters live as long as the process; from here LeakSanitizer reaches them.
    static MADE: Mutex<Vec<&Counters>> = Mutex::new(Vec::new());

    fn driver(policy: &str, refuses: bool) -> (Driver, Arc<Mutex<Vec<Speed>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let lever = Box::new(Noted(asked.clone(), refuses, None));
        let counters = &*Box::leak(Box::new(Counters::default()));
        MADE.lock().unwrap().push(counters);
        let policy = policy.parse().expect("a policy");
        let driver = Driver::new(
            policy,
            LeverFacts::default(),
            lever,
            counters,
            Looks::within(None),
        );
        (driver, asked)
    }

    fn working(now_ns: u64) -> Reading {
        Reading {
            now_ns,
            head_ns: 5,
            ..Reading::default()
        }
    }

    fn collecting(now_ns: u64) -> Reading {
        Reading {
            collection: Some(Collection {
                kind: CollectionKind::MarkCompact,
                begin_ns: now_ns,
            }),
            ..working(now_ns)
        }
    }

    const GC: &str = "gc-boost:hold=1ms,worth=0";

    #[test]
    fn one_loop_that_collects_boosts_all_that_share_the_lever() {
        let (mut driver, asked) = driver(GC, false);
        let look = |driver: &mut Driver, now_ns, one, two| {
            driver.look(now_ns, &[(0, one), (7, two)]).expect("moved")
        };
        look(&mut driver, 1_000, working(1_000), working(1_000));
        look(&mut driver, 2_000, working(2_000), collecting(2_000));
        look(&mut driver, 3_000, collecting(3_000), collecting(2_000));
        look(&mut driver, 500_000, working(500_000), working(500_000));
        let counters = driver.counters;
        assert_eq!(counters.read().boosted_until_ns(500_000), 498_000);
        look(
            &mut driver,
            1_200_000,
            working(1_200_000),
            working(1_200_000),
        );
        assert_eq!(
            *asked.lock().unwrap(),
            [Speed::Base, Speed::Peak, Speed::Base]
        );
        let counts = counters.read();
        assert_eq!((counts.boosts, counts.by_reason), (1, [1, 0, 0, 0]));
        assert_eq!(counts.boosted_until_ns(9_000_000), 1_198_000);
    }

    #[test]
    fn a_loop_that_hangs_is_not_boosted_until_it_turns_again() {
        let (mut driver, asked) = driver("static:peak", false);
        let mut look = |head_ns, other_ns| {
            let in_event = |head_ns| Reading {
                head_ns,
                ..working(HUNG_NS + head_ns)
            };
            let readings = [(0, in_event(head_ns)), (1, in_event(other_ns))];
            driver.look(HUNG_NS + head_ns, &readings).expect("moved");
            asked.lock().unwrap().last().copied()
        };
        assert_eq!(look(HUNG_NS - 1, HUNG_NS), Some(Speed::Peak));
        assert_eq!(look(HUNG_NS, HUNG_NS + 1), Some(Speed::Base));
        assert_eq!(look(9 * HUNG_NS, 9 * HUNG_NS), Some(Speed::Base));
        assert_eq!(look(9 * HUNG_NS + 1, 5), Some(Speed::Peak), "one turns");
        assert_eq!(driver.counters.read().boosts, 2);
    }

    #[test]
    fn a_frequency_of_its_own_is_a_boost_where_it_is_above_base() {
        for (policy, boosts) in [
            ("static:2.6", 0),
            ("static:3.3", 1),
            ("static:peak", 1),
            ("static:base", 0),
        ] {
            let (mut driver, _) = driver(policy, false);
            driver.look(1_000, &[(0, working(1_000))]).expect("moved");
            driver.look(5_000, &[(0, working(5_000))]).expect("moved");
            let counts = driver.counters.read();
            let expected = (boosts, boosts * 5_000, 0);
            let boosted_ns = counts.boosted_until_ns(6_000);
            assert_eq!(
                (counts.boosts, boosted_ns, counts.refused),
                expected,
                "{policy}"
            );
        }
    }

    #[test]
    fn a_lever_that_has_nothing_to_give_is_no_boost_but_a_refusal() {
        let (mut driver, _) = driver("static:peak", false);
        // Its value of the peak is the base of this driver's range.
        driver.range.base = 4_000_000;
        driver.range.peak = 5_000_000;
        driver.look(1_000, &[(0, working(1_000))]).expect("moved");
        let counts = driver.counters.read();
        assert_eq!((counts.boosts, counts.refused), (0, 1));
        assert_eq!(counts.boosted_until_ns(6_000), 0);
    }

    #[test]
    fn a_loop_that_ended_is_forgotten() {
        let (mut driver, _) = driver(GC, false);
        driver
            .look(1_000, &[(0, working(1_000)), (1, working(1_000))])
            .expect("moved");
        assert_eq!(driver.deciders.len(), 2);
        driver.look(2_000, &[(1, working(2_000))]).expect("moved");
        assert_eq!(driver.deciders.len(), 1);
    }

    #[test]
    fn it_sleeps_when_nothing_was_to_be_done_for_a_while() {
        let (mut driver, _) = driver(GC, false);
        let idle = |now_ns| Reading {
            now_ns,
            ..Reading::default()
        };
        let mut is_idle = |now_ns, reading| {
            let next = driver.look(now_ns, &[(0, reading)]).expect("moved");
            next.is_idle
        };
        assert!(!is_idle(1_000, working(1_000)));
        assert!(!is_idle(2_000, idle(2_000)));
        assert!(!is_idle(IDLE_NS, idle(IDLE_NS)));
        assert!(is_idle(2_000 + IDLE_NS, idle(2_000 + IDLE_NS)));
        assert!(!is_idle(3_000 + IDLE_NS, working(3_000 + IDLE_NS)));
    }

    #[test]
    fn what_the_lever_refuses_is_counted_and_asked_again_after_a_while() {
        let (mut driver, _) = driver(GC, true);
        for at in [1, 1 + REFUSED_NS, 1 + 2 * REFUSED_NS] {
            let error = driver.look(at, &[(0, working(at))]).expect_err("refused");
            assert_eq!(error.code(), "BOBTAIL_LEVER_UNAVAILABLE");
            let soon = at + REFUSED_NS - 1;
            driver.look(soon, &[(0, working(soon))]).expect("not asked");
        }
        let counts = driver.counters.read();
        assert_eq!((counts.refused, counts.boosts, counts.looks), (3, 0, 6));
    }

    #[test]
    fn a_lever_that_wants_upkeep_hears_of_its_owner_though_nothing_changes() {
        let (mut driver, asked) = driver(GC, false);
        driver.actuator = Box::new(Noted(asked.clone(), false, Some(1_000)));
        for at in [1, 500, 1_000, 1_001, 2_000, 2_001] {
            driver.look(at, &[(0, working(at))]).expect("moved");
        }
        assert_eq!(*asked.lock().unwrap(), [Speed::Base; 3]);
    }

    #[test]
    fn speeds_are_ordered() {
        let khz = Speed::Khz(3_300_000);
        for (one, other, expected) in [
            (None, Speed::Base, Speed::Base),
            (Some(Speed::Base), khz, khz),
            (Some(khz), Speed::Base, khz),
            (Some(khz), Speed::Peak, Speed::Peak),
            (Some(Speed::Peak), khz, Speed::Peak),
        ] {
            assert_eq!(faster(one, other), Some(expected));
        }
    }
}
