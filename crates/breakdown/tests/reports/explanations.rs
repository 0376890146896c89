//! One request in full.

use bobtail_breakdown::Explain;
use bobtail_testkit::draw;

use super::support::explain_slowest;

/// A request that waited for another, then for a file.
fn explained() -> Explain {
    let drawn = draw(
        r#"
        open 1 server
        open 2 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /export"
        20ms at "serialize export.ts:88:5"
        30ms sink 1 200
             end
        31ms begin #2 read handle=2 ready=10ms
             source 2 "GET /x"
             register pool op=1 "fs.readFile"
        32ms end
        40ms begin #3 pool op=1 ready=39ms run=5ms
        40ms micro #4 promise from=2
        41ms gc scavenge for=1ms
        43ms sink 2 200
             end
        "#,
    );
    explain_slowest(&drawn)
}

#[test]
fn segments_and_culprits_of_the_slowest_request() {
    let answer = explained();
    assert_eq!(
        (answer.id.as_str(), answer.route.as_str()),
        ("100-0:2", "GET /x")
    );
    assert_eq!(
        (answer.latency_ns, answer.status, answer.complete),
        (33_000_000, 200, true)
    );
    let rows: Vec<_> = answer
        .segments
        .iter()
        .map(|s| {
            (
                s.kind.as_str(),
                s.start_ns / 1_000_000,
                s.duration_ns / 1_000_000,
                s.event,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("queue", 0, 21, 2),
            ("io", 21, 3, 3),
            ("io", 24, 5, 3),
            ("queue", 29, 1, 3),
            ("exec", 30, 3, 4),
        ]
    );
    let parts: Vec<_> = answer
        .segments
        .iter()
        .filter_map(|s| s.part.as_deref())
        .collect();
    assert_eq!(parts, ["pool-wait", "pool-run"]);
    assert_eq!(answer.segments[4].work.gc_ns, Some(1_000_000));
    assert_eq!(answer.segments[1].work.gc_ns, None);
    let culprit = &answer.segments[0].culprits[0];
    assert_eq!(culprit.route.as_deref(), Some("GET /export"));
    assert_eq!(
        culprit.location.as_deref(),
        Some("serialize export.ts:88:5")
    );
    assert_eq!(culprit.duration_ns, 20_000_000);
    assert_eq!(answer.segments[4].culprits[0].word, "gc scavenge");
}

#[test]
fn events_of_the_slowest_request() {
    let answer = explained();
    let events: Vec<_> = answer
        .events
        .iter()
        .map(|e| {
            (
                e.id,
                e.word.as_str(),
                e.registrar,
                e.on_path,
                e.begin_ns.map(|ns| ns / 1_000_000),
            )
        })
        .collect();
    assert_eq!(
        events,
        [
            (1, "read", 0, false, Some(-10)),
            (2, "read", 0, true, Some(21)),
            (3, "pool", 2, true, Some(30)),
            (4, "promise", 2, true, Some(30)),
        ]
    );
    assert_eq!(answer.events[2].register_ns, Some(21_000_000));
    assert_eq!(answer.events[2].resource.as_deref(), Some("fs.readFile"));
}

#[test]
fn what_a_deduced_hop_led_to_is_not_exact() {
    let drawn = draw(
        r#"
        open 1 server
        0ms  begin #1 read handle=1 ready=0ms
             source 1 "GET /x"
        2ms  end
        2ms  poll for=5ms
        9ms  begin #2 other ready=4ms
             sink 1 200
             end
        "#,
    );
    let answer = explain_slowest(&drawn);
    assert_eq!(answer.inferred_hops, 1);
    let marks: Vec<_> = answer
        .segments
        .iter()
        .map(|s| (s.event, s.inferred, s.exact))
        .collect();
    let expected = [(1, false, true), (2, true, false), (2, true, false)];
    assert_eq!(marks, expected);
    let queue = &answer.segments[2];
    assert_eq!(
        (queue.work.native_ns, queue.work.loop_ns),
        (Some(0), Some(5_000_000))
    );
    let words: Vec<_> = queue.culprits.iter().map(|c| c.word.as_str()).collect();
    assert_eq!(words, ["loop poll", "loop other"]);
}
