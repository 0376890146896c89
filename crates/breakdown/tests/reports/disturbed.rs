//! Requests that were under way while processor time was taken from the loop.

use std::ops::RangeInclusive;

use bobtail_breakdown::{Report, Taken, TakenInterval, TraceInfo};
use bobtail_testkit::ORIGIN_NS;

use super::support::trace_info;
use super::work::{action, codes, report};

/// In each of these seconds, from 5 ms after the request of that second came, for so long.
fn taken(turns: RangeInclusive<u64>, length_ms: u64, taken_ms: u64) -> Taken {
    Taken::of(turns.map(|turn| interval(turn, 5, length_ms, taken_ms)))
}

/// In one second, from so long after its request came.
fn interval(turn: u64, after_ms: u64, length_ms: u64, taken_ms: u64) -> TakenInterval {
    let from_ns = ORIGIN_NS + (turn * 1000 + after_ms) * 1_000_000;
    TakenInterval {
        from_ns,
        until_ns: from_ns + length_ms * 1_000_000,
        taken_ns: taken_ms * 1_000_000,
    }
}

#[test]
fn little_that_is_taken_from_anybody_does_not_hide_what_was_taken_from_the_tail() {
    let little = |turn| interval(turn, 60, 900, 1);
    let much = |turn| interval(turn, 5, 50, 40);
    let with = |intervals: Vec<TakenInterval>| TraceInfo {
        taken_by_v8: Taken::of(intervals),
        ..trace_info(0)
    };
    let all: Vec<TakenInterval> = (1..=40).map(little).chain((29..=40).map(much)).collect();
    assert!(codes(&report(with(all), "")).contains(&"v8-threads"));
    let little = (1..=40).map(little).collect();
    assert!(!codes(&report(with(little), "")).contains(&"v8-threads"));
}

#[test]
fn v8_s_own_threads_are_told_of_where_they_disturbed_the_tail_and_not_the_rest() {
    let with = |turns| TraceInfo {
        taken_by_v8: taken(turns, 50, 40),
        ..trace_info(0)
    };
    let told = report(with(29..=40), "");
    let (sentence, what) = action(&told, "v8-threads");
    assert_eq!(
        sentence,
        "11 of 11 tail requests and 1 of 29 others were under way while V8's own threads, which \
         compile and collect, had the processors of the loop, which may be 40 % of the tail's \
         latency"
    );
    assert!(what.contains("--v8-pool-size=1"), "{what}");
    assert_eq!(codes(&told), ["own-work", "v8-threads"]);
    assert!(!codes(&report(with(1..=10), "")).contains(&"v8-threads"));
}

#[test]
fn the_host_is_told_of_where_it_disturbed_the_tail_and_not_the_rest() {
    let of = |turns, length_ms, taken_ms| TraceInfo {
        stolen: taken(turns, length_ms, taken_ms),
        ..trace_info(0)
    };
    let with = |turns, taken_ms| of(turns, 50, taken_ms);
    let told = report(with(29..=40, 40), "");
    let (sentence, what) = action(&told, "host-steal");
    assert_eq!(
        sentence,
        "11 of 11 tail requests and 1 of 29 others were under way while the host gave this \
         machine's processors to others, which may be 40 % of the tail's latency"
    );
    assert!(what.contains("processors of its own"), "{what}");
    let impact_ns = |report: &Report| {
        let found = report.findings.iter().find(|f| f.code == "host-steal");
        found.map(|finding| finding.impact_ns)
    };
    assert_eq!(impact_ns(&told), Some(40_000_000));
    // No more than they share with it.
    let told = report(with(29..=40, 80), "");
    assert_eq!(impact_ns(&told), Some(50_000_000));
    // Too little, or at nearly all times, so that anybody is hit, or never.
    for info in [with(29..=40, 5), of(1..=40, 900, 40), trace_info(0)] {
        assert_eq!(impact_ns(&report(info, "")), None);
    }
}
