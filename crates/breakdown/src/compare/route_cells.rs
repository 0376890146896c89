//! The requests of one route by latency and block, from which any percentile under any weights of
//! the blocks follows.
//!
//! Counts are kept by latency to three digits, as the report's histogram has it, so that both tell
//! the same percentiles. The causes are kept in wider bins, since there are twelve numbers to each.

use std::collections::HashMap;

use super::cell::Cell;
use super::resampling::Weights;
use crate::page::curve::Curve;

const FINE_BITS: u32 = 11;
const COARSE_BITS: u32 = 5;
/// A longer latency counts as this one: a day, as in the histogram.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// While requests are added.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growing {
    fine: HashMap<(u64, u8), u32>,
    coarse: HashMap<(u64, u8), Cell>,
}

impl Growing {
    pub(crate) fn add(&mut self, latency_ns: u64, block: usize, cell: &Cell) {
        self.add_many(latency_ns, block, 1, cell);
    }

    /// Adds `count` requests of one latency; `cell` is their sum.
    pub(crate) fn add_many(&mut self, latency_ns: u64, block: usize, count: u32, cell: &Cell) {
        let (latency_ns, block) = (latency_ns.clamp(1, LONGEST_NS), block as u8);
        let fine = (lower_edge(latency_ns, FINE_BITS), block);
        *self.fine.entry(fine).or_default() += count;
        let coarse = (lower_edge(latency_ns, COARSE_BITS), block);
        self.coarse.entry(coarse).or_default().add(cell, 1.0);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (key, count) in &other.fine {
            *self.fine.entry(*key).or_default() += count;
        }
        for (key, cell) in &other.coarse {
            self.coarse.entry(*key).or_default().add(cell, 1.0);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fine.is_empty()
    }

    /// Blocks with requests, some of them more than once.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = usize> {
        self.coarse.keys().map(|&(_, block)| usize::from(block))
    }

    /// The sum of all latencies.
    pub(crate) fn latency_ns(&self) -> f64 {
        self.coarse.values().map(|cell| cell.latency_ns).sum()
    }

    /// Ordered, slowest first.
    pub(crate) fn finish(&self) -> RouteCells {
        let mut fine: Vec<_> = self.fine.iter().map(|(k, n)| (k.0, k.1, *n)).collect();
        fine.sort_unstable_by_key(|&(edge, block, _)| (std::cmp::Reverse(edge), block));
        let mut coarse: Vec<_> = self.coarse.iter().map(|(k, c)| (k.0, k.1, *c)).collect();
        coarse.sort_unstable_by_key(|&(edge, block, _)| (std::cmp::Reverse(edge), block));
        RouteCells { fine, coarse }
    }
}

/// All requests of a route, slowest first.
#[derive(Debug, Clone)]
pub(crate) struct RouteCells {
    /// Latency, block, count.
    pub(super) fine: Vec<(u64, u8, u32)>,
    coarse: Vec<(u64, u8, Cell)>,
}

impl RouteCells {
    /// How many requests.
    pub(crate) fn count(&self, weights: &Weights) -> u64 {
        let one = |&(_, block, count): &(u64, u8, u32)| u64::from(weights[block as usize] * count);
        self.fine.iter().map(one).sum()
    }

    /// Blocks in which there are any.
    pub(crate) fn blocks(&self) -> usize {
        let seen = self.fine.iter().fold(0_u64, |seen, one| seen | 1 << one.1);
        seen.count_ones() as usize
    }

    /// Percentiles, which must fall; `None` of none.
    pub(crate) fn percentiles_ns(&self, weights: &Weights, wanted: &[f64]) -> Vec<Option<f64>> {
        let count = self.count(weights);
        let beyond = wanted.iter().map(|p| count - rank(count, *p));
        let beyond: Vec<u64> = beyond.collect();
        let mut found = Vec::with_capacity(wanted.len());
        let mut seen = 0;
        for &(edge, block, many) in &self.fine {
            seen += u64::from(weights[block as usize] * many);
            while found.len() < wanted.len() && seen > beyond[found.len()] {
                found.push(Some(edge as f64));
            }
            if found.len() == wanted.len() {
                break;
            }
        }
        found.resize(wanted.len(), None);
        found
    }

