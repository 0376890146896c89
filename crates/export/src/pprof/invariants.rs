//! What must hold for every trace: the samples sum to the latencies, by route.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bobtail_breakdown::TraceInfo;
use bobtail_graph::{Graph, Options};
use bobtail_testkit::{Shape, Simulation};
use bobtail_trace::record::Record;
use proptest::prelude::*;

use super::Pprof;
use crate::chosen::Chosen;
use crate::source::Source;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn samples_sum_to_latencies(seed: u64, count in 50..5000usize) {
        let mut simulation = Simulation::new(seed, Shape::default());
        let records: Vec<Record> = simulation.by_ref().take(count).collect();
        let mut expected: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        let mut graph = Graph::new(Options::default());
        let strings = simulation.strings();
        let mut finished = |path: &bobtail_graph::RequestPath, _: bobtail_graph::Window<'_>| {
            let route = strings[path.route as usize - 1].clone();
            let sums = expected.entry(route).or_default();
            sums.0 += path.latency_ns as i64;
            sums.1 += 1;
        };
        for record in &records {
            graph.push(*record, &mut finished);
        }
        graph.finish(&mut finished);
        let trace = TraceInfo::default();
        let source = Source {
            trace: &trace,
            start_realtime_ns: 1,
            strings,
            chosen: &Chosen::All,
            culprits_from_ns: 0,
        };
        let mut pprof = Pprof::default();
        let read = records.iter().map(|record| Ok::<_, Infallible>(*record));
        let requests = pprof.add(&source, read).expect("nothing is written yet");
        prop_assert_eq!(requests as i64, expected.values().map(|sums| sums.1).sum::<i64>());
        let profile = pprof.profile(1);
        let mut told: BTreeMap<String, i64> = BTreeMap::new();
        for sample in &profile.sample {
            let root = *sample.location_id.last().expect("a stack has frames");
            let function = &profile.function[root as usize - 1];
            let route = profile.string_table[function.name as usize].clone();
            prop_assert!(sample.value[1] <= expected[&route].1);
            *told.entry(route).or_default() += sample.value[0];
        }
        let latencies = expected.into_iter().map(|(route, sums)| (route, sums.0));
        prop_assert_eq!(told, latencies.filter(|(_, ns)| *ns > 0).collect());
    }
}
