//! A distribution of latencies to be drawn: counts in buckets one to two percent wide.
//!
//! The histograms of the report have a fixed size that is too large for one per route; these hold
//! what was seen only, and their buckets are numbered so that the page needs no list of borders.

use std::collections::BTreeMap;

/// Buckets of a doubling of latency.
pub(crate) const BUCKETS_PER_OCTAVE: u64 = 64;
/// Digits below the leading one that tell buckets apart.
const SUB_BITS: u32 = BUCKETS_PER_OCTAVE.trailing_zeros();

/// Number of the bucket of a latency: its leading bits. Below two times 64 ns each nanosecond is
/// one; bucket `i` begins at `(i − 64 s) · 2^s` with `s = max(0, ⌊i / 64⌋ − 1)`.
pub(crate) fn bucket(latency_ns: u64) -> u32 {
    let bits = u64::BITS - latency_ns.leading_zeros();
    let shift = bits.saturating_sub(SUB_BITS + 1);
    (u64::from(shift) * BUCKETS_PER_OCTAVE + (latency_ns >> shift)) as u32
}

/// Counts by bucket.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curve {
    counts: BTreeMap<u32, u64>,
}

impl Curve {
    pub(crate) fn add(&mut self, latency_ns: u64) {
        self.add_many(latency_ns, 1);
    }

    /// So many of about the same latency.
    pub(crate) fn add_many(&mut self, latency_ns: u64, count: u64) {
        *self.counts.entry(bucket(latency_ns)).or_default() += count;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (&bucket, count) in &other.counts {
            *self.counts.entry(bucket).or_default() += count;
        }
    }

    /// Steps from bucket to bucket and counts, alternating.
    pub(crate) fn steps(&self) -> Vec<u64> {
        let mut before = 0;
        let mut steps = Vec::with_capacity(self.counts.len() * 2);
        for (&bucket, &count) in &self.counts {
            steps.extend([u64::from(bucket - before), count]);
            before = bucket;
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin_ns(bucket: u32) -> u64 {
        let index = u64::from(bucket);
        let shift = (index / BUCKETS_PER_OCTAVE).saturating_sub(1);
        (index - BUCKETS_PER_OCTAVE * shift) << shift
    }

    #[test]
    fn a_latency_lies_in_its_bucket_which_is_narrow() {
        let mut latency_ns: u64 = 0;
        while latency_ns < 100_000_000_000_000 {
            let number = bucket(latency_ns);
            let (begin, end) = (begin_ns(number), begin_ns(number + 1));
            assert!((begin..end).contains(&latency_ns), "{latency_ns} {number}");
            assert!(
                (end - begin - 1) * BUCKETS_PER_OCTAVE <= begin,
                "{latency_ns}"
            );
            latency_ns += latency_ns / 97 + 1;
        }
    }

    #[test]
    fn steps_lead_from_bucket_to_bucket() {
        let mut curve = Curve::default();
        [5, 7, 7, 300].into_iter().for_each(|ns| curve.add(ns));
        assert_eq!(curve.steps(), [5, 1, 2, 2, u64::from(bucket(300)) - 7, 1]);
    }
}
