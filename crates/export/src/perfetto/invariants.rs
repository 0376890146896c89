//! What must hold for every trace: slices nest, segments sum to latencies, arrows meet slices.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

use bobtail_breakdown::TraceInfo;
use bobtail_testkit::{Random, Shape, Simulation};
use bobtail_trace::record::{Ns, Record, RequestId};
use proptest::prelude::*;
use prost::Message;

use super::messages::{TracePacket, event_type};
use super::{Perfetto, Windows};
use crate::chosen::Chosen;
use crate::source::Source;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

/// A slice as a viewer would show it.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    track: u64,
    depth: usize,
    category: String,
    begin_ns: Ns,
    end_ns: Ns,
}

/// Sorts by time, keeps the order of the file at the same time, and closes slices as they nest.
fn shown(trace: &Trace) -> Vec<Shown> {
    let mut categories = HashMap::new();
    let mut tracks = BTreeSet::new();
    for packet in &trace.packet {
        let fresh = packet
            .interned_data
            .iter()
            .flat_map(|data| &data.event_categories);
        categories.extend(fresh.map(|one| (one.iid, one.name.clone())));
        tracks.extend(packet.track_descriptor.iter().map(|track| track.uuid));
    }
    let mut events: Vec<_> = trace
        .packet
        .iter()
        .filter(|p| p.track_event.is_some())
        .collect();
    events.sort_by_key(|packet| packet.timestamp);
    let mut open: BTreeMap<u64, Vec<Shown>> = BTreeMap::new();
    let mut all = Vec::new();
    for packet in events {
        let event = packet.track_event.as_ref().expect("only these are left");
        assert!(
            tracks.contains(&event.track_uuid),
            "a track that nobody declared"
        );
        let track = event.track_uuid.expect("an event has a track");
        let at_ns = packet.timestamp.expect("an event has a time");
        let stack = open.entry(track).or_default();
        match event.r#type.expect("an event has a type") {
            event_type::BEGIN => {
                let iid = event.category_iids.first().copied();
                let category = categories[&iid].clone().expect("a category has a name");
                let depth = stack.len();
                stack.push(Shown {
                    track,
                    depth,
                    category,
                    begin_ns: at_ns,
                    end_ns: 0,
                });
            }
            event_type::END => {
                let ended = stack.pop().expect("an end has a begin");
                all.push(Shown {
                    end_ns: at_ns,
                    ..ended
                });
            }
            other => assert_eq!(other, event_type::COUNTER),
        }
    }
    assert!(
        open.values().all(Vec::is_empty),
        "a slice that does not end"
    );
    all
}

fn exported(simulation: &Simulation, records: &[Record], chosen: &Chosen) -> (Trace, u64) {
    let trace = TraceInfo {
        pid: 7,
        ..TraceInfo::default()
    };
    let source = Source {
        trace: &trace,
        start_realtime_ns: 1,
        strings: simulation.strings(),
        chosen,
        culprits_from_ns: 0,
    };
    let mut perfetto = Perfetto::new(Vec::new(), &[], Windows::ALL);
    let read = || records.iter().map(|record| Ok::<_, Infallible>(*record));
    let count = perfetto
        .add(&source, read(), read())
        .expect("writes to memory");
    let bytes = perfetto.into_inner();
    (
        Trace::decode(bytes.as_slice()).expect("what was written"),
        count,
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn slices_nest_and_segments_sum_to_latencies(seed: u64, some: bool, count in 50..3000usize) {
        let mut simulation = Simulation::new(seed, Shape::default());
        let records: Vec<Record> = simulation.by_ref().take(count).collect();
        let chosen = if some {
            Chosen::Only((1..20 as RequestId).step_by(3).collect())
        } else {
            Chosen::All
        };
        let (trace, count) = exported(&simulation, &records, &chosen);
        let slices = shown(&trace);
        let requests = slices.iter().filter(|one| one.category == "request");
        let mut explained = 0;
        for request in requests {
            let inside: Vec<_> = slices.iter()
                .filter(|one| one.category == "segment" && one.track == request.track)
                .filter(|one| one.begin_ns >= request.begin_ns && one.end_ns <= request.end_ns)
                .collect();
            if inside.is_empty() { continue; }
            explained += 1;
            let sum_ns: u64 = inside.iter().map(|one| one.end_ns - one.begin_ns).sum();
            prop_assert_eq!(sum_ns, request.end_ns - request.begin_ns);
        }
        prop_assert_eq!(explained, count);
        let inner = slices.iter().filter(|one| one.category == "segment" || one.category == "run");
        prop_assert!(inner.into_iter().all(|one| one.depth == 1));
        let flows: BTreeSet<u64> = trace.packet.iter()
            .filter_map(|p| p.track_event.as_ref())
            .flat_map(|event| event.flow_ids.iter().copied())
            .collect();
        let ends: Vec<u64> = trace.packet.iter()
            .filter_map(|p| p.track_event.as_ref())
            .flat_map(|event| event.terminating_flow_ids.iter().copied())
            .collect();
        prop_assert_eq!(ends.len() as u64, count);
        prop_assert!(ends.iter().all(|flow| flows.contains(flow)));
    }

    /// As after damage: times that run backwards, ends without a begin.
    #[test]
    fn records_without_sense_still_make_slices_that_nest(seed: u64, swaps in 1..200usize) {
        let mut simulation = Simulation::new(seed, Shape::default());
        let mut records: Vec<Record> = simulation.by_ref().take(600).collect();
        let mut random = Random::new(seed);
        for _ in 0..swaps {
            let [one, other] = [0; 2].map(|_| random.below(records.len() as u64) as usize);
            records.swap(one, other);
        }
        shown(&exported(&simulation, &records, &Chosen::All).0);
    }
}
