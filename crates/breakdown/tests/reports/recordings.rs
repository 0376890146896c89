//! Reports on whole recordings: sums, percentiles, warm-up, several traces.

use bobtail_breakdown::report::{Class, CulpritKind, EndReason, Ended, Work};
use bobtail_breakdown::{Aggregate, Population, RunFacts, Survey, report};
use bobtail_testkit::{Drawn, ORIGIN_NS, Shape, draw};
use bobtail_trace::record::LossKind;

use super::support::{grown, report_at, surveys};

/// `count` requests on one connection, the i-th taking `took_ms(i)`.
fn one_by_one(count: u64, took_ms: impl Fn(u64) -> u64) -> Drawn {
    let mut text = String::from("open 1 server\n");
    let mut now = 0;
    for i in 1..=count {
        let end = now + took_ms(i);
        text += &format!(
            "{now}ms begin read handle=1 ready={now}ms\nsource {i} \"GET /x\"\n\
             {end}ms sink {i} 200\nend\n"
        );
        now = end + 1;
    }
    draw(&text)
}

fn sum(work: Work) -> u64 {
    let parts = [
        work.native_ns,
        work.gc_ns,
        work.jit_ns,
        work.ic_ns,
        work.loop_ns,
        work.not_running_ns,
    ];
    parts.iter().flatten().sum()
}

#[test]
fn means_sum_up_to_the_nanosecond() {
    let report = report_at(&[grown(1, Shape::default(), 60_000)], 99.0);
    assert!(report.requests.count > 1_000, "{:?}", report.requests);
    assert_eq!(report.requests.complete, report.requests.count);
    assert_eq!(report.tail.percentile, 99.0);
    let all = |class| {
        report
            .breakdown
            .iter()
            .find(move |b| b.route == "*" && b.class == class)
    };
    let count: u64 = [Class::Tail, Class::Nontail]
        .iter()
        .filter_map(|c| all(*c))
        .map(|b| b.count)
        .sum();
    assert_eq!(count, report.requests.count);
    assert_eq!(all(Class::Tail).map(|b| b.count), Some(report.tail.count));
    for row in &report.breakdown {
        let parts = row.io_ns + row.queue_ns + row.exec_ns + row.unattributed_ns;
        assert_eq!(parts, row.latency_ns, "{row:?}");
        assert_eq!(sum(row.work), row.queue_ns + row.exec_ns, "{row:?}");
        assert!(row.paper_sum_ns > 0);
    }
    let tail = all(Class::Tail).unwrap();
    let io: u64 = report
        .io
        .iter()
        .filter(|io| io.class == Class::Tail)
        .map(|io| io.io_ns)
        .sum();
    assert!(
        io.abs_diff(tail.io_ns) <= report.io.len() as u64,
        "{io} {}",
        tail.io_ns
    );
    let inflicted: u64 = report.culprits.iter().map(|c| c.inflicted_ns).sum();
    assert!(
        inflicted >= (tail.queue_ns - 1) * tail.count,
        "all of queue is somebody's"
    );
    let of_loop = report
        .culprits
        .iter()
        .filter(|c| c.kind == CulpritKind::Loop);
    let by_loop: u64 = of_loop.map(|c| c.inflicted_ns).sum();
    let mean = by_loop / tail.count;
    assert!(
        mean > 0 && tail.work.loop_ns == Some(mean),
        "{mean} {:?}",
        tail.work
    );
}

#[test]
fn same_traces_same_bytes() {
    let traces = [
        grown(1, Shape::default(), 20_000),
        grown(2, Shape::default(), 20_000),
    ];
    let json = || serde_json::to_string(&report_at(&traces, 99.0)).unwrap();
    assert_eq!(json(), json());
}

