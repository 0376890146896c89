//! The distribution of latencies and what may be said about it.
//!
//! A percentile with fewer than ten requests beyond it is noise, so it is not told at all; each
//! told one has an interval from order statistics, which assume nothing about the distribution.
//! They assume independent requests, though: slow requests come in groups (one collection or one
//! blocking callback delays all that are waiting), so the intervals are too narrow for such tails.

use hdrhistogram::Histogram;

/// Percentiles that are told when they are supported, highest first.
pub const PERCENTILES: [f64; 6] = [99.9, 99.0, 95.0, 90.0, 75.0, 50.0];

/// Requests that must lie beyond a percentile.
pub const REQUESTS_BEYOND: f64 = 10.0;

const SIGNIFICANT_DIGITS: u8 = 3;
/// A longer latency counts as this one in percentiles: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Latencies in nanoseconds, each to three significant digits.
#[derive(Debug, Clone)]
pub struct Latencies {
    histogram: Histogram<u64>,
    sum_ns: u128,
}

impl Latencies {
    /// None yet.
    #[allow(
        clippy::new_without_default,
        reason = "an empty distribution is no default value"
    )]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
            .expect("bounds and digits are constants that are allowed");
        Self {
            histogram,
            sum_ns: 0,
        }
    }

    /// Counts one.
    pub fn add(&mut self, latency_ns: u64) {
        self.histogram.saturating_record(latency_ns);
        self.sum_ns += u128::from(latency_ns);
    }

    /// Counts all of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        self.sum_ns += other.sum_ns;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The exact mean; 0 of none.
    pub fn mean_ns(&self) -> u64 {
        (self.sum_ns / u128::from(self.count().max(1))) as u64
    }

    /// Latencies as the histogram keeps them, and how many requests had each; ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let each = self.histogram.iter_recorded();
        each.map(|one| {
            let edge_ns = self.histogram.lowest_equivalent(one.value_iterated_to());
            (edge_ns, one.count_at_value())
        })
    }

    /// The lower edge of the histogram's bucket in which the percentile lies.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        self.at_rank(rank(self.count(), percentile))
    }

    /// Whether enough requests lie beyond a percentile.
    pub fn supports(&self, percentile: f64) -> bool {
        let count = self.count();
        (count - rank(count, percentile)) as f64 >= REQUESTS_BEYOND
    }

    /// The highest supported percentile that is not above the wished one.
    pub fn highest_supported(&self, wished: f64) -> Option<f64> {
        std::iter::once(wished)
            .chain(PERCENTILES.into_iter().filter(|p| *p < wished))
            .find(|p| self.supports(*p))
    }

    /// 95 % confidence interval of a percentile; assumes independent requests, too narrow for
    /// correlated tails.
    pub fn confidence_ns(&self, percentile: f64) -> [u64; 2] {
        let [low, high] = ranks_of_interval(self.count(), percentile / 100.0);
        [self.at_rank(low), self.at_rank(high)]
    }

    fn at_rank(&self, rank: u64) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        let quantile = (rank as f64 - 0.5) / self.count() as f64;
        self.histogram
            .lowest_equivalent(self.histogram.value_at_quantile(quantile.max(0.0)))
    }
}

/// The rank (from 1) of a percentile among `count`.
pub fn rank(count: u64, percentile: f64) -> u64 {
    // 99.9 % of 10,000 is 9,990.000000000001 in floating point.
    let exact = count as f64 * percentile / 100.0;
    ((exact - 1e-6).ceil() as u64).clamp(count.min(1), count)
}

/// Ranks between which the quantile lies with 95 %: the number of values below it is binomial.
fn ranks_of_interval(count: u64, quantile: f64) -> [u64; 2] {
    let beyond = 1.0 - quantile;
    let n = count as f64;
    let (fewest, most) = if n * beyond < 400.0 {
        (
            binomial_quantile(count, beyond, 0.025),
            binomial_quantile(count, beyond, 0.975),
        )
    } else {
        let spread = 1.96 * (n * beyond * quantile).sqrt();
        let middle = n * beyond;
        (
            (middle - spread).floor() as u64,
            (middle + spread).ceil() as u64,
        )
    };
    let low = count.saturating_sub(most).max(1);
    [low.min(count), (count - fewest.min(count) + 1).min(count)]
}

/// The smallest k with P(X <= k) >= p for X binomial; by summing, so for small means only.
fn binomial_quantile(count: u64, chance: f64, p: f64) -> u64 {
    let mut mass = (count as f64 * (1.0 - chance).ln()).exp();
    let mut sum = mass;
    let mut k = 0;
    while sum < p && k < count {
        mass *= (count - k) as f64 / (k + 1) as f64 * chance / (1.0 - chance);
        sum += mass;
        k += 1;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(count: u64) -> Latencies {
        let mut latencies = Latencies::new();
        (1..=count).for_each(|i| latencies.add(i * 1_000));
        latencies
    }

    #[test]
    fn a_percentile_needs_ten_requests_beyond_it() {
        assert!(up_to(10_000).supports(99.9));
        assert!(!up_to(9_999).supports(99.9));
        assert_eq!(up_to(9_999).highest_supported(99.9), Some(99.0));
        assert_eq!(up_to(20).highest_supported(99.9), Some(50.0));
        assert_eq!(up_to(19).highest_supported(99.9), None);
        assert_eq!(up_to(0).highest_supported(99.9), None);
    }

    #[test]
    fn a_percentile_is_within_the_histograms_precision() {
        let p99 = up_to(10_000).percentile_ns(99.0);
        assert!((9_890_000..=9_900_000).contains(&p99), "{p99}");
    }

    #[test]
    fn buckets_hold_every_request_where_percentiles_look_for_it() {
        let latencies = up_to(5_000);
        let buckets: Vec<_> = latencies.buckets().collect();
        assert_eq!(buckets.iter().map(|one| one.1).sum::<u64>(), 5_000);
        assert!(buckets.is_sorted());
        let mut again = Latencies::new();
        for (latency_ns, count) in buckets {
            (0..count).for_each(|_| again.add(latency_ns));
        }
        for percentile in PERCENTILES {
            let told = [&latencies, &again].map(|one| one.percentile_ns(percentile));
            assert_eq!(told[0], told[1]);
        }
    }

    #[test]
    fn intervals_hold_the_known_values_of_order_statistics() {
        // Known: the median of 100 lies between the 40th and the 61st with 95 %.
        assert_eq!(ranks_of_interval(100, 0.5), [40, 61]);
        assert_eq!(ranks_of_interval(0, 0.5), [0, 0]);
        let [low, high] = ranks_of_interval(10_000, 0.999);
        assert!(
            low < 9_990 && high > 9_990 && high <= 10_000,
            "{low} {high}"
        );
        let [low, high] = ranks_of_interval(1_000_000, 0.5);
        assert_eq!((low, high), (499_020, 500_981));
    }
}
