//! Bands of latency between the percentiles that are told, so that a reader of the page can move
//! the border between tail and rest without the recording.

use crate::latencies::PERCENTILES;
use crate::population::Population;

/// The percentiles between which latencies are counted apart, lowest first.
#[derive(Debug, Clone)]
pub(crate) struct Bands {
    borders: Vec<(f64, u64)>,
}

impl Bands {
    /// Of the supported percentiles and the one that is the report's tail.
    pub(crate) fn of(population: &Population) -> Self {
        let latencies = &population.latencies;
        let mut borders: Vec<_> = PERCENTILES
            .into_iter()
            .filter(|p| latencies.supports(*p) && *p != population.tail.percentile)
            .map(|p| (p, latencies.percentile_ns(p)))
            .chain([(population.tail.percentile, population.tail.threshold_ns)])
            .collect();
        borders.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { borders }
    }

    /// How many borders a latency reaches: 0 below the lowest.
    pub(crate) fn of_latency(&self, latency_ns: u64) -> u8 {
        let reached = self.borders.partition_point(|&(_, ns)| ns <= latency_ns);
        reached as u8
    }

    /// Percentile and lowest latency of each band but the lowest.
    pub(crate) fn borders(&self) -> &[(f64, u64)] {
        &self.borders
    }
}
