//! What must hold for every policy on every loop.

use bobtail_policy::{
    Collection, CollectionKind, Collections, Combined, Deadline, Decider, Decision, GcBoost,
    LeverFacts, LoopTotals, Policy, QueueBoost, Reading, Reasons, Speed,
};
use proptest::prelude::*;

const LEVER: LeverFacts = LeverFacts {
    latency_ns: 400_000,
};

fn readings() -> impl Strategy<Value = Vec<Reading>> {
    let step = (
        1..2_000_000_u64,
        prop::option::weighted(0.3, (0..5_usize, 0..3_000_000_u64)),
        0..20_u32,
        prop_oneof![Just(0), 0..3_000_000_u64],
        (0..9_u64, 0..30_u64, 0..9_u64, 0..4_000_000_u64, 0..3_u64),
    );
    prop::collection::vec(step, 1..120).prop_map(|steps| {
        let mut now_ns = 1_000_000_000;
        let mut totals = LoopTotals::default();
        let reading = |(step_ns, collection, queue_length, head_ns, sums)| {
            now_ns += step_ns;
            let (polls, lengths, events, events_ns, empty): (u64, u64, u64, u64, u64) = sums;
            totals.turns += polls + empty;
            totals.polls += polls;
            totals.queue_lengths += lengths * polls;
            totals.events += events;
            totals.events_ns += events_ns * events;
            Reading {
                now_ns,
                collection: Option::map(collection, |(kind, age_ns): (usize, u64)| Collection {
                    kind: CollectionKind::ALL[kind],
                    begin_ns: now_ns - age_ns,
                }),
                queue_length,
                head_ns,
                totals,
            }
        };
        steps.into_iter().map(reading).collect()
    })
}

fn gc_boosts() -> impl Strategy<Value = GcBoost> {
    (0..4_000_000_u64, prop_oneof![Just(0.0), 0.0..4.0])
        .prop_map(|(hold_ns, worth)| GcBoost { hold_ns, worth })
}

fn queue_boosts() -> impl Strategy<Value = QueueBoost> {
    let thresholds = (1.0..5.0_f64, 1.0..5.0_f64, 0.0..=1.0_f64);
    let times = (0..500_000_u64, 0..4_000_000_u64, 1_000..1_000_000_u64);
    (thresholds, 1..4_u32, times, 1..40_u32).prop_map(|(thresholds, length_min, times, window)| {
        QueueBoost {
            k_length: thresholds.0,
            k_head: thresholds.1,
            release: thresholds.2,
            length_min,
            head_min_ns: times.0,
            hold_ns: times.1,
            period_ns: times.2,
            window,
        }
    })
}

fn deadlines() -> impl Strategy<Value = Deadline> {
    let times = (0..4_000_000_u64, 1_000..1_000_000_u64);
    let collections = prop_oneof![Just(Collections::Late), Just(Collections::All)];
    let shares = (0.05..2.0_f64, 0.05..=1.0_f64);
    (shares, collections, times).prop_map(|(shares, collections, times)| Deadline {
        of_combined: shares.0,
        chance: shares.1,
        collections,
        hold_ns: times.0,
        period_ns: times.1,
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    let in_turns =
        (10..40_u64, prop::collection::vec(plain_policies(), 2..4)).prop_map(|(each_ms, of)| {
            let of: Vec<_> = of.iter().map(Policy::to_string).collect();
            let text = format!("in-turns:each={each_ms}ms,of={}", of.join("+"));
            text.parse().unwrap()
        });
    prop_oneof![4 => plain_policies(), 1 => in_turns]
}

fn plain_policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        gc_boosts().prop_map(Policy::GcBoost),
        queue_boosts().prop_map(Policy::QueueBoost),
        (gc_boosts(), queue_boosts())
            .prop_map(|(gc, queue)| Policy::Combined(Combined { gc, queue })),
        deadlines().prop_map(Policy::Deadline),
    ]
}

