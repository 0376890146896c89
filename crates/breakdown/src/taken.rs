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
    /// Of all of them together.
    length_ns: u64,
}

/// What a request may have lost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Disturbance {
    /// It was under way while time was taken.
    pub is_hit: bool,
    /// About so much of its latency may be what was taken.
    pub taken_ns: u64,
    /// How likely one that is under way for as long is to be hit by chance.
    pub chance: f64,
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
        let length = |one: &TakenInterval| one.until_ns - one.from_ns;
        Self {
            length_ns: intervals.iter().map(length).sum(),
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
            chance: self.chance(end_ns.saturating_sub(begin_ns), span_ns),
        }
    }

    /// Of all times at which one that lasts for `latency_ns` may begin, the share at which it is
    /// hit; a little more where intervals are close.
    fn chance(&self, latency_ns: u64, span_ns: u64) -> f64 {
        let hit_ns = self.length_ns as f64 + self.intervals.len() as f64 * latency_ns as f64;
        (hit_ns / span_ns.max(1) as f64).min(1.0)
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
    fn who_is_under_way_for_longer_is_hit_by_chance_more_often() {
        let taken = taken(&[(100, 150, 10), (500, 550, 10)]);
        let chance = |latency_ns| taken.disturbance(0, latency_ns, 1000).chance;
        assert_eq!([0, 50, 450].map(chance), [0.1, 0.2, 1.0]);
        assert_eq!(
            Taken::default().disturbance(0, 900, 1000),
            Disturbance::default()
        );
    }
}
