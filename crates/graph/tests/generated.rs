//! What must hold for every trace, on traces grown from seeds, and on records without any sense.

#[path = "drawn/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the drawn tests, which use more of it"
)]
mod support;

use bobtail_graph::{Graph, Hop, Options, RequestPath, SegmentKind, Walks, Window};
use bobtail_testkit::{Drawn, Random, Shape, Simulation};
use bobtail_trace::record::{
    CodePlace, GcCause, HandleKind, LoopKind, LossKind, MicroKind, NotRunningCause, Ns, Ready,
    ReadyQuality, Record,
};
use proptest::prelude::*;
use support::paths;

/// All that the made-up loop can do, but for what tests here add themselves, and for reads that
/// bring several answers: who began to wait in one for what it brings next has waited, and yet for
/// no event.
fn busier() -> Shape {
    Shape {
        turns: false,
        preempted_once_in: 0,
        ..Shape::whole()
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    (
        1..40u32,
        1..6u32,
        0..3u32,
        0..4u32,
        0..30u64,
        1_000..5_000_000u64,
        prop_oneof![Just(Shape::default()), Just(busier())],
    )
        .prop_map(
            |(connections, steps, sockets, chatter, collection_once_in, pause_ns, rest)| Shape {
                connections,
                steps,
                sockets,
                chatter,
                collection_once_in,
                pause_ns,
                ..rest
            },
        )
}

fn grown(seed: u64, shape: &Shape, count: usize) -> (Drawn, Simulation) {
    let mut simulation = Simulation::new(seed, shape.clone());
    let records = simulation.by_ref().take(count).collect();
    (
        Drawn {
            records,
            strings: simulation.strings().to_vec(),
        },
        simulation,
    )
}

/// What was put into a trace, as half-open intervals.
#[derive(Debug, Default)]
struct Told {
    away: Vec<(Ns, Ns)>,
    pauses: Vec<(Ns, Ns)>,
}

impl Told {
    /// Time of not running in an interval, and of collections without it.
    fn within(&self, from_ns: Ns, to_ns: Ns) -> (u64, u64) {
        let near = [&self.away, &self.pauses].map(|all| -> Vec<(Ns, Ns)> {
            let clipped = all.iter().map(|&(b, e)| (b.max(from_ns), e.min(to_ns)));
            clipped.filter(|(b, e)| b < e).collect()
        });
        let cuts = near.iter().flatten().flat_map(|&(b, e)| [b, e]);
        let mut cuts: Vec<Ns> = cuts.collect();
        cuts.sort();
        let has = |kind: usize, at: Ns| near[kind].iter().any(|&(b, e)| (b..e).contains(&at));
        let (mut away_ns, mut gc_ns) = (0, 0);
        for pair in cuts.windows(2) {
            if has(0, pair[0]) {
                away_ns += pair[1] - pair[0];
            } else if has(1, pair[0]) {
                gc_ns += pair[1] - pair[0];
            }
        }
        (away_ns, gc_ns)
    }
}

/// Puts work, collections and times of not running between the records, as they come: told at
/// their end, but for not running, which is told before the loop event ends.
fn interrupt(drawn: &mut Drawn, seed: u64) -> Told {
    let mut random = Random::new(seed);
    let mut told = Told::default();
    let (mut now, mut last_loop_end_ns) = (0, 0);
    let mut records = Vec::new();
    for record in drawn.records.drain(..) {
        while now > 0 && random.once_in(20) {
            let begin_ns = (now - random.below(300_000)).max(last_loop_end_ns);
            match random.below(4) {
                0 => {
                    let end_ns = begin_ns + random.below(now - begin_ns + 1);
                    told.away.push((begin_ns, end_ns));
                    records.push(Record::NotRunning {
                        at_ns: now,
                        end_ns,
                        duration_ns: end_ns - begin_ns,
                        cause: NotRunningCause::Preempted,
                    });
                }
                1 => records.push(Record::Gc {
                    kind: 8,
                    cause: GcCause::Heap,
                    caller: CodePlace::default(),
                    begin_ns,
                    end_ns: now,
                }),
                _ => records.push(Record::Work {
                    end_ns: now,
                    span_ns: now - begin_ns,
                    jit_ns: random.below(100_000),
                    ic_ns: random.below(100_000),
                }),
            }
        }
        match record {
            Record::LoopEnd { end_ns: ns } | Record::Poll { leave_ns: ns, .. } => {
                (now, last_loop_end_ns) = (ns, ns);
            }
            Record::LoopBegin { begin_ns: ns, .. }
            | Record::Micro {
                begin_ns: Some(ns), ..
            }
            | Record::Register { at_ns: ns, .. }
            | Record::Sink { at_ns: ns, .. }
            | Record::Gc { end_ns: ns, .. } => now = ns,
            _ => {}
        }
        records.push(record);
    }
    for record in &records {
        if let Record::Gc {
            begin_ns, end_ns, ..
        } = *record
        {
            told.pauses.push((begin_ns, end_ns));
        }
    }
    drawn.records = records;
    told
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// Everything is recorded there, so nothing may be lost or unexplained. The path of a request
    /// that only waited for what it had started itself has exactly the waits that it had one after
    /// the other, and none is deduced. Who waited for another's work has at least its own.
    #[test]
    fn grown_traces_are_explained_completely(seed: u64, shape in shapes()) {
        let (drawn, simulation) = grown(seed, &shape, 20_000);
        let paths = paths(&drawn, Options::default());
        prop_assert!(!paths.is_empty());
        for path in &paths {
            prop_assert!(path.complete());
            prop_assert_eq!(path.total_ns(bobtail_graph::SegmentKind::Unattributed), 0);
            let is_wait = |p: &&bobtail_graph::PathEvent| matches!(p.hop, Hop::Wait { .. });
            let found = path.events.iter().filter(is_wait).count() as u32;
            let truth = simulation.waits(path.id).expect("the simulation has answered it");
            if truth.alone {
                prop_assert_eq!((found, path.inferred_hops), (truth.count, 0), "{:#?}", path);
            } else {
                prop_assert!(found >= truth.count, "{} of {:?}: {:#?}", found, truth, path);
            }
        }
    }

    /// Whatever interrupts whatever: the work of a segment sums to it (`hold_invariants`), and
    /// collections and times of not running have what a count by the nanosecond gives them.
    #[test]
    fn overlapping_work_is_counted_once(seed: u64, shape in shapes()) {
        let (mut drawn, _) = grown(seed, &shape, 3_000);
        let told = interrupt(&mut drawn, seed);
        let paths = paths(&drawn, Options::default());
        prop_assert!(told.away.len() > 10 && told.pauses.len() > 10, "{}", told.away.len());
        for segment in paths.iter().flat_map(|path| &path.segments) {
            if matches!(segment.kind, SegmentKind::Queue | SegmentKind::Exec) {
                let to_ns = segment.start_ns + segment.duration_ns;
                let expected = told.within(segment.start_ns, to_ns);
                let work = segment.work;
                prop_assert_eq!((work.not_running_ns, work.gc_ns), expected, "{:?}", segment);
            }
        }
    }

    /// What each collection did to a request sums to what all of them did to it.
    #[test]
    fn delays_by_collection_sum_to_the_gc_of_a_request(seed: u64, shape in shapes()) {
        let (mut drawn, _) = grown(seed, &shape, 3_000);
        let told = interrupt(&mut drawn, seed);
        let numbers = 1..=told.pauses.len() as u32;
        let mut sums = Vec::new();
        let mut finished = |path: &RequestPath, window: Window<'_>| {
            let delays = numbers.clone().map(|number| window.delay_ns(path, number));
            sums.push((delays.sum::<u64>(), path.work().gc_ns));
        };
        let mut graph = Graph::new(Options::default());
        for record in &drawn.records {
            graph.push(*record, &mut finished);
        }
        graph.finish(&mut finished);
        prop_assert!(sums.iter().any(|(_, gc_ns)| *gc_ns > 0), "{}", sums.len());
        for (by_collection_ns, gc_ns) in sums {
            prop_assert_eq!(by_collection_ns, gc_ns);
        }
    }

    /// Responses that wait for their clients: the kernel takes only a part, and the rest goes out
    /// with a later write, or never. The sinks do not depend on whether anybody walks.
    #[test]
    fn responses_that_leave_late_have_one_sink(seed: u64, shape in shapes()) {
        let (mut drawn, _) = grown(seed, &shape, 3_000);
        let mut random = Random::new(seed);
        for record in &mut drawn.records {
            if let Record::Write { bytes: 1000, unsent, .. } = record {
                *unsent = random.below(2);
            }
        }
        let sinks = |walks| {
            let all = paths(&drawn, Options { walks, ..Options::default() });
            let mut sinks: Vec<_> =
                all.iter().map(|p| (p.id, p.sink_ns, p.handed_over)).collect();
            // Whoever waited for the pool comes out later where that is explained.
            sinks.sort_unstable();
            sinks
        };
        let walked = sinks(Walks::All);
        prop_assert!(!walked.is_empty());
        prop_assert_eq!(walked, sinks(Walks::None));
    }

    #[test]
    fn the_same_trace_gives_the_same_paths(seed: u64) {
        let (drawn, _) = grown(seed, &Shape::default(), 5_000);
        prop_assert_eq!(paths(&drawn, Options::default()), paths(&drawn, Options::default()));
    }

    /// A small window truncates; what is left still sums up.
    #[test]
    fn a_small_window_never_breaks_a_sum(seed: u64, max_events in 1..64usize) {
        let (drawn, _) = grown(seed, &Shape::default(), 10_000);
        paths(&drawn, Options { max_events, ..Options::default() });
    }

    /// Losing any stretch of records may truncate, but breaks no sum and no order.
    #[test]
    fn a_gap_anywhere_never_breaks_a_sum(seed: u64, at in 100..4_000usize, length in 1..500usize) {
        let (mut drawn, _) = grown(seed, &Shape::default(), 5_000);
        let lost: Vec<_> = drawn.records.splice(at..at + length, []).collect();
        let opens = |r: &&Record| matches!(r, Record::LoopBegin { .. } | Record::Micro { .. });
        let events = lost.iter().filter(opens).count() as u32;
        let count = length as u64;
        drawn.records.insert(at, Record::Loss { kind: LossKind::NoChunk, count, events });
        paths(&drawn, Options::default());
    }

    /// Nonsense must not panic either: a reader may hand on what a damaged file holds.
    #[test]
    fn records_without_sense_are_survived(records in prop::collection::vec(any_record(), 0..400)) {
        let drawn = Drawn { records, strings: Vec::new() };
        paths(&drawn, Options { max_events: 32, ..Options::default() });
    }
}

