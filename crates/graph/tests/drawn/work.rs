//! What the loop thread did in a segment, by work class.

use bobtail_graph::{Options, Work};
use bobtail_testkit::draw;

use super::support::{check, paths};

const MS: u64 = 1_000_000;

/// The work of each segment of the first request to finish.
fn works(drawing: &str) -> Vec<Work> {
    let path = paths(&draw(drawing), Options::default()).remove(0);
    path.segments.iter().map(|s| s.work).collect()
}

#[test]
fn work_belongs_to_the_segment_in_which_it_was_told() {
    let works = works(
        r#"
        open 1 server
        2ms  begin #1 other
        12ms work span=6ms jit=4ms
        20ms end
        22ms begin #2 read handle=1 ready=10ms
             source 1 "GET /x"
        23ms work span=1ms ic=500us
        24ms gc scavenge for=1ms
        26ms sink 1 200
             end
        "#,
    );
    // A third of the span [6, 12) lies behind the cut at 10.
    let third_ns = 4 * MS - 4 * MS * 4 / 6;
    let queue = Work {
        native_ns: 10 * MS - third_ns,
        jit_ns: third_ns,
        loop_ns: 2 * MS,
        ..Work::default()
    };
    let exec = Work {
        native_ns: 2 * MS + MS / 2,
        gc_ns: MS,
        ic_ns: MS / 2,
        ..Work::default()
    };
    assert_eq!(works, [queue, exec]);
}

#[test]
fn not_running_is_charged_to_nobody_who_ran() {
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
        20ms not-running for=12ms end=16ms
             sink 1 200
             end
        21ms begin #2 read handle=2 ready=2ms
             source 2 "GET /two"
        25ms not-running for=1ms cause=other
        26ms sink 2 200
             end
        "#,
        2,
        "GET /two 24ms
         queue 19ms read#2 < preempted 12ms, read#1 GET /one 6ms, other 1ms
         exec 5ms read#2 < other 1ms",
    );
}

#[test]
fn what_is_told_late_is_there_when_the_request_ends() {
    let [exec, _] = works(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
        3ms  gc scavenge for=4ms
        8ms  micro #2 promise from=1
        10ms sink 1 200
        11ms not-running for=2ms end=5ms
        11ms end
        "#,
    )[..] else {
        panic!("two segments")
    };
    assert_eq!(
        (exec.native_ns, exec.gc_ns, exec.not_running_ns),
        (4 * MS, 2 * MS, 2 * MS)
    );
}

#[test]
fn each_pause_is_one_culprit_however_it_is_cut() {
    check(
        r#"
        open 1 server
        0ms  begin #1 other
        1ms  gc scavenge for=1ms
        2ms  gc scavenge for=2ms
        14ms not-running for=3ms end=13ms
        5ms  gc mark for=10ms
        20ms end
        20ms begin #2 read handle=1 ready=0ms
             source 1 "GET /x"
        21ms sink 1 200
             end
        "#,
        1,
        "GET /x 21ms
        queue 20ms read#2 < scavenge 1ms, scavenge 2ms, mark-compact 7ms, preempted 3ms, other#1 7ms
         exec 1ms read#2",
    );
}
