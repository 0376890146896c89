//! Overload in the recording itself: by how much its latencies grew while it was made.
//!
//! A loop that never caught up is never told to be used for more than its time, since nobody saw
//! what it still had to do when the recording ended. But who came later waited longer, and
//! percentiles of that say how long was recorded and not how long a request takes.

use crate::build::median;

/// The last third of the requests took at least so many times as long as the first.
const GROWN: f64 = 2.0;
/// And each third so many times as long as the one before: not a phase that came and went.
const STEP: f64 = 1.2;
/// Fewer requests tell no trend.
const REQUESTS_MIN: usize = 300;

/// How many times as long the last third of the requests took as the first, in the median, where
/// each third took longer than the one before.
pub(crate) fn growth(arrivals_ns: &[u64], latencies_ns: &[u64]) -> Option<f64> {
    let each = arrivals_ns.iter().zip(latencies_ns);
    let mut requests: Vec<(u64, u64)> = each.map(|(&at_ns, &ns)| (at_ns, ns)).collect();
    if requests.len() < REQUESTS_MIN {
        return None;
    }
    // Answers come nearly in that order, which a stable sort makes use of.
    requests.sort();
    let thirds = requests.chunks(requests.len().div_ceil(3));
    let medians: Vec<f64> = thirds.map(median_ns).collect();
    let [first, middle, last] = medians[..] else {
        return None;
    };
    let rises = middle >= STEP * first && last >= STEP * middle;
    (rises && last >= GROWN * first).then_some(last / first)
}

fn median_ns(requests: &[(u64, u64)]) -> f64 {
    median(requests.iter().map(|one| one.1).collect()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 3,000 requests, one each millisecond.
    fn told(latency_ns: impl Fn(u64) -> u64) -> Option<f64> {
        let arrivals: Vec<u64> = (0..3_000).map(|n| n * 1_000_000).collect();
        let latencies: Vec<u64> = (0..3_000).map(latency_ns).collect();
        growth(&arrivals, &latencies)
    }

    #[test]
    fn a_line_that_only_grows_is_told() {
        let grown = told(|n| 1_000 + n * 100).expect("it grew");
        assert!((4.0..6.0).contains(&grown), "{grown}");
    }

    #[test]
    fn what_is_even_or_comes_and_goes_is_not() {
        assert_eq!(told(|n| 1_000 + n % 700), None);
        let phase = |n: u64| {
            if (1_000..2_000).contains(&n) {
                9_000
            } else {
                1_000
            }
        };
        assert_eq!(told(phase), None);
        // Half as long again at the end: a day that gets busier.
        assert_eq!(told(|n| 1_000 + n / 6), None);
        assert_eq!(growth(&[1, 2, 3], &[1, 2, 9]), None);
    }
}
