//! The latencies of one replay by blocks of time: their percentiles when each block counts as often
//! as a drawing has it.
//!
//! A thousand drawings are asked for three percentiles of every scenario, which took longer than
//! its replay while each of them searched every block. So the latencies lie in order, and every so
//! many of them it stands how many each block has had: two short searches instead of many.

use bobtail_breakdown::compare::{Weights, blocks_beyond_needed};
use bobtail_breakdown::rank;

/// Latencies from one row of counts to the next.
const ROW: usize = 128;

/// See the module.
#[derive(Debug)]
pub struct Blocked {
    /// In order, with the block of each.
    latencies: Vec<(u64, u32)>,
    blocks: usize,
    /// Rows of one count per block: how many of the latencies before a row's place are of it. Row
    /// `n` stands before latency `n * ROW`, and the last one after all.
    counts: Vec<u32>,
}

impl Blocked {
    /// Of latencies with their blocks, which are numbers below `blocks`.
    pub(crate) fn new(blocks: usize, mut latencies: Vec<(u64, u32)>) -> Self {
        latencies.sort_unstable();
        let mut counts = Vec::with_capacity((latencies.len() / ROW + 2) * blocks);
        let mut row = vec![0; blocks];
        for of_row in latencies.chunks(ROW) {
            counts.extend_from_slice(&row);
            of_row.iter().for_each(|one| row[one.1 as usize] += 1);
        }
        counts.extend(row);
        Self {
            latencies,
            blocks,
            counts,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.latencies.len()
    }

    /// A percentile when each block counts as often as its weight; nothing where none counts.
    pub(crate) fn at(&self, percentile: f64, weights: &Weights) -> Option<u64> {
        let last = self.latencies.len().div_ceil(ROW);
        let rank = match self.counted(last, weights) {
            0 => return None,
            count => rank(count, percentile),
        };
        // The last row before which fewer count: the first row is before all.
        let (mut from, mut to) = (0, last);
        while to - from > 1 {
            let middle = from.midpoint(to);
            if self.counted(middle, weights) < rank {
                from = middle;
            } else {
                to = middle;
            }
        }
        let mut counted = self.counted(from, weights);
        let of_row = self.latencies[from * ROW..].iter();
        let mut of_row = of_row.skip_while(|(_, block)| {
            counted += u64::from(weights[*block as usize]);
            counted < rank
        });
        of_row.next().map(|(latency_ns, _)| *latency_ns)
    }

    /// How many count before a row.
    fn counted(&self, row: usize, weights: &Weights) -> u64 {
        let counts = &self.counts[row * self.blocks..][..self.blocks];
        let each = counts.iter().zip(weights);
        each.map(|(count, weight)| u64::from(*count) * u64::from(*weight))
            .sum()
    }

    /// Whether what is beyond a percentile came in so many blocks that an interval of it is worth
    /// something: a few incidents do not tell how often there are such.
    pub(crate) fn tells(&self, percentile: f64) -> bool {
        let count = self.latencies.len() as u64;
        let rank = rank(count, percentile);
        let Some(&(least_ns, _)) = self.latencies.get(rank as usize) else {
            return false;
        };
        let first = self.latencies.partition_point(|one| one.0 < least_ns);
        let mut is_beyond = vec![false; self.blocks];
        let beyond = self.latencies[first..].iter();
        beyond.for_each(|one| is_beyond[one.1 as usize] = true);
        is_beyond.iter().filter(|one| **one).count() >= blocks_beyond_needed(count - rank)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each latency as often as its block counts, in order.
    fn drawn(latencies: &[(u64, u32)], weights: &Weights) -> Vec<u64> {
        let each = latencies.iter();
        let repeated = each.flat_map(|one| vec![one.0; weights[one.1 as usize] as usize]);
        let mut drawn: Vec<u64> = repeated.collect();
        drawn.sort_unstable();
        drawn
    }

    proptest! {
        #[test]
        fn a_percentile_is_that_of_all_latencies_written_out(
            latencies in prop::collection::vec((0..400_u64, 0..7_u32), 0..3 * ROW),
            weights in prop::collection::vec(0..4_u32, 7),
            percentile in 0.0..=100.0_f64,
        ) {
            let drawn = drawn(&latencies, &weights);
            let rank = rank(drawn.len() as u64, percentile) as usize;
            let expected = drawn.get(rank.saturating_sub(1)).copied();
            prop_assert_eq!(Blocked::new(7, latencies).at(percentile, &weights), expected);
        }
    }
}