/// Readings of some turns without what passed in others, which is before the next look after each
/// reading that is not of them.
fn turns_alone(readings: &[Reading], is_own: impl Fn(&Reading) -> bool) -> Vec<Reading> {
    let (mut cut_ns, mut cut) = (0, LoopTotals::default());
    let mut last: Option<&Reading> = None;
    let mut own = vec![];
    for reading in readings {
        if let Some(last) = last.replace(reading).filter(|last| !is_own(last)) {
            let (from, until) = (&last.totals, &reading.totals);
            cut_ns += reading.now_ns - last.now_ns;
            cut.turns += until.turns - from.turns;
            cut.polls += until.polls - from.polls;
            cut.queue_lengths += until.queue_lengths - from.queue_lengths;
            cut.events += until.events - from.events;
            cut.events_ns += until.events_ns - from.events_ns;
        }
        if is_own(reading) {
            own.push(Reading {
                now_ns: reading.now_ns - cut_ns,
                collection: reading.collection.map(|collection| Collection {
                    begin_ns: collection.begin_ns - cut_ns,
                    ..collection
                }),
                totals: LoopTotals {
                    turns: reading.totals.turns - cut.turns,
                    polls: reading.totals.polls - cut.polls,
                    queue_lengths: reading.totals.queue_lengths - cut.queue_lengths,
                    events: reading.totals.events - cut.events,
                    events_ns: reading.totals.events_ns - cut.events_ns,
                },
                ..*reading
            });
        }
    }
    own
}

fn decide_all(decider: &mut dyn Decider, readings: &[Reading]) -> Vec<Decision> {
    readings
        .iter()
        .map(|reading| decider.decide(reading))
        .collect()
}

/// The shortest time for which a policy may boost.
fn hold_ns(policy: &Policy) -> u64 {
    match policy {
        Policy::GcBoost(policy) => policy.hold_ns,
        Policy::QueueBoost(policy) => policy.hold_ns,
        Policy::Deadline(policy) => policy.hold_ns,
        Policy::Combined(policy) => policy.gc.hold_ns.min(policy.queue.hold_ns),
        _ => 0,
    }
}

/// The longest time for which a policy may boost without a reason.
fn hold_max_ns(policy: &Policy) -> u64 {
    match policy {
        Policy::Combined(policy) => policy.gc.hold_ns.max(policy.queue.hold_ns),
        other => hold_ns(other),
    }
}

