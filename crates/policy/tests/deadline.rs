//! `deadline` on loops that are drawn as turns: how long each is, and how long the loop waits after
//! it. Looks are 0.2 ms apart, and each turn is one event.

use bobtail_policy::{
    Collection, CollectionKind, Decider, LeverFacts, LoopTotals, Policy, Reading, Reasons, Speed,
};

const LOOK_NS: u64 = 200_000;
const MS: u64 = 1_000_000;

struct Loop {
    decider: Box<dyn Decider>,
    /// Also collections that carry no turn to the deadline.
    boosts_all: bool,
    now_ns: u64,
    totals: LoopTotals,
}

/// What the loops are drawn for; the defaults follow from recordings of services, and are held to
/// other loops (`deadline_shipped.rs`).
const DRAWN_FOR: [(&str, f64); 2] = [("of-combined", 1.1), ("chance", 0.4)];

impl Loop {
    /// Under a policy, with `DRAWN_FOR` where it does not name them.
    fn under(policy: &str) -> Self {
        let boosts_all = policy.contains("collections=all");
        let (name, settings) = policy.split_once(':').unwrap_or((policy, ""));
        let drawn = DRAWN_FOR
            .into_iter()
            .filter(|(key, _)| !settings.contains(key))
            .map(|(key, value)| format!("{key}={value}"));
        let settings = drawn.chain((!settings.is_empty()).then(|| settings.to_owned()));
        let policy = format!("{name}:{}", settings.collect::<Vec<_>>().join(","));
        let policy: Policy = policy.parse().unwrap();
        Self {
            decider: policy.start(&LeverFacts::default()),
            boosts_all,
            now_ns: MS,
            totals: LoopTotals::default(),
        }
    }

    fn look(&mut self, head_ns: u64, collection: Option<Collection>) -> bool {
        self.decides(Reading {
            collection,
            head_ns,
            ..Reading::default()
        })
    }

    fn decides(&mut self, reading: Reading) -> bool {
        let reading = Reading {
            now_ns: self.now_ns,
            totals: self.totals,
            ..reading
        };
        let decision = self.decider.decide(&reading);
        let is_boosted = decision.speed == Speed::Peak;
        let is_told = decision.reasons.contains(Reasons::LONG_TURN)
            || self.boosts_all && decision.reasons.contains(Reasons::COLLECTION);
        assert_eq!(is_told || decision.reasons == Reasons::HOLD, is_boosted);
        is_boosted
    }

    /// A turn and its end; its age when the boost began, if one did.
    fn turn(&mut self, long_ns: u64) -> Option<u64> {
        let mut boosted_from = None;
        self.totals.turns += 1;
        for head_ns in (LOOK_NS..=long_ns).step_by(LOOK_NS as usize) {
            self.now_ns += LOOK_NS;
            if self.look(head_ns, None) {
                boosted_from.get_or_insert(head_ns);
            } else {
                assert_eq!(boosted_from, None, "it lasts until its end");
            }
        }
        self.totals.events += 1;
        self.totals.events_ns += long_ns;
        boosted_from
    }

    /// While it boosts, a driver looks again soon.
    fn wait(&mut self, long_ns: u64) {
        let soon_ns = long_ns.min(MS / 2);
        for passed_ns in [soon_ns, long_ns - soon_ns] {
            self.now_ns += passed_ns;
            assert!(!self.look(0, None), "nothing is to be done");
        }
    }

    /// Turns of two kinds, so many of the short for each of the long.
    fn learns(&mut self, times: u32, short: (u32, u64), long_ns: u64) {
        for _ in 0..times {
            for _ in 0..short.0 {
                self.turn(short.1);
                self.wait(MS);
            }
            self.turn(long_ns);
            self.wait(MS);
        }
    }

    fn collects(&mut self, kind: CollectionKind, long_ns: u64) -> bool {
        self.now_ns += LOOK_NS;
        self.totals.turns += 1;
        let begin_ns = self.now_ns;
        let is_boosted = self.look(LOOK_NS, Some(Collection { kind, begin_ns }));
        self.now_ns += long_ns;
        self.look(LOOK_NS + long_ns, None);
        self.totals.events += 1;
        self.totals.events_ns += LOOK_NS + long_ns;
        self.wait(MS);
        is_boosted
    }
}

