//! In which order the loop runs what is ready, on drawn traces.

#[allow(dead_code, reason = "other tests use the rest")]
mod replayed;

use bobtail_sim::{Components, Scenario};
use replayed::check;

const IN_LINE: &str = r#"
    open 1 server
    open 2 server
    open 3 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "/a"
    10ms sink 1 200
         end
         poll for=0ms
    10ms begin #2 read handle=3 ready=4ms
         source 2 "/b"
    11ms sink 2 200
         end
    11ms begin #3 read handle=2 ready=7ms
         source 3 "/c"
    12ms sink 3 200
         end
"#;

#[test]
fn first_come_first_served() {
    let slow = |scenario: &mut Scenario, _: &Components| scenario.work.native = 2.0;
    check(
        IN_LINE,
        "/a 10ms, /b 7ms, /c 5ms",
        slow,
        "/a 20ms, /b 18ms, /c 17ms",
    );
}

#[test]
fn an_immediate_runs_before_what_came_meanwhile() {
    let drawing = r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             register immediate op=1
        4ms  end
        4ms  begin #2 immediate op=1
             micro #3 promise from=1
        5ms  sink 1 200
             end
             poll for=0ms
        5ms  begin #4 read handle=2 ready=1ms
             source 2 "/b"
        6ms  sink 2 200
             end
    "#;
    let slow = |scenario: &mut Scenario, _: &Components| scenario.work.native = 3.0;
    check(drawing, "/a 5ms, /b 5ms", slow, "/a 15ms, /b 17ms");
}

#[test]
fn what_the_kernel_had_told_is_no_answer_to_what_was_asked_since() {
    // The second request asks on the same connection while the answer to the first, which nobody
    // waits for, is in line.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 client "db:5432"
        open 4 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             write 3
        1ms  sink 1 200
             end
             poll for=9ms
        10ms begin #2 read handle=2 ready=10ms
             source 2 "/b"
        12ms write 3
        14ms sink 2 200
             end
        14ms begin #3 read handle=3 ready=10ms
        15ms end
             poll for=0ms
        15ms begin #4 read handle=4 ready=11ms
             source 3 "/c"
        16ms sink 3 200
             end
    "#;
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    let recorded = "/a 1ms, /b 4ms, /c 5ms";
    check(drawing, recorded, fast, "/a 0.5ms, /b 2ms, /c 2ms");
}

#[test]
fn what_the_kernel_told_is_in_line_since_then_though_more_came_to_it_before_its_turn() {
    // The stamp is that of the answer to the second, which asked while the first was in line.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 client "redis:6379"
        open 4 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             write 3
        1ms  end
             poll for=4ms
        5ms  begin #2 read handle=2 ready=5ms
             source 2 "/b"
        9ms  write 3
        10ms end
        10ms begin #3 read handle=3 ready=9.5ms
             micro #4 callback from=1
        11ms sink 1 200
             micro #5 callback from=2
        12ms sink 2 200
             end
             poll for=0ms
        12ms begin #6 read handle=4 ready=6ms
             source 3 "/c"
        13ms sink 3 200
             end
    "#;
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    let recorded = "/a 11ms, /b 7ms, /c 7ms";
    check(drawing, recorded, fast, "/a 8ms, /b 3.5ms, /c 3ms");
}

#[test]
fn timers_keep_their_time() {
    let drawing = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             register timer op=1 due=8ms
        4ms  end
             poll for=4ms
        8ms  begin #2 timer op=1 ready=8ms
             micro #3 promise from=1
        9ms  sink 1 200
             end
    "#;
    let io = |scenario: &mut Scenario, _: &Components| {
        (scenario.io, scenario.work.native) = (0.1, 0.5);
    };
    check(drawing, "/a 9ms", io, "/a 8.5ms");
}

/// A timer is due at 14 ms, while another runs; what the loop does from 19 ms on.
fn while_another_runs(later: &str) -> String {
    let until_then = r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
             register timer op=1 due=10ms
             register timer op=2 due=14ms
             end
             poll for=10ms
        10ms begin #2 timer op=1 ready=10ms
        18ms end
             poll for=0ms
        18ms begin #3 read handle=2 ready=12ms
             source 2 "/b"
        19ms sink 2 200
             end
    "#;
    format!("{until_then}{later}")
}

#[test]
fn a_timer_that_is_due_while_another_runs_waits_for_the_next_turn() {
    let drawing = &while_another_runs(
        r#"
        19ms begin #4 timer op=2 ready=14ms
             micro #5 promise from=1
        20ms sink 1 200
             end
    "#,
    );
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    check(drawing, "/a 20ms, /b 7ms", fast, "/a 15ms, /b 2.5ms");
}