#[test]
fn several_traces_make_one_report() {
    let one = report_at(&[grown(1, Shape::default(), 20_000)], 50.0);
    let two = report_at(
        &[
            grown(1, Shape::default(), 20_000),
            grown(1, Shape::default(), 20_000),
        ],
        50.0,
    );
    assert_eq!(two.requests.count, 2 * one.requests.count);
    assert_eq!(
        two.requests.percentiles_ns.get("90"),
        one.requests.percentiles_ns.get("90")
    );
    assert_eq!(two.run.processes.len(), 2);
    let tail = |r: &bobtail_breakdown::Report| r.breakdown[0].latency_ns;
    assert!(tail(&two).abs_diff(tail(&one)) < tail(&one) / 10);
}

#[test]
fn an_unsupported_percentile_falls_back_and_says_so() {
    let report = report_at(&[one_by_one(40, |i| i)], 99.9);
    assert_eq!(
        (report.tail.percentile, report.tail.requested_percentile),
        (75.0, 99.9)
    );
    assert_eq!(report.tail.count, 11, "the 30th of 40 and all above it");
    assert!(
        report
            .tail
            .note
            .as_ref()
            .is_some_and(|n| n.contains("10,000")),
        "{:?}",
        report.tail
    );
    let told: Vec<_> = report
        .requests
        .percentiles_ns
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(told, ["50", "75"]);
    assert_eq!(
        report.findings.last().map(|f| f.code.as_str()),
        Some("too-few-requests")
    );
    let [low, high] = report.requests.confidence_ns["50"];
    let median = report.requests.percentiles_ns["50"];
    assert!(low < median && median < high, "{low} {median} {high}");
}

#[test]
fn no_request_is_no_error() {
    let report = report_at(&[draw("0ms begin other\nend")], 99.9);
    assert_eq!(
        (
            report.requests.count,
            report.tail.count,
            report.breakdown.len()
        ),
        (0, 0, 0)
    );
}

#[test]
fn requests_received_before_the_end_of_warm_up_are_left_out() {
    let mut drawn = one_by_one(60, |_| 1);
    let is_source = |r: &bobtail_trace::record::Record| {
        matches!(r, bobtail_trace::record::Record::Source { request: 31, .. })
    };
    let at = drawn.records.iter().position(is_source).unwrap() - 1;
    let mark = draw("60ms mark warmup-end").records.remove(0);
    drawn.records.insert(at, mark);
    let report = report_at(&[drawn], 50.0);
    assert_eq!((report.requests.warmup, report.requests.count), (30, 30));
    let counted: u64 = report
        .breakdown
        .iter()
        .filter(|b| b.route == "*")
        .map(|b| b.count)
        .sum();
    assert_eq!(counted, 30);
}

#[test]
fn a_route_per_request_stays_bounded() {
    let mut text = String::from("open 1 server\n");
    for i in 1..=1500 {
        text += &format!(
            "{i}ms begin read handle=1 ready={i}ms\nsource {i} \"GET /user/{i}\"\n\
             sink {i} 200\nend\n"
        );
    }
    let report = report_at(&[draw(&text)], 50.0);
    let other: u64 = report
        .breakdown
        .iter()
        .filter(|b| b.route == "(other)")
        .map(|b| b.count)
        .sum();
    assert_eq!(other, 500);
}

#[test]
fn the_slowest_are_remembered_in_order() {
    let surveys = surveys(&[one_by_one(30, |i| (i * 7) % 31)]);
    let slowest = bobtail_breakdown::slowest(&surveys, 3);
    let expected: Vec<_> = {
        let mut all: Vec<_> = (1..=30u64).map(|i| ((i * 7) % 31, i as u32)).collect();
        all.sort_by_key(|(ms, _)| std::cmp::Reverse(*ms));
        all.into_iter().take(3).map(|(_, id)| (0, id)).collect()
    };
    assert_eq!(slowest, expected);
}

#[test]
fn bursts_are_told_with_their_share_of_the_time() {
    let report = report_at(
        &[draw(
            "open 1 server\n0ms begin read handle=1 ready=0ms\nsource 1 \"GET /x\"\nsink 1 200\n\
             write 1\n1ms end\n2ms begin read handle=1\nsource 2 \"GET /x\"\n3ms end\n\
             10ms mark paused\n90ms mark resumed\n92ms begin other\n100ms end",
        )],
        99.9,
    );
    let requests = &report.requests;
    let counts = (requests.count, requests.straddling, requests.unfinished);
    assert_eq!(counts, (1, 1, 0));
    let run = &report.run;
    assert_eq!(run.duration_ns - run.recorded_ns, 80_000_000);
}

