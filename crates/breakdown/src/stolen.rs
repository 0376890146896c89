//! Requests that were under way while the host took time from this machine.
//!
//! A hypervisor that stops a thread leaves no trace in the guest but a sum: so nothing can be put
//! on a critical path, and what is told is how much of a latency may be the host's, and of whom.

use bobtail_trace::record::Ns;

/// Between two looks, `from_ns` and `until_ns`, the host took `taken_ns` from all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StolenInterval {
    pub from_ns: Ns,
    pub until_ns: Ns,
    pub taken_ns: u64,
}

/// How much of `begin_ns..end_ns` the host may have taken at most; intervals are in order and apart
/// from each other. None where it took nothing meanwhile.
pub(crate) fn stolen_within(intervals: &[StolenInterval], begin_ns: Ns, end_ns: Ns) -> Option<u64> {
    let first = intervals.partition_point(|one| one.until_ns <= begin_ns);
    let within = intervals[first..].iter();
    let within = within.take_while(|one| one.from_ns < end_ns);
    within
        .map(|one| {
            let shared_ns = one.until_ns.min(end_ns) - one.from_ns.max(begin_ns);
            shared_ns.min(one.taken_ns)
        })
        .reduce(|sum, ns| sum + ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_bounds_what_a_request_lost_and_so_does_what_they_share() {
        let intervals = [(100, 150, 10), (200, 250, 90), (250, 260, 90)];
        let intervals = intervals.map(|(from_ns, until_ns, taken_ns)| StolenInterval {
            from_ns,
            until_ns,
            taken_ns,
        });
        let within = |begin_ns, end_ns| stolen_within(&intervals, begin_ns, end_ns);
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
}
