//! What the driver does with readings that are drawn, and levers that note or refuse.

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

fn driver(policy: &str, refuses: bool) -> (Driver, Arc<Mutex<Vec<Speed>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let lever = Box::new(Noted(asked.clone(), refuses, None));
    let policy = policy.parse().expect("a policy");
    let driver = Driver::new(
        policy,
        LeverFacts::default(),
        lever,
        None,
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
    assert_eq!(driver.counts.boosted_until_ns(500_000), 498_000);
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
    let counts = driver.counts;
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
    assert_eq!(driver.counts.boosts, 2);
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
        let counts = driver.counts;
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
    let counts = driver.counts;
    assert_eq!((counts.boosts, counts.refused), (0, 1));
    assert_eq!(counts.boosted_until_ns(6_000), 0);
}

/// Can only be asked; what came of it is said by the test.
#[derive(Debug, Default)]
struct Late {
    script: Arc<Mutex<Script>>,
    now: Option<Speed>,
}

#[derive(Debug, Default)]
struct Script {
    asked: u32,
    is_answered: bool,
    outcomes: VecDeque<Outcome>,
    is_gone: bool,
}

impl Actuator for Late {
    fn lever(&self) -> &Lever {
        &LEVER
    }
    fn saved(&self) -> &SavedState {
        unreachable!("nothing is restored here")
    }
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let mut script = self.script.lock().unwrap();
        if script.is_gone {
            let (lever, why) = (LeverKind::Emulated, "gone".to_owned());
            return Err(ControlError::Unavailable { lever, why });
        }
        let value = LEVER.range.value(LEVER.kind, speed)?;
        let is_changed = self.now.replace(speed) != Some(speed);
        if is_changed {
            script.asked += 1;
            script.is_answered = false;
        }
        Ok(Applied { value, is_changed })
    }
    fn undo(&mut self) -> Result<(), ControlError> {
        Ok(())
    }
    fn self_test(&mut self, _: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        unreachable!("tested before")
    }
    fn upkeep_ns(&self) -> Option<u64> {
        Some(500_000_000)
    }
    fn unanswered(&self) -> Option<u32> {
        let script = self.script.lock().unwrap();
        (!script.is_answered).then_some(script.asked)
    }
    fn outcome(&mut self) -> Option<Outcome> {
        self.script.lock().unwrap().outcomes.pop_front()
    }
}

const LATE_BASE: u32 = 2_600_000;
const LATE_PEAK: u32 = 4_000_000;

/// A driver of such a lever, and what says what came of a change.
fn late(policy: &str) -> (Driver, Arc<Mutex<Script>>) {
    let (mut driver, _) = driver(policy, false);
    let lever = Late::default();
    let script = lever.script.clone();
    driver.actuator = Box::new(lever);
    (driver, script)
}

fn tell(script: &Mutex<Script>, change: u32, stands: Result<u32, String>) {
    let mut script = script.lock().unwrap();
    let refused = u32::from(stands.is_err());
    script.is_answered |= change == script.asked;
    script.outcomes.push_back(Outcome {
        change,
        stands,
        refused,
    });
}

fn look(driver: &mut Driver, now_ns: u64, reading: Reading) -> bool {
    driver.look(now_ns, &[(0, reading)]).is_ok()
}

