//! At which age of a turn how much work is done, and what follows for one of some age.
//!
//! Work is told by looks now and then, between which short turns come and go unseen; so they
//! are not counted. But a turn that gets to an age works through all ages before it: the
//! work per nanosecond of age is as many as get there, and a ratio of two is a probability.

/// Buckets of a power of two.
const FINE: usize = 4;
/// What is younger is as old as this, 2 to this power, in ns.
const YOUNGEST_LOG2: u32 = 12;
/// Up to a minute.
const BUCKETS: usize = 24 * FINE;
/// So much work counts, older work less and less: twice this is halved.
const WINDOW_NS: f64 = 2e9;
/// Before so much work nothing is known.
const ENOUGH_NS: f64 = 200e6;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Ages {
    work_ns: [f64; BUCKETS],
    sum_ns: f64,
}

impl Ages {
    pub(crate) fn new() -> Self {
        Self {
            work_ns: [0.0; BUCKETS],
            sum_ns: 0.0,
        }
    }

    /// So many turns went from an age on through `work_ns` of it.
    pub(crate) fn add(&mut self, from_ns: u64, work_ns: u64, turns: f64) {
        let to_ns = from_ns.saturating_add(work_ns);
        for bucket in bucket_of(from_ns)..=bucket_of(to_ns) {
            let (low, high) = match bounds_ns(bucket) {
                (low, _) if bucket == BUCKETS - 1 => (low, f64::INFINITY),
                bounds => bounds,
            };
            let within_ns = high.min(to_ns as f64) - low.max(from_ns as f64);
            self.work_ns[bucket] += turns * within_ns.max(0.0);
        }
        self.sum_ns += turns * work_ns as f64;
        if self.sum_ns > 2.0 * WINDOW_NS {
            let left = WINDOW_NS / self.sum_ns;
            self.work_ns.iter_mut().for_each(|one| *one *= left);
            self.sum_ns = WINDOW_NS;
        }
    }

    /// The age beyond which a share of all work is done; infinite before enough was seen.
    pub(crate) fn beyond_ns(&self, share: f64) -> f64 {
        if self.sum_ns < ENOUGH_NS {
            return f64::INFINITY;
        }
        let mut left_ns = share * self.sum_ns;
        for bucket in (0..BUCKETS).rev() {
            let work_ns = self.work_ns[bucket];
            if work_ns >= left_ns {
                let (low, high) = bounds_ns(bucket);
                return high - (high - low) * left_ns / work_ns.max(1.0);
            }
            left_ns -= work_ns;
        }
        0.0
    }

    /// The age from which on a turn gets to `beyond_ns(share)` with at least this probability.
    pub(crate) fn turning_ns(&self, share: f64, chance: f64) -> f64 {
        let deadline_ns = self.beyond_ns(share);
        if !deadline_ns.is_finite() {
            return deadline_ns;
        }
        let last = bucket_of(deadline_ns as u64);
        let next = (last + 1).min(BUCKETS - 1);
        // Of two, since one may have been hit by chance.
        let arrive = self.getting_to(last).max(self.getting_to(next));
        let most = arrive.max(f64::MIN_POSITIVE) / chance;
        let likely = (0..last)
            .rev()
            .take_while(|&at| self.getting_to(at) <= most);
        likely.last().map_or(deadline_ns, |at| bounds_ns(at).0)
    }

    /// How many turns get to the ages of a bucket, in an unknown unit.
    fn getting_to(&self, bucket: usize) -> f64 {
        let (low, high) = bounds_ns(bucket);
        self.work_ns[bucket] / (high - low)
    }
}

fn bucket_of(age_ns: u64) -> usize {
    let age_ns = age_ns.max(1 << YOUNGEST_LOG2);
    let power = age_ns.ilog2();
    let part = (age_ns >> (power - FINE.ilog2())) as usize - FINE;
    let bucket = (power - YOUNGEST_LOG2) as usize * FINE + part;
    bucket.min(BUCKETS - 1)
}

