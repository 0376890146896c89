//! Single collections and the requests that they delayed.

use std::collections::{BTreeMap, BTreeSet};

use bobtail_breakdown::report::{Class, CulpritKind, Report};
use bobtail_breakdown::{RunFacts, TraceInfo, explain};
use bobtail_testkit::{Drawn, ORIGIN_NS, Random, Shape, draw};
use bobtail_trace::record::{CodePlace, GcCause, Ns, Record};
use proptest::prelude::*;

use super::support::{grown, records, report_at, report_of_infos, trace_info};

const MS: u64 = 1_000_000;

/// Two connections: the second request waits behind the first one's collection, has 1 ms of its
/// own, and the third comes when all is over.
const TWO: &str = r#"
    open 1 server
    open 2 server
    0ms   begin #1 read handle=1 ready=0ms
          source 1 "GET /export"
    2ms   gc mark for=20ms
    25ms  at "serialize export.ts:88:5"
    30ms  sink 1 200 "GET /:what"
          end
    31ms  begin #2 read handle=2 ready=10ms
          source 2 "GET /x"
    32ms  gc scavenge for=1ms
    34ms  sink 2 200
          end
    40ms  begin #3 timer
    41ms  gc incremental for=3ms
          end
    50ms  begin #4 read handle=1 ready=50ms
          source 3 "GET /x"
    51ms  sink 3 200
          end
"#;

/// Kind, length, number of victims, and the named with their delays; in ms.
type Row<'a> = (&'a str, u64, u64, Vec<(&'a str, u64)>);

fn victims(report: &Report) -> Vec<Row<'_>> {
    let one = |p| {
        let pause: &bobtail_breakdown::report::Pause = p;
        let named = pause.requests.iter();
        let named = named.map(|v| (v.id.as_str(), v.delay_ns / MS)).collect();
        (
            pause.kind.as_str(),
            pause.duration_ns / MS,
            pause.victims,
            named,
        )
    };
    report.pauses.iter().map(one).collect()
}

#[test]
fn each_collection_lists_whom_it_delayed_and_by_how_much() {
    let report = report_at(&[draw(TWO)], 99.9);
    let expected = [
        (
            "mark-compact",
            20,
            2,
            vec![("100-0:1", 20), ("100-0:2", 12)],
        ),
        ("incremental marking", 3, 0, vec![]),
        ("scavenge", 1, 1, vec![("100-0:2", 1)]),
    ];
    assert_eq!(victims(&report), expected);
    let worst = &report.pauses[0];
    assert_eq!((worst.pid, worst.thread, worst.number), (100, 0, 1));
    assert_eq!(worst.inflicted_ns, 32 * MS);
    let latencies: Vec<_> = worst.requests.iter().map(|v| v.latency_ns / MS).collect();
    assert_eq!(latencies, [30, 24]);
}

#[test]
fn a_collection_tells_what_it_interrupted() {
    let report = report_at(&[draw(TWO)], 99.9);
    let inside: Vec<_> = report.pauses.iter().map(|p| p.inside.clone()).collect();
    let told = |index: usize| {
        let one = inside[index].as_ref().expect("it is known");
        (
            one.kind,
            one.route.clone(),
            one.word.clone(),
            one.location.clone(),
        )
    };
    let text = |text: &str| Some(text.to_owned());
    let export = text("serialize export.ts:88:5");
    // The route and the place are known only after the collection.
    let expected = (
        CulpritKind::Event,
        text("GET /:what"),
        "read".into(),
        export,
    );
    assert_eq!(told(0), expected);
    assert_eq!(told(1), (CulpritKind::Event, None, "timer".into(), None));
    assert_eq!(told(2).1, text("GET /x"));
}

#[test]
fn victims_of_the_tail_come_first_and_the_rest_is_counted() {
    // Of 40 requests behind one collection the last 11 have waited longest, but not for it.
    let mut text = String::from("0ms begin other\n1000ms gc mark for=50ms\nend\n");
    for i in 1..=40u32 {
        let ready = if i > 29 { 1040 } else { 1020 };
        let begin = 1050 + 2 * i;
        let end = begin + if i > 29 { 200 } else { 1 };
        text += &format!("open {i} server\n{begin}ms begin read handle={i} ready={ready}ms\n");
        text += &format!("source {i} \"GET /x\"\n{end}ms sink {i} 200\nend\n");
    }
    let report = report_at(&[draw(&text)], 75.0);
    let pause = &report.pauses[0];
    assert_eq!((pause.victims, pause.tail_victims), (40, 11));
    assert_eq!(pause.inflicted_ns, (29 * 30 + 11 * 10) * MS);
    let named: Vec<_> = pause
        .requests
        .iter()
        .map(|v| (v.class, v.delay_ns / MS))
        .collect();
    assert_eq!(named, [(Class::Tail, 10); 10]);
    assert_eq!(pause.requests[0].id, "100-0:30");
}

/// One request with `count` collections of 1, 2, 3 … µs.
fn collecting(count: u64, origin_ms: u64) -> Drawn {
    let begin = origin_ms;
    let mut text = format!(
        "open 1 server\n{begin}ms begin read handle=1 ready={begin}ms\nsource 1 \"GET /\"\n"
    );
    for i in 1..=count {
        text += &format!("{}ms gc scavenge for={i}us\n", begin + i);
    }
    draw(&(text + &format!("{}ms sink 1 200\nend", begin + count + 1)))
}

