//! What the HTML page is given agrees with the report, and stays small.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bobtail_breakdown::page::rows::{Cell, PageData};
use bobtail_breakdown::report::Class;
use bobtail_breakdown::{
    Aggregate, Page, Population, RunFacts, SLOWEST_SHOWN, Survey, Tally, aggregate_and, report,
    survey,
};
use bobtail_testkit::{Drawn, Shape, draw};

use super::support::{grown, many_routes, records, report_at, trace_info};

fn page_at(traces: &[Drawn], percentile: f64) -> PageData {
    let one =
        |(index, drawn): (usize, &Drawn)| survey(&trace_info(index), records(drawn), SLOWEST_SHOWN);
    let surveys: Result<Vec<Survey>, Infallible> = traces.iter().enumerate().map(one).collect();
    let Ok(surveys) = surveys;
    let population = Population::of(&surveys, percentile);
    let mut sums = Aggregate::new();
    let mut tally = Tally::new(&population, traces.len());
    for (index, (drawn, surveyed)) in traces.iter().zip(&surveys).enumerate() {
        let mut counting = tally.of_trace(index, &drawn.strings, surveyed);
        let see = |path: &_| counting.see(path);
        let (records, strings) = (records(drawn), &drawn.strings);
        let Ok(()) = aggregate_and(&mut sums, records, strings, surveyed, &population, see);
    }
    let report = report(RunFacts::default(), &surveys, &population, &sums);
    let mut page = Page::of(tally, &surveys, &sums);
    for (index, drawn) in traces.iter().enumerate() {
        let info = trace_info(index);
        let Ok(()) = page.show(index, &info, records(drawn), &drawn.strings);
    }
    page.finish(report)
}

fn grown_page() -> PageData {
    let traces = [
        grown(1, Shape::default(), 60_000),
        grown(2, Shape::default(), 30_000),
    ];
    page_at(&traces, 99.0)
}

fn text(page: &PageData, number: u32) -> &str {
    &page.strings[number as usize]
}

/// The band that reaches the report's tail.
fn tail_band(page: &PageData) -> u8 {
    let own = |band: &&bobtail_breakdown::page::rows::Band| {
        band.percentile <= page.report.tail.percentile
    };
    page.bands.iter().filter(own).count() as u8
}

#[test]
fn the_report_in_the_page_is_the_report() {
    let traces = [
        grown(1, Shape::default(), 60_000),
        grown(2, Shape::default(), 30_000),
    ];
    assert_eq!(page_at(&traces, 99.0).report, report_at(&traces, 99.0));
}

#[test]
fn cells_sum_up_to_the_breakdown_of_routes_and_of_processes() {
    let page = grown_page();
    let tail_band = tail_band(&page);
    let sum = |of: &dyn Fn(&Cell) -> bool, class: Class| {
        let cells = page
            .cells
            .iter()
            .filter(|cell| of(cell) && (cell.band >= tail_band) == (class == Class::Tail));
        let parts = |cell: &Cell| {
            [
                cell.count,
                cell.latency_ns,
                cell.gc_ns,
                cell.queue_ns + cell.io_ns + cell.exec_ns,
            ]
        };
        cells.fold([0; 4], |sum, cell| {
            let parts = parts(cell);
            std::array::from_fn(|i| sum[i] + parts[i])
        })
    };
    for row in &page.report.breakdown {
        let place = page
            .routes
            .iter()
            .position(|route| text(&page, *route) == row.route);
        assert!(row.route == "*" || place.is_some(), "{}", row.route);
        let [count, latency_ns, gc_ns, parts_ns] = sum(
            &|cell| place.is_none_or(|place| cell.route == place),
            row.class,
        );
        assert_eq!(count, row.count, "{row:?}");
        assert_eq!(latency_ns / count, row.latency_ns, "{row:?}");
        assert_eq!(Some(gc_ns / count), row.work.gc_ns, "{row:?}");
        assert!(parts_ns / count <= row.latency_ns, "{row:?}");
    }
    assert_eq!(page.report.processes.len(), 4);
    for row in &page.report.processes {
        let process = page.processes.iter().position(|p| p.pid == row.pid);
        let [count, latency_ns, ..] = sum(&|cell| Some(cell.process) == process, row.class);
        assert_eq!((count, latency_ns / count), (row.count, row.latency_ns));
    }
}

