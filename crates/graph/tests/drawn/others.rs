//! Waits that end with an answer to a question of somebody else: batches, locks, workers.

use super::support::check;

const BATCH: &str = r#"
    open 1 server
    open 2 client "api:80"
    open 3 server
    0ms   begin #1 other
          register timer op=1 due=200ms
          end
    50ms  begin #2 read handle=1 ready=50ms
          source 1 "GET /batched"
    51ms  end
    200ms begin #3 timer op=1 ready=200ms
    201ms write 2
    202ms end
    211ms begin #4 read handle=2 ready=211ms
          micro #5 promise from=2
    212ms sink 1 200
          end
"#;

#[test]
fn a_batch_sent_by_an_interval_is_a_wait_for_the_interval_and_for_its_call() {
    check(
        BATCH,
        1,
        "GET /batched 162ms
         exec 1ms read#2
         io 149ms timer#3 shared
         exec 1ms timer#3
         io 10ms read#4 api:80 shared
         exec 1ms read#4",
    );
}

#[test]
fn the_third_at_a_lock_waits_for_the_calls_of_both_before_it() {
    check(
        r#"
        open 1 server
        open 2 server
        open 3 server
        open 4 client "api:80"
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             write 4
             end
        1ms  begin #2 read handle=2 ready=1ms
             source 2 "GET /two"
             end
        2ms  begin #3 read handle=3 ready=2ms
             source 3 "GET /three"
        3ms  end
        10ms begin #4 read handle=4 ready=10ms
             micro #5 promise from=1
             sink 1 200
        11ms micro #6 promise from=2
        12ms write 4
        13ms end
        22ms begin #7 read handle=4 ready=22ms
             micro #8 promise from=6
             sink 2 200
        23ms micro #9 promise from=3
        24ms write 4
        25ms end
        34ms begin #10 read handle=4 ready=34ms
             micro #11 promise from=9
        35ms sink 3 200
             end
        "#,
        3,
        "GET /three 33ms
         exec 1ms read#3
         io 7ms read#4 api:80 shared
         exec 1ms read#4 shared
         exec 1ms promise#6 shared
         io 10ms read#7 api:80 shared
         exec 1ms read#7 shared
         exec 1ms promise#9
         io 10ms read#10 api:80
         exec 1ms read#10",
    );
}

#[test]
fn a_worker_in_the_background_is_followed_through_its_own_waits() {
    // Event 1 starts a loop that waits for jobs, sleeps for 8 ms and asks a service.
    check(
        r#"
        open 1 server
        open 2 client "api:80"
        0ms  begin #1 other
             end
        10ms begin #2 read handle=1 ready=10ms
             source 1 "GET /job"
        11ms micro #3 promise from=1
             register timer op=1 due=19ms
        12ms end
        19ms begin #4 timer op=1 ready=19ms
             micro #5 promise from=3
        20ms write 2
             end
        30ms begin #6 read handle=2 ready=30ms
             micro #7 promise from=5
        31ms micro #8 promise from=2
        32ms sink 1 200
             end
        "#,
        1,
        "GET /job 22ms
         exec 1ms read#2
         io 8ms timer#4 shared
         exec 1ms timer#4
         io 10ms read#6 api:80 shared
         exec 1ms read#6
         exec 1ms promise#8",
    );
}

const OTHER_ASKS: &str = r#"202ms end
    203ms begin #4 read handle=3 ready=203ms
          source 2 "GET /other"
          write 2
    204ms end"#;

#[test]
fn when_two_others_have_asked_it_is_only_inferred_whose_answer_ended_the_wait() {
    let text = BATCH
        .replace("begin #4 read", "begin #5 read")
        .replace("micro #5 promise", "micro #6 promise")
        .replace("202ms end", OTHER_ASKS);
    check(
        &text,
        1,
        "GET /batched 162ms inferred=1
         exec 1ms read#2
         io 152ms read#4 shared
         io 8ms read#5 api:80 shared inferred
         exec 1ms read#5 shared inferred",
    );
}

#[test]
fn a_question_still_open_when_the_wait_began_is_the_one_waited_for() {
    // Request 1 asks, works, and awaits; meanwhile request 2 asks on the same socket.
    check(
        r#"
        open 1 server
        open 2 client "db:5432"
        open 3 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             write 2
             register timer op=1 due=3ms
        1ms  end
        3ms  begin #2 timer op=1 ready=3ms
             micro #3 promise from=1
        4ms  end
        5ms  begin #4 read handle=3 ready=5ms
             source 2 "GET /two"
             write 2
        6ms  end
        9ms  begin #5 read handle=2 ready=9ms
             micro #6 promise from=3
        10ms sink 1 200
             end
        "#,
        1,
        "GET /one 10ms
         io 3ms timer#2
         exec 1ms timer#2
         io 5ms read#5 db:5432
         exec 1ms read#5 shared",
    );
}
