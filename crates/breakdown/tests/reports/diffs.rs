//! Two recordings compared: nothing moves between equals, what was planted is found.

use std::convert::Infallible;

use bobtail_breakdown::compare::{
    Change, Diff, Figure, Gauge, Gauged, Lack, Profile, RouteDiff, Verdict, diff, diff_page, gauge,
    profile,
};
use bobtail_breakdown::{Population, RunFacts, diff_side, survey};
use bobtail_testkit::{Drawn, Random, draw};

use super::support::{many_routes, records, trace_info};

const REQUESTS: u64 = 3_000;

/// Requests of two routes, each reading a file; of `GET /slow` the execution takes longer by
/// `more_us`. Every 50th is hit by a collection of 3 ms.
fn served(seed: u64, count: u64, more_us: u64) -> Drawn {
    let mut random = Random::new(seed);
    let mut text = String::from("open 1 server\n");
    let mut now = 0;
    for i in 1..=count {
        let slow = i % 2 == 0;
        let route = if slow { "GET /slow" } else { "GET /fast" };
        let mut exec = random.between(200, 400) + if slow { more_us } else { 0 };
        let mut collection = String::new();
        if random.once_in(50) {
            collection = format!("{}us gc mark for=3ms\n", now + 50);
            exec += 3_000;
        }
        let end = now + exec;
        text += &format!(
            "{now}us begin read handle=1 ready={now}us\nsource {i} \"{route}\"\n{collection}\
             {end}us sink {i} 200\nend\n"
        );
        now = end + random.between(10, 500);
    }
    draw(&text)
}

fn profiled(
    drawn: &Drawn,
    percentile: f64,
    named: &[String],
) -> (bobtail_breakdown::compare::DiffSide, Profile) {
    let Ok(surveyed) = survey(&trace_info(0), records(drawn), 0);
    let surveys = [surveyed];
    let population = Population::of(&surveys, percentile);
    let named = named.iter().map(String::as_str);
    let mut sums = Profile::new(&surveys, &population).naming(named);
    let Ok(()): Result<(), Infallible> =
        profile(&mut sums, records(drawn), &drawn.strings, &surveys[0]);
    (diff_side(RunFacts::default(), &surveys, &population), sums)
}

fn diff_of(a: &Drawn, b: &Drawn) -> Diff {
    diff_with(a, b, &[])
}

fn diff_with(a: &Drawn, b: &Drawn, wanted: &[String]) -> Diff {
    let [(side_a, a), (side_b, b)] = [a, b].map(|drawn| profiled(drawn, 99.0, wanted));
    diff((side_a, &a), (side_b, &b), 99.0, wanted)
}

fn route<'a>(diff: &'a Diff, name: &str) -> &'a RouteDiff {
    let found = diff.routes.iter().find(|one| one.route == name);
    found.expect("the route is told")
}

fn changes(diff: &Diff) -> Vec<Change> {
    let percentiles = diff.routes.iter().flat_map(|route| &route.percentiles);
    let of_percentiles = percentiles.flat_map(|one| {
        let causes = one.causes.iter().map(|cause| cause.change);
        [one.latency, one.beyond].into_iter().chain(causes)
    });
    let means = diff.routes.iter().map(|route| route.mean);
    let culprits = diff.tail.culprits.iter().map(|one| one.change);
    let io = diff.tail.io.iter().map(|one| one.change);
    of_percentiles
        .chain(means)
        .chain(culprits)
        .chain(io)
        .collect()
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let a = served(1, REQUESTS, 0);
    let diff = diff_of(&a, &a);
    let all = changes(&diff);
    assert!(all.len() > 50, "{}", all.len());
    for change in all {
        assert!(matches!(change.delta_ns, None | Some(0)), "{change:?}");
        assert!(
            matches!(change.verdict, Verdict::WithinNoise | Verdict::TooFew),
            "{change:?}"
        );
    }
    let json = || serde_json::to_string(&diff_of(&a, &a)).unwrap();
    assert_eq!(json(), json());
}

