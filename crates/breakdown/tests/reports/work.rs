//! Work classes: what was measured of whom, and the findings about them.

use bobtail_breakdown::report::{Class, CulpritKind, Report, Work};
use bobtail_breakdown::{Heap, Measured, RunFacts, Throttled, TraceInfo};
use bobtail_testkit::{Drawn, ORIGIN_NS, draw};

use super::support::{explain_slowest_of, report_of_infos, trace_info};

const MB: u64 = 1 << 20;

/// Forty requests, one a second: 29 take 10 ms, the last 11 take 100 ms and have `scene` in them;
/// `@` is their end, `%` the time 10 ms after their begin.
fn service(scene: &str) -> Drawn {
    let mut text = String::from("open 900 server\n");
    for turn in 1..=40 {
        let start = turn * 1000;
        let end = start + if turn > 29 { 100 } else { 10 };
        text +=
            &format!("{start}ms begin read handle=900 ready={start}ms\nsource {turn} \"GET /x\"\n");
        for line in scene.lines().filter(|_| turn > 29) {
            let line = line.trim().replace('@', &format!("{end}ms "));
            text += &(line.replace('%', &format!("{}ms ", start + 10)) + "\n");
        }
        text += &format!("{end}ms sink {turn} 200\nend\n");
    }
    draw(&text)
}

fn measured() -> TraceInfo {
    TraceInfo {
        measured: Measured::ALL,
        ..trace_info(0)
    }
}

pub(super) fn report(info: TraceInfo, scene: &str) -> Report {
    report_of_infos(RunFacts::default(), &[(info, service(scene))], 75.0)
}

pub(super) fn action<'a>(report: &'a Report, code: &str) -> (&'a str, &'a str) {
    let finding = report.findings.iter().find(|f| f.code == code);
    let finding = finding.unwrap_or_else(|| panic!("no {code}: {:#?}", report.findings));
    (&finding.sentence, &finding.action)
}

pub(super) fn codes(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|f| f.code.as_str()).collect()
}

#[test]
fn each_class_has_its_time_and_they_sum_up() {
    let report = report(
        measured(),
        "@ work span=40ms jit=20ms ic=10ms\n@ not-running for=20ms",
    );
    let tail = &report.breakdown[0];
    assert_eq!((tail.class, tail.exec_ns), (Class::Tail, 100_000_000));
    // Half of the span was not run: half of its work is lost.
    let expected = Work {
        native_ns: Some(65_000_000),
        gc_ns: Some(0),
        jit_ns: Some(10_000_000),
        ic_ns: Some(5_000_000),
        loop_ns: Some(0),
        not_running_ns: Some(20_000_000),
    };
    assert_eq!(tail.work, expected);
    assert!(report.unavailable.is_empty(), "{:?}", report.unavailable);
}

#[test]
fn what_was_not_measured_is_unknown_and_not_zero() {
    let report = report(trace_info(0), "% gc mark for=1ms");
    let work = report.breakdown[0].work;
    assert_eq!(
        (work.jit_ns, work.ic_ns, work.not_running_ns),
        (None, None, None)
    );
    assert!(work.gc_ns > Some(0) && work.native_ns > Some(0), "{work:?}");
    let names: Vec<_> = report
        .unavailable
        .iter()
        .map(|u| u.mechanism.as_str())
        .collect();
    assert_eq!(
        names,
        ["compilation", "inline-cache misses", "time not running"]
    );
}

#[test]
fn a_class_that_one_of_two_processes_lacks_is_told_for_the_other_only() {
    let scene = "@ work span=40ms jit=20ms";
    let traces = [
        (measured(), service(scene)),
        (trace_info(1), service(scene)),
    ];
    let report = report_of_infos(RunFacts::default(), &traces, 75.0);
    let whole = report.breakdown[0].work;
    assert_eq!((whole.jit_ns, whole.gc_ns), (None, Some(0)));
    assert_eq!(whole.native_ns, Some(report.breakdown[0].exec_ns));
    let rows = report
        .processes
        .iter()
        .filter(|row| row.class == Class::Tail);
    let jit: Vec<_> = rows
        .map(|row| (row.pid, row.count, row.work.jit_ns.map(|ns| ns > 0)))
        .collect();
    assert_eq!(jit, [(100, 11, Some(true)), (101, 11, None)]);
    let count: u64 = report.processes.iter().map(|row| row.count).sum();
    assert_eq!(count, report.requests.count);
    let reasons: Vec<_> = report
        .unavailable
        .iter()
        .map(|u| u.reason.as_str())
        .collect();
    assert_eq!(reasons, ["1 of 2 processes did not record it"; 3]);
}

