//! Sockets to other services: who asked, who waits, and what is only guessed.

use bobtail_graph::Options;
use bobtail_testkit::draw;

use super::support::{check, paths};

#[test]
fn a_pooled_connection_is_not_confused_by_a_timer_of_the_same_request() {
    check(
        r#"
        open 1 server
        open 2 client "db:5432"
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /db"
             register timer op=1 due=3ms
             register timer op=2 due=12ms
        1ms  end
        3ms  begin #2 timer op=1 ready=3ms
        4ms  write 2
             end
        12ms begin #3 timer op=2 ready=12ms
             end
        24ms begin #4 read handle=2 ready=24ms
             micro #5 promise from=1
        25ms sink 1 200
             end
        "#,
        1,
        "GET /db 25ms
         io 3ms timer#2
         exec 1ms timer#2
         io 20ms read#4 db:5432
         exec 1ms read#4",
    );
}

#[test]
fn a_callback_whose_request_alone_wrote_to_the_socket_is_exact() {
    check(
        r#"
        open 1 server
        open 2 client "api:80"
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /proxy"
        1ms  write 2
        2ms  end
        8ms  begin #2 read handle=2 ready=7ms
        9ms  sink 1 200
             end
        "#,
        1,
        "GET /proxy 9ms
         exec 1ms read#1
         io 6ms read#2 api:80
         queue 1ms read#2 < other 1ms
         exec 1ms read#2",
    );
}

/// Somebody else asks, then request 1 writes `count` times; the answer may be to either.
fn many_writes(count: usize) -> String {
    format!(
        r#"
        open 1 server
        open 2 client "api:80"
        open 3 server
        0ms  begin #1 read handle=3 ready=0ms
             source 2 "GET /other"
             write 2
        1ms  end
        2ms  begin #2 read handle=1 ready=2ms
             source 1 "GET /upload"
        {}
        3ms  end
        8ms  begin #3 read handle=2 ready=7ms
        9ms  sink 1 200
             end
        "#,
        "     write 2\n".repeat(count)
    )
}

#[test]
fn among_more_writes_than_are_searched_nobody_is_alone() {
    // With few, the other one is seen; with many, it may be there.
    for count in [10, 5_000] {
        let drawn = draw(&many_writes(count));
        let paths = paths(&drawn, Options::default());
        let path = paths.iter().find(|p| p.id == 1).expect("finished");
        assert_eq!(path.inferred_hops, 1, "{count} writes");
    }
}

/// The kernel tells of the answer to the first at 5 ms; the second asks before its turn comes, and
/// the stamp is that of its answer.
const TOLD_BEFORE: &str = r#"
    open 1 server
    open 2 client "redis:6379"
    open 3 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "GET /first"
    1ms  write 2
         end
         poll for=4ms
    5ms  begin #2 read handle=3 ready=5ms
         source 2 "GET /second"
    9ms  write 2
    12ms end
    12ms begin #3 read handle=2 ready=11ms
         micro #4 callback from=1
    13ms sink 1 200
         micro #5 callback from=2
    14ms sink 2 200
         end
"#;

#[test]
fn who_was_told_of_before_more_came_waits_for_the_loop_since_then() {
    check(
        TOLD_BEFORE,
        1,
        "GET /first 13ms
         exec 1ms read#1
         io 4ms read#3 redis:6379 inexact
         queue 7ms read#3 inexact < read#2 GET /second 7ms
         exec 1ms read#3 shared",
    );
}

#[test]
fn who_asked_after_the_kernel_told_of_a_connection_was_answered_no_later_than_its_stamp() {
    check(
        TOLD_BEFORE,
        2,
        "GET /second 9ms
         exec 4ms read#2
         io 2ms read#3 redis:6379 inexact
         queue 1ms read#3 inexact < read#2 GET /second 1ms
         exec 2ms read#3",
    );
}

/// Two requests write before the first answer, which then answers one of them.
fn two_writers(answered: u32) -> String {
    format!(
        r#"
        open 1 server
        open 2 client "db:5432"
        open 3 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             write 2
        1ms  end
        2ms  begin #2 read handle=3 ready=2ms
             source 2 "GET /two"
             write 2
             end
        8ms  begin #3 read handle=2 ready=8ms
        9ms  sink {answered} 200
             end        "#
    )
}

#[test]
fn a_callback_on_a_socket_that_two_requests_wrote_to_is_inferred() {
    check(
        &two_writers(1),
        1,
        "GET /one 9ms inferred=1
         io 8ms read#3 db:5432 inferred
         exec 1ms read#3 shared inferred",
    );
    check(
        &two_writers(2),
        2,
        "GET /two 7ms inferred=1
         io 6ms read#3 db:5432 inferred
         exec 1ms read#3 inferred",
    );
}

#[test]
fn a_bound_callback_on_a_shared_socket_is_exact() {
    check(
        r#"
        open 1 server
        open 2 client "db:5432"
        open 3 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             write 2
        1ms  end
        2ms  begin #2 read handle=3 ready=2ms
             source 2 "GET /two"
             write 2
             end
        8ms  begin #3 read handle=2 ready=8ms
        9ms  micro #4 callback from=1
        10ms sink 1 200
        12ms resume 3
        13ms micro #5 callback from=2
        14ms sink 2 200
             end
        "#,
        2,
        "GET /two 12ms
         io 6ms read#3 db:5432
         exec 1ms read#3
         queue 3ms read#3 < callback#4 GET /one 3ms
         exec 1ms read#3
         exec 1ms callback#5",
    );
}

