//! When a response is out: slow clients, pipelining, layers above the socket.

use bobtail_graph::Options;
use bobtail_testkit::draw;

use super::support::{check, paths};

/// Request, latency in ms and whether it was handed over, by request.
fn sinks(drawing: &str) -> Vec<(u32, u64, bool)> {
    let paths = paths(&draw(drawing), Options::default());
    let mut sinks: Vec<_> = paths
        .iter()
        .map(|p| (p.id, p.latency_ns / 1_000_000, p.handed_over))
        .collect();
    sinks.sort_unstable();
    sinks
}

const SLOW_CLIENT: &str = r#"
    open 1 server
    0ms  begin #1 read handle=1 ready=0ms
         source 1 "GET /large"
    1ms  sink 1 200
    2ms  write 1 bytes=100 unsent=200
    3ms  end
         poll for=5ms
    9ms  begin #2 poll handle=1 ready=8ms
    10ms write 1 bytes=150 unsent=50
    11ms end
         poll for=3ms
    14ms begin #3 poll handle=1 ready=14ms
    15ms write 1 bytes=50
    16ms end
"#;

#[test]
fn a_slow_client_is_waited_for_until_it_takes_the_last_byte() {
    check(
        SLOW_CLIENT,
        1,
        "GET /large 15ms
         exec 2ms read#1
         io 6ms poll#2 client
         queue 1ms poll#2 < other 1ms
         exec 1ms poll#2
         io 4ms poll#3 client
         exec 1ms poll#3",
    );
    assert_eq!(sinks(SLOW_CLIENT), [(1, 15, true)]);
}

#[test]
fn an_end_behind_unsent_bytes_goes_out_after_them() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /large"
        1ms  write 1 bytes=100 unsent=200
        2ms  sink 1 200
        3ms  end
             poll for=5ms
        8ms  begin #2 poll handle=1 ready=8ms
        9ms  write 1 bytes=200
        10ms write 1 bytes=5 unsent=2
        11ms end
        14ms begin #3 poll handle=1 ready=14ms
        15ms write 1 bytes=2
        16ms end
        "#,
        1,
        "GET /large 15ms
         exec 2ms read#1
         io 6ms poll#2 client
         exec 2ms poll#2
         io 4ms poll#3 client
         exec 1ms poll#3",
    );
}

/// Where the last of several buffers is empty, libuv writes it when all bytes are gone, and tells
/// JavaScript only then: what a client has asked meanwhile is answered after it.
#[test]
fn an_empty_rest_of_a_write_is_not_the_next_response() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /first"
             sink 1 200
        2ms  write 1 bytes=100 unsent=200
        3ms  end
             poll for=5ms
        8ms  begin #2 poll handle=1 ready=8ms
        9ms  write 1 bytes=200
        10ms end
             poll for=4ms
        14ms begin #3 read handle=1 ready=14ms
             source 2 "GET /second"
        15ms sink 2 200
        16ms end
        16ms begin #4 poll handle=1 ready=14ms
             write 1 bytes=0
        17ms write 1 bytes=10 unsent=90
        18ms end
             poll for=4ms
        22ms begin #5 poll handle=1 ready=22ms
        23ms write 1 bytes=90
        24ms end
        "#,
        2,
        "GET /second 9ms
         exec 1ms read#3
         queue 1ms poll#4 < read#3 GET /second 1ms
         exec 1ms poll#4
         io 5ms poll#5 client
         exec 1ms poll#5",
    );
}

#[test]
fn work_on_a_response_while_its_client_is_slow_is_work() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /large"
             register timer op=1 due=4ms
        1ms  write 1 bytes=100 unsent=200
        2ms  end
             poll for=2ms
        4ms  begin #2 timer op=1 ready=4ms
        6ms  sink 1 200
        7ms  end
             poll for=1ms
        8ms  begin #3 poll handle=1 ready=8ms
        9ms  write 1 bytes=200
             write 1 bytes=5
        10ms end
        "#,
        1,
        "GET /large 9ms
         io 4ms timer#2
         exec 2ms timer#2
         io 2ms poll#3 client
         exec 1ms poll#3",
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
    10ms micro #3 tick from=2
         write 1
         end
"#;

#[test]
fn a_response_behind_an_earlier_one_waits_for_what_that_one_waits_for() {
    check(
        PIPELINED,
        2,
        "GET /second 10ms
         queue 2ms read#1 < read#1 GET /first 2ms
         exec 1ms read#1
         io 4ms pool-run pool#2 fs.readFile shared
         queue 1ms pool#2 < other 1ms
         exec 2ms pool#2 shared",
    );
    assert_eq!(sinks(PIPELINED), [(1, 9, true), (2, 10, true)]);
}

#[test]
fn what_the_earlier_one_does_in_between_is_its_work() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /first"
             register timer op=1 due=4ms
        1ms  source 2 "GET /second"
             sink 2 200
        2ms  end
             poll for=2ms
        4ms  begin #2 timer op=1
        5ms  register pool op=2 "fs.readFile"
        6ms  end
             poll for=3ms
        9ms  begin #3 pool op=2 ready=8ms run=3ms
        10ms sink 1 200
             write 1
        11ms write 1
             end
        "#,
        2,
        "GET /second 11ms
         queue 1ms read#1 < read#1 GET /first 1ms
         io 3ms timer#2 shared
         exec 1ms timer#2 shared
         io 3ms pool-run pool#3 fs.readFile shared
         queue 1ms pool#3 < poll 1ms
         exec 2ms pool#3 shared",
    );
}

