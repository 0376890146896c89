//! Several requests ask over one connection, and one read brings what they asked for.

mod replayed;

use bobtail_sim::{Components, Scenario};
use replayed::{check, latencies, resource};

/// One after the other asks; the other end needs 1 ms for each answer.
const TOGETHER: &str = r#"
    open 1 server
    open 2 server
    open 3 client "redis:6379"
    0ms   begin #1 read handle=1 ready=0ms
          source 1 "/a"
    1.5ms write 3
    2ms   end
          poll for=0ms
    2ms   begin #2 read handle=2 ready=1ms
          source 2 "/b"
    8ms   write 3
    10ms  end
          poll for=0ms
    10ms  begin #3 read handle=3 ready=9ms
    10ms  micro #4 callback from=1
    11ms  sink 1 200
    11ms  micro #5 callback from=2
    12ms  sink 2 200
          end
"#;

/// A long event, and two requests that came while it ran.
const AFTER_A_HOG: &str = r#"
    open 1 server
    open 2 server
    open 3 server
    open 4 client "redis:6379"
    0ms   begin #1 read handle=1 ready=0ms
          source 1 "/hog"
    8ms   sink 1 200
          end
          poll for=0ms
    8ms   begin #2 read handle=2 ready=1ms
          source 2 "/a"
    8.5ms write 4
    9ms   end
    9ms   begin #3 read handle=3 ready=7ms
          source 3 "/b"
    9.5ms write 4
    10ms  end
          poll for=0ms
    10ms  begin #4 read handle=4 ready=9.75ms
    10ms  micro #5 callback from=2
    11ms  sink 2 200
    11ms  micro #6 callback from=3
    12ms  sink 3 200
          end
"#;

fn natively(factor: f64) -> impl Fn(&mut Scenario, &Components) {
    move |scenario, _| scenario.work.native = factor
}

#[test]
fn the_first_answer_does_not_wait_for_the_last() {
    // Asked at 0.75 and 4 ms, there at 1.75 and 5 ms, when the loop has time to read both.
    check(
        TOGETHER,
        "/a 11ms, /b 11ms",
        natively(0.5),
        "/a 5.5ms, /b 5ms",
    );
}

#[test]
fn a_loop_that_is_done_earlier_reads_them_one_by_one() {
    // Each asks within 62.5 us, waits for 0.25 ms, and goes on for 125 us.
    let recorded = "/a 10ms, /b 5ms, /hog 8ms";
    let one_by_one = "/a 0.4375ms, /b 0.4375ms, /hog 1ms";
    check(AFTER_A_HOG, recorded, natively(0.125), one_by_one);
}

#[test]
fn a_loop_that_is_done_later_reads_them_together_as_before() {
    let drawing = AFTER_A_HOG;
    assert_eq!(
        latencies(drawing, natively(2.0)),
        "/a 21ms, /b 17ms, /hog 16ms"
    );
}

#[test]
fn each_answer_takes_its_share_of_the_other_end() {
    // Of a slower one the second answer is there after 9.5 + 8 x 0.25 ms, the first after 8.5 + 2.
    let slow = |scenario: &mut Scenario, components: &Components| {
        *scenario.of_resource(resource(components, "redis:6379")) = 8.0;
    };
    assert_eq!(
        latencies(AFTER_A_HOG, slow),
        "/a 10.5ms, /b 5.5ms, /hog 8ms"
    );
}

#[test]
fn who_waits_for_what_another_asked_for_gets_no_answer_of_its_own() {
    // As the first, but nothing was asked for by the second.
    let shared = TOGETHER.replace("8ms   write 3\n", "");
    check(
        &shared,
        "/a 11ms, /b 11ms",
        natively(0.5),
        "/a 8.75ms, /b 8.25ms",
    );
}

#[test]
fn what_comes_after_the_kernel_told_is_read_with_it_only_if_it_is_there() {
    // The second asks, and is answered, while the answer to the first is in line.
    let drawing = r#"
        open 1 server
        open 2 server
        open 4 client "redis:6379"
        0ms   begin #1 read handle=1 ready=0ms
              source 1 "/a"
        0.5ms write 4
        1ms   end
              poll for=1ms
        2ms   begin #2 read handle=2 ready=2ms
              source 2 "/b"
        3ms   write 4
        5ms   end
        5ms   begin #3 read handle=4 ready=3.5ms
        5ms   micro #4 callback from=1
        6ms   sink 1 200
        6ms   micro #5 callback from=2
        7ms   sink 2 200
              end
    "#;
    // Answered 1.5 ms after 0.1, and 0.5 ms after 2.2.
    check(
        drawing,
        "/a 6ms, /b 5ms",
        natively(0.2),
        "/a 1.8ms, /b 0.9ms",
    );
}
