//! `gci`: who is turned away while a collection is due, on drawn traces worked out by hand.

#[allow(dead_code, reason = "other tests use the rest")]
mod replayed;

use bobtail_sim::{Components, Model, Replayed, parse, replay};
use bobtail_testkit::draw;
use replayed::capture;

/// Requests of a drawing by name under a policy: `/a 5ms, /b turned away; closed 3ms to 9ms`.
fn check(drawing: &str, policy: &str, expected: &str) {
    let drawn = draw(drawing);
    let log = capture(&drawn).expect("the drawing can be replayed");
    let mut components = Components::new();
    let model = Model::of(&log, |id| Some(drawn.text(id)), &mut components).expect("requests");
    let scenario = parse(policy, &components).expect("a policy");
    let told: Replayed = replay(&model, &scenario, &components);
    let ms = |ns: u64| ns as f64 / 1e6;
    let names = components.routes();
    let each = model.routes().zip(&told.latencies_ns).enumerate();
    let mut texts: Vec<String> = each
        .map(|(at, (route, &ns))| {
            let name = &names[route as usize];
            match told.turned_away.get(at) {
                Some(true) => format!("{name} turned away"),
                _ => format!("{name} {}ms", ms(ns)),
            }
        })
        .collect();
    texts.sort();
    let start_ns = model.arrivals_ns().min().expect("requests");
    let closed = told.closed.iter();
    let closed = closed.map(|one| {
        let [from, to] = [one.from_ns, one.to_ns].map(|ns| ms(ns - start_ns));
        format!("{from}ms to {to}ms")
    });
    let closed: Vec<String> = closed.collect();
    let told = format!("{}; closed {}", texts.join(", "), closed.join(", "));
    assert_eq!(told, expected, "{policy}");
}

/// A long request that collects everything, one that stands in line, one that comes later.
const LINE: &str = r#"
    open 1 server
    open 2 server
    open 3 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/a"
    10ms gc mark for=20ms
    40ms sink 1 200
         end
         poll for=0ms
    40ms begin #2 read handle=2 ready=5ms
         source 2 "/b"
    50ms sink 2 200
         end
         poll for=0ms
    50ms begin #3 read handle=3 ready=45ms
         source 3 "/c"
    60ms sink 3 200
         end
"#;

#[test]
fn a_collection_waits_for_who_came_before_and_who_comes_meanwhile_is_turned_away() {
    check(
        LINE,
        "policy=static:base",
        "/a 40ms, /b 45ms, /c 15ms; closed ",
    );
    // /a and /b need 30 ms without it, then it runs for 20 ms: /c comes at 45 ms.
    let told = "/a 20ms, /b 25ms, /c turned away; closed 10ms to 50ms";
    check(LINE, "policy=gci", told);
    // One of half the length is over at 40 ms.
    let told = "/a 20ms, /b 25ms, /c 10ms; closed 10ms to 40ms";
    check(LINE, "gc=0.5,policy=gci", told);
}

#[test]
fn collections_of_the_young_generation_turn_away_where_that_is_asked_for() {
    let drawing = &LINE.replace("gc mark", "gc scavenge");
    check(drawing, "policy=gci", "/a 40ms, /b 45ms, /c 15ms; closed ");
    let told = "/a 20ms, /b 25ms, /c turned away; closed 10ms to 50ms";
    check(drawing, "policy=gci:collections=all", told);
}

#[test]
fn who_is_turned_away_collects_nothing_and_keeps_nobody_waiting() {
    // /c would have collected 10 ms, and /d stood behind it.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
        5ms  gc mark for=40ms
        50ms sink 1 200
             end
             poll for=0ms
        50ms begin #2 read handle=2 ready=30ms
             source 2 "/c"
        55ms gc mark for=10ms
        90ms sink 2 200
             end
             poll for=0ms
        90ms begin #3 read handle=3 ready=60ms
             source 3 "/d"
        95ms sink 3 200
             end
    "#;
    check(
        drawing,
        "policy=static:base",
        "/a 50ms, /c 60ms, /d 35ms; closed ",
    );
    let told = "/a 10ms, /c turned away, /d 5ms; closed 5ms to 50ms";
    check(drawing, "policy=gci", told);
}

#[test]
fn what_others_wait_for_is_let_go_by_who_is_turned_away() {
    // /b comes at 7 ms, when nobody is let in; what it reads /c awaits too, which came at 2 ms.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/z"
             register timer op=1 due=50ms
        5ms  gc mark for=1ms
        10ms end
             poll for=0ms
        10ms begin #2 read handle=2 ready=2ms
             source 2 "/c"
             register timer op=2 due=20ms
        11ms end
             poll for=0ms
        11ms begin #3 read handle=3 ready=7ms
             source 3 "/b"
             register pool op=3 "fs.readFile"
        12ms end
             poll for=8ms
        20ms begin #4 timer op=2 ready=20ms
        21ms end
             poll for=9ms
        30ms begin #5 pool op=3 ready=30ms run=18ms
             micro #6 promise from=3
        31ms sink 3 200
        32ms micro #7 promise from=4
        33ms sink 2 200
             end
             poll for=17ms
        50ms begin #8 timer op=1 ready=50ms
        51ms sink 1 200
             end
    "#;
    check(
        drawing,
        "policy=static:base",
        "/b 24ms, /c 31ms, /z 51ms; closed ",
    );
    // The job is not done at all; /c sets its timer at 9 ms and goes on at 20.
    check(
        drawing,
        "policy=gci",
        "/b turned away, /c 19ms, /z 51ms; closed 5ms to 52ms",
    );
}