/// A connection that is closed when half of a response has left, one that has all, one whose rest
/// waits when the recording ends, and one that is closed before there is a response.
const CLOSED: &str = "open 1 server\nopen 2 server\nopen 3 server\nopen 4 server\n\
    0ms begin read handle=1 ready=0ms\nsource 1 \"GET /x\"\n1ms sink 1 200\n\
    write 1 bytes=10 unsent=90\nend\n\
    2ms begin read handle=2\nsource 2 \"GET /x\"\nsink 2 200\nwrite 2\nend\n\
    3ms begin read handle=3\nsource 3 \"GET /x\"\nsink 3 200\nwrite 3 bytes=10 unsent=90\nend\n\
    4ms begin read handle=4\nsource 4 \"GET /x\"\nend\n\
    5ms begin read handle=1\nclose 1\nclose 2\nclose 4\n6ms end";

#[test]
fn responses_that_were_cut_off_are_counted_apart() {
    let counts = |drawn| {
        let requests = report_at(&[drawn], 99.9).requests;
        (requests.count, requests.cut_off, requests.unfinished)
    };
    assert_eq!(counts(draw(CLOSED)), (3, 1, 1));
    // Those of warm-up are not.
    let mark = "\n7ms mark warmup-end\n8ms begin other\n9ms end";
    assert_eq!(counts(draw(&(CLOSED.to_owned() + mark))), (0, 0, 1));
}

/// Where the recording of the only loop ended.
fn ended(surveys: &[Survey]) -> Option<Ended> {
    let population = Population::of(surveys, 99.9);
    let report = report(RunFacts::default(), surveys, &population, &Aggregate::new());
    report.run.processes[0].ended
}

#[test]
fn a_recording_that_ended_before_the_loop_says_when_and_why() {
    let at_ns = ORIGIN_NS + 4_000_000;
    let told = |reason| Some(Ended { at_ns, reason });
    let begins = "1ms begin other\n2ms end\n";
    let of = |text: &str| surveys(&[draw(&format!("{begins}{text}"))]);

    assert_eq!(ended(&of("4ms begin other\n5ms end")), None);
    assert_eq!(ended(&of("4ms mark paused")), told(EndReason::Paused));
    assert_eq!(ended(&of("3ms mark paused\n4ms mark resumed")), None);
    let skipped = format!("loss no-chunk events={}\n3ms begin other\n", u32::MAX - 4);
    let numbers = of(&(skipped + "4ms mark paused"));
    assert_eq!(ended(&numbers), told(EndReason::EventNumbers));
}

#[test]
fn a_disk_that_stays_full_ends_the_recording() {
    let mut surveys = surveys(&[draw("1ms begin other\nloss disk-full count=7\n4ms end")]);
    let survey = &mut surveys[0];
    survey.add_counters([(LossKind::DiskFull, 7), (LossKind::NoChunk, 2)]);
    assert_eq!(survey.ended, None, "there was room again");
    survey.add_counters([(LossKind::DiskFull, 9)]);
    assert_eq!(survey.losses.get("disk-full"), Some(&9));
    let at_ns = ORIGIN_NS + 4_000_000;
    let reason = EndReason::DiskFull;
    assert_eq!(ended(&surveys), Some(Ended { at_ns, reason }));
}

#[test]
fn losses_and_unfinished_requests_are_counted() {
    let report = report_at(
        &[draw(
            "open 1 server\n0ms begin read handle=1\nsource 1 \"GET /x\"\nend\n\
             loss no-chunk count=7 events=3\nloss strings count=2",
        )],
        99.9,
    );
    assert_eq!(report.requests.unfinished, 1);
    let losses: Vec<_> = report.losses.into_iter().collect();
    assert_eq!(losses, [("no-chunk".into(), 7), ("strings".into(), 2)]);
}