#[test]
fn timers_of_node_that_are_due_while_another_runs_wait_for_as_long_as_that_does() {
    let drawing = &while_another_runs(
        r#"
        19ms begin #4 timers ready=14ms
             end
        19ms begin #5 timer op=2 ready=14ms
             micro #6 promise from=1
        20ms sink 1 200
             end
    "#,
    );
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    check(drawing, "/a 20ms, /b 7ms", fast, "/a 15ms, /b 2.5ms");
}

#[test]
fn timers_of_node_wait_for_the_one_that_stands_for_all_of_them() {
    let drawing = r#"
        open 1 server
        open 2 server
        0ms begin #1 read handle=1 ready=0ms
            source 1 "/a"
            register timer op=1 due=2ms
            end
            poll for=1ms
        1ms begin #2 read handle=2 ready=1ms
            source 2 "/b"
        3ms sink 2 200
            end
            poll for=1ms
        4ms begin #3 timers ready=4ms
            end
        4ms begin #4 timer op=1 ready=2ms
            micro #5 promise from=1
        5ms sink 1 200
            end
    "#;
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    check(drawing, "/a 5ms, /b 2ms", fast, "/a 4.5ms, /b 1ms");
}

#[test]
fn timers_that_did_not_run_when_they_were_due_were_set_later() {
    // Due at 1 ms by a clock that was read then, and set in the turn that was told at 3 ms.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 server
        0ms begin #1 read handle=1 ready=0ms
            source 1 "/a"
        2ms sink 1 200
            end
            poll for=0ms
        2ms begin #2 read handle=3 ready=1.5ms
            end
            poll for=1ms
        3ms begin #3 read handle=2 ready=3ms
            source 2 "/b"
        5ms sink 2 200
            end
        5ms begin #4 timers ready=1ms
        7ms end
    "#;
    let same = |_: &mut Scenario, _: &Components| {};
    check(drawing, "/a 2ms, /b 2ms", same, "/a 2ms, /b 2ms");
}

#[test]
fn a_timer_that_became_due_while_its_turn_ended_waits_for_the_next_turn() {
    // libuv had read the clock for its timers, a microsecond before it asked the kernel.
    let drawing = r#"
        open 1 server
        open 2 server
        0ms begin #1 read handle=1 ready=0ms
            source 1 "/a"
            register timer op=1 due=2ms
        2ms end
            poll for=0ms
        2ms begin #2 read handle=2 ready=1ms
            source 2 "/b"
        5ms sink 2 200
            end
        5ms begin #3 timers ready=2ms
            end
        5ms begin #4 timer op=1 ready=2ms
            micro #5 promise from=1
        6ms sink 1 200
            end
    "#;
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    check(drawing, "/a 6ms, /b 4ms", fast, "/a 3ms, /b 1.5ms");
}

#[test]
fn a_job_that_was_not_done_when_the_kernel_told_of_a_wake_up_comes_with_it() {
    // The wake-up is there at 4 ms; what it was for was taken before, and this was done at 5 ms.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 server
        0ms begin #1 read handle=1 ready=0ms
            source 1 "/a"
            register pool op=1 "crypto"
            end
            poll for=4ms
        4ms begin #2 read handle=2 ready=4ms
            source 2 "/b"
        6ms sink 2 200
            end
        6ms begin #3 async ready=4ms
        7ms end
        7ms begin #4 pool op=1 ready=5ms run=5ms
            micro #5 promise from=1
        8ms sink 1 200
            end
            poll for=0ms
        8ms begin #6 read handle=3 ready=4.5ms
            source 3 "/c"
        9ms sink 3 200
            end
    "#;
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    let recorded = "/a 8ms, /b 2ms, /c 4.5ms";
    check(drawing, recorded, fast, "/a 6ms, /b 1ms, /c 2ms");
}