fn any_record() -> impl Strategy<Value = Record> {
    let id = 0..12u32;
    let ns = 0..60u64;
    (
        0..15u8,
        id.clone(),
        id.clone(),
        id,
        ns.clone(),
        ns,
        any::<bool>(),
    )
        .prop_map(|(what, a, b, c, t, u, flag)| record(what, [a, b, c], [t, u], flag))
}

fn loop_kind(a: u32, b: u32) -> LoopKind {
    LoopKind::ALL[(a as usize + b as usize) % LoopKind::ALL.len()]
}

fn record(what: u8, [a, b, c]: [u32; 3], [t, u]: [u64; 2], flag: bool) -> Record {
    let kind = loop_kind(a, b);
    let ready = flag.then_some(Ready {
        at_ns: u,
        quality: ReadyQuality::Exact,
    });
    match what {
        0 | 1 => Record::LoopBegin {
            event: a,
            kind,
            begin_ns: t,
            ready,
            handle: b,
            op: c,
            run_ns: u,
        },
        2 => Record::LoopEnd { end_ns: t },
        3 | 4 => Record::Micro {
            event: a,
            kind: MicroKind::ALL[b as usize % MicroKind::ALL.len()],
            registrar: c,
            begin_ns: flag.then_some(t),
        },
        5 => Record::Resume {
            event: a,
            at_ns: flag.then_some(t),
        },
        6 => Record::Poll {
            enter_ns: t,
            leave_ns: t + u,
            ready_count: a,
        },
        _ => fact(what, [a, b, c], [t, u], flag),
    }
}

