//! Replays of drawn traces: what each change does to each request, as text.

mod replayed;

use bobtail_sim::{Components, Model, Refusal, Scenario, parse, replay};
use bobtail_testkit::draw;
use replayed::{capture, check, latencies, resource};

fn route(components: &Components, name: &str) -> u32 {
    components
        .routes()
        .iter()
        .position(|one| one == name)
        .expect("the route is there") as u32
}

const HOG: &str = r#"
    open 1 server
    open 2 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/export"
    10ms gc mark for=20ms
    60ms sink 1 200
         end
         poll for=0ms
    60ms begin #2 read handle=2 ready=12ms
         source 2 "/x"
    61ms sink 2 200
         end
"#;

/// Under a policy, which is told in the language of changes.
fn check_policy(drawing: &str, policy: &str, expected: &str) {
    let change = |scenario: &mut Scenario, components: &Components| {
        *scenario = parse(policy, components).expect("a policy");
    };
    assert_eq!(latencies(drawing, change), expected, "{policy}");
}

#[test]
fn a_boost_makes_what_runs_meanwhile_faster_and_who_waits_for_it() {
    // 20 ms of collection at 4.0 / 2.6 of the speed are 13 ms.
    let paper = "policy=gc-boost:hold=0ns,worth=0";
    check_policy(
        HOG,
        &format!("latency=0ns,{paper}"),
        "/export 53ms, /x 42ms",
    );
    // Of a lever that takes 7 ms, 13 ms of the collection are left, and 7 ms more are boosted
    // when it is over: 13 ms take 8.45 ms, and in 7 ms 10.769 ms of work are done.
    check_policy(
        HOG,
        &format!("latency=7ms,{paper}"),
        "/export 51.68077ms, /x 40.68077ms",
    );
    check_policy(HOG, "policy=static:peak", "/export 39ms, /x 27.65ms");
    check_policy(HOG, "policy=static:base", "/export 60ms, /x 49ms");
    // The slower half of two are both.
    check_policy(
        HOG,
        "latency=0ns,policy=oracle:tail=50",
        "/export 39ms, /x 27.65ms",
    );
}

#[test]
fn no_policy_sees_a_step_of_incremental_marking_since_nothing_tells_it_live() {
    let marking = HOG.replace("gc mark", "gc incremental");
    for policy in [
        "gc-boost:worth=0",
        "combined:gc-worth=0,window=1000",
        "deadline",
    ] {
        let policy = format!("latency=0ns,policy={policy}");
        check_policy(&marking, &policy, "/export 60ms, /x 49ms");
    }
}

/// The use of the loop under each of these changes.
fn check_uses(drawing: &str, cases: &[(&str, f64)]) {
    let drawn = draw(drawing);
    let log = capture(&drawn).expect("the drawing can be replayed");
    let mut components = Components::new();
    let model = Model::of(&log, |id| Some(drawn.text(id)), &mut components).unwrap();
    for (changes, expected) in cases {
        let scenario = parse(changes, &components).expect("changes");
        let told = replay(&model, &scenario, &components).loop_use;
        assert!((told - expected).abs() < 1e-6, "{changes}: {told}");
    }
}

#[test]
fn the_use_of_the_loop_is_that_at_the_speed_of_the_policy() {
    // 61 ms of work in 61 ms.
    let cases = [
        ("rate=1.5", 1.5),
        ("rate=1.5,policy=static:base", 1.5),
        ("rate=1.5,policy=static:peak", 1.5 * 0.65),
        ("rate=0.6,policy=static:1.3", 1.2),
    ];
    check_uses(HOG, &cases);
}

#[test]
fn what_comes_of_itself_does_not_come_with_the_load() {
    check_uses(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
        10ms sink 1 200
             end
             poll for=10ms
        20ms begin #2 timer op=9 ready=20ms
        30ms end
             poll for=10ms
        40ms begin #3 read handle=2 ready=40ms
             source 2 "/b"
        50ms sink 2 200
             end
    "#,
        &[("rate=1", 0.6), ("rate=1.5", 0.8), ("rate=0.5", 0.4)],
    );
}

#[test]
fn an_oracle_boosts_from_when_a_request_comes_that_something_else_brings() {
    let drawing = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             register timer op=1 due=50ms
        2ms  sink 1 200
             end
             poll for=48ms
        50ms begin #2 timer op=1 ready=50ms
             source 2 "/b"
        70ms sink 2 200
             end
    "#;
    check_policy(
        drawing,
        "latency=0ns,policy=oracle:tail=99",
        "/a 2ms, /b 13ms",
    );
}

#[test]
fn a_faster_callback_is_gone_from_the_queue_behind_it() {
    check(
        HOG,
        "/export 60ms, /x 49ms",
        |scenario, components| {
            let factors = scenario.of_route(route(components, "/export"));
            (factors.native, factors.gc) = (0.5, 0.5);
        },
        "/export 30ms, /x 19ms",
    );
}