#[test]
fn a_response_behind_an_earlier_one_waits_for_its_client_too() {
    let drawing = r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /large"
             sink 1 200
        1ms  write 1 bytes=100 unsent=200
        2ms  source 2 "GET /second"
        3ms  sink 2 200
        4ms  end
             poll for=4ms
        8ms  begin #2 poll handle=1 ready=8ms
        9ms  write 1 bytes=200
        10ms write 1 bytes=7 unsent=3
        11ms end
        12ms begin #3 poll handle=1 ready=12ms
        13ms write 1 bytes=3
             end
        "#;
    assert_eq!(sinks(drawing), [(1, 9, true), (2, 13, true)]);
    check(
        drawing,
        2,
        "GET /second 13ms
         queue 2ms read#1 < read#1 GET /large 2ms
         exec 1ms read#1
         io 5ms poll#2 client shared
         exec 2ms poll#2
         io 2ms poll#3 client
         exec 1ms poll#3",
    );
}

/// The header promised a length and the body was taken: the end writes nothing.
#[test]
fn an_end_that_writes_nothing_is_the_sink() {
    let drawing = r#"
        open 1 server
        0ms  begin read handle=1 ready=0ms
             source 1 "GET /first"
        1ms  write 1
        2ms  sink 1 200
        3ms  end
             poll for=1ms
        4ms  begin read handle=1 ready=4ms
             source 2 "GET /second"
        5ms  sink 2 200
        6ms  write 1
             end
        "#;
    assert_eq!(sinks(drawing), [(1, 2, true), (2, 2, true)]);
}

#[test]
fn nobody_waits_for_a_write_for_ever() {
    let drawing = r#"
        open 1 server
        0ms  begin read handle=1 ready=0ms
             source 1 "GET /first"
        1ms  write 1
        2ms  sink 1 200
             end
             poll for=1ms
        3ms  begin other
             end
             poll for=1ms
        9ms  begin other
             write 1
             end
        "#;
    assert_eq!(sinks(drawing), [(1, 2, true)]);
}

#[test]
fn a_write_put_off_to_the_next_turn_is_queueing() {
    check(
        r#"
        open 1 server
        0ms  begin #1 accept
             write 1
        1ms  end
             poll for=1ms
        2ms  begin #2 read handle=1 ready=2ms
             source 1 "GET /first"
        3ms  source 2 "GET /second"
             sink 2 200
        4ms  end
             begin #3 immediates
        6ms  write 1
             end
        "#,
        2,
        "GET /second 4ms
         queue 1ms read#2 < read#2 GET /first 1ms
         queue 1ms immediates#3 < read#2 GET /second 1ms
         exec 2ms immediates#3",
    );
}

/// What greets before it was asked is no HTTP/1.1: its responses leave in any order, and what is
/// left of one is not told from what is left of another.
#[test]
fn under_a_layer_a_response_is_out_when_nothing_is_unsent() {
    let drawing = r#"
        open 1 server
        0ms  begin accept
             write 1
             end
        1ms  begin read handle=1 ready=1ms
             source 1 "GET /first"
             source 2 "GET /second"
        2ms  sink 2 200
             write 1 bytes=100 unsent=10
             end
        5ms  begin poll handle=1 ready=5ms
             write 1 bytes=10
        6ms  write 1 bytes=50
             end
        8ms  begin other
             sink 1 200
        9ms  write 1
             end
        "#;
    assert_eq!(sinks(drawing), [(1, 8, true), (2, 5, true)]);
}

#[test]
fn a_connection_closed_before_ends_the_request_with_its_end() {
    let closed = SLOW_CLIENT.replace("15ms write 1 bytes=50", "15ms close 1");
    assert_eq!(sinks(&closed), [(1, 1, false)]);
    let behind = PIPELINED.replace("9ms  sink 1 200", "9ms  close 1");
    assert_eq!(sinks(&behind), [(2, 3, false)]);
    let behind = PIPELINED.replace("10ms micro #3 tick from=2", "10ms close 1");
    assert_eq!(sinks(&behind), [(1, 9, true), (2, 3, false)]);
}

#[test]
fn so_does_the_end_of_the_trace() {
    let cut = SLOW_CLIENT.replace("15ms write 1 bytes=50", "15ms");
    let cut = cut.replace("15ms\n", "");
    assert_eq!(sinks(&cut), [(1, 1, false)]);
}

#[test]
fn a_response_that_is_out_is_out_when_its_connection_closes() {
    let drawing = r#"
        open 1 server
        0ms  begin read handle=1 ready=0ms
             source 1 "GET /first"
        1ms  sink 1 200
        2ms  write 1
        3ms  close 1
             end
        "#;
    assert_eq!(sinks(drawing), [(1, 2, true)]);
}
