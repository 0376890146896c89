//! Policies on drawn loops: what was read on the left, what must be decided on the right.
//!
//! A line is a reading: its time, then what is so at that moment (`queue=3 head=200us gc=mark`)
//! and what was added to the loop's sums: `polls=4x1` is 4 polls with a queue of 1 each,
//! `events=4x50us` as many events of that length.

use bobtail_policy::{Collection, CollectionKind, LeverFacts, Policy, Reading, Reasons, Speed};
use duration::ns;

#[path = "support/duration.rs"]
mod duration;

fn times(text: &str) -> (u64, &str) {
    let (count, each) = text.split_once('x').unwrap();
    (count.parse().unwrap(), each)
}

/// Reads what stands left of the bar, going on from the reading before.
fn read(line: &str, before: &Reading) -> Reading {
    let mut words = line.split_whitespace();
    let now_ns = ns(words.next().unwrap());
    let mut reading = Reading {
        now_ns,
        totals: before.totals,
        ..Reading::default()
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap();
        match key {
            "queue" => reading.queue_length = value.parse().unwrap(),
            "head" => reading.head_ns = ns(value),
            "polls" => {
                let (count, each) = times(value);
                reading.totals.polls += count;
                reading.totals.queue_lengths += count * each.parse::<u64>().unwrap();
            }
            "events" => {
                let (count, each) = times(value);
                reading.totals.events += count;
                reading.totals.events_ns += count * ns(each);
            }
            "gc" => {
                let kind = match value {
                    "mark" => CollectionKind::MarkCompact,
                    "scavenge" => CollectionKind::Scavenge,
                    other => panic!("collection {other}"),
                };
                let same = before
                    .collection
                    .filter(|collection| collection.kind == kind);
                let begins = Collection {
                    kind,
                    begin_ns: now_ns,
                };
                reading.collection = same.or(Some(begins));
            }
            other => panic!("fact {other}"),
        }
    }
    reading
}

/// Holds a policy, on a lever of this latency, to a drawing.
fn check(policy: &str, latency_ns: u64, drawing: &str) {
    let policy: Policy = policy.parse().unwrap();
    let mut decider = policy.start(&LeverFacts { latency_ns });
    let mut reading = Reading::default();
    for line in drawing
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (facts, expected) = line.split_once('|').unwrap();
        reading = read(facts, &reading);
        let decision = decider.decide(&reading);
        let reasons: Vec<_> = decision.reasons.names().collect();
        let told = format!("{} {}", decision.speed, reasons.join("+"));
        assert_eq!(told.trim(), expected.trim(), "{policy} at {facts}");
    }
}

#[test]
fn gc_boost_lasts_for_the_collection_and_its_hold() {
    check(
        "gc-boost:hold=1ms",
        0,
        "
        0us              | base
        100us  gc=mark   | peak collection
        9000us gc=mark   | peak collection
        9100us           | base
        9200us gc=scavenge | peak collection
        9500us           | peak hold
        10199us          | peak hold
        10200us          | base
        ",
    );
}

#[test]
fn without_a_hold_gc_boost_is_the_papers() {
    check(
        "gc-boost:hold=0us,worth=0",
        5_000_000,
        "
        0us              | base
        100us gc=scavenge | peak collection
        101us            | base
        ",
    );
}

#[test]
fn a_kind_of_collection_shorter_than_the_levers_latency_is_not_boosted_once_that_is_known() {
    // Eight scavenges of 500 µs under a lever of 1 ms; then a mark-compact, of which none is known.
    let mut drawing = String::new();
    for round in 0..8 {
        let begin_us = round * 10_000;
        drawing += &format!("{begin_us}us gc=scavenge | peak collection\n");
        drawing += &format!("{}us | base\n", begin_us + 500);
    }
    drawing += "
        80000us gc=scavenge | base
        80500us             | base
        90000us gc=mark     | peak collection
        99000us             | base
    ";
    check("gc-boost:hold=0us", 1_000_000, &drawing);
    let boosted = drawing.replace(
        "80000us gc=scavenge | base",
        "80000us gc=scavenge | peak collection",
    );
    check("gc-boost:hold=0us", 500_000, &boosted);
}