#[test]
fn a_boost_that_is_refused_later_is_none() {
    let (mut driver, script) = late("static:peak");
    let next = driver.look(1, &[(0, working(1))]).expect("asked");
    assert_eq!(next.look_ns, 1 + ANSWER_NS, "when an answer is there");
    tell(&script, 1, Err("held".into()));
    assert!(!look(&mut driver, 1 + ANSWER_NS, working(1)));
    let counts = driver.counts;
    assert_eq!((counts.boosts, counts.boosted_until_ns(9_000_000)), (0, 0));
    assert_eq!((counts.by_reason, counts.refused), ([0; 4], 1));
    assert_eq!(counts.lost_until_ns(11 + ANSWER_NS), 10);
    // Asked again after a while, and not in hand before that is answered.
    driver.actuator.apply(Speed::Base).expect("let go");
    let again_ns = 1 + ANSWER_NS + REFUSED_NS;
    assert!(look(&mut driver, again_ns, working(1)));
    assert_ne!(driver.counts.lost_since_ns, 0);
    tell(&script, 3, Ok(LATE_PEAK));
    assert!(look(&mut driver, again_ns + ANSWER_NS, working(1)));
    let counts = driver.counts;
    assert_eq!((counts.boosts, counts.lost_since_ns), (1, 0));
    assert_eq!(counts.lost_ns, REFUSED_NS + ANSWER_NS);
    assert_eq!(
        counts.boosted_until_ns(again_ns + 7),
        7,
        "since it was asked for"
    );
    assert_eq!(driver.why_lost.as_deref(), Some("held"));
}

#[test]
fn boosts_count_by_their_own_answers_however_late_these_come() {
    let (mut driver, script) = late(GC);
    for at_ms in [1, 11, 21] {
        let at_ns = at_ms * 1_000_000;
        look(&mut driver, at_ns, collecting(at_ns));
        look(&mut driver, at_ns + 5_000_000, working(at_ns + 5_000_000));
    }
    assert_eq!(driver.counts.boosts, 0, "not one is answered");
    for (change, stands) in [
        (1, Ok(LATE_PEAK)),
        (2, Ok(LATE_BASE)),
        (3, Err("held".into())),
        (5, Ok(LATE_BASE)),
        (6, Ok(LATE_BASE)),
    ] {
        tell(&script, change, stands);
    }
    look(&mut driver, 40_000_000, working(40_000_000));
    let counts = driver.counts;
    assert_eq!((counts.boosts, counts.boosted_ns), (1, 5_000_000));
    assert_eq!((counts.by_reason, counts.refused), ([1, 0, 0, 0], 2));
    assert_eq!(counts.lost_since_ns, 0, "base is in hand");
}

#[test]
fn a_boost_that_is_lost_counts_until_then_and_one_that_was_not_answered_never() {
    let (mut driver, script) = late("static:peak");
    look(&mut driver, 1, working(1));
    tell(&script, 1, Ok(LATE_PEAK));
    assert!(look(&mut driver, 1 + ANSWER_NS, working(1)));
    script.lock().unwrap().is_gone = true;
    let lost_ns = 1 + ANSWER_NS + 500_000_000;
    assert!(!look(&mut driver, lost_ns, working(lost_ns)));
    let counts = driver.counts;
    assert_eq!((counts.boosts, counts.boosted_ns), (1, lost_ns - 1));
    assert_eq!(counts.lost_until_ns(lost_ns + 7), 7);

    let (mut driver, script) = late("static:peak");
    look(&mut driver, 1, working(1));
    script.lock().unwrap().is_gone = true;
    assert!(!look(&mut driver, 1 + ANSWER_NS, working(1)));
    let counts = driver.counts;
    assert_eq!((counts.boosts, counts.boosted_ns), (0, 0));
}

#[test]
fn a_lever_that_goes_down_by_itself_is_no_boost_until_it_is_up_again() {
    let (mut driver, script) = late("static:peak");
    look(&mut driver, 1, working(1));
    tell(&script, 1, Ok(LATE_PEAK));
    look(&mut driver, 1 + ANSWER_NS, working(1));
    let mut at_ns = 1 + ANSWER_NS;
    for (stands, boosts, refused) in [(LATE_BASE, 1, 1), (LATE_PEAK, 2, 1)] {
        tell(&script, 1, Ok(stands));
        at_ns += 500_000_000;
        look(&mut driver, at_ns, working(at_ns));
        let counts = driver.counts;
        assert_eq!((counts.boosts, counts.refused), (boosts, refused));
    }
    let counts = driver.counts;
    assert_eq!(counts.boosted_until_ns(at_ns), ANSWER_NS + 500_000_000);
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
    let counts = driver.counts;
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