/// From the first to the last age of a bucket; the youngest begins at 0.
fn bounds_ns(bucket: usize) -> (f64, f64) {
    let lowest = |bucket: usize| {
        let (power, part) = (bucket / FINE, bucket % FINE);
        ((FINE + part) as u64) << (power as u32 + YOUNGEST_LOG2 - FINE.ilog2())
    };
    let low = if bucket == 0 { 0 } else { lowest(bucket) };
    (low as f64, lowest(bucket + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many turns that each get to an age, in looks of 0.1 ms.
    fn ages(turns: &[(u32, u64)]) -> Ages {
        let mut ages = Ages::new();
        for &(count, to_ns) in turns {
            for _ in 0..count {
                let looks = (1..).map(|at| at * 100_000).take_while(|&at| at <= to_ns);
                looks.for_each(|at| ages.add(at - 100_000, 100_000, 1.0));
            }
        }
        ages
    }

    #[test]
    fn buckets_follow_each_other_without_gap() {
        for bucket in 1..BUCKETS {
            let (low, high) = bounds_ns(bucket);
            assert!(low < high && bounds_ns(bucket - 1).1 == low, "{bucket}");
            assert_eq!(bucket_of(low as u64), bucket);
            assert_eq!(bucket_of(high as u64 - 1), bucket);
        }
        assert_eq!((bucket_of(0), bucket_of(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn nothing_is_known_before_there_was_enough_work() {
        let few = ages(&[(19, 10_000_000)]);
        assert_eq!(few.beyond_ns(0.2), f64::INFINITY);
        assert_eq!(few.turning_ns(0.2, 0.5), f64::INFINITY);
        assert!(ages(&[(21, 10_000_000)]).beyond_ns(0.2).is_finite());
    }

    #[test]
    fn a_share_of_the_work_is_done_beyond_an_age() {
        // Turns of 10 ms work as much before 8 ms as 0.8 of all.
        let beyond_ns = ages(&[(100, 10_000_000)]).beyond_ns(0.2);
        assert!((7.0e6..9.0e6).contains(&beyond_ns), "{beyond_ns}");
    }

    #[test]
    fn who_outlasts_the_short_ones_is_likely_to_become_old() {
        // 20 short ones for each long one: the long ones tell themselves from 0.5 ms on.
        let two_kinds = ages(&[(2_000, 400_000), (100, 8_000_000)]);
        let turning_ns = two_kinds.turning_ns(0.2, 0.5);
        assert!((0.4e6..0.7e6).contains(&turning_ns), "{turning_ns}");
        // Where each tenth as old goes on, many a one ends before the deadline.
        let halving: Vec<(u32, u64)> = (0..11)
            .map(|n| (1 << (10 - n), (n + 1) * 500_000))
            .collect();
        let halved = ages(&halving);
        let (deadline_ns, turning_ns) = (halved.beyond_ns(0.2), halved.turning_ns(0.2, 0.5));
        assert!(
            turning_ns > 0.5 * deadline_ns,
            "{turning_ns} of {deadline_ns}"
        );
        assert!(halved.turning_ns(0.2, 0.1) < turning_ns);
    }

    #[test]
    fn how_far_apart_looks_are_does_not_matter() {
        let fine = ages(&[(2_000, 400_000), (100, 8_000_000)]);
        let mut coarse = Ages::new();
        coarse.add(0, 400_000, 2_000.0);
        (0..100).for_each(|_| {
            coarse.add(0, 3_000_000, 1.0);
            coarse.add(3_000_000, 5_000_000, 1.0);
        });
        let told = |ages: &Ages| (ages.beyond_ns(0.2), ages.turning_ns(0.2, 0.5));
        let ((deadline, turning), (other, likewise)) = (told(&fine), told(&coarse));
        assert!((deadline / other - 1.0).abs() < 0.01, "{deadline} {other}");
        assert!(
            (turning / likewise - 1.0).abs() < 0.01,
            "{turning} {likewise}"
        );
    }

    #[test]
    fn old_work_is_forgotten() {
        let mut ages = ages(&[(1_000, 10_000_000)]);
        let before_ns = ages.beyond_ns(0.2);
        for _ in 0..1_000_000 {
            ages.add(0, 100_000, 1.0);
        }
        assert!(ages.beyond_ns(0.2) < before_ns / 10.0);
    }
}
