//! Requests that were under way while processor time was taken from the loop: by the host, or by
//! threads of V8 on the same processors.
//!
//! Either leaves no trace in the loop's thread, only a sum that grew meanwhile: so nothing can be
//! put on a critical path, and what is told is how much of a latency it may be, and of whom.

use bobtail_trace::record::Ns;

/// Between two looks, `from_ns` and `until_ns`, `taken_ns` were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenInterval {
    pub from_ns: Ns,
    pub until_ns: Ns,
    pub taken_ns: u64,
}

/// When time was taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// In order and apart from each other.
    intervals: Vec<TakenInterval>,
    by_chance: ByChance,
}

/// What a request may have lost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Disturbance {
    /// It was under way while time was taken.
    pub is_hit: bool,
    /// About so much of its latency may be what was taken.
    pub taken_ns: u64,
    /// So much of it would be, on average, of one that lasts for as long and comes at any time.
    pub by_chance_ns: f64,
}

impl Taken {
    /// Intervals in any order; those that overlap are one, and those that end before they begin
    /// are none.
    pub fn of(intervals: impl IntoIterator<Item = TakenInterval>) -> Self {
        let each = intervals.into_iter();
        let mut all: Vec<TakenInterval> = each.filter(|one| one.from_ns < one.until_ns).collect();
        all.sort_unstable_by_key(|one| (one.from_ns, one.until_ns));
        let mut intervals: Vec<TakenInterval> = Vec::new();
        for one in all {
            match intervals.last_mut() {
                Some(last) if one.from_ns < last.until_ns => {
                    last.until_ns = last.until_ns.max(one.until_ns);
                    last.taken_ns = last.taken_ns.saturating_add(one.taken_ns);
                }
                _ => intervals.push(one),
            }
        }
        Self {
            by_chance: ByChance::of(&intervals),
            intervals,
        }
    }

    /// In order and apart from each other.
    pub fn intervals(&self) -> &[TakenInterval] {
        &self.intervals
    }

    /// What a request from `begin_ns` to `end_ns` may have lost, in a recording of `span_ns`.
    pub(crate) fn disturbance(&self, begin_ns: Ns, end_ns: Ns, span_ns: u64) -> Disturbance {
        let first = self
            .intervals
            .partition_point(|one| one.until_ns <= begin_ns);
        let within = self.intervals[first..].iter();
        let within = within.take_while(|one| one.from_ns < end_ns);
        let lost = |one: &TakenInterval| {
            let shared_ns = one.until_ns.min(end_ns) - one.from_ns.max(begin_ns);
            shared_ns.min(one.taken_ns)
        };
        let taken_ns = within.map(lost).reduce(|sum, ns| sum + ns);
        Disturbance {
            is_hit: taken_ns.is_some(),
            taken_ns: taken_ns.unwrap_or(0),
            by_chance_ns: self
                .by_chance
                .lost_ns(end_ns.saturating_sub(begin_ns), span_ns),
        }
    }
}

/// What requests lose by chance, by how long they last.
///
/// Who lasts for L shares with an interval of length I, by when it begins, a time that grows to the
/// shorter of the two, stays and falls again, as long above 0 as L + I. No more counts than what
/// was taken, T: what is below that is as long as L + I at its foot and 2 T less at its top, so
/// that its area is T (L + I − T), with L instead of T where that is less. Summed up beforehand, as
/// a recording has thousands of intervals and far more requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ByChance {
    /// What was taken in each interval, the least first, no more than it is long.
    taken_ns: Vec<u64>,
    /// Of the intervals up to each of these.
    sums: Vec<TakenSums>,
}

/// Over intervals in which the least was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TakenSums {
    /// T.
    taken_ns: u128,
    /// T (I − T), which is in square nanoseconds.
    taken_by_left: u128,
    /// I.
    length_ns: u128,
}

