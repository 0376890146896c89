//! Requests on their connection: bodies, pipelining, keep-alive, aborts.

use bobtail_graph::{Graph, Options, RequestPath, Window};
use bobtail_testkit::draw;

use super::support::check;

#[test]
fn a_body_in_pieces_is_waiting_for_the_client() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "POST /upload"
        1ms  end
        6ms  begin #2 read handle=1 ready=5ms
        7ms  end
        12ms begin #3 read handle=1 ready=11ms
        13ms sink 1 200
             end
        "#,
        1,
        "POST /upload 13ms
         exec 1ms read#1
         io 4ms read#2 client
         queue 1ms read#2 < other 1ms
         exec 1ms read#2
         io 4ms read#3 client
         queue 1ms read#3 < other 1ms
         exec 1ms read#3",
    );
}

#[test]
fn an_awaited_body_is_waited_for_from_the_await() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "POST /upload"
        1ms  end
        5ms  begin #2 read handle=1 ready=5ms
             micro #3 promise from=1
        6ms  end
        11ms begin #4 read handle=1 ready=11ms
             micro #5 promise from=3
        12ms sink 1 200
             end
        "#,
        1,
        "POST /upload 12ms
         exec 1ms read#1
         io 4ms read#2 client
         exec 1ms read#2
         io 5ms read#4 client
         exec 1ms read#4",
    );
}

const PIPELINED: &str = r#"
    open 1 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "GET /first"
         register pool op=1 "fs.readFile"
    2ms  source 2 "GET /second"
    3ms  sink 2 200
    4ms  end
    8ms  begin #2 pool op=1 ready=7ms run=7ms
    9ms  sink 1 200
         write 1
         end
"#;

#[test]
fn the_first_of_two_pipelined_requests() {
    check(
        PIPELINED,
        1,
        "GET /first 9ms
         io 7ms pool-run pool#2 fs.readFile
         queue 1ms pool#2 < other 1ms
         exec 1ms pool#2",
    );
}

#[test]
fn keep_alive_connections_carry_one_request_after_the_other() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /first"
        1ms  sink 1 200
             write 1
             end
        5ms  begin #2 read handle=1 ready=4ms
             source 2 "GET /second"
             register pool op=1 "fs.stat"
        6ms  end
        7ms  begin #3 pool op=1 ready=7ms run=1ms
             micro #4 promise from=2
        8ms  sink 2 200
             write 1
             end
        "#,
        2,
        "GET /second 4ms
         queue 1ms read#2 < other 1ms
         io 1ms pool-wait pool#3 fs.stat
         io 1ms pool-run pool#3 fs.stat
         exec 1ms pool#3",
    );
}

#[test]
fn a_request_across_a_pause_is_neither_finished_nor_unfinished() {
    let drawn = draw(
        r#"
        open 1 server
        open 2 server
        open 3 server
        0ms  begin read handle=1 ready=0ms
             source 1 "GET /sent-before"
        1ms  end
        2ms  mark paused
        50ms mark resumed
        51ms begin read handle=2 ready=40ms
             source 2 "GET /came-in-the-pause"
             sink 2 200
             write 2
        52ms end
        53ms begin read handle=3 ready=52ms
             source 3 "GET /whole"
             sink 3 200
        54ms write 3
             end
        55ms begin other
             sink 1 200
             write 1
        56ms end
        "#,
    );
    let mut graph = Graph::new(Options::default());
    let mut seen = Vec::new();
    let mut finished = |path: &RequestPath, _: Window<'_>| seen.push((path.id, path.complete()));
    for record in &drawn.records {
        graph.push(*record, &mut finished);
    }
    graph.finish(&mut finished);
    assert_eq!(seen, [(3, true)]);
    assert_eq!((graph.straddling(), graph.unfinished()), (2, 0));
}

#[test]
fn an_aborted_request_is_unfinished() {
    let drawn = draw(
        r#"
        open 1 server
        0ms  begin read handle=1 ready=0ms
             source 1 "GET /slow"
        1ms  end
        2ms  begin read handle=1
             close 1
             end
        9ms  begin other
             sink 1 200
             end
        "#,
    );
    let mut graph = Graph::new(Options::default());
    let mut finished = |path: &RequestPath, _: Window<'_>| panic!("{path:?}");
    drawn
        .records
        .iter()
        .for_each(|record| graph.push(*record, &mut finished));
    graph.finish(&mut finished);
    assert_eq!(graph.unfinished(), 1);
}