#[test]
fn a_planted_shift_is_found_where_it_is_and_nowhere_else() {
    let diff = diff_of(&served(1, REQUESTS, 0), &served(2, REQUESTS, 500));
    let slow = route(&diff, "GET /slow");
    let [p999, _, p50] = &slow.percentiles[..] else {
        panic!("{slow:?}")
    };
    assert_eq!((p50.percentile, p50.latency.verdict), (50.0, Verdict::More));
    let (low, high) = p50.latency.low_ns.zip(p50.latency.high_ns).unwrap();
    assert!(low <= 500_000 && 500_000 <= high, "{p50:?}");
    assert!(high - low < 100_000, "{p50:?}");
    let native = p50.causes.iter().find(|one| one.cause == "native").unwrap();
    assert_eq!(native.change.verdict, Verdict::More);
    let gc = p50.causes.iter().find(|one| one.cause == "gc").unwrap();
    assert_eq!(gc.change.verdict, Verdict::WithinNoise);
    assert_eq!(p999.latency.verdict, Verdict::TooFew);
    assert_eq!(
        p999.note.as_deref(),
        Some("p99.9 needs 10,000 requests in each, there are 1,500 and 1,500")
    );
    let fast = route(&diff, "GET /fast");
    assert_eq!(fast.percentiles[2].latency.verdict, Verdict::WithinNoise);
    assert_eq!(route(&diff, "*").a_count, REQUESTS);
}

#[test]
fn causes_sum_up_to_the_change_beyond_the_percentile() {
    let diff = diff_of(&served(1, REQUESTS, 0), &served(2, REQUESTS, 500));
    let mut compared = 0;
    for one in diff.routes.iter().flat_map(|route| &route.percentiles) {
        let Some(delta_ns) = one.beyond.delta_ns else {
            continue;
        };
        let of = |causes: &[&str]| -> i64 {
            let named = one
                .causes
                .iter()
                .filter(|c| causes.contains(&c.cause.as_str()));
            named.filter_map(|cause| cause.change.delta_ns).sum()
        };
        let kinds = of(&["io", "queue", "exec", "unattributed"]);
        assert!(kinds.abs_diff(delta_ns) <= 4, "{one:?}");
        let work = of(&["native", "gc", "jit", "ic", "loop", "notRunning"]);
        assert!(work.abs_diff(of(&["queue", "exec"])) <= 6, "{one:?}");
        compared += 1;
    }
    assert!(compared >= 6, "{compared}");
}

#[test]
fn a_short_recording_is_not_compared() {
    let diff = diff_of(&served(1, 40, 0), &served(2, 40, 5_000));
    let p50 = &route(&diff, "*").percentiles[2];
    assert_eq!(p50.latency.verdict, Verdict::TooFew);
    assert!(
        p50.note.as_deref().unwrap().starts_with("too short: "),
        "{p50:?}"
    );
}

/// Requests that each read the file, every 50th for so much longer.
fn reading(file: &str, slow_us: u64) -> Drawn {
    let mut text = String::from("open 1 server\n");
    for i in 1..=1_200_u64 {
        let now = i * 20_000;
        let [job, end] = [
            now + 20,
            now + 520 + if i % 50 == 0 { slow_us } else { i % 7 },
        ];
        text += &format!(
            "{now}us begin #{0} read handle=1 ready={now}us\nsource {i} \"GET /\"\n\
             {job}us register pool op={i} \"fs.open {file}\"\n{job}us end\n\
             {end}us begin #{1} pool op={i} ready={end}us run=400us\n{end}us sink {i} 200\nend\n",
            2 * i - 1,
            2 * i
        );
    }
    draw(&text)
}

#[test]
fn a_file_in_another_temporary_folder_is_the_same_resource() {
    let resources = |a: &Drawn, b: &Drawn| {
        let io = diff_of(a, b).tail.io;
        let mut told: Vec<_> = io
            .into_iter()
            .map(|one| {
                (
                    one.resource,
                    one.change.a_ns > Some(0),
                    one.change.b_ns > Some(0),
                )
            })
            .collect();
        told.sort();
        told
    };
    let before = reading("/tmp/shop-a8Xq/orders.json", 3_000);
    let after = reading("/tmp/shop-Zp02/orders.json", 5_000);
    let both = "fs.open /tmp/*/orders.json".to_owned();
    assert_eq!(resources(&before, &after), [(both, true, true)]);
    let other = reading("/tmp/shop-Zp02/users.json", 5_000);
    let names = ["/tmp/shop-Zp02/users.json", "/tmp/shop-a8Xq/orders.json"];
    let [new, old] = names.map(|name| format!("fs.open {name}"));
    assert_eq!(
        resources(&before, &other),
        [(new, false, true), (old, true, false)]
    );
}

fn gauged(drawn: &Drawn, route: Option<&str>, figure: Figure) -> Gauged {
    let route = route.map(str::to_owned);
    let (_, profile) = profiled(drawn, 99.0, route.as_slice());
    let wanted = Gauge { route, figure };
    gauge(&profile, &[wanted]).remove(0)
}