#[test]
fn queue_boost_compares_length_and_head_with_k_times_the_average() {
    check(
        "queue-boost:k=2.5,window=4,hold=0us",
        0,
        "
        0us    queue=90 head=90ms            | base
        200us  polls=4x2 events=4x100us      | base
        400us  queue=5                       | base
        600us  queue=6                       | peak queue length
        800us  queue=3                       | peak queue length
        1000us queue=2                       | base
        1200us head=250us                    | base
        1400us head=251us                    | peak head
        1600us head=101us                    | peak head
        1800us head=100us                    | base
        2000us queue=9 head=900us            | peak queue length+head
        2200us                               | base
        ",
    );
}

#[test]
fn both_have_a_k_and_a_floor_of_their_own() {
    check(
        "queue-boost:k-length=10,k-head=2,head-min=1ms,length-min=4,window=1,hold=0us",
        0,
        "
        0us    polls=4x1 events=4x100us | base
        200us  queue=10                 | base
        400us  queue=11                 | peak queue length
        600us  queue=4                  | peak queue length
        800us  queue=3                  | base
        1000us head=900us               | base
        1200us head=1ms                 | peak head
        ",
    );
}

#[test]
fn a_boost_of_the_queue_lasts_its_hold() {
    check(
        "queue-boost:window=1,hold=2ms",
        0,
        "
        0us    polls=1x1 events=1x100us | base
        1ms    head=300us               | peak head
        2ms                             | peak hold
        2999us                          | peak hold
        3ms                             | base
        ",
    );
}

#[test]
fn the_average_follows_the_load() {
    check(
        "queue-boost:window=4,hold=0us",
        0,
        "
        0us    polls=4x1 events=4x100us  | base
        200us  queue=9                   | peak queue length
        400us  polls=64x9 queue=9        | peak queue length
        600us  queue=8                   | base
        800us  queue=9                   | base
        1000us queue=23                  | peak queue length
        ",
    );
}

#[test]
fn combined_boosts_for_either() {
    check(
        "combined:window=1,hold=0us,gc-hold=0us",
        0,
        "
        0us   polls=1x1 events=1x100us | base
        100us gc=mark                  | peak collection
        200us gc=mark head=900us       | peak collection+head
        300us head=900us               | peak head
        400us                          | base
        ",
    );
}

#[test]
fn a_static_speed_is_what_it_says_whatever_happens() {
    check(
        "static:2.6",
        0,
        "0us | 2.6\n 1us queue=90 gc=mark head=90ms | 2.6",
    );
    check("static:peak", 0, "0us | peak");
    check("static:3300MHz", 0, "0us | 3.3");
}

#[test]
fn a_clock_that_goes_back_does_not_prolong_a_boost() {
    check(
        "gc-boost:hold=1ms",
        0,
        "
        9000ms gc=mark | peak collection
        1ms            | base
        ",
    );
}

#[test]
fn the_driver_is_told_when_to_look_again() {
    let look = |policy: &str, readings: &[Reading]| {
        let mut decider = policy
            .parse::<Policy>()
            .unwrap()
            .start(&LeverFacts::default());
        readings
            .iter()
            .map(|reading| decider.decide(reading).look_again_ns)
            .last()
            .unwrap()
    };
    let idle = Reading {
        now_ns: 5_000,
        ..Reading::default()
    };
    let collection = Some(Collection {
        kind: CollectionKind::Scavenge,
        begin_ns: 1_000,
    });
    let collects = Reading {
        now_ns: 1_000,
        collection,
        ..Reading::default()
    };
    assert_eq!(look("static:base", &[idle]), None);
    assert_eq!(look("gc-boost", &[idle]), None);
    assert_eq!(look("gc-boost:hold=9us", &[collects, idle]), Some(10_000));
    assert_eq!(look("queue-boost:period=2us", &[idle]), Some(7_000));
    assert_eq!(
        look("combined:period=2us,gc-hold=9us", &[collects, idle]),
        Some(7_000)
    );
    assert_eq!(
        look("combined:period=9us,gc-hold=9us", &[collects, idle]),
        Some(10_000)
    );
}