#[test]
fn a_wake_up_for_something_else_takes_what_was_asked_for_since_the_kernel_told_of_it() {
    // The kernel told of it at 2 ms, together with /b, which asks the pool for something that is
    // done before the loop gets to the wake-up; /c comes between, and is told later.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 server
        0ms begin #1 read handle=1 ready=0ms
            source 1 "/a"
        2ms sink 1 200
            end
            poll for=0ms
        2ms begin #2 read handle=2 ready=1ms
            source 2 "/b"
      2.5ms register pool op=1 "fs"
        4ms end
        4ms begin #3 async ready=2ms
        5ms end
        5ms begin #4 pool op=1 ready=3ms run=0.5ms
            micro #5 promise from=2
        6ms sink 2 200
            end
            poll for=0ms
        6ms begin #6 read handle=3 ready=2.7ms
            source 3 "/c"
        7ms sink 3 200
            end
    "#;
    let slow = |scenario: &mut Scenario, _: &Components| scenario.work.native = 2.0;
    // Until 4 ms /a, 8 ms /b asks, 10 ms the wake-up, 12 ms /b, 14 ms /c.
    check(
        drawing,
        "/a 2ms, /b 5ms, /c 4.3ms",
        slow,
        "/a 4ms, /b 11ms, /c 11.3ms",
    );
}

#[test]
fn jobs_that_are_done_before_the_loop_takes_them_come_together() {
    let drawing = r#"
        open 1 server
        open 2 server
        // What is woken begins at once, but for what is taken first.
        -3ms begin #1 read handle=2 ready=-3ms
             end
             poll for=1ms
        -2ms begin #2 read handle=2 ready=-2ms
             end
             poll for=2ms
        0ms  begin #3 read handle=1 ready=0ms
             source 1 "/a"
             register pool op=1 "crypto"
             register pool op=2 "crypto"
             end
             poll for=4ms
        4ms  begin #4 async ready=4ms
        5ms  end
        5ms  begin #5 pool op=1 ready=4ms run=4ms
        6ms  end
        6ms  begin #6 pool op=2 ready=4.5ms run=4ms
             micro #7 promise from=3
        7ms  sink 1 200
             end
             poll for=0ms
        7ms  begin #8 read handle=2 ready=4.2ms
             source 2 "/b"
        8ms  sink 2 200
             end
    "#;
    let fast = |scenario: &mut Scenario, _: &Components| scenario.work.native = 0.5;
    check(drawing, "/a 7ms, /b 3.8ms", fast, "/a 6ms, /b 2.3ms");
}

#[test]
fn a_job_that_is_done_after_a_wake_up_took_what_was_comes_with_the_next() {
    // The wake-up for something else takes the first at 3 ms, and the loop goes on until 4.5 ms.
    let drawing = r#"
        open 1 server
        open 2 server
        open 3 server
        0ms    begin #1 read handle=1 ready=0ms
               source 1 "/a"
        1ms    register pool op=1 "fs"
               register pool op=2 "fs"
        2ms    end
               poll for=0ms
        2ms    begin #2 read handle=2 ready=1ms
               source 2 "/b"
        3ms    sink 2 200
               end
        3ms    begin #3 async ready=1.5ms
        4ms    end
        4.5ms  begin #4 pool op=1 ready=3ms run=1ms
        5ms    end
               poll for=0ms
        5ms    begin #5 read handle=3 ready=3.1ms
               source 3 "/c"
        6ms    sink 3 200
               end
        6ms    begin #6 pool op=2 ready=3.2ms run=1ms
               micro #7 promise from=1
        7ms    sink 1 200
               end
    "#;
    let nothing = |scenario: &mut Scenario, _: &Components| scenario.work.gc = 2.0;
    let recorded = "/a 7ms, /b 2ms, /c 2.9ms";
    check(drawing, recorded, nothing, recorded);
}

#[test]
fn what_is_closed_together_is_closed_in_one_turn() {
    let drawing = r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
        2ms  sink 1 200
             end
        2ms  begin #2 close
        3ms  end
        3ms  begin #3 close
        4ms  end
             poll for=0ms
        4ms  begin #4 read handle=2 ready=1ms
             source 2 "/b"
        5ms  sink 2 200
             end
    "#;
    let slow = |scenario: &mut Scenario, _: &Components| scenario.work.native = 2.0;
    check(drawing, "/a 2ms, /b 4ms", slow, "/a 4ms, /b 9ms");
}

#[test]
fn an_immediate_waits_for_a_look_at_the_kernel_that_finds_nothing() {
    let drawing = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "/a"
        1ms  register timer op=1 due=2ms
        3ms  end
        3ms  begin #2 timer op=1 ready=2ms
             micro #3 promise from=1
        4ms  register immediate op=2
             end
             poll for=1ms
        5ms  begin #4 immediate op=2
             micro #5 promise from=3
        6ms  sink 1 200
             end
    "#;
    let slow = |scenario: &mut Scenario, _: &Components| scenario.work.native = 2.0;
    check(drawing, "/a 6ms", slow, "/a 11ms");
}
