//! What must hold for every trace: spans of segments tile the span of their request.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use bobtail_breakdown::TraceInfo;
use bobtail_testkit::{Shape, Simulation};
use bobtail_trace::record::Record;
use proptest::prelude::*;
use prost::Message;

use super::messages::{ResourceSpans, Span};
use super::{Encoding, Otlp};
use crate::chosen::Chosen;
use crate::source::Source;

#[derive(Clone, PartialEq, Message)]
struct Body {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

fn exported(seed: u64, count: usize, encoding: Encoding) -> (Vec<u8>, u64) {
    let mut simulation = Simulation::new(seed, Shape::default());
    let records: Vec<Record> = simulation.by_ref().take(count).collect();
    let trace = TraceInfo::default();
    let source = Source {
        trace: &trace,
        start_realtime_ns: 1_700_000_000_000_000_000,
        strings: simulation.strings(),
        chosen: &Chosen::All,
        culprits_from_ns: 0,
    };
    let mut otlp = Otlp::new(Vec::new(), encoding, "shop");
    let read = records.iter().map(|record| Ok::<_, Infallible>(*record));
    let requests = otlp.add(&source, read).expect("writes to memory");
    (otlp.finish().expect("writes to memory"), requests)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 30, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn segments_tile_their_request(seed: u64, count in 50..5000usize) {
        let (bytes, requests) = exported(seed, count, Encoding::Protobuf);
        let body = Body::decode(bytes.as_slice()).expect("what was written");
        let spans: Vec<Span> = body.resource_spans.into_iter()
            .flat_map(|piece| piece.scope_spans)
            .flat_map(|scope| scope.spans)
            .collect();
        let ids: BTreeSet<_> = spans.iter().map(|span| &span.span_id).collect();
        prop_assert_eq!(ids.len(), spans.len());
        let mut ends: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
        for span in &spans {
            let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
            if span.parent_span_id.is_empty() {
                ends.insert(span.trace_id.clone(), (start, end));
            } else {
                let open = ends.get_mut(&span.trace_id).expect("a request comes first");
                prop_assert_eq!(open.0, start);
                open.0 = end;
            }
        }
        prop_assert_eq!(ends.len() as u64, requests);
        prop_assert!(ends.values().all(|(reached, end)| reached == end));
    }
}

#[test]
fn without_requests_the_body_is_empty_and_well_formed() {
    let (json, requests) = exported(1, 0, Encoding::Json);
    assert_eq!(
        (json.as_slice(), requests),
        (&b"{\"resourceSpans\":[]}\n"[..], 0)
    );
    assert_eq!(exported(1, 0, Encoding::Protobuf).0, b"");
}