#[test]
fn v8s_types_of_collections_have_their_kinds() {
    let kinds = [1, 2, 4, 8, 16, 5].map(CollectionKind::from_v8);
    assert_eq!(kinds[..5], CollectionKind::ALL);
    assert_eq!(kinds[5], CollectionKind::MarkCompact);
    assert!(!Reasons::COLLECTION.is_empty() && Reasons::default().is_empty());
    assert_eq!(Speed::Khz(2_600_000).to_string(), "2.6");
}

#[test]
fn policies_take_turns_by_the_clock_and_each_round_begins_with_another() {
    check(
        "in-turns:each=10ms,of=static:base+gc-boost:hold=0us",
        0,
        "
        1ms  gc=mark | base
        10ms gc=mark | peak collection
        20ms gc=mark | peak collection
        29ms gc=mark | peak collection
        30ms gc=mark | base
        40ms gc=mark | base
        50ms gc=mark | peak collection
        ",
    );
}

#[test]
fn a_policy_in_turns_learns_from_its_own_turns_alone() {
    // Of events of 1 ms each in its turns and 50 ms in the other's: 3 ms are long.
    let drawing = "
        1ms   events=2x1ms     | base
        9ms   events=2x1ms     | base
        11ms                   | base
        18ms  events=9x50ms    | base
        25ms  events=9x50ms    | base
        30ms                   | base
        31ms  head=2400us      | base
        32ms  head=2600us      | peak head
    ";
    check(
        "in-turns:each=10ms,of=queue-boost:window=2,hold=0us+static:base",
        0,
        drawing,
    );
}

#[test]
fn the_clock_of_a_policy_in_turns_stands_still_in_the_others() {
    // A hold of 5 ms, of which 2 are left when its turn ends.
    let drawing = "
        0ms                    | base
        7ms   gc=mark          | peak collection
        9ms                    | peak hold
        10ms                   | base
        30ms                   | peak hold
        31ms                   | peak hold
        32ms                   | base
    ";
    check(
        "in-turns:each=10ms,of=gc-boost:hold=5ms+static:base",
        0,
        drawing,
    );
}

#[test]
fn each_comes_as_often_after_each_other_one() {
    // As `bench/harness/turns.test.mjs` has it.
    for (of, turns, expected) in [
        ("combined+deadline", 8_u64, "01100110"),
        ("combined+deadline+gc-boost", 18, "012120201210021102"),
        (
            "combined+deadline+gc-boost+combined",
            16,
            "0132120323103021",
        ),
    ] {
        let text = format!("in-turns:each=1s,of={of}");
        let Policy::InTurns(policy) = text.parse().unwrap() else {
            panic!("{text} is another");
        };
        let turn = |turn| policy.on_duty(turn * 1_000_000_000).to_string();
        assert_eq!((0..turns).map(turn).collect::<String>(), expected);
    }
}

#[test]
fn a_look_is_asked_for_by_the_clock_of_all_and_at_the_end_of_a_turn() {
    let policy: Policy = "in-turns:each=10ms,of=gc-boost:hold=5ms+static:base"
        .parse()
        .unwrap();
    let mut decider = policy.start(&LeverFacts::default());
    let mut reading = Reading::default();
    let mut look_at = |line: &str| {
        reading = read(line, &reading);
        decider.decide(&reading).look_again_ns
    };
    assert_eq!(look_at("7ms gc=mark"), Some(ns("10ms")));
    assert_eq!(look_at("10ms"), Some(ns("20ms")));
    assert_eq!(look_at("25ms"), Some(ns("30ms")));
    // Of its hold 2 ms are left.
    assert_eq!(look_at("30ms"), Some(ns("32ms")));
}