/// Request 1 asks, then waits for an answer that comes after `count` other ones on the socket.
fn waits_behind_answers(count: usize) -> String {
    let answers: Vec<String> = (0..count)
        .map(|n| {
            format!(
                "{}us begin #{} read handle=2 ready={0}us\n end",
                3000 + n,
                4 + n
            )
        })
        .collect();
    format!(
        r#"
        open 1 server
        open 2 client "db:5432"
        open 3 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             write 2
             micro #2 promise from=1
        1ms  end
        2ms  begin #3 read handle=3 ready=2ms
             source 2 "GET /two"
             end
        {}
        20ms begin #{} read handle=3 ready=20ms
             write 2
             end
        28ms begin #{} read handle=2 ready=28ms
        29ms micro #{} callback from=2
        30ms sink 1 200
             end
        "#,
        answers.join("\n"),
        count + 4,
        count + 5,
        count + 6,
    )
}

#[test]
fn an_answer_after_more_events_than_are_searched_is_inferred() {
    for (count, inferred) in [(10, 0), (5_000, 1)] {
        let drawn = draw(&waits_behind_answers(count));
        let paths = paths(&drawn, Options::default());
        let path = paths.iter().find(|p| p.id == 1).expect("finished");
        assert_eq!(path.inferred_hops, inferred, "{count} answers");
    }
}

#[test]
fn connecting_then_asking() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /fetch"
             register pool op=1 "dns.lookup api"
        1ms  end
        4ms  begin #2 pool op=1 ready=4ms run=4ms
             register connect op=2 "api:80"
             end
        6ms  begin #3 connect op=2 handle=2 ready=6ms
             open 2 client "api:80"
             write 2
             end
        9ms  begin #4 read handle=2 ready=9ms
             micro #5 promise from=1
        10ms sink 1 200
             end
        "#,
        1,
        "GET /fetch 10ms
         io 4ms pool-run pool#2 dns.lookup api
         io 2ms connect#3 api:80
         io 3ms read#4 api:80
         exec 1ms read#4",
    );
}

#[test]
fn a_request_queued_by_the_agent_waits_for_the_socket_of_another() {
    check(
        r#"
        open 1 server
        open 2 client "api:80"
        open 3 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             write 2
             end
        2ms  begin #2 read handle=3 ready=2ms
             source 2 "GET /two"
        3ms  end
        9ms  begin #3 read handle=2 ready=9ms
             micro #4 promise from=1
        10ms sink 1 200
        11ms micro #5 agent from=2
             write 2
        12ms end
        20ms begin #6 read handle=2 ready=20ms
             micro #7 promise from=2
        21ms sink 2 200
             end
        "#,
        2,
        "GET /two 19ms
         exec 1ms read#2
         io 6ms agent#5 api:80 shared
         exec 2ms read#3 shared
         io 9ms read#6 api:80
         exec 1ms read#6",
    );
}

#[test]
fn another_requests_arrival_that_wakes_a_long_poll_is_shared_work() {
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /poll"
        1ms  end
        8ms  begin #2 read handle=2 ready=7ms
             source 2 "POST /message"
        9ms  micro #3 promise from=1
        10ms sink 1 200
             end
        "#,
        1,
        "GET /poll 10ms
         exec 1ms read#1
         io 6ms read#2 shared
         queue 1ms read#2 < other 1ms
         exec 1ms read#2 shared
         exec 1ms promise#3",
    );
}

#[test]
fn a_batch_that_another_request_started_before_is_inferred() {
    // Request 2 puts its callback into a list that the job of request 1 works off.
    check(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /one"
             register pool op=1 "batch"
             end
        2ms  begin #2 read handle=2 ready=2ms
             source 2 "GET /two"
        3ms  end
        8ms  begin #3 pool op=1 ready=8ms run=8ms
             sink 1 200
        9ms  sink 2 200
             end
        "#,
        2,
        "GET /two 7ms inferred=1
         exec 1ms read#2
         io 5ms pool-run pool#3 batch shared inferred
         exec 1ms pool#3 shared inferred",
    );
}

const PORT: &str = r#"
    open 1 server
    open 2 port "worker 1"
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "GET /compute"
    1ms  write 2
    2ms  end
    22ms begin #2 message handle=2 ready=21ms
         REACTION
    23ms sink 1 200
         end
"#;
const WAITED_FOR_THE_WORKER: &str = "GET /compute 23ms
     exec 1ms read#1
     io 20ms message#2 worker 1
     queue 1ms message#2 < other 1ms
     exec 1ms message#2";

#[test]
fn an_awaited_answer_of_a_worker_thread_was_asked_for_by_the_post() {
    let text = PORT.replace("REACTION", "micro #3 promise from=1");
    check(&text, 1, WAITED_FOR_THE_WORKER);
}

#[test]
fn a_callback_of_the_only_one_who_posted_waited_for_the_worker() {
    check(&PORT.replace("REACTION", ""), 1, WAITED_FOR_THE_WORKER);
}

#[test]
fn callbacks_of_two_who_posted_to_one_worker_are_only_inferred() {
    let other = r#"
        open 3 server
        3ms  begin #2 read handle=3 ready=3ms
             source 2 "GET /other"
             write 2
        4ms  end
    22ms"#;
    let text = PORT
        .replace("begin #2 message", "begin #3 message")
        .replacen("22ms", other, 1)
        .replace("REACTION", "");
    check(
        &text,
        1,
        "GET /compute 23ms inferred=1
         exec 1ms read#1
         io 20ms message#3 worker 1 inferred
         queue 1ms message#3 inferred < other 1ms
         exec 1ms message#3 shared inferred",
    );
}