#[test]
fn collections_alone_can_be_faster() {
    let gc = |scenario: &mut Scenario, _: &Components| scenario.work.gc = 0.5;
    check(HOG, "/export 60ms, /x 49ms", gc, "/export 50ms, /x 39ms");
}

#[test]
fn a_request_that_comes_after_the_hog_is_not_faster_than_its_own_work() {
    let tiny = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.0;
    check(HOG, "/export 60ms, /x 49ms", tiny, "/export 20ms, /x 8ms");
}

const DATABASE: &str = r#"
    open 1 server
    open 2 client "db:5432"
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/x"
    1ms  write 2
    2ms  end
         poll for=8ms
    10ms begin #2 read handle=2 ready=10ms
         micro #3 promise from=1
    12ms sink 1 200
         end
"#;

#[test]
fn a_slower_database_is_waited_for_longer() {
    check(
        DATABASE,
        "/x 12ms",
        |scenario, components| *scenario.of_resource(resource(components, "db:5432")) = 2.0,
        "/x 21ms",
    );
}

const BOTH: &str = r#"
    open 1 server
    open 2 client "a:1"
    open 3 client "b:2"
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/x"
    1ms  write 2
    1ms  write 3
    1ms  end
         poll for=4ms
    5ms  begin #2 read handle=2 ready=5ms
    6ms  micro #3 promise from=1
    6ms  end
         poll for=4ms
    10ms begin #4 read handle=3 ready=10ms
    11ms micro #5 promise from=1
    13ms sink 1 200
         end
"#;

#[test]
fn of_things_awaited_together_the_slowest_counts_under_the_change() {
    let a = |factor: f64| {
        move |scenario: &mut Scenario, components: &Components| {
            *scenario.of_resource(resource(components, "a:1")) = factor;
        }
    };
    check(BOTH, "/x 13ms", a(2.0), "/x 13ms");
    // 1 ms, then 16 ms for a, 1 ms to take it, 2 ms to go on.
    check(BOTH, "/x 13ms", a(4.0), "/x 20ms");
    let b = |scenario: &mut Scenario, components: &Components| {
        *scenario.of_resource(resource(components, "b:2")) = 0.1;
    };
    // b is there at 1.9 ms and taken until 2.9 ms; a is there at 5 ms and taken until 6 ms.
    check(BOTH, "/x 13ms", b, "/x 8ms");
}

const POOL: &str = r#"
    open 1 server
    open 2 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/a"
         register pool op=1 "crypto"
         end
    0ms  begin #2 read handle=2 ready=0ms
         source 2 "/b"
         register pool op=2 "crypto"
         end
         poll for=5ms
    5ms  begin #3 pool op=1 ready=5ms run=5ms
         micro #4 promise from=1
         sink 1 200
         end
         poll for=5ms
    10ms begin #5 pool op=2 ready=10ms run=5ms
         micro #6 promise from=2
         sink 2 200
         end
"#;

#[test]
fn a_thread_more_takes_the_wait_for_one_away() {
    let two = |scenario: &mut Scenario, _: &Components| scenario.pool = Some(2);
    check(POOL, "/a 5ms, /b 10ms", two, "/a 5ms, /b 5ms");
}

/// The second connection waits for the first request, in line to be accepted.
const ACCEPTED: &str = r#"
    open 9 server
    0ms    begin #1 read handle=9 ready=0ms
           source 1 "/hog"
    60ms   sink 1 200
           end
           poll for=0ms
    60ms   begin #2 accept handle=8 ready=10ms
    60.5ms open 5 server
    61ms   end
           poll for=0ms
    61ms   begin #3 read handle=5 ready=10ms
           source 2 "/late"
    62ms   sink 2 200
           end
"#;

#[test]
fn who_came_before_its_connection_was_accepted_waits_for_that_too() {
    // Accepted from 30 to 30.5 ms, read until 31 ms; twice as slow from 120 to 122, until 124 ms.
    let native =
        |factor: f64| move |scenario: &mut Scenario, _: &Components| scenario.work.native = factor;
    check(
        ACCEPTED,
        "/hog 60ms, /late 52ms",
        native(0.5),
        "/hog 30ms, /late 21ms",
    );
    check(
        ACCEPTED,
        "/hog 60ms, /late 52ms",
        native(2.0),
        "/hog 120ms, /late 114ms",
    );
}

const COLLECTED_BEFORE: &str = r#"
    open 1 server
    open 2 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/hog"
    10ms sink 1 200
         end
         poll for=0ms
    10ms gc mark for=20ms
    30ms begin #2 read handle=2 ready=5ms
         source 2 "/b"
    31ms sink 2 200
         end
"#;