#[test]
fn curves_count_every_request_once() {
    let page = grown_page();
    let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for cell in &page.cells {
        *counts.entry((cell.process, cell.route)).or_default() += cell.count;
    }
    for curve in &page.curves {
        let count: u64 = curve.steps.iter().skip(1).step_by(2).sum();
        assert_eq!(counts.remove(&(curve.process, curve.route)), Some(count));
    }
    assert_eq!(counts, BTreeMap::new());
}

#[test]
fn blame_sums_up_to_the_culprits_of_the_report() {
    let page = grown_page();
    assert!(page.report.culprits.len() > 2);
    for (culprit, row) in page.report.culprits.iter().zip(&page.culprits) {
        assert_eq!(text(&page, row.word), culprit.word);
        assert_eq!(
            text(&page, row.route),
            culprit.route.as_deref().unwrap_or_default()
        );
    }
    for (index, culprit) in page.report.culprits.iter().enumerate() {
        let told = |all: bool| {
            let rows = page
                .blame
                .iter()
                .filter(move |row| row.culprit == index && row.route.is_none() == all);
            rows.fold((0, 0), |(ns, victims), row| {
                (ns + row.inflicted_ns, victims + row.victims)
            })
        };
        assert_eq!(told(true), (culprit.inflicted_ns, culprit.victims));
        assert_eq!(told(false), (culprit.inflicted_ns, culprit.victims));
    }
}

#[test]
fn waits_of_the_tail_are_the_io_of_the_report() {
    let page = grown_page();
    let tail_band = tail_band(&page);
    for class in [Class::Tail, Class::Nontail] {
        let of_class = |band: u8| (band >= tail_band) == (class == Class::Tail);
        let cells = page.cells.iter().filter(|cell| of_class(cell.band));
        let count: u64 = cells.map(|cell| cell.count).sum();
        let mut sums: BTreeMap<(&str, &str), [u64; 5]> = BTreeMap::new();
        for row in page.waits.iter().filter(|row| of_class(row.band)) {
            let names = (text(&page, row.resource), text(&page, row.kind));
            let sum = sums.entry(names).or_default();
            let parts = [
                row.io_ns,
                row.pool_wait_ns,
                row.pool_run_ns,
                row.shared_ns,
                row.requests,
            ];
            sum.iter_mut().zip(parts).for_each(|(sum, ns)| *sum += ns);
        }
        let told: Vec<_> = page
            .report
            .io
            .iter()
            .filter(|io| io.class == class)
            .collect();
        assert!(told.len() >= 3 && told.len() == sums.len(), "{told:?}");
        for io in told {
            let [io_ns, pool_wait_ns, pool_run_ns, shared_ns, requests] =
                sums[&(io.resource.as_str(), io.kind.as_str())];
            let means = [io_ns, pool_wait_ns, pool_run_ns, shared_ns].map(|sum| sum / count);
            let expected = [io.io_ns, io.pool_wait_ns, io.pool_run_ns, io.shared_ns];
            assert_eq!((means, requests), (expected, io.requests), "{io:?}");
        }
    }
    let io_ns: u64 = page.cells.iter().map(|cell| cell.io_ns).sum();
    assert_eq!(page.waits.iter().map(|row| row.io_ns).sum::<u64>(), io_ns);
}

#[test]
fn whom_each_of_the_longest_collections_delayed_most_is_shown() {
    let page = grown_page();
    let shown = |id: &str| page.requests.iter().find(|request| request.id == id);
    let victims = page.report.pauses.iter().filter_map(|p| p.requests.first());
    let victims: Vec<_> = victims.map(|victim| shown(&victim.id)).collect();
    assert_eq!(victims.len(), 10);
    assert!(victims.iter().all(Option::is_some), "{victims:?}");
    let beyond_the_slowest = victims.iter().flatten().filter(|request| request.rank == 0);
    assert!(beyond_the_slowest.count() > 0);
}

