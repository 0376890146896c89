//! `paced` on loops whose readings do not depend on what it decides: what it spends, and on what.
//!
//! A loop is drawn as events, in turns of so many short ones and a long one, with waits between
//! them; looks are 0.2 ms apart.

use bobtail_policy::{LeverFacts, LoopTotals, Policy, Reading, Reasons, Speed};

const LOOK_NS: u64 = 200_000;
const MS: u64 = 1_000_000;

/// Every look of a loop, from its beginning: so many turns of 20 short events and a long one.
fn readings(turns: u32, short_ns: u64, long_ns: u64) -> Vec<Reading> {
    let mut all = Vec::new();
    let mut totals = LoopTotals::default();
    let mut now_ns = MS;
    for _ in 0..turns {
        for event_ns in [short_ns; 20].into_iter().chain([long_ns]) {
            let ages = (LOOK_NS..=event_ns).step_by(LOOK_NS as usize);
            for head_ns in ages.chain([0; 5]) {
                now_ns += LOOK_NS;
                all.push(Reading {
                    now_ns,
                    head_ns,
                    totals,
                    ..Reading::default()
                });
            }
            totals.events += 1;
            totals.events_ns += event_ns;
        }
    }
    all
}

/// For how long a policy boosts, in a part of what it reads.
fn boosted_ns(policy: &str, readings: &[Reading], from_ns: u64) -> u64 {
    let policy: Policy = policy.parse().unwrap();
    let mut decider = policy.start(&LeverFacts::default());
    let decided = readings.iter().map(|one| decider.decide(one).speed);
    let speeds: Vec<_> = decided.collect();
    let spans = readings.windows(2).zip(speeds);
    let boosted = spans.filter(|(span, speed)| span[0].now_ns >= from_ns && *speed == Speed::Peak);
    boosted
        .map(|(span, _)| span[1].now_ns - span[0].now_ns)
        .sum()
}

#[test]
fn it_spends_its_part_of_what_combined_would() {
    let all = readings(700, 600_000, 8 * MS);
    let whole_ns = all.last().unwrap().now_ns;
    // Until then averages, ages and the account settle.
    let from_ns = whole_ns / 2;
    let combined_ns = boosted_ns("combined", &all, from_ns) as f64;
    assert!(combined_ns > 0.05 * (whole_ns - from_ns) as f64);
    for spend in [0.6, 0.8, 0.95] {
        let part = boosted_ns(&format!("paced:spend={spend}"), &all, from_ns) as f64 / combined_ns;
        assert!((part - spend).abs() < 0.1, "{spend}: {part}");
    }
}

#[test]
fn where_combined_would_boost_nothing_only_the_latest_are() {
    // All alike: none is longer than 2.5 times the mean.
    let all = readings(700, MS, MS);
    assert_eq!(boosted_ns("combined", &all, 0), 0);
    let part = boosted_ns("paced", &all, 0) as f64 / all.last().unwrap().now_ns as f64;
    // But for the latest: the share of them never falls below 0.01.
    assert!(part < 0.02, "{part}");
}

#[test]
fn what_is_not_late_is_not_boosted() {
    let all = readings(700, 600_000, 8 * MS);
    let policy: Policy = "paced".parse().unwrap();
    let mut decider = policy.start(&LeverFacts::default());
    let reasons = all.iter().map(|one| decider.decide(one).reasons);
    let reasons: Vec<_> = reasons.filter(|one| !one.is_empty()).collect();
    assert!(!reasons.is_empty());
    assert!(reasons.iter().all(|one| *one == Reasons::BACKLOG));
}

#[test]
fn a_loop_that_falls_behind_is_boosted_however_much_is_owed() {
    let mut all = readings(700, 600_000, 8 * MS);
    let before = all.last().copied().unwrap();
    // One backlog of 10 s.
    all.extend((1..=50_000).map(|at| Reading {
        now_ns: before.now_ns + at * LOOK_NS,
        head_ns: at * LOOK_NS,
        ..before
    }));
    let from_ns = before.now_ns + 1_000 * MS;
    let whole_ns = all.last().unwrap().now_ns - from_ns;
    assert_eq!(boosted_ns("paced:spend=0.01", &all, from_ns), whole_ns);
}
