//! Several waits at once, and waits shared by requests.

use super::support::check;

#[test]
fn readdir_then_n_files_then_respond_when_the_last_is_done() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /files"
        1ms  register pool op=1 "fs.readdir"
             end
        4ms  begin #2 pool op=1 ready=4ms run=3ms
             register pool op=2 "fs.readFile a"
             register pool op=3 "fs.readFile b"
             register pool op=4 "fs.readFile c"
        5ms  end
        6ms  begin #3 pool op=3 ready=6ms run=2ms
             end
        7ms  begin #4 pool op=2 ready=7ms run=3ms
             end
        12ms begin #5 pool op=4 ready=12ms run=8ms
        13ms sink 1 200
             end
        "#,
        1,
        "GET /files 13ms
         exec 1ms read#1
         io 3ms pool-run pool#2 fs.readdir
         io 8ms pool-run pool#5 fs.readFile c
         exec 1ms pool#5",
    );
}

#[test]
fn promise_all_waits_for_the_last_arrival() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /all"
             register pool op=1 "fs.readFile a"
             register timer op=2 due=9ms
        1ms  end
        5ms  begin #2 pool op=1 ready=5ms run=5ms
             micro #3 promise from=1
        6ms  end
        9ms  begin #4 timer op=2 ready=9ms
             micro #5 promise from=1
             micro #6 promise from=1
        10ms sink 1 200
             end
        "#,
        1,
        "GET /all 10ms
         io 9ms timer#4
         exec 1ms timer#4",
    );
}

#[test]
fn promise_race_waits_for_the_first() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /race"
             register pool op=1 "fs.readFile a"
             register timer op=2 due=9ms
        1ms  end
        5ms  begin #2 pool op=1 ready=5ms run=5ms
             micro #3 promise from=1
        6ms  sink 1 200
             end
        9ms  begin #4 timer op=2 ready=9ms
             micro #5 promise from=1
             end
        "#,
        1,
        "GET /race 6ms
         io 5ms pool-run pool#2 fs.readFile a
         exec 1ms pool#2",
    );
}

#[test]
fn a_started_operation_is_waited_for_from_its_await() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             register pool op=1 "slow"
             register pool op=2 "fast"
             end
        4ms  begin #2 pool op=2 ready=4ms run=4ms
             micro #3 promise from=1
        5ms  end
        9ms  begin #4 pool op=1 ready=9ms run=9ms
             micro #5 promise from=3
        10ms sink 1 200
             end
        "#,
        1,
        "GET /x 10ms
         io 4ms pool-run pool#2 fast
         exec 1ms pool#2
         io 4ms pool-run pool#4 slow
         exec 1ms pool#4",
    );
}

#[test]
fn a_promise_shared_by_requests_is_the_others_work() {
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /cached"
             register pool op=1 "fs.readFile"
             end
        3ms  begin #2 read handle=2 ready=2ms
             source 2 "GET /cached"
        4ms  end
        9ms  begin #3 pool op=1 ready=9ms run=9ms
             micro #4 promise from=1
        11ms sink 1 200
        12ms micro #5 promise from=2
        13ms sink 2 200
             end
        "#,
        2,
        "GET /cached 11ms
         queue 1ms read#2 < other 1ms
         exec 1ms read#2
         io 5ms pool-run pool#3 fs.readFile shared
         exec 3ms pool#3 shared
         exec 1ms promise#5",
    );
}

#[test]
fn anothers_work_that_began_after_the_wait_is_followed() {
    // Request 2 waits for a promise of request 1, which goes on with a second job meanwhile.
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /slow"
             register pool op=1 "first"
             end
        2ms  begin #2 read handle=2 ready=2ms
             source 2 "GET /waits"
        3ms  end
        5ms  begin #3 pool op=1 ready=5ms run=5ms
             micro #4 promise from=1
             register pool op=2 "second"
        6ms  end
        9ms  begin #5 pool op=2 ready=9ms run=4ms
             micro #6 promise from=4
        10ms micro #7 promise from=2
        11ms sink 2 200
             end
        "#,
        2,
        "GET /waits 9ms
         exec 1ms read#2
         io 2ms pool-run pool#3 first shared
         io 4ms pool-run pool#5 second shared
         exec 1ms pool#5 shared
         exec 1ms promise#7",
    );
}