#[test]
fn gauges_have_the_values_of_the_report_and_say_what_they_lack() {
    let drawn = served(1, REQUESTS, 500);
    let report = super::support::report_at(std::slice::from_ref(&drawn), 99.0);
    let p99 = gauged(&drawn, None, Figure::Percentile(99.0));
    assert_eq!(
        p99.value_ns,
        report.requests.percentiles_ns.get("99").copied()
    );
    let [low, high] = p99.interval_ns.unwrap();
    assert!((low..=high).contains(&p99.value_ns.unwrap()));
    let mean = gauged(&drawn, None, Figure::Mean);
    assert!(mean.value_ns.unwrap().abs_diff(report.requests.mean_ns) <= 1);
    for row in report
        .breakdown
        .iter()
        .filter(|row| row.class == bobtail_breakdown::report::Class::Tail)
    {
        let name = (row.route != "*").then_some(row.route.as_str());
        let tail = gauged(&drawn, name, Figure::Tail);
        assert_eq!(tail.count, row.count);
        assert!(tail.value_ns.unwrap().abs_diff(row.latency_ns) <= 1);
        let gc = gauged(&drawn, name, Figure::TailCause("gc".into()));
        assert!(gc.value_ns.unwrap().abs_diff(row.work.gc_ns.unwrap()) <= 1);
        let share = gc.value_ns.unwrap() as f64 / (row.queue_ns + row.exec_ns) as f64;
        assert!((gc.share.unwrap() - share).abs() < 1e-3);
    }
    let lack = |route, figure| gauged(&drawn, route, figure).lack;
    assert_eq!(lack(None, Figure::Percentile(99.9)), Some(Lack::TooFew));
    assert_eq!(
        lack(Some("GET /none"), Figure::Mean),
        Some(Lack::NoRequests)
    );
    assert_eq!(
        lack(None, Figure::TailCause("jit".into())),
        Some(Lack::NotMeasured)
    );
    assert_eq!(
        lack(None, Figure::TailCause("nonsense".into())),
        Some(Lack::UnknownCause)
    );
}

#[test]
fn routes_beyond_the_bound_are_one_and_the_smallest_are_not_told() {
    let drawn = many_routes(3_000);
    let other = gauged(&drawn, Some("(other)"), Figure::Mean);
    assert_eq!(other.count, 2_000, "a thousand have a name");
    let diff = diff_of(&drawn, &drawn);
    assert_eq!(diff.routes.len(), 101);
    assert_eq!(diff.routes[1].route, "(other)", "by time");
}

#[test]
fn a_route_that_is_asked_for_is_told_however_late_it_came() {
    let drawn = many_routes(3_000);
    let late = gauged(&drawn, Some("GET /3000"), Figure::Mean);
    assert_eq!(late.count, 1);
    let absent = gauged(&drawn, Some("GET /3001"), Figure::Mean);
    assert_eq!(absent.lack, Some(Lack::NoRequests));
    let wanted = ["GET /7", "GET /3000", "GET /3001"].map(str::to_owned);
    let diff = diff_with(&drawn, &drawn, &wanted);
    assert_eq!(
        diff.routes.len(),
        103,
        "two more, and none without requests"
    );
    assert_eq!(route(&diff, "GET /7").a_count, 1);
    assert_eq!(route(&diff, "GET /3000").b_count, 1);
}

#[test]
fn the_page_has_both_curves_of_each_route() {
    let a = served(1, REQUESTS, 0);
    let b = draw(
        "open 1 server\n0us begin read handle=1 ready=0us\nsource 1 \"GET /new\"\n\
         7us sink 1 200\nend\n",
    );
    let [(side_a, profile_a), (side_b, profile_b)] =
        [&a, &b].map(|drawn| profiled(drawn, 50.0, &[]));
    let diff = diff((side_a, &profile_a), (side_b, &profile_b), 50.0, &[]);
    let page = diff_page(diff.clone(), &profile_a, &profile_b);
    assert_eq!(page.diff, diff);
    assert_eq!(page.curves.len(), diff.routes.len());
    let count = |steps: &[u64]| steps.iter().skip(1).step_by(2).sum::<u64>();
    for (route, curves) in diff.routes.iter().zip(&page.curves) {
        let counts = (count(&curves.a), count(&curves.b));
        assert_eq!(counts, (route.a_count, route.b_count), "{}", route.route);
    }
    let names: Vec<_> = diff.routes.iter().map(|one| one.route.as_str()).collect();
    assert_eq!((names[0], names[3]), ("*", "GET /new"));
    assert!(page.curves[3].a.is_empty());
}