#[test]
fn long_turns_are_boosted_as_soon_as_they_outlast_the_short_ones() {
    let mut one = Loop::under("deadline");
    assert_eq!(one.turn(10 * MS), None, "nothing is known yet");
    one.wait(MS);
    one.learns(30, (200, 400_000), 8 * MS);
    let age_ns = one.turn(8 * MS).expect("boosted");
    assert!((400_000..=800_000).contains(&age_ns), "{age_ns}");
    one.wait(MS);
    assert_eq!(one.turn(400_000), None);
}

#[test]
fn where_all_are_alike_only_what_is_late_is_boosted() {
    let mut one = Loop::under("deadline:chance=1");
    one.learns(400, (0, 0), 4 * MS);
    let age_ns = one.turn(40 * MS).expect("boosted");
    assert!(age_ns > 3 * MS, "{age_ns}");
}

#[test]
fn a_turn_of_many_events_is_one() {
    let mut one = Loop::under("deadline");
    one.learns(30, (200, 400_000), 8 * MS);
    one.totals.turns += 1;
    let mut first_ns = None;
    for at in 1..30_u64 {
        one.now_ns += LOOK_NS;
        one.totals.events += 1;
        one.totals.events_ns += LOOK_NS;
        if one.look(1_000, None) {
            first_ns.get_or_insert(at * LOOK_NS);
        }
    }
    assert!(first_ns.expect("boosted") <= MS);
    one.wait(60_000);
}

#[test]
fn many_short_turns_without_a_wait_are_no_long_one() {
    let mut one = Loop::under("deadline");
    one.learns(30, (200, 400_000), 8 * MS);
    assert!((0..100).all(|_| one.turn(400_000).is_none()));
}

#[test]
fn the_turn_after_a_late_one_is_boosted_from_its_start_and_the_next_is_not() {
    let mut one = Loop::under("deadline");
    one.learns(30, (200, 400_000), 8 * MS);
    assert!(one.turn(8 * MS).is_some());
    assert_eq!(one.turn(400_000), Some(LOOK_NS), "who came is served");
    assert_eq!(one.turn(400_000), None);
}

#[test]
fn a_queue_that_will_take_long_is_boosted_at_once() {
    for (queue_length, is_late) in [(0, false), (20, true)] {
        let mut one = Loop::under("deadline");
        // An event takes 0.76 ms in the mean.
        one.learns(30, (200, 400_000), 8 * MS);
        one.now_ns += LOOK_NS;
        one.totals.turns += 1;
        let is_boosted = one.decides(Reading {
            head_ns: LOOK_NS,
            queue_length,
            ..Reading::default()
        });
        assert_eq!(is_boosted, is_late, "{queue_length} in line");
    }
}

#[test]
fn a_collection_that_will_take_long_is_boosted_at_once() {
    let mut one = Loop::under("deadline:collections=late");
    one.learns(30, (200, 400_000), 8 * MS);
    let all =
        |one: &mut Loop, kind, long_ns| (0..20).map(|_| one.collects(kind, long_ns)).collect();
    let scavenges: Vec<bool> = all(&mut one, CollectionKind::Scavenge, LOOK_NS);
    assert!(scavenges[0], "it may be long");
    assert!(!scavenges[19], "it never was");
    let marks: Vec<bool> = all(&mut one, CollectionKind::MarkCompact, 10 * MS);
    assert!(marks.iter().all(|is_boosted| *is_boosted), "{marks:?}");
}

#[test]
fn any_collection_is_boosted_where_all_are_to_be() {
    let mut one = Loop::under("deadline:collections=all");
    one.learns(30, (200, 400_000), 8 * MS);
    assert!((0..20).all(|_| one.collects(CollectionKind::Scavenge, LOOK_NS)));
    assert_eq!(one.turn(400_000), None, "nothing else is boosted for it");
    assert!(one.turn(8 * MS).is_some());
}

#[test]
fn a_boost_lasts_its_hold() {
    let mut one = Loop::under("deadline:hold=900us");
    one.learns(30, (200, 400_000), 8 * MS);
    let from_ns = one.turn(MS).expect("boosted");
    // It waits, for longer than a poll takes.
    one.now_ns += 60_000;
    assert!(one.look(0, None));
    one.wait(900_000 - (MS + 60_000 - from_ns));
}