#[test]
fn full_collections_are_told_with_the_limit_of_the_heap() {
    let heap = |memory_mb: Option<u64>| TraceInfo {
        heap: Some(Heap {
            limit_bytes: 256 * MB,
            semi_space_bytes: None,
            memory_limit_bytes: memory_mb.map(|mb| mb * MB),
        }),
        ..measured()
    };
    let scene = "% gc mark for=50ms\ngc incremental for=5ms";
    let wide = report(heap(None), scene);
    let (sentence, what) = action(&wide, "gc-full");
    assert!(
        sentence.starts_with("mark-compact and incremental marking pauses cost the tail 55.0 ms, "),
        "{sentence}"
    );
    assert!(
        sentence
            .contains("most by mark-compact, 11 times, for up to 50.0 ms of one request's wait"),
        "{sentence}"
    );
    assert!(
        sentence.ends_with("; the longest took 50.0 ms, begun in GET /x; the heap limit is 256 MB"),
        "{sentence}"
    );
    assert!(
        what.contains("(--max-old-space-size=512), and measure again"),
        "{what}"
    );
    let narrow = report(heap(Some(600)), scene);
    let (_, what) = action(&narrow, "gc-full");
    assert!(
        what.contains("(--max-old-space-size), and"),
        "twice is too much: {what}"
    );
    let mut roomy = heap(None);
    roomy.heap.as_mut().unwrap().limit_bytes = 4144 * MB;
    let roomy = report(roomy, scene);
    let (_, what) = action(&roomy, "gc-full");
    assert!(
        what.contains("grow old (--max-semi-space-size), and"),
        "{what}"
    );
    let unknown = report(measured(), scene);
    let (sentence, _) = action(&unknown, "gc-full");
    assert!(!sentence.contains("limit"), "{sentence}");
}

/// A heap of any size would be collected as often.
#[test]
fn collections_of_another_cause_have_advice_of_their_own() {
    let asked = report(
        measured(),
        "% gc mark for=50ms cause=asked \"tidy app.js:25:3\"",
    );
    let (sentence, what) = action(&asked, "gc-asked");
    let told = "mark-compact (asked for) pauses cost the tail 50.0 ms, ";
    assert!(sentence.starts_with(told), "{sentence}");
    let by = "begun in tidy app.js:25:3 (GET /x); the program asked for them";
    assert!(sentence.contains(by), "{sentence}");
    let call = "take the call of gc() out of tidy app.js:25:3 (GET /x): ";
    assert!(what.starts_with(call), "{what}");
    let culprit = &asked.culprits[0];
    assert_eq!(
        (
            culprit.kind,
            culprit.route.as_deref(),
            culprit.location.as_deref()
        ),
        (CulpritKind::Gc, Some("GET /x"), Some("tidy app.js:25:3"))
    );
    assert_eq!(
        (asked.gc[0].kind.as_str(), asked.gc[0].inflicted_ns),
        ("mark-compact (asked for)", culprit.inflicted_ns)
    );
    let unknown = report(measured(), "% gc mark for=50ms cause=asked");
    let (_, what) = action(&unknown, "gc-asked");
    assert!(
        what.starts_with("take the call of gc() out of GET /x: "),
        "{what}"
    );
    let buffers = report(measured(), "% gc mark for=50ms cause=external");
    let (_, what) = action(&buffers, "gc-external");
    assert!(what.contains("Buffers"), "{what}");
    let all = report(measured(), "% gc mark for=50ms cause=everything");
    let (_, what) = action(&all, "gc-all");
    assert!(what.contains("heap snapshots"), "{what}");
    for other in [&asked, &unknown, &buffers, &all] {
        let full = other.findings.iter().find(|f| f.code == "gc-full");
        assert_eq!(full, None, "flags of the heap do not help");
    }
}