#[test]
fn the_longest_of_all_traces_are_told_longest_first() {
    let report = report_at(&[collecting(30, 0), collecting(25, 7)], 99.9);
    let told: Vec<_> = report
        .pauses
        .iter()
        .map(|p| (p.duration_ns / 1000, p.pid, p.number))
        .collect();
    let expected = [
        (30, 100, 30),
        (29, 100, 29),
        (28, 100, 28),
        (27, 100, 27),
        (26, 100, 26),
        (25, 100, 25),
        (25, 101, 25),
        (24, 100, 24),
        (24, 101, 24),
        (23, 100, 23),
    ];
    assert_eq!(told, expected);
    let last = &report.pauses[9];
    assert_eq!(
        last.start_ns,
        ORIGIN_NS + 23 * MS,
        "from the start of the run"
    );
}

#[test]
fn collections_of_warm_up_are_left_out_but_keep_their_number() {
    let info = TraceInfo {
        warmup_end_ns: Some(ORIGIN_NS + 21 * MS),
        ..trace_info(0)
    };
    let traces = [(info, collecting(30, 0))];
    let report = report_of_infos(RunFacts::default(), &traces, 99.9);
    let numbers: Vec<_> = report.pauses.iter().map(|p| p.number).collect();
    assert_eq!(numbers, [30, 29, 28, 27, 26, 25, 24, 23, 22, 21]);

    let mut drawn = collecting(30, 0);
    let mark = draw("25ms mark warmup-end").records.remove(0);
    drawn.records.push(mark);
    let numbers: Vec<_> = report_at(&[drawn], 99.9)
        .pauses
        .iter()
        .map(|p| p.number)
        .collect();
    assert_eq!(numbers, [30, 29, 28, 27, 26, 25]);
}

/// A grown trace with a few collections at random, as long as they need be.
fn with_collections(seed: u64, count: u64) -> Drawn {
    let shape = Shape {
        collection_once_in: 0,
        // No more victims than are named.
        connections: 4,
        ..Shape::default()
    };
    let mut drawn = grown(seed, shape, 3_000);
    let mut random = Random::new(seed);
    for _ in 0..count {
        let at = random.below(drawn.records.len() as u64) as usize;
        let told = drawn.records[..at].iter().rev().find_map(end_ns);
        let Some(end_ns) = told else { continue };
        // What handed a response over ran after it: a request that is over has no part in it.
        let over = drawn.records[..at].iter().rev().find_map(handed_over_ns);
        let longest_ns = end_ns.saturating_sub(over.unwrap_or(0)).min(3_000_000);
        drawn.records.insert(
            at,
            Record::Gc {
                kind: 4,
                cause: GcCause::Heap,
                caller: CodePlace::default(),
                begin_ns: end_ns - random.below(longest_ns + 1),
                end_ns,
            },
        );
    }
    drawn
}

fn end_ns(record: &Record) -> Option<Ns> {
    match *record {
        Record::LoopEnd { end_ns: ns }
        | Record::LoopBegin { begin_ns: ns, .. }
        | Record::Poll { leave_ns: ns, .. }
        | Record::Register { at_ns: ns, .. }
        | Record::Sink { at_ns: ns, .. } => Some(ns),
        _ => None,
    }
}

fn handed_over_ns(record: &Record) -> Option<Ns> {
    match *record {
        Record::Sink { at_ns: ns, .. } | Record::Write { at_ns: ns, .. } => Some(ns),
        _ => None,
    }
}

/// What the collections of a report did to each request it names.
fn delays(report: &Report) -> BTreeMap<&str, u64> {
    let mut delays = BTreeMap::new();
    for victim in report.pauses.iter().flat_map(|p| &p.requests) {
        *delays.entry(victim.id.as_str()).or_default() += victim.delay_ns;
    }
    delays
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Where all collections are told, what they inflicted is all the gc there is; and a request
    /// whose collections name all their victims has, in explain, exactly what they did to it.
    #[test]
    fn delays_sum_to_gc(seed: u64, count in 1..=10u64) {
        let drawn = with_collections(seed, count);
        let report = report_at(std::slice::from_ref(&drawn), 90.0);
        let told = report.pauses.len();
        let all = drawn.records.iter().filter(|r| matches!(r, Record::Gc { .. })).count();
        prop_assert_eq!(told, all);
        let inflicted_ns: u64 = report.pauses.iter().map(|p| p.inflicted_ns).sum();
        let rows = report.breakdown.iter().filter(|row| row.route == "*");
        let (low, high) = rows.fold((0, 0), |(low, high), row| {
            let mean = row.work.gc_ns.unwrap_or(0);
            (low + mean * row.count, high + (mean + 1) * row.count)
        });
        prop_assert!(low <= inflicted_ns && inflicted_ns < high, "{low} {inflicted_ns} {high}");
        let mut named = report.pauses.iter();
        prop_assert!(named.all(|p| p.victims == p.requests.len() as u64), "{:?}", report.pauses);
        let numbers = |id: &str| id.rsplit_once(':').and_then(|(_, n)| n.parse().ok());
        let delays = delays(&report);
        let ids: BTreeSet<u32> = delays.keys().filter_map(|id| numbers(id)).collect();
        let Ok(answers) = explain(&trace_info(0), records(&drawn), &drawn.strings, &ids);
        prop_assert_eq!(answers.len(), delays.len());
        for answer in answers {
            let gc_ns: u64 = answer.segments.iter().filter_map(|s| s.work.gc_ns).sum();
            prop_assert_eq!(Some(&gc_ns), delays.get(answer.id.as_str()));
        }
    }
}
