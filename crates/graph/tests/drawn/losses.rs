//! Lost history is told, never papered over.

use std::collections::BTreeSet;

use bobtail_graph::{Options, Walks};
use bobtail_testkit::{Shape, Simulation, draw};

use super::support::{check, paths};

#[test]
fn a_gap_between_source_and_sink_truncates() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             register pool op=1 "fs.stat"
        1ms  end
             loss overwritten count=1 events=5
        9ms  begin #7 pool op=1 ready=8ms run=1ms
             micro #8 promise from=1
        10ms sink 1 200
             end
        "#,
        1,
        "GET /x 10ms truncated
         unattributed 9ms pool#7
         exec 1ms pool#7",
    );
}

#[test]
fn a_request_after_the_gap_is_complete() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             loss no-chunk count=7 events=7
        2ms  begin #9 read handle=1 ready=1ms
             source 1 "GET /x"
        3ms  sink 1 200
             end
        "#,
        1,
        "GET /x 2ms
         queue 1ms read#9 < lost 1ms
         exec 1ms read#9",
    );
}

#[test]
fn lost_details_do_not_truncate() {
    check(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
             loss ready-missing
        1ms  sink 1 200
             end
        "#,
        1,
        "GET /x 1ms
         exec 1ms read#1",
    );
}

#[test]
fn a_request_older_than_the_window_comes_out_truncated() {
    let mut text = String::from(
        "open 1 server\n0ms begin read handle=1 ready=0ms\nsource 1 \"GET /x\"\n1ms end\n",
    );
    for turn in 0..20_000 {
        text += &format!("{}us begin other\nend\n", 2_000 + turn);
    }
    text += "300ms begin other\nmicro promise from=1\n301ms sink 1 200\nend\n";
    let drawn = draw(&text);
    let truncated = |max_events| {
        let path = paths(
            &drawn,
            Options {
                max_events,
                ..Options::default()
            },
        )
        .remove(0);
        assert_eq!(path.latency_ns, 301_000_000);
        path.truncated
    };
    assert!(!truncated(1 << 15), "the window grows for it");
    assert!(truncated(1 << 14), "the window is at its bound");
}

#[test]
fn without_walks_only_latencies_come_out() {
    let records: Vec<_> = Simulation::new(7, Shape::default()).take(50_000).collect();
    let drawn = bobtail_testkit::Drawn {
        records,
        strings: Vec::new(),
    };
    let walked = paths(&drawn, Options::default());
    let cheap = paths(
        &drawn,
        Options {
            walks: Walks::None,
            ..Options::default()
        },
    );
    assert!(cheap.iter().all(|p| !p.walked && !p.truncated) || cheap.is_empty());
    // Whoever waited for the pool comes out later where that is explained.
    let latencies = |paths: &[bobtail_graph::RequestPath]| -> BTreeSet<_> {
        paths
            .iter()
            .map(|p| (p.id, p.latency_ns, p.route, p.source_ns))
            .collect()
    };
    assert_eq!(cheap.len(), walked.len());
    assert!(walked.len() > 100);
    assert_eq!(latencies(&cheap), latencies(&walked));
}