proptest! {
    #[test]
    fn the_same_readings_give_the_same_decisions(policy in policies(), readings in readings()) {
        let again: Policy = policy.to_string().parse().unwrap();
        prop_assert_eq!(&again, &policy);
        let first = decide_all(&mut *policy.start(&LEVER), &readings);
        prop_assert_eq!(first, decide_all(&mut *again.start(&LEVER), &readings));
    }

    #[test]
    fn nothing_is_boosted_without_a_reason_that_is_there(
        policy in plain_policies(),
        readings in readings(),
    ) {
        let decisions = decide_all(&mut *policy.start(&LEVER), &readings);
        let mut reason_ended_ns = None;
        for (reading, decision) in readings.iter().zip(&decisions) {
            let Decision { speed, reasons, .. } = *decision;
            prop_assert_eq!(speed == Speed::Peak, !reasons.is_empty());
            prop_assert!(speed == Speed::Peak || speed == Speed::Base);
            let is = |reason| reasons.contains(reason);
            prop_assert!(!is(Reasons::COLLECTION) || reading.collection.is_some());
            prop_assert!(!is(Reasons::QUEUE_LENGTH) || reading.queue_length > 0);
            prop_assert!(!is(Reasons::HEAD) || reading.head_ns > 0);
            let reasons = [
                Reasons::COLLECTION,
                Reasons::QUEUE_LENGTH,
                Reasons::HEAD,
                Reasons::LONG_TURN,
            ];
            if reasons.into_iter().any(is) {
                reason_ended_ns = Some(reading.now_ns);
            } else if is(Reasons::HOLD) {
                let since_ns = reading.now_ns - reason_ended_ns.unwrap();
                prop_assert!(since_ns < hold_max_ns(&policy), "{} ns after its reason", since_ns);
            }
        }
    }

    #[test]
    fn a_boost_lasts_its_hold(policy in plain_policies(), readings in readings()) {
        let decisions = decide_all(&mut *policy.start(&LEVER), &readings);
        let mut since_ns = None;
        for (reading, decision) in readings.iter().zip(&decisions) {
            if decision.speed == Speed::Peak {
                since_ns.get_or_insert(reading.now_ns);
            } else if let Some(since_ns) = since_ns.take() {
                prop_assert!(reading.now_ns - since_ns >= hold_ns(&policy));
            }
        }
    }

    #[test]
    fn a_boost_ends_at_the_look_that_was_announced(
        policy in plain_policies(),
        readings in readings(),
    ) {
        let mut decider = policy.start(&LEVER);
        let decision = decide_all(&mut *decider, &readings).pop().unwrap();
        let mut last = *readings.last().unwrap();
        let mut speed = decision.speed;
        let mut look_ns = decision.look_again_ns;
        // From now on the loop is idle; a driver that only looks when told must see the end.
        (last.collection, last.queue_length, last.head_ns) = (None, 0, 0);
        last.now_ns += 1;
        let end_ns = last.now_ns + hold_max_ns(&policy) + 1_000_000;
        while speed == Speed::Peak {
            let decision = decider.decide(&last);
            (speed, look_ns) = (decision.speed, decision.look_again_ns.or(look_ns));
            if speed == Speed::Peak {
                prop_assert!(decision.look_again_ns.unwrap() > last.now_ns);
                prop_assert!(last.now_ns < end_ns);
                last.now_ns = decision.look_again_ns.unwrap();
            }
        }
    }

    #[test]
    fn whose_turn_it_is_decides_as_if_the_others_turns_had_not_been(
        of in prop::collection::vec(plain_policies(), 2..4),
        readings in readings(),
    ) {
        let names: Vec<_> = of.iter().map(Policy::to_string).collect();
        let text = format!("in-turns:each=10ms,of={}", names.join("+"));
        let Policy::InTurns(policy) = text.parse::<Policy>().unwrap() else { unreachable!() };
        let all = decide_all(&mut policy.start(&LEVER), &readings);
        for (place, alone) in of.iter().enumerate() {
            let own = |reading: &Reading| policy.on_duty(reading.now_ns) == place;
            let expected = decide_all(&mut *alone.start(&LEVER), &turns_alone(&readings, own));
            let decided = readings.iter().zip(&all).filter(|(reading, _)| own(reading));
            for ((_, decision), expected) in decided.zip(expected) {
                prop_assert_eq!(decision.speed, expected.speed);
                prop_assert_eq!(decision.reasons, expected.reasons);
            }
        }
    }

    #[test]
    fn combined_is_the_union(
        gc in gc_boosts(),
        queue in queue_boosts(),
        readings in readings(),
    ) {
        let of = |policy: Policy| decide_all(&mut *policy.start(&LEVER), &readings);
        let combined = of(Policy::Combined(Combined { gc, queue }));
        let parts = of(Policy::GcBoost(gc)).into_iter().zip(of(Policy::QueueBoost(queue)));
        for (both, (gc, queue)) in combined.into_iter().zip(parts) {
            let is_peak = gc.speed == Speed::Peak || queue.speed == Speed::Peak;
            prop_assert_eq!(both.speed == Speed::Peak, is_peak);
            prop_assert_eq!(both.reasons, gc.reasons | queue.reasons);
        }
    }

    #[test]
    fn nothing_is_boosted_before_the_average_is_known(
        queue in queue_boosts(),
        readings in readings(),
    ) {
        let mut decider = queue.start();
        for reading in &readings {
            let Decision { reasons, .. } = decider.decide(reading);
            let window = u64::from(queue.window);
            let totals = reading.totals;
            prop_assert!(!reasons.contains(Reasons::QUEUE_LENGTH) || totals.polls >= window);
            prop_assert!(!reasons.contains(Reasons::HEAD) || totals.events >= window);
        }
    }

    #[test]
    fn numbers_without_sense_do_no_harm(
        policy in policies(),
        numbers in prop::collection::vec(any::<[u64; 7]>(), 1..40),
    ) {
        let mut decider = policy.start(&LeverFacts { latency_ns: u64::MAX });
        for [now_ns, begin_ns, head_ns, turns, polls, lengths, events] in numbers {
            let decision = decider.decide(&Reading {
                now_ns,
                collection: (begin_ns & 1 == 0).then_some(Collection {
                    kind: CollectionKind::from_v8(head_ns as u32),
                    begin_ns,
                }),
                queue_length: lengths as u32,
                head_ns,
                totals: LoopTotals {
                    turns,
                    polls,
                    queue_lengths: lengths,
                    events,
                    events_ns: head_ns,
                },
            });
            prop_assert_eq!(decision.speed == Speed::Peak, !decision.reasons.is_empty());
        }
    }
}
