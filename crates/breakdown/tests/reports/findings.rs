//! Planted causes and the finding that must name each.

use bobtail_breakdown::RunFacts;
use bobtail_breakdown::report::{CulpritKind, Finding, Report};
use bobtail_testkit::draw;

use super::support::report_of;

/// Repeats a 1 s scene 30 times, with `$t` as its start in ms and `$1` … `$4` as fresh numbers.
pub fn repeated(scene: &str) -> Report {
    repeated_at(scene, 50.0)
}

fn repeated_at(scene: &str, percentile: f64) -> Report {
    repeated_of(RunFacts::default(), scene, percentile)
}

const OPENED: &str = "open 900 server\nopen 901 server\nopen 902 client \"db:5432\"\n";

pub fn repeated_of(run: RunFacts, scene: &str, percentile: f64) -> Report {
    let turns = (0..30).map(|turn| turned(scene, turn));
    let text = OPENED.to_owned() + &turns.collect::<String>();
    report_of(run, &[draw(&text)], percentile)
}

/// A scene at its turn.
fn turned(scene: &str, turn: i64) -> String {
    let mut text = String::new();
    for line in scene.lines() {
        let mut line = line.to_owned();
        for n in 1..=4 {
            line = line.replace(&format!("${n}"), &(turn * 4 + n).to_string());
        }
        while let Some(start) = line.find('@') {
            let rest = &line[start + 1..];
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let ms: i64 = rest[..end].parse().unwrap();
            let time = format!("{}ms", turn * 1000 + ms);
            line.replace_range(start..start + 1 + end, &time);
        }
        text += &(line + "\n");
    }
    text
}

pub fn expect<'a>(report: &'a Report, code: &str, impact_ms: u64) -> &'a Finding {
    let first = report.findings.first().expect("a finding");
    assert_eq!(
        (first.code.as_str(), first.impact_ns),
        (code, impact_ms * 1_000_000),
        "{report:#?}"
    );
    first
}

#[test]
fn a_hog_is_named_by_route_and_place() {
    let report = repeated_at(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /export?id=$1"
           @20 at "serialize export.ts:88:5"
           @60 sink $1 200 "GET /export"
           end
           begin read handle=901 ready=@0
           source $2 "GET /x"
           @61 sink $2 200
           end"#,
        75.0,
    );
    let finding = expect(&report, "loop-hog", 60);
    assert!(
        finding
            .sentence
            .contains("serialize export.ts:88:5 (GET /export)"),
        "{finding:?}"
    );
    let hog = &report.culprits[0];
    assert_eq!((hog.kind, hog.word.as_str()), (CulpritKind::Event, "read"));
    assert_eq!((hog.victims, hog.occurrences), (30, 30));
    assert_eq!(
        (hog.inflicted_ns, hog.longest_ns),
        (1_800_000_000, 60_000_000)
    );
    assert_eq!(report.breakdown[0].work.native_ns, Some(61_000_000));
}

#[test]
fn collections_are_named_wherever_they_fall() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           gc mark for=50ms
           @60 sink $1 200
           end"#,
    );
    // Of 60 ms of the request's own: to profile the other 10 would not help.
    expect(&report, "gc-full", 50);
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert_eq!(report.culprits[0].word, "mark-compact");
    assert_eq!(report.breakdown[0].work.gc_ns, Some(50_000_000));
}

#[test]
fn a_thread_that_is_woken_late_is_told() {
    let report = repeated(
        r#"@0 poll for=50ms
           @50 begin read handle=900 ready=@5
           source $1 "GET /x"
           @51 sink $1 200
           end"#,
    );
    let finding = expect(&report, "woken-late", 45);
    assert!(
        finding.sentence.contains("up to 45.0 ms at a stretch"),
        "{finding:?}"
    );
    assert!(finding.action.contains("--not-running"), "{finding:?}");
}

#[test]
fn an_exhausted_pool_is_told_from_slow_jobs() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           register pool op=$1 "fs.readFile"
           end
           @100 begin pool op=$1 ready=@100 run=10ms
           sink $1 200
           end"#,
    );
    let finding = expect(&report, "pool-exhausted", 90);
    assert!(finding.action.contains("UV_THREADPOOL_SIZE"));
    let told = "most of it before fs.readFile; for 100 % of that wait the threads were at jobs \
                this loop does not know";
    assert!(finding.sentence.contains(told), "nobody known: {finding:?}");
    assert_eq!(
        (report.io[0].pool_wait_ns, report.io[0].pool_run_ns),
        (90_000_000, 10_000_000)
    );
}