#[test]
fn scavenges_are_told_with_the_size_of_a_semi_space() {
    let with = |semi_space_bytes| TraceInfo {
        heap: Some(Heap {
            semi_space_bytes,
            ..Heap::default()
        }),
        ..measured()
    };
    let set = report(with(Some(16 * MB)), "% gc scavenge for=50ms");
    let (sentence, what) = action(&set, "gc-young");
    assert!(sentence.ends_with("; a semi-space is 16 MB"), "{sentence}");
    assert!(
        what.contains("--max-semi-space-size=32, and measure again"),
        "{what}"
    );
    let unset = report(with(None), "% gc scavenge for=50ms");
    let (sentence, what) = action(&unset, "gc-young");
    assert!(
        sentence.ends_with("; a semi-space has V8's default size, which is not known here"),
        "{sentence}"
    );
    assert!(
        what.contains("--max-semi-space-size, and measure again"),
        "{what}"
    );
}

#[test]
fn collections_are_listed_by_kind_with_their_victims() {
    let mut drawn = service("% gc scavenge for=2ms\ngc mark for=8ms");
    // Between requests: of the recording, but nobody's.
    let idle = draw("50000ms gc scavenge for=9ms").records;
    drawn.records.extend(idle);
    let report = report_of_infos(RunFacts::default(), &[(measured(), drawn)], 75.0);
    let rows = report.gc.iter().map(|c| {
        let ms = |ns: u64| ns / 1_000_000;
        (
            c.kind.as_str(),
            c.pauses,
            ms(c.total_ns),
            ms(c.longest_ns),
            c.victims,
            ms(c.inflicted_ns),
        )
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(
        rows,
        [
            ("mark-compact", 11, 88, 8, 11, 88),
            ("scavenge", 12, 31, 9, 11, 22)
        ]
    );
    let gc = report.culprits.iter().filter(|c| c.kind == CulpritKind::Gc);
    let told: Vec<_> = gc
        .map(|c| (c.word.as_str(), c.occurrences, c.victims))
        .collect();
    assert_eq!(told, [("mark-compact", 11, 11), ("scavenge", 11, 11)]);
}

#[test]
fn compilation_and_inline_caches_are_findings_when_they_matter() {
    let much = report(measured(), "@ work span=90ms jit=50ms ic=30ms");
    let (sentence, what) = action(&much, "jit");
    assert!(
        sentence.ends_with("of the tail's latency (0 ns in a request of the rest)"),
        "{sentence}"
    );
    assert!(
        what.starts_with("compile once and keep it, nothing per request: eval"),
        "{what}"
    );
    action(&much, "ic");
    let early = TraceInfo {
        start_ns: ORIGIN_NS + 29_500_000_000,
        ..measured()
    };
    let mut drawn = service("@ work span=90ms jit=50ms");
    drawn
        .records
        .extend(draw("400000ms begin other\n400001ms end").records);
    let early = report_of_infos(RunFacts::default(), &[(early, drawn)], 75.0);
    let (sentence, what) = action(&early, "jit");
    assert!(
        sentence.ends_with(", most of it in the first tenth of the recording"),
        "{sentence}"
    );
    assert!(
        what.contains("warm the service up") && what.contains("--warmup"),
        "{what}"
    );
    let little = report(measured(), "@ work span=90ms jit=5ms ic=3ms");
    let codes: Vec<_> = little.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(
        !codes.contains(&"jit") && !codes.contains(&"ic"),
        "{codes:?}"
    );
    let unmeasured = report(trace_info(0), "@ work span=90ms jit=50ms ic=30ms");
    assert!(
        unmeasured.findings.iter().all(|f| f.code != "jit"),
        "{:?}",
        unmeasured.findings
    );
}

#[test]
fn not_running_is_blamed_on_the_quota_only_where_that_was_used_up() {
    let scene = "@ not-running for=60ms cause=preempted";
    let with = |throttled| TraceInfo {
        throttled,
        ..measured()
    };
    let used_up = Throttled {
        periods: 214,
        throttled_ns: 3_200_000_000,
    };
    for (throttled, expected) in [
        (Some(used_up), "used up 214 times, which cost 3.20 s"),
        (
            Some(Throttled::default()),
            "the CPU quota of the group it started in was never used up",
        ),
        (None, "is not known, look at its container's"),
    ] {
        let report = report(with(throttled), scene);
        let (sentence, what) = action(&report, "not-running");
        assert!(
            sentence.contains("up to 60.0 ms at a stretch"),
            "{sentence}"
        );
        assert!(what.ends_with(expected), "{what}");
        let culprit = &report.culprits[0];
        assert_eq!(
            (culprit.kind, culprit.word.as_str()),
            (CulpritKind::Cpu, "preempted")
        );
        assert_eq!((culprit.victims, culprit.inflicted_ns), (11, 660_000_000));
    }
}

#[test]
fn a_quota_used_up_is_told_where_it_was_not_recorded_whom_it_delayed() {
    let with = |throttled_ns, measured| TraceInfo {
        throttled: Some(Throttled {
            periods: 214,
            throttled_ns,
        }),
        measured,
        ..trace_info(0)
    };
    let much_ns = 20_000_000_000;
    let told = report(with(much_ns, Measured::default()), "");
    let (sentence, what) = action(&told, "cpu-quota");
    assert!(
        sentence.ends_with("used up 214 times, which cost 20.0 s in all"),
        "{sentence}"
    );
    assert!(what.ends_with("record --not-running"), "{what}");
    let absent = |info| assert!(!codes(&report(info, "")).contains(&"cpu-quota"));
    absent(with(much_ns, Measured::ALL));
    absent(with(1_000_000, Measured::default()));
}

#[test]
fn a_segment_names_the_pause_that_delayed_it() {
    let drawn = draw(
        r#"
        open 1 server
        0ms  gc scavenge for=1ms
        2ms  begin #1 other
        3ms  gc mark for=20ms
        30ms end
        30ms begin #2 read handle=1 ready=10ms
             source 1 "GET /x"
        40ms not-running for=4ms end=39ms
        41ms sink 1 200
             end
        "#,
    );
    let answer = explain_slowest_of(&measured(), &drawn);
    let [queue, exec] = &answer.segments[..] else {
        panic!("{answer:#?}")
    };
    let told: Vec<_> = queue
        .culprits
        .iter()
        .map(|c| (c.word.as_str(), c.duration_ns / 1_000_000))
        .collect();
    assert_eq!(told, [("gc mark-compact", 13), ("other", 7)]);
    let pause = queue.culprits[0].pause.unwrap();
    assert_eq!(
        (pause.number, pause.start_ns, pause.duration_ns),
        (2, -7_000_000, 20_000_000)
    );
    assert_eq!(
        (queue.work.gc_ns, queue.work.native_ns),
        (Some(13_000_000), Some(7_000_000))
    );
    assert_eq!(
        (exec.work.not_running_ns, exec.work.native_ns),
        (Some(4_000_000), Some(7_000_000))
    );
    assert_eq!(
        (exec.culprits[0].word.as_str(), exec.culprits[0].pause),
        ("cpu preempted", None)
    );
}

#[test]
fn collections_rank_by_what_they_cost_together() {
    let scene = "% gc scavenge for=28ms\ngc mark for=27ms";
    let alone = report(measured(), scene);
    let codes: Vec<_> = alone.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["gc-young", "gc-full"]);
    // Neither is as long as what is compiled, both are longer.
    let compiled = format!("{scene}\n@ work span=40ms jit=40ms");
    let beside = report(measured(), &compiled);
    let impact = |code: &str| {
        let finding = beside.findings.iter().find(|f| f.code == code);
        finding.map_or(0, |f| f.impact_ns)
    };
    let (young, full, jit) = (impact("gc-young"), impact("gc-full"), impact("jit"));
    assert!(
        young < jit && full < jit && jit < young + full,
        "{young} {full} {jit}"
    );
    let rank = |code: &str| beside.findings.iter().position(|f| f.code == code);
    assert!(rank("gc-full") < rank("jit"), "{:#?}", beside.findings);
}
