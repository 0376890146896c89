//! What must hold for every trace: rows of segments sum to the row of their request.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bobtail_breakdown::TraceInfo;
use bobtail_testkit::{Shape, Simulation};
use bobtail_trace::record::Record;
use proptest::prelude::*;
use serde_json::Value;

use super::Rows;
use crate::chosen::Chosen;
use crate::source::Source;

/// The rows of a table: one object each.
fn rows_of(pieces: &[Value], table: &str) -> Vec<BTreeMap<String, Value>> {
    let of_table = pieces.iter().filter(|piece| piece["table"] == table);
    let rows = of_table.flat_map(|piece| {
        let columns = piece["columns"].as_object().expect("columns by name");
        let count = columns
            .values()
            .next()
            .map_or(0, |one| one.as_array().map_or(0, Vec::len));
        (0..count).map(move |row| {
            let cells = columns
                .iter()
                .map(|(name, cells)| (name.clone(), cells[row].clone()));
            cells.collect()
        })
    });
    rows.collect()
}

fn number_of(row: &BTreeMap<String, Value>, name: &str) -> u64 {
    row[name].as_u64().expect("a number")
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn segments_sum_to_their_request(seed: u64, count in 50..5000usize) {
        let mut simulation = Simulation::new(seed, Shape::default());
        let records: Vec<Record> = simulation.by_ref().take(count).collect();
        let trace = TraceInfo::default();
        let source = Source {
            trace: &trace,
            start_realtime_ns: 1,
            strings: simulation.strings(),
            chosen: &Chosen::All,
            culprits_from_ns: 0,
        };
        let mut pieces: Vec<Value> = Vec::new();
        let mut sink = |piece: String| {
            pieces.push(serde_json::from_str(&piece)?);
            Ok(())
        };
        let mut rows = Rows::new(0, 0, &mut sink);
        let read = records.iter().map(|record| Ok::<_, Infallible>(*record));
        let requests = rows.add(&source, read).expect("the sink takes all");
        rows.finish().expect("the sink takes all");
        let mut sums: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for row in rows_of(&pieces, "segments") {
            let request = row["request"].as_str().expect("an id").to_owned();
            let kind = row["kind"].as_str().expect("a word").to_owned();
            let of_request = sums.entry(request).or_default();
            *of_request.entry(kind).or_default() += number_of(&row, "duration_ns");
        }
        let told = rows_of(&pieces, "requests");
        prop_assert_eq!(told.len() as u64, requests);
        for row in &told {
            let id = row["request"].as_str().expect("an id");
            let of_request = sums.remove(id).unwrap_or_default();
            prop_assert_eq!(of_request.values().sum::<u64>(), number_of(row, "latency_ns"));
            for kind in ["io", "queue", "exec", "unattributed"] {
                let sum_ns = of_request.get(kind).copied().unwrap_or(0);
                prop_assert_eq!(sum_ns, number_of(row, &format!("{kind}_ns")));
            }
        }
        prop_assert!(sums.is_empty());
        let pauses = records.iter().filter(|record| matches!(record, Record::Gc { .. })).count();
        prop_assert_eq!(rows_of(&pieces, "gc").len(), pauses);
    }
}