#[test]
fn whose_jobs_had_the_threads_is_told() {
    let report = repeated_at(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /reports"
           register pool op=$1 "crypto.pbkdf2"
           end
           begin read handle=901 ready=@0
           source $2 "GET /short"
           register pool op=$2 "fs.stat"
           end
           @61 begin pool op=$2 ready=@61 run=1ms
           sink $2 200
           end
           @70 begin pool op=$1 ready=@70 run=70ms
           sink $1 200
           end"#,
        45.0,
    );
    let is_pool = |f: &&Finding| f.code == "pool-exhausted";
    let finding = report.findings.iter().find(is_pool).expect("it is told");
    assert_eq!(finding.impact_ns, 30_000_000);
    let held = "for 100 % of that wait the threads were at crypto.pbkdf2 (GET /reports)";
    assert!(finding.sentence.ends_with(held), "{finding:?}");
    let fewer = "start fewer jobs like crypto.pbkdf2 (GET /reports) at once, or ";
    assert!(finding.action.starts_with(fewer), "{finding:?}");
    let holder = &report.culprits[0];
    assert_eq!(
        (holder.kind, holder.route.as_deref(), holder.word.as_str()),
        (CulpritKind::Job, Some("GET /reports"), "crypto.pbkdf2")
    );
    let waited: u64 = report.io.iter().map(|io| io.pool_wait_ns).sum();
    assert_eq!(holder.inflicted_ns, waited * report.tail.count);
}

#[test]
fn a_slow_database_is_named() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           write 902
           end
           @100 begin read handle=902 ready=@99
           sink $1 200
           end"#,
    );
    let finding = expect(&report, "slow-resource", 99);
    assert!(finding.sentence.contains("db:5432"), "{finding:?}");
    assert_eq!(report.io[0].kind, "read");
}

#[test]
fn a_slow_client_is_not_blamed_on_the_service() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "POST /x"
           end
           @100 begin read handle=900 ready=@100
           sink $1 200
           end"#,
    );
    let finding = expect(&report, "slow-resource", 100);
    assert!(finding.action.contains("client sends"), "{finding:?}");
    let told = "100 % of the tail's latency is waiting for the client to send its request";
    assert_eq!(finding.sentence, told);
}

#[test]
fn a_client_that_reads_slowly_is_told_from_one_that_sends_slowly() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           sink $1 200
           write 900 bytes=100 unsent=200
           end
           @100 begin poll handle=900 ready=@100
           write 900 bytes=200
           end"#,
    );
    let finding = expect(&report, "slow-resource", 100);
    assert!(
        finding.action.contains("client reads its response slowly"),
        "{finding:?}"
    );
    let told = "100 % of the tail's latency is waiting for the client to take its response";
    assert_eq!(finding.sentence, told);
}

#[test]
fn workers_are_judged_together() {
    let ask = |turn: i32| {
        format!(
            "{0}ms begin read handle=900 ready={0}ms\nsource {1} \"GET /x\"\nwrite {2}\nend\n\
             {3}ms begin read handle={2} ready={3}ms\nsink {1} 200\nend\n",
            turn * 1000,
            turn + 1,
            910 + turn % 5,
            turn * 1000 + 100,
        )
    };
    let open = |n: i32| format!("open {} client \"worker {}\"\n", 910 + n, n + 1);
    let text: String = (0..5).map(open).chain((0..30).map(ask)).collect();
    let text = format!("open 900 server\n{text}");
    let report = report_of(RunFacts::default(), &[draw(&text)], 50.0);
    let finding = expect(&report, "slow-resource", 100);
    assert!(finding.sentence.ends_with("for worker :n"), "{finding:?}");
    assert!(finding.action.contains("more workers"), "{finding:?}");
    assert_eq!((report.io.len(), report.io[0].requests), (1, 30));
}

#[test]
fn timers_are_told_apart_from_io() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           register timer op=$1 due=@100
           end
           @100 begin timer op=$1
           sink $1 200
           end"#,
    );
    expect(&report, "timer", 100);
}

#[test]
fn many_short_callbacks_are_a_burst() {
    let mut scene = String::new();
    for i in 0..20 {
        scene += &format!("@{} begin other\n@{} end\n", i * 2, i * 2 + 2);
    }
    scene += "@40 begin read handle=900 ready=@0\nsource $1 \"GET /x\"\nsink $1 200\nend";
    expect(&repeated(&scene), "burst", 40);
}

#[test]
fn a_request_in_its_own_way_is_told() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           register pool op=$1 "fs.stat"
           @50 end
           begin pool op=$1 ready=@1 run=1ms
           sink $1 200
           end"#,
    );
    assert!(
        report
            .findings
            .iter()
            .any(|f| f.code == "blocks-itself" && f.impact_ns == 49_000_000)
    );
}

#[test]
fn a_shared_promise_is_told() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /cached"
           register pool op=$1 "fs.readFile"
           end
           @1 begin read handle=901 ready=@1
           source $2 "GET /cached"
           end
           @80 begin pool op=$1 ready=@80 run=80ms
           sink $1 200
           end
           @90 begin timers ready=@90
           end
           begin other
           sink $2 200
           end"#,
    );
    let io = report
        .io
        .iter()
        .find(|io| io.kind == "other" || io.kind == "pool");
    assert!(io.is_some(), "{report:#?}");
    assert!(
        report.findings.iter().any(|f| f.code == "inferred"),
        "{report:#?}"
    );
}

