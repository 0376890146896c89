//! One request alone: each kind of wait, one after the other.

use super::support::check;

#[test]
fn a_request_that_answers_at_once() {
    check(
        r#"
        open 1 server
        0ms  begin read handle=1 ready=-1ms
             source 1 "GET /x"
        2ms  sink 1 200
        3ms  write 1
        4ms  end
        "#,
        1,
        "GET /x 4ms
         queue 1ms read#1 < lost 1ms
         exec 3ms read#1",
    );
}

#[test]
fn without_a_write_the_sink_is_the_end() {
    check(
        r#"
        open 1 server
        0ms  begin read handle=1 ready=0ms
             source 1 "GET /x"
        2ms  sink 1 200 "GET /:id"
        4ms  end
        "#,
        1,
        "GET /:id 2ms
         exec 2ms read#1",
    );
}

#[test]
fn a_pool_job_waits_for_a_thread_runs_and_waits_for_the_loop() {
    check(
        r#"
        open 1 server
        0ms    begin #1 read handle=1 ready=0ms
               source 1 "GET /x"
        1ms    register pool op=1 "fs.readFile"
        2ms    end
               poll for=6.5ms
        9ms    begin #2 pool op=1 ready=8ms run=5ms
        9.5ms  micro #3 promise from=1
        10ms   sink 1 200
               end
        "#,
        1,
        "GET /x 10ms
         exec 1ms read#1
         io 2ms pool-wait pool#2 fs.readFile
         io 5ms pool-run pool#2 fs.readFile
         queue 1ms pool#2 < poll 0.5ms, other 0.5ms
         exec 0.5ms pool#2
         exec 0.5ms promise#3",
    );
}

#[test]
fn awaits_one_after_the_other() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             register pool op=1 "dns.lookup"
        1ms  end
        3ms  begin #2 pool op=1 ready=3ms run=3ms
             micro #3 promise from=1
             register timer op=2 due=10ms
        4ms  end
        11ms begin #4 timers ready=10ms
             begin #5 timer op=2
             micro #6 promise from=3
             register immediate op=3
        12ms end
        14ms begin #7 immediate op=3
             micro #8 promise from=6
        15ms sink 1 200
             end
        "#,
        1,
        "GET /x 15ms
         io 3ms pool-run pool#2 dns.lookup
         io 7ms timer#5
         queue 1ms timer#5 < other 1ms
         queue 3ms immediate#7 < timer#5 GET /x 1ms, other 2ms
         exec 1ms immediate#7",
    );
}

#[test]
fn timers_from_promises_have_no_operation_but_a_floor() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
        2ms  end
             poll for=8ms
        11ms begin #2 timers ready=10ms
             micro #3 promise from=1
        12ms sink 1 200
             end
        "#,
        1,
        "GET /x 12ms
         exec 2ms read#1
         io 8ms timers#2
         queue 1ms timers#2 < other 1ms
         exec 1ms timers#2",
    );
}

#[test]
fn ticks_and_microtasks_stay_in_their_loop_event() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
        1ms  micro #2 tick from=1
        2ms  micro #3 microtask from=2
        3ms  micro #4 promise from=2
        4ms  sink 1 200
             end
        "#,
        1,
        "GET /x 4ms
         exec 1ms read#1
         exec 2ms tick#2
         exec 1ms promise#4",
    );
}

#[test]
fn an_interval_is_armed_again_by_each_firing() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             register timer op=1 due=5ms
        1ms  end
        5ms  begin #2 timer op=1
        6ms  end
        11ms begin #3 timer op=1 ready=11ms
        12ms sink 1 200
             end
        "#,
        1,
        "GET /x 12ms
         io 5ms timer#2
         exec 1ms timer#2
         io 5ms timer#3
         exec 1ms timer#3",
    );
}

#[test]
fn work_that_goes_on_after_the_wait_began_is_in_its_way() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             register pool op=1 "fs.stat"
        20ms at "render app.js:7:9"
        50ms end
             begin #2 pool op=1 ready=2ms run=2ms
             sink 1 200
             end
        "#,
        1,
        "GET /x 50ms
         io 2ms pool-run pool#2 fs.stat
         queue 48ms pool#2 < read#1 GET /x render app.js:7:9 48ms",
    );
}

#[test]
fn collections_in_work_and_queue_are_told_apart() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
        1ms  gc scavenge for=2ms
        4ms  register pool op=1 "fs.stat"
        5ms  gc mark for=10ms
        16ms end
             begin #2 pool op=1 ready=6ms run=2ms
             sink 1 200
             end
        "#,
        1,
        "GET /x 16ms
         exec 4ms read#1 < scavenge 2ms
         io 2ms pool-run pool#2 fs.stat
         queue 10ms pool#2 < mark-compact 9ms, read#1 GET /x 1ms",
    );
}

#[test]
fn an_unknown_ready_time_is_the_poll_that_waited_for_it() {
    check(
        r#"
        open 1 server
        open 2 unix-client "/run/db"
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             write 2
        1ms  end
             poll for=8ms
        10ms begin #2 read handle=2
             micro #3 promise from=1
        11ms sink 1 200
             end
        "#,
        1,
        "GET /x 11ms
         io 9ms read#2 /run/db inexact
         queue 1ms read#2 inexact < other 1ms
         exec 1ms read#2",
    );
}

#[test]
fn an_unknown_ready_time_without_such_a_poll_is_unattributed() {
    check(
        r#"
        open 1 server
        open 2 unix-client "/run/db"
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             write 2
        1ms  end
             poll for=0ms
        10ms begin #2 read handle=2
        11ms sink 1 200
             end
        "#,
        1,
        "GET /x 11ms
         unattributed 10ms read#2
         exec 1ms read#2",
    );
}
