//! Garbage collections by kind: how many there were, and how long.
//!
//! Counted from the records and not from paths, because how often the service collects is worth
//! knowing even of collections that delayed nobody.

use std::collections::BTreeMap;

use bobtail_graph::Collection;

use crate::blame::Blame;
use crate::report::Collections;

#[derive(Debug, Clone, Default)]
struct Row {
    pauses: u64,
    total_ns: u64,
    longest_ns: u64,
}

/// By kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pauses {
    rows: BTreeMap<&'static str, Row>,
}

impl Pauses {
    /// Counts one.
    pub(crate) fn add(&mut self, pause: &Collection) {
        let duration_ns = pause.end_ns.saturating_sub(pause.begin_ns);
        let row = self.rows.entry(pause.as_culprit().word()).or_default();
        row.pauses += 1;
        row.total_ns = row.total_ns.saturating_add(duration_ns);
        row.longest_ns = row.longest_ns.max(duration_ns);
    }

    /// With what they did to the tail, most first.
    pub(crate) fn ranked(&self, blame: &Blame) -> Vec<Collections> {
        let rows = self.rows.iter().map(|(word, row)| {
            let (inflicted_ns, victims) = blame.of_collections(word);
            Collections {
                kind: (*word).into(),
                pauses: row.pauses,
                total_ns: row.total_ns,
                longest_ns: row.longest_ns,
                victims,
                inflicted_ns,
            }
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|c| std::cmp::Reverse((c.inflicted_ns, c.total_ns)));
        rows
    }
}