#[test]
fn what_another_request_had_started_is_told_once_with_what_it_is() {
    let scene = r#"@0 begin read handle=900 ready=@0
           source $1 "GET /cached"
           register pool op=$1 "fs.readFile"
           end
           @1 begin read handle=901 ready=@1
           source $2 "GET /cached"
           end
           @80 begin pool op=$1 ready=@80 run=80ms
           sink $1 200
           micro promise from=#2
           @81 sink $2 200
           end"#;
    // Four events a turn.
    let of_turn = |turn: i64| scene.replace("#2", &(turn * 4 + 2).to_string());
    let turns = (0..30).map(|turn| turned(&of_turn(turn), turn));
    let text = OPENED.to_owned() + &turns.collect::<String>();
    let report = report_of(RunFacts::default(), &[draw(&text)], 50.0);
    let code = |code: &str| report.findings.iter().find(|f| f.code == code);
    let shared = code("shared-work").expect("a finding");
    let slow = code("slow-resource").expect("a finding");
    // Half of the requests wait 79 ms for what the other half started, and these 80 ms.
    assert_eq!((shared.impact_ns, slow.impact_ns), (39_500_000, 40_000_000));
    assert!(
        shared.sentence.ends_with("most of it for fs.readFile"),
        "{shared:?}"
    );
    let faster = "make fs.readFile faster, ask it less often (cache), or earlier";
    assert!(shared.action.ends_with(faster), "{shared:?}");
}

/// Three requests ask a host over one connection: the third waits for the answers to both others.
#[test]
fn a_queue_for_a_connection_is_told_with_all_that_was_before_in_it() {
    let scene = r#"
        @0 begin read handle=900 ready=@0
           source $1 "GET /x"
           write 902
           end
        @1 begin read handle=901 ready=@1
           source $2 "GET /x"
           end
        @2 begin read handle=903 ready=@2
           source $3 "GET /x"
           end
        @51 begin read handle=902 ready=@51
           sink $1 200
           micro agent from=#2
           write 902
           end
        @81 begin read handle=902 ready=@81
           sink $2 200
           micro agent from=#3
           write 902
           end
        @141 begin read handle=902 ready=@141
           sink $3 200
           end"#;
    let scenes = (0..30).map(|turn| {
        // Eight events a turn; those above are numbered within theirs.
        let of_turn = |event: u64| format!("from={}", turn * 8 + event);
        let lines = scene.replace("from=#2", &of_turn(2));
        (turn, lines.replace("from=#3", &of_turn(3)))
    });
    let mut text = String::from("open 903 server\n");
    for (turn, lines) in scenes {
        text += &turned(&lines, turn as i64);
    }
    let report = report_of(
        RunFacts::default(),
        &[draw(&(OPENED.to_owned() + &text))],
        75.0,
    );
    let finding = expect(&report, "connection-queue", 79);
    assert!(
        finding.sentence.ends_with("connection to db:5432"),
        "{finding:?}"
    );
    let impact = |code| {
        report
            .findings
            .iter()
            .find(|f| f.code == code)
            .map(|f| f.impact_ns)
    };
    assert_eq!(
        impact("slow-resource"),
        Some(60_000_000),
        "{:?}",
        report.findings
    );
    assert_eq!(impact("shared-work"), None, "{:?}", report.findings);
}

#[test]
fn time_in_the_kernel_is_the_loops_and_not_native() {
    let report = repeated(
        r#"@0 begin other
           @10 end
           poll for=5ms
           @20 begin read handle=900 ready=@0
           source $1 "GET /x"
           @21 sink $1 200
           end"#,
    );
    let row = &report.breakdown[0];
    assert_eq!((row.queue_ns, row.exec_ns), (20_000_000, 1_000_000));
    let work = [row.work.native_ns, row.work.gc_ns, row.work.loop_ns];
    assert_eq!(work, [11_000_000, 0, 10_000_000].map(Some));
    let of_loop: Vec<_> = report
        .culprits
        .iter()
        .filter(|c| c.kind == CulpritKind::Loop)
        .map(|c| (c.word.as_str(), c.occurrences, c.victims, c.longest_ns))
        .collect();
    assert_eq!(
        of_loop,
        [("other", 30, 30, 5_000_000), ("poll", 30, 30, 5_000_000)]
    );
}

#[test]
fn a_call_of_the_service_to_itself_is_told() {
    let scene = |host: &str| {
        format!(
            r#"@0 mark listening "3000"
               @0 open $4 client "{host}:3000"
               @0 begin read handle=900 ready=@0
               source $1 "GET /x"
               write $4
               end
               @100 begin read handle=$4 ready=@99
               sink $1 200
               end"#
        )
    };
    let own = repeated(&scene("127.0.0.1"));
    assert!(own.io[0].own_service, "{:?}", own.io);
    let finding = expect(&own, "slow-resource", 99);
    assert!(finding.sentence.contains("this service itself"));
    let other = repeated(&scene("10.0.0.1"));
    assert!(!other.io[0].own_service, "{:?}", other.io);
}