    /// Blocks in which there are requests beyond each percentile; these must fall.
    pub(crate) fn blocks_beyond(&self, wanted: &[f64]) -> Vec<usize> {
        let count: u64 = self.fine.iter().map(|one| u64::from(one.2)).sum();
        let blocks_of = |percentile: &f64| {
            let beyond = count - rank(count, *percentile);
            let mut seen = 0;
            let mut blocks = 0_u64;
            for &(_, block, many) in self.fine.iter() {
                if seen >= beyond {
                    break;
                }
                seen += u64::from(many);
                blocks |= 1 << block;
            }
            blocks.count_ones() as usize
        };
        wanted.iter().map(blocks_of).collect()
    }

    /// The slowest requests, as many as lie beyond each percentile; these must fall. Of the bin in
    /// which the percentile lies a share is taken.
    pub(crate) fn slowest(&self, weights: &Weights, wanted: &[f64]) -> Vec<Cell> {
        let count = self.count(weights) as f64;
        let targets = wanted.iter().map(|p| count * (1.0 - p / 100.0));
        let targets: Vec<f64> = targets.collect();
        let mut found = Vec::with_capacity(wanted.len());
        let mut sum = Cell::default();
        for bin in self.coarse.chunk_by(|one, other| one.0 == other.0) {
            let mut cell = Cell::default();
            for (_, block, part) in bin {
                cell.add(part, f64::from(weights[*block as usize]));
            }
            while found.len() < targets.len() && sum.count + cell.count >= targets[found.len()] {
                let mut slowest = sum;
                if cell.count > 0.0 {
                    slowest.add(&cell, (targets[found.len()] - sum.count) / cell.count);
                }
                found.push(slowest);
            }
            sum.add(&cell, 1.0);
        }
        found.resize(wanted.len(), sum);
        found
    }

    /// The distribution of latencies, to be drawn: its buckets are wider than these bins, whose
    /// lower edges lie in them.
    pub(crate) fn curve(&self) -> Curve {
        let mut curve = Curve::default();
        for &(edge, _, count) in &self.fine {
            curve.add_many(edge, u64::from(count));
        }
        curve
    }

    /// Sums over all requests.
    pub(crate) fn all(&self, weights: &Weights) -> Cell {
        let mut sum = Cell::default();
        for (_, block, cell) in &self.coarse {
            sum.add(cell, f64::from(weights[*block as usize]));
        }
        sum
    }
}

/// The rank (from 1) of a percentile among `count`.
pub(crate) fn rank(count: u64, percentile: f64) -> u64 {
    crate::latencies::rank(count, percentile)
}

/// The value with all but its first bits cleared.
fn lower_edge(value: u64, bits: u32) -> u64 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(bits);
    value >> shift << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::Latencies;

    #[test]
    fn percentiles_are_those_of_the_histogram() {
        let (mut cells, mut latencies) = (Growing::default(), Latencies::new());
        let mut curve = Curve::default();
        let mut value: u64 = 12_345;
        for index in 0..5_000 {
            value = value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695);
            let latency_ns = (value >> 40) * (1 + (value >> 60));
            latencies.add(latency_ns);
            curve.add(latency_ns);
            let cell = Cell {
                count: 1.0,
                latency_ns: latency_ns as f64,
                ..Cell::default()
            };
            cells.add(latency_ns, index % 3, &cell);
        }
        let cells = cells.finish();
        let wanted = [99.9, 99.0, 95.0, 75.0, 50.0, 1.0];
        let told = cells.percentiles_ns(&vec![1; 3], &wanted);
        let expected = wanted.map(|p| Some(latencies.percentile_ns(p) as f64));
        assert_eq!(told, expected);
        assert_eq!(cells.count(&vec![1; 3]), 5_000);
        assert_eq!(cells.blocks(), 3);
        let slowest = cells.slowest(&vec![1; 3], &[99.0, 0.0]);
        assert!((slowest[0].count - 50.0).abs() < 1e-6);
        assert_eq!(slowest[1].count, 5_000.0);
        assert!((slowest[1].latency_ns - cells.all(&vec![1; 3]).latency_ns).abs() < 1e6);
        assert_eq!(cells.percentiles_ns(&vec![0; 3], &[50.0]), [None]);
        assert_eq!(cells.curve().steps(), curve.steps());
    }
}