impl ByChance {
    fn of(intervals: &[TakenInterval]) -> Self {
        let part = |one: &TakenInterval| {
            let length_ns = one.until_ns - one.from_ns;
            (one.taken_ns.min(length_ns), length_ns)
        };
        let mut parts: Vec<(u64, u64)> = intervals.iter().map(part).collect();
        parts.sort_unstable();
        let mut by_chance = Self::default();
        let mut sums = TakenSums::default();
        for (taken_ns, length_ns) in parts {
            sums.taken_ns += u128::from(taken_ns);
            sums.taken_by_left += u128::from(taken_ns) * u128::from(length_ns - taken_ns);
            sums.length_ns += u128::from(length_ns);
            by_chance.taken_ns.push(taken_ns);
            by_chance.sums.push(sums);
        }
        by_chance
    }

    /// On average, of one that lasts for `latency_ns` and begins at any time of `span_ns`.
    fn lost_ns(&self, latency_ns: u64, span_ns: u64) -> f64 {
        let of_first = |count: usize| match count.checked_sub(1) {
            Some(last) => self.sums[last],
            None => TakenSums::default(),
        };
        let all = of_first(self.sums.len());
        let below = of_first(self.taken_ns.partition_point(|&ns| ns <= latency_ns));
        let latency_ns = u128::from(latency_ns);
        let areas = latency_ns * below.taken_ns
            + below.taken_by_left
            + latency_ns * (all.length_ns - below.length_ns);
        areas as f64 / span_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(intervals: &[(Ns, Ns, u64)]) -> Taken {
        Taken::of(
            intervals
                .iter()
                .map(|&(from_ns, until_ns, taken_ns)| TakenInterval {
                    from_ns,
                    until_ns,
                    taken_ns,
                }),
        )
    }

    #[test]
    fn what_was_taken_bounds_what_a_request_lost_and_so_does_what_they_share() {
        let taken = taken(&[(100, 150, 10), (200, 250, 90), (250, 260, 90)]);
        let within = |begin_ns, end_ns| {
            let told = taken.disturbance(begin_ns, end_ns, 1000);
            told.is_hit.then_some(told.taken_ns)
        };
        for (begin_ns, end_ns, expected) in [
            (0, 100, None),
            (150, 200, None),
            (260, 900, None),
            (0, 101, Some(1)),
            (149, 199, Some(1)),
            (0, 190, Some(10)),
            (220, 230, Some(10)),
            (120, 255, Some(10 + 50 + 5)),
            (0, 900, Some(10 + 50 + 10)),
        ] {
            assert_eq!(within(begin_ns, end_ns), expected, "{begin_ns}..{end_ns}");
        }
    }

    #[test]
    fn intervals_that_are_out_of_order_overlap_or_are_none_are_mended() {
        let mended = taken(&[(300, 200, 7), (500, 500, 7), (120, 180, 5), (100, 150, 10)]);
        assert_eq!(mended, taken(&[(100, 180, 15)]));
        assert_eq!(mended.disturbance(90, 95, 1000).taken_ns, 0);
        assert_eq!(mended.disturbance(170, 600, 1000).taken_ns, 10);
    }

    #[test]
    fn what_is_lost_by_chance_is_the_mean_of_all_times_at_which_one_may_begin() {
        let taken = taken(&[(1000, 1050, 10), (1050, 1060, 3), (1500, 1550, 70)]);
        let span_ns = 3000;
        for latency_ns in [0, 1, 3, 9, 10, 11, 49, 50, 51, 300] {
            let lost = |begin_ns| taken.disturbance(begin_ns, begin_ns + latency_ns, span_ns);
            let all: u64 = (0..span_ns).map(|begin_ns| lost(begin_ns).taken_ns).sum();
            let by_chance_ns = lost(0).by_chance_ns;
            // What is lost bends at whole nanoseconds only, so that their sum is the area.
            let near = (by_chance_ns - all as f64 / span_ns as f64).abs();
            assert!(near < 1e-9, "{latency_ns}: {by_chance_ns}, {all}");
        }
        assert_eq!(
            Taken::default().disturbance(0, 900, 1000),
            Disturbance::default()
        );
    }
}