/// A record that is no event's begin or end.
fn fact(what: u8, [a, b, c]: [u32; 3], [t, u]: [u64; 2], flag: bool) -> Record {
    match what {
        7 => Record::Register {
            op: a,
            kind: loop_kind(a, b),
            at_ns: t,
            resource: b,
            due_ns: flag.then_some(u),
        },
        8 => Record::Write {
            handle: a,
            at_ns: t,
            bytes: u,
            unsent: u64::from(c) % 3,
        },
        9 => Record::HandleOpen {
            handle: a,
            kind: HandleKind::ALL[b as usize % HandleKind::ALL.len()],
            at_ns: t,
            name: c,
        },
        10 => Record::Source {
            request: a,
            at_ns: t,
            name: b,
        },
        11 => Record::Sink {
            request: a,
            at_ns: t,
            route: b,
            status: c,
        },
        12 => Record::Work {
            end_ns: t,
            span_ns: u,
            jit_ns: u64::from(a),
            ic_ns: u64::from(b),
        },
        13 => Record::NotRunning {
            at_ns: t,
            end_ns: t.min(u),
            duration_ns: u64::from(a),
            cause: NotRunningCause::ALL[b as usize % NotRunningCause::ALL.len()],
        },
        _ => Record::Gc {
            kind: a,
            cause: GcCause::ALL[b as usize % GcCause::ALL.len()],
            caller: CodePlace {
                file: a % 3,
                ..CodePlace::default()
            },
            begin_ns: t,
            end_ns: u,
        },
    }
}