#[test]
fn a_collection_before_a_callback_is_done_whether_the_loop_slept_or_not() {
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.1;
    // The loop sleeps from 1 to 5 ms, collects until 25 ms and works for 0.1 ms.
    check(
        COLLECTED_BEFORE,
        "/b 26ms, /hog 10ms",
        fast,
        "/b 20.1ms, /hog 1ms",
    );
}

const TOGETHER: &str = r#"
    open 1 server
    open 2 server
    open 3 client "a:1"
    open 4 client "b:2"
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/first"
    1ms  write 3
    1ms  write 4
    1ms  end
         poll for=1ms
    2ms  begin #2 read handle=2 ready=2ms
         source 2 "/second"
    3ms  end
         poll for=1ms
    4ms  begin #3 read handle=3 ready=4ms
    4.4ms micro #4 promise from=1
    4.7ms micro #5 promise from=2
    5ms  end
         poll for=3ms
    8ms  begin #6 read handle=4 ready=8ms
    8ms  micro #7 promise from=1
    10ms sink 1 200
    10ms micro #8 promise from=2
    13ms sink 2 200
         end
"#;

#[test]
fn who_waited_first_for_the_same_goes_on_first() {
    let a = |scenario: &mut Scenario, components: &Components| {
        *scenario.of_resource(resource(components, "a:1")) = 5.0;
    };
    // a is there at 16 ms and taken until 17 ms.
    check(
        TOGETHER,
        "/first 10ms, /second 11ms",
        a,
        "/first 19ms, /second 20ms",
    );
}

const LOAD: &str = r#"
    open 1 server
    open 2 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/a"
    6ms  sink 1 200
         end
         poll for=4ms
    10ms begin #2 read handle=2 ready=10ms
         source 2 "/b"
    16ms sink 2 200
         end
"#;

#[test]
fn more_load_makes_a_queue() {
    let twice = |scenario: &mut Scenario, _: &Components| scenario.rate = 2.0;
    check(LOAD, "/a 6ms, /b 6ms", twice, "/a 6ms, /b 7ms");
}

const SHARED: &str = r#"
    open 1 server
    open 2 server
    open 3 client "db:5432"
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/first"
         write 3
    1ms  end
         poll for=1ms
    2ms  begin #2 read handle=2 ready=2ms
         source 2 "/second"
    6ms  end
         poll for=4ms
    10ms begin #3 read handle=3 ready=10ms
         micro #4 promise from=1
    11ms sink 1 200
    11ms micro #5 promise from=2
    12ms sink 2 200
         end
"#;

#[test]
fn who_waits_for_anothers_work_goes_on_at_once_when_it_is_there_before() {
    // The answer is there at 0.5 ms and taken at 1 ms; the second request comes at 2 ms.
    check(
        SHARED,
        "/first 11ms, /second 10ms",
        |scenario, components| *scenario.of_resource(resource(components, "db:5432")) = 0.05,
        "/first 2ms, /second 5ms",
    );
}

#[test]
fn a_gap_is_refused_though_all_that_came_in_it_is_missing() {
    let request = |at: u32, handle: u32| {
        format!(
            "open {handle} server
             {at}ms begin read handle={handle} ready={at}ms
                    source {handle} \"/a\"
             {end}ms sink {handle} 200
                    end
                    poll for=1ms\n",
            end = at + 1,
        )
    };
    let before: String = (0..200).map(|n| request(2 * n, n + 1)).collect();
    let after: String = (0..200).map(|n| request(450 + 2 * n, n + 201)).collect();
    let message = capture(&draw(&format!("{before}loss overwritten count=3\n{after}")))
        .expect_err("it is refused")
        .to_string();
    // From 399 to 450 ms; of the request after it nobody knows what it waited for.
    let expected = "too much was lost for a replay: 51 of 849 ms, with 3 losses of records";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn what_cannot_be_known_is_refused() {
    let refused = |drawing: &str| {
        capture(&draw(drawing))
            .expect_err("it is refused")
            .to_string()
    };
    let paused = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
        1ms  sink 1 200
             end
        2ms  mark paused
        9ms  mark resumed
    "#;
    assert!(
        refused(paused).starts_with("recording paused 1 times"),
        "{}",
        refused(paused)
    );
    let lossy = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             end
             loss chunk count=3 events=4
             begin read handle=1 ready=1ms
        2ms  sink 1 200
             end
    "#
    .replace("loss chunk", "loss overwritten");
    let message = refused(&lossy);
    assert!(
        message.contains("the history of 1 of 1 requests"),
        "{message}"
    );
    let unanswered = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             end
    "#;
    assert!(refused(unanswered).starts_with("1 of 1 requests got no response"));
    let nothing = capture(&draw("0ms begin #1 other\n end")).unwrap();
    let model = Model::of(&nothing, |_| None, &mut Components::new());
    assert_eq!(model, Err(Refusal::NoRequests));
}