#[test]
fn the_slowest_are_shown_whole_and_one_of_each_band_and_route() {
    let page = grown_page();
    let ranks: Vec<_> = page.requests.iter().filter(|r| r.rank > 0).collect();
    assert_eq!(ranks.len(), SLOWEST_SHOWN);
    for (request, rank) in ranks.iter().zip(1..) {
        assert_eq!(request.rank, rank, "{}", request.id);
    }
    let bands = page.bands.len() + 1;
    for (band, route) in (0..bands).flat_map(|b| page.routes[1..].iter().map(move |r| (b, r))) {
        let of_band = |ns: u64| page.bands.iter().filter(|b| b.from_ns <= ns).count();
        let shown = |request: &&bobtail_breakdown::page::rows::RequestRow| {
            request.name == *route && of_band(request.latency_ns) == band
        };
        assert!(
            page.requests.iter().any(|request| shown(&request)),
            "band {band} of {}",
            text(&page, *route)
        );
    }
    for request in &page.requests {
        let sum: u64 = request.segments.iter().map(|s| s.duration_ns).sum();
        assert_eq!(sum, request.latency_ns);
        for segment in request.segments.iter().filter(|s| !s.culprits.is_empty()) {
            let culprits: u64 = segment.culprits.iter().map(|c| c.duration_ns).sum();
            assert!(culprits <= segment.duration_ns);
            if text(&page, segment.kind) == "queue" {
                assert_eq!(culprits, segment.duration_ns);
            }
        }
    }
}

#[test]
fn a_thread_that_is_descheduled_often_is_one_cause() {
    // Beside longer callbacks there are more interruptions than are told one by one.
    let mut lines =
        String::from("open 1 server\nopen 2 server\n0ms begin read handle=1 ready=0ms\n");
    for ms in 1..=60 {
        lines += &format!("{ms}.9ms not-running for=800us\n");
    }
    lines += "61ms end\nbegin read handle=2 ready=0ms\nsource 1 \"GET /x\"\n62ms sink 1 200\nend\n";
    let page = page_at(&[draw(&lines)], 50.0);
    let queue = &page.requests[0].segments[0];
    assert_eq!(text(&page, queue.kind), "queue");
    let of_word = |word: &str| {
        let rows = queue
            .culprits
            .iter()
            .filter(|c| text(&page, c.word) == word);
        rows.map(|c| c.duration_ns).sum::<u64>()
    };
    assert_eq!(of_word("cpu preempted"), 60 * 800_000);
    assert_eq!(of_word("shorter ones together"), 0);
    assert!(queue.culprits.len() <= 24, "{}", queue.culprits.len());
}

#[test]
fn what_the_loop_did_is_told_without_gaps() {
    let page = grown_page();
    for request in &page.requests {
        let timeline = &request.timeline;
        let mut at_ns = timeline.runs.first().map_or(0, |run| run.begin_ns);
        assert!(at_ns <= 0, "the loop is known from the beginning");
        for run in &timeline.runs {
            assert_eq!(run.begin_ns, at_ns, "{}", request.id);
            at_ns += run.duration_ns as i64;
        }
        assert_eq!(at_ns, timeline.to_ns, "{}", request.id);
        assert!(timeline.runs.len() <= 641, "{}", timeline.runs.len());
    }
}

