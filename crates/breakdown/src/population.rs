//! All surveyed traces together: percentiles, and which requests are the tail.

use std::collections::BTreeMap;

use bobtail_graph::Collection;
use bobtail_trace::record::RequestId;

use crate::figures;
use crate::latencies::{Latencies, PERCENTILES, REQUESTS_BEYOND};
use crate::longest_pauses::LongestPauses;
use crate::report::Tail;
use crate::survey::Survey;

/// The percentile that is called the tail where nothing else is asked for.
pub const TAIL_PERCENTILE: f64 = 99.9;

/// What the second pass must know of the first.
#[derive(Debug, Clone)]
pub struct Population {
    pub latencies: Latencies,
    pub tail: Tail,
    /// The longest collections, with the index of their trace.
    pub(crate) pauses: Vec<(usize, Collection)>,
}

impl Population {
    /// Merges the surveys of a recording's traces. `percentile` is the tail that is asked for.
    pub fn of(surveys: &[Survey], percentile: f64) -> Self {
        let mut latencies = Latencies::new();
        surveys.iter().for_each(|s| latencies.merge(&s.latencies));
        let tail = tail(&latencies, percentile);
        Self {
            latencies,
            tail,
            pauses: LongestPauses::of_all(surveys),
        }
    }

    pub(crate) fn percentiles_ns(&self) -> BTreeMap<String, u64> {
        let told = |p: f64| (p.to_string(), self.latencies.percentile_ns(p));
        self.supported().map(told).collect()
    }

    pub(crate) fn confidence_ns(&self) -> BTreeMap<String, [u64; 2]> {
        let told = |p: f64| (p.to_string(), self.latencies.confidence_ns(p));
        self.supported().map(told).collect()
    }

    fn supported(&self) -> impl Iterator<Item = f64> {
        let asked = self.tail.requested_percentile;
        let more = (!PERCENTILES.contains(&asked)).then_some(asked);
        PERCENTILES
            .into_iter()
            .chain(more)
            .filter(|p| self.latencies.supports(*p))
    }
}

fn tail(latencies: &Latencies, asked: f64) -> Tail {
    let supported = latencies.highest_supported(asked);
    let percentile = supported.unwrap_or(asked.min(PERCENTILES[PERCENTILES.len() - 1]));
    let count = latencies.count();
    let note = match supported {
        Some(p) if p == asked => None,
        Some(p) => Some(format!(
            "p{asked} needs {} requests, there are {}: p{p} is told instead",
            figures::count(requests_needed(asked)),
            figures::count(count)
        )),
        None => Some(format!(
            "too few requests for a percentile ({}): the slower half is called the tail",
            figures::count(count)
        )),
    };
    let threshold_ns = latencies.percentile_ns(percentile);
    Tail {
        percentile,
        requested_percentile: asked,
        threshold_ns,
        count: 0,
        note,
    }
}

pub(crate) fn requests_needed(percentile: f64) -> u64 {
    (REQUESTS_BEYOND * 100.0 / (100.0 - percentile) - 1e-6).ceil() as u64
}

/// The slowest requests of all traces, slowest first: which trace, which request. No more than
/// each survey remembered.
pub fn slowest(surveys: &[Survey], count: usize) -> Vec<(usize, RequestId)> {
    let mut all: Vec<_> = surveys
        .iter()
        .enumerate()
        .flat_map(|(trace, s)| s.slowest.iter().map(move |&(ns, id)| (ns, trace, id)))
        .collect();
    all.sort_by_key(|&(ns, trace, id)| (std::cmp::Reverse(ns), trace, id));
    all.into_iter()
        .take(count)
        .map(|(_, trace, id)| (trace, id))
        .collect()
}