#[test]
fn what_comes_after_a_collection_is_boosted_until_the_turn_ends() {
    for (collections, is_boosted) in [("all", true), ("late", false)] {
        let policy = format!("deadline:collections={collections},of-combined=0.3");
        let mut one = Loop::under(&policy);
        one.learns(30, (200, 400_000), 8 * MS);
        for _ in 0..20 {
            one.collects(CollectionKind::Scavenge, 100_000);
        }
        one.now_ns += 100_000;
        one.totals.turns += 1;
        let kind = CollectionKind::Scavenge;
        let begin_ns = one.now_ns;
        one.look(100_000, Some(Collection { kind, begin_ns }));
        one.now_ns += 100_000;
        assert_eq!(one.look(200_000, None), is_boosted, "{policy}");
        one.totals.events += 1;
        one.totals.events_ns += 200_000;
        one.wait(MS);
    }
}

#[test]
fn a_wait_that_nobody_saw_ends_a_boost() {
    let mut one = Loop::under("deadline");
    one.learns(30, (200, 400_000), 8 * MS);
    assert!(one.turn(8 * MS).is_some());
    // It ended right after that look; 2 ms later another has just begun.
    one.now_ns += 2 * MS;
    one.totals.turns += 1;
    assert!(!one.look(100_000, None));
}

#[test]
fn looks_that_are_far_apart_tell_short_turns_from_long_ones_too() {
    let mut one = Loop::under("deadline:collections=late");
    for _ in 0..400 {
        // 20 short ones and their waits, of which one look each sees nothing but the sums.
        for _ in 0..10 {
            one.now_ns += 2 * (400_000 + MS);
            one.totals.turns += 2;
            one.totals.events += 2;
            one.totals.events_ns += 800_000;
            one.look(0, None);
        }
        one.totals.turns += 1;
        for head_ns in [2 * MS, 4 * MS, 6 * MS] {
            one.now_ns += 2 * MS;
            one.look(head_ns, None);
        }
        one.totals.events += 1;
        one.totals.events_ns += 6 * MS;
        one.now_ns += MS;
        one.look(0, None);
    }
    one.totals.turns += 1;
    one.now_ns += 300_000;
    assert!(!one.look(300_000, None), "as short as most");
    one.now_ns += 700_000;
    assert!(one.look(MS, None), "longer than the short ones are");
}

/// The part that is boosted, once they are known, of turns of which half end each half millisecond.
fn part_of_halving_turns(policy: &str) -> f64 {
    let mut one = Loop::under(policy);
    let (mut boosted_ns, mut all_ns) = (0, 0);
    for round in 0..40 {
        for number in 1..1_u64 << 10 {
            let long_ns = u64::from(1 + number.trailing_zeros()) * 500_000;
            let from_ns = one.turn(long_ns).unwrap_or(long_ns);
            one.wait(4 * MS);
            if round >= 20 {
                boosted_ns += long_ns - from_ns;
                all_ns += long_ns;
            }
        }
    }
    boosted_ns as f64 / all_ns as f64
}

#[test]
fn it_gets_by_with_a_part_of_what_combined_would_boost() {
    // A turn takes a millisecond in the mean, and Combined boosts those that get to 2.5 times that:
    // one in 32, which go on for another in the mean.
    let combined = 1.0 / 32.0;
    for of_combined in [0.3, 0.7, 1.0] {
        let part = part_of_halving_turns(&format!("deadline:of-combined={of_combined}"));
        let most = of_combined * combined;
        // What is drawn takes as long boosted, where Combined is thought to work faster.
        assert!(
            (0.65 * most..1.0 * most).contains(&part),
            "{part} of {most}"
        );
    }
    // Half of all work is the most that may be late, and what leads up to it is boosted, too.
    let part = part_of_halving_turns("deadline:of-combined=1000");
    assert!((0.7..0.9).contains(&part), "{part}");
}

#[test]
fn what_is_older_than_any_of_late_is_boosted_whatever_was_spent() {
    // No turn is 2.5 times as long as the mean of them, so that Combined boosts nothing.
    let mut one = Loop::under("deadline");
    one.learns(200, (99, 2 * MS), 3 * MS);
    let spent = |one: &mut Loop| one.learns(1, (20, 2 * MS), 4 * MS);
    (0..4).for_each(|_| spent(&mut one));
    assert_eq!(one.turn(4 * MS), None, "as old as those before");
    one.wait(MS);
    let from_ns = one.turn(9 * MS).expect("boosted");
    assert!(from_ns > 4 * MS, "{from_ns}");
}