#[test]
fn lanes_show_collections_jobs_and_who_waits() {
    let drawn = draw(
        r#"
        open 1 server
        open 2 server
        0ms   begin #1 read handle=1 ready=0ms
              source 1 "GET /slow"
        1ms   register pool op=1 "fs.open /data"
        2ms   end
        2ms   begin #2 read handle=2 ready=1ms
              source 2 "GET /blocks"
        4ms   gc mark for=3ms
        9ms   sink 2 200
        10ms  end
        10ms  begin #3 pool op=1 ready=6ms run=4ms
        12ms  sink 1 200
              end
        "#,
    );
    let page = page_at(&[drawn], 50.0);
    let slow = &page.requests[0];
    assert_eq!(text(&page, slow.name), "GET /slow");
    let timeline = &slow.timeline;
    let runs: Vec<_> = timeline
        .runs
        .iter()
        .filter(|run| run.event > 0)
        .map(|run| (run.begin_ns / 1_000_000, run.event, text(&page, run.route)))
        .collect();
    let expected = [
        (0, 1, "GET /slow"),
        (2, 2, "GET /blocks"),
        (10, 3, "GET /slow"),
    ];
    assert_eq!(runs, expected);
    let [pause] = &timeline.interruptions[..] else {
        panic!("{:?}", timeline.interruptions)
    };
    assert_eq!(
        (pause.begin_ns, pause.duration_ns, text(&page, pause.word)),
        (4_000_000, 3_000_000, "mark-compact")
    );
    let [job] = &timeline.jobs[..] else {
        panic!("{:?}", timeline.jobs)
    };
    assert_eq!(job.submit_ns, Some(1_000_000));
    assert_eq!((job.begin_ns, job.duration_ns), (2_000_000, 4_000_000));
    assert_eq!(text(&page, job.resource), "fs.open /data");
    let step_ns = 13_200_000 / 320;
    let waiting: Vec<_> = timeline.waiting.chunks(2).collect();
    let times = [1_000_000, 2_000_000, 6_000_000, 10_000_000];
    assert_eq!(waiting.len(), 4, "{waiting:?}");
    for ((told, at_ns), count) in waiting.iter().zip(times).zip([1, 0, 1, 0]) {
        assert_eq!(told[1], count, "{waiting:?}");
        assert!((told[0] - at_ns).abs() <= step_ns, "{waiting:?}");
    }
}

#[test]
fn a_service_of_a_million_routes_makes_a_small_page() {
    let page = page_at(&[many_routes(3_000)], 99.0);
    assert_eq!(page.routes.len(), 201);
    assert_eq!(text(&page, page.routes[0]), "(other)");
    let count: u64 = page.cells.iter().map(|cell| cell.count).sum();
    assert_eq!(count, 3000);
    let other = page.cells.iter().filter(|cell| cell.route == 0);
    assert_eq!(other.map(|cell| cell.count).sum::<u64>(), 2800);
    assert!((100..=160).contains(&page.requests.len()));
}

#[test]
fn the_same_recording_makes_the_same_page() {
    let json = |page| serde_json::to_string(&page).unwrap();
    assert_eq!(json(grown_page()), json(grown_page()));
}

/// Half of the tail waits for a database, half for a hog.
#[test]
fn advice_for_a_route_is_about_its_own_part_of_the_tail() {
    let mut scene = String::from("open 1 server\nopen 2 server\nopen 3 client \"db:5432\"\n");
    for turn in 0..20_u32 {
        let (from, asks, waits) = (1000 * turn, 2 * turn + 1, 2 * turn + 2);
        let (hog, end) = (from + 200, from + 260);
        scene += &format!(
            "{from}ms begin read handle=1 ready={from}ms\nsource {asks} \"GET /asks\"\n\
             write 3\nend\n\
             {0}ms begin read handle=3 ready={0}ms\n\
             {0}ms sink {asks} 200\nwrite 1\nend\n\
             {hog}ms begin timer\n{end}ms end\n\
             {end}ms begin read handle=2 ready={hog}ms\nsource {waits} \"GET /waits\"\n\
             {end}ms sink {waits} 200\nwrite 2\nend\n",
            from + 70,
        );
    }
    let page = page_at(&[draw(&scene)], 45.0);
    let codes_of = |name: &str| -> Vec<String> {
        let place = page
            .routes
            .iter()
            .position(|&route| text(&page, route) == name);
        let row = page.advice.iter().find(|row| Some(row.route) == place);
        let findings = &row.expect("its requests are in the tail").findings;
        findings
            .iter()
            .map(|finding| finding.code.clone())
            .collect()
    };
    assert_eq!(codes_of("GET /asks"), ["slow-resource"]);
    assert_eq!(codes_of("GET /waits"), ["loop-hog"]);
    let all: Vec<_> = page
        .report
        .findings
        .iter()
        .map(|f| f.code.as_str())
        .collect();
    assert_eq!(all[..2], ["slow-resource", "loop-hog"]);
}
