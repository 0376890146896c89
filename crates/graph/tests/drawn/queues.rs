//! Waiting for the loop: who was in the way.

use bobtail_graph::Options;
use bobtail_testkit::draw;

use super::support::{check, paths};

#[test]
fn a_hog_is_named_with_its_route_and_location() {
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /export?id=1"
        10ms at "serialize export.ts:88:5"
        20ms at "write export.ts:90:3"
        30ms at "serialize export.ts:88:14"
        62ms sink 1 200 "GET /export"
             end
        63ms begin #2 read handle=2 ready=12ms
             source 2 "GET /x"
        64ms sink 2 200
             end
        "#,
        2,
        "GET /x 52ms
         queue 51ms read#2 < read#1 GET /export serialize export.ts:88:14 50ms, other 1ms
         exec 1ms read#2",
    );
}

#[test]
fn an_interval_is_its_requests_only_until_the_answer() {
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /starts"
             register timer op=1 due=5ms
        1ms  end
        5ms  begin #2 timer op=1 ready=5ms
        8ms  end
        8ms  begin #3 other
             micro #4 promise from=1
        9ms  sink 1 200
             end
        10ms begin #5 timer op=1 ready=10ms
             micro #6 tick from=5
        14ms end
        14ms begin #7 read handle=2 ready=5ms
             source 2 "GET /x"
        15ms sink 2 200
             end
        "#,
        2,
        "GET /x 10ms
         queue 9ms read#7 < timer#2 GET /starts 3ms, other#3 1ms, other 1ms, timer#5 4ms
         exec 1ms read#7",
    );
}

#[test]
fn own_reactions_behind_those_of_another_request_in_one_loop_event() {
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             end
        1ms  begin #2 read handle=2 ready=1ms
             source 2 "GET /two"
        2ms  end
        5ms  begin #3 timers ready=5ms
        5ms  micro #4 promise from=1
        9ms  micro #5 promise from=2
        10ms sink 2 200
             end
        "#,
        2,
        "GET /two 9ms
         exec 1ms read#2
         io 3ms timers#3
         queue 4ms timers#3 < promise#4 GET /one 4ms
         exec 1ms promise#5",
    );
}

#[test]
fn culprits_are_listed_only_for_slow_requests() {
    let drawn = draw(
        r#"
        open 1 server
        0ms  begin read handle=1 ready=-3ms
             source 1 "GET /x"
        1ms  gc scavenge for=1ms
             sink 1 200
             end
        "#,
    );
    let listed = |culprits_from_ns| {
        let options = Options {
            culprits_from_ns,
            ..Options::default()
        };
        let path = paths(&drawn, options).remove(0);
        (path.culprits.len(), path.work().gc_ns)
    };
    assert_eq!(listed(5_000_000), (2, 1_000_000));
    assert_eq!(listed(5_000_001), (0, 1_000_000));
}

#[test]
fn the_papers_sum_counts_whole_callbacks() {
    let drawn = draw(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=-1ms
             source 1 "GET /x"
        1ms  register pool op=1 "fs.stat"
        11ms end
        12ms begin #2 pool op=1 ready=4ms run=3ms
        13ms sink 1 200
        15ms end
        "#,
    );
    let path = paths(&drawn, Options::default()).remove(0);
    assert_eq!(path.latency_ns, 14_000_000);
    // 1 queue + 11 whole callback + 11 from register to begin + 3 whole callback.
    assert_eq!(path.paper_sum_ns, 26_000_000);
}
