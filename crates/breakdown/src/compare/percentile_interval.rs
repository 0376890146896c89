//! How sure a percentile of one recording is: which latencies it might be without the share of
//! requests beyond them being a surprise.
//!
//! That share is a mean, whose error blocks tell well, while a percentile jumps when a block is
//! left out (Woodruff, *Confidence Intervals for Medians and Other Position Measures*, 1952). The
//! error is that which the share would have if the latency were the percentile, so that a few
//! incidents have about the interval of a Poisson count, also upwards, where less was seen.

use super::blocks::{BLOCKS_MIN, blocks_beyond_needed};
use super::jackknife::{inflation, student};
use super::route_cells::{RouteCells, rank};

impl RouteCells {
    /// The 95 % interval of a percentile; `None` where too few blocks have requests, or requests
    /// beyond it, or where the truth may lie above all that was recorded.
    pub(crate) fn percentile_interval(&self, percentile: f64) -> Option<[f64; 2]> {
        let totals = self.block_counts(u64::MAX);
        let blocks: Vec<usize> = (0..totals.len()).filter(|&b| totals[b] > 0.0).collect();
        let count: f64 = totals.iter().sum();
        let beyond = count as u64 - rank(count as u64, percentile);
        let in_tail = self.block_counts(beyond);
        let hit = in_tail.iter().filter(|one| **one > 0.0).count();
        if blocks.len() < BLOCKS_MIN || hit < blocks_beyond_needed(beyond) {
            return None;
        }
        let share = 1.0 - percentile / 100.0;
        let excess = blocks.iter().map(|&b| in_tail[b] - share * totals[b]);
        let test = Test {
            totals: blocks.iter().map(|&b| totals[b]).collect(),
            count,
            share,
            inflation: inflation(&excess.collect::<Vec<_>>()),
        };
        self.accepted(&test, &blocks)
    }

    /// The latencies that the test does not reject.
    fn accepted(&self, test: &Test, blocks: &[usize]) -> Option<[f64; 2]> {
        let mut place = [0; u64::BITS as usize];
        let numbered = blocks.iter().enumerate();
        numbered.for_each(|(index, &block)| place[block] = index);
        let mut counts = vec![0.0; blocks.len()];
        let mut rejected = None;
        let mut high = None;
        let mut last = 0.0;
        for bin in self.fine.chunk_by(|one, other| one.0 == other.0) {
            for &(_, block, many) in bin {
                counts[place[usize::from(block)]] += f64::from(many);
            }
            last = bin[0].0 as f64;
            match (test.surprise(&counts), high) {
                (Surprise::TooFew, None) => rejected = Some(last),
                // Not even all that is beyond the slowest is too few: no bound was recorded.
                (_, None) => high = Some(rejected?),
                (Surprise::TooMany, Some(high)) => return Some([last, high]),
                _ => (),
            }
        }
        high.map(|high| [last, high])
    }

    /// Requests by block, of the slowest so many.
    fn block_counts(&self, slowest: u64) -> Vec<f64> {
        let mut counts = vec![0.0; u64::BITS as usize];
        let mut left = slowest;
        for &(_, block, many) in &self.fine {
            let taken = u64::from(many).min(left);
            counts[usize::from(block)] += taken as f64;
            left -= taken;
        }
        counts
    }
}

/// Whether a share of all requests might lie beyond a latency.
struct Test {
    /// Requests by block.
    totals: Vec<f64>,
    count: f64,
    share: f64,
    inflation: f64,
}

enum Surprise {
    None,
    TooFew,
    TooMany,
}

impl Test {
    /// `counts` are the requests beyond the latency, by block.
    fn surprise(&self, counts: &[f64]) -> Surprise {
        let blocks = counts.len() as f64;
        let beyond: f64 = counts.iter().sum();
        let seen = beyond / self.count;
        let each = counts.iter().zip(&self.totals);
        let square: f64 = each.map(|(c, n)| (c - seen * n).powi(2)).sum();
        // As large as it would be of so many requests beyond as there should be.
        let scale = self.share * (1.0 - self.share) / (seen * (1.0 - seen)).max(1e-12);
        let variance = square * blocks / (blocks - 1.0) * scale * self.inflation;
        let expected = self.share * self.count;
        let incidents = expected * expected / variance.max(1e-12);
        let quantile = student((blocks / self.inflation - 1.0).min(incidents - 1.0));
        let distance = (beyond - expected) / variance.max(1e-12).sqrt();
        if distance < -quantile {
            Surprise::TooFew
        } else if distance > quantile {
            Surprise::TooMany
        } else {
            Surprise::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::route_cells::Growing;
    use super::*;

    fn cells(latencies: impl Iterator<Item = (u64, usize)>) -> RouteCells {
        let mut growing = Growing::default();
        latencies.for_each(|(ns, block)| growing.add(ns, block, &Cell::default()));
        growing.finish()
    }

    /// 32,000 requests from 1 ms, evenly spread.
    fn even() -> impl Iterator<Item = (u64, usize)> {
        (0..32_000_u64).map(|i| {
            (
                1_000_000 + i * 17_389 % 32_000 * 100,
                (i * 32 / 32_000) as usize,
            )
        })
    }

    #[test]
    fn of_even_requests_it_is_near_that_of_a_binomial() {
        // 320 beyond p99, give or take 36: each 100 ns from the next.
        let [low, high] = cells(even()).percentile_interval(99.0).expect("told");
        let p99 = 1_000_000.0 + 31_680.0 * 100.0;
        assert!(low < p99 && p99 < high, "{low} {high}");
        assert!((low - (p99 - 3_600.0)).abs() < 4_000.0, "{low}");
        assert!((high - (p99 + 3_600.0)).abs() < 4_000.0, "{high}");
    }

    #[test]
    fn incidents_that_are_few_tell_no_bound() {
        let burst = |blocks: usize| {
            let slow = (0..320).map(move |i| (50_000_000 + i as u64 * 50_000, i % blocks * 6));
            cells(even().chain(slow)).percentile_interval(99.5)
        };
        assert_eq!(burst(1), None);
        assert_eq!(burst(4), None, "four incidents");
        assert!(burst(5).is_some(), "five");
    }

    #[test]
    fn it_needs_blocks() {
        let short = even().map(|(ns, block)| (ns, block / 5));
        assert_eq!(cells(short).percentile_interval(50.0), None);
        assert_eq!(cells(std::iter::empty()).percentile_interval(50.0), None);
    }
}