/// What is held after so many records of a busy server, of which the first `held` requests never
/// end: they want the whole history kept.
fn capacities(records: usize, max_events: usize, held: u32) -> [(&'static str, usize); 9] {
    let mut graph = Graph::new(Options {
        max_events,
        ..Options::default()
    });
    let shape = Shape {
        connections: 4,
        ..Shape::default()
    };
    let mut count = 0;
    let ended = |r: &Record| !matches!(r, Record::Sink { request, .. } if *request <= held);
    for record in Simulation::new(3, shape).take(records).filter(ended) {
        graph.push(record, &mut |_: &RequestPath, _: Window<'_>| count += 1);
    }
    assert!(count > records / 100, "{count}");
    graph.capacities()
}

/// The containers that [`Options::max_events`] bounds come first.
const WINDOWS: usize = 6;

/// Most rows of the tables for handles, operations and requests, whatever the trace: the young and
/// the old of each, and for requests their order.
const TABLES: [usize; 3] = [
    (1 << 12) + (1 << 16),
    (1 << 14) + (1 << 15),
    (1 << 13) + (1 << 16) + (1 << 11),
];

#[test]
fn memory_does_not_grow_with_the_trace() {
    let (short, long) = (
        capacities(20_000, 1 << 20, 0),
        capacities(400_000, 1 << 20, 0),
    );
    assert_eq!(short[..WINDOWS], long[..WINDOWS]);
    for ((name, rows), most) in long[WINDOWS..].iter().zip(TABLES) {
        assert!(*rows <= most, "{name}: {rows}");
    }
}

#[test]
fn memory_is_bounded_by_the_window_even_if_requests_never_end() {
    const WINDOW: usize = 1 << 16;
    let held = capacities(400_000, WINDOW, 2);
    assert_eq!(held[0], ("events", WINDOW), "it did grow for them");
    for (name, rows) in &held[..WINDOWS] {
        assert!(*rows <= WINDOW, "{name}: {rows}");
    }
    for ((name, rows), most) in held[WINDOWS..].iter().zip(TABLES) {
        assert!(*rows <= most, "{name}: {rows}");
    }
}
