//! The times that are drawn: all of a recording, or those around chosen requests.

use bobtail_trace::record::Ns;

/// Before and after a request: enough to see what it queued behind begin, and what follows.
const MARGIN_NS: u64 = 10_000_000;

/// Ranges of time, in order, apart from each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Windows {
    /// `None` is all.
    ranges: Option<Vec<(Ns, Ns)>>,
}

impl Windows {
    /// The whole recording.
    pub const ALL: Self = Self { ranges: None };

    /// Around each of these stretches.
    pub fn around(stretches: impl IntoIterator<Item = (Ns, Ns)>) -> Self {
        let widened = stretches.into_iter().map(|(begin_ns, end_ns)| {
            let begin_ns = begin_ns.saturating_sub(MARGIN_NS);
            (begin_ns, end_ns.saturating_add(MARGIN_NS))
        });
        let mut all: Vec<_> = widened.collect();
        all.sort_unstable();
        let mut ranges: Vec<(Ns, Ns)> = Vec::new();
        for (begin_ns, end_ns) in all {
            match ranges.last_mut() {
                Some(last) if begin_ns <= last.1 => last.1 = last.1.max(end_ns),
                _ => ranges.push((begin_ns, end_ns)),
            }
        }
        Self {
            ranges: Some(ranges),
        }
    }

    /// Whether any of a stretch is drawn; then all of it is.
    pub(super) fn show(&self, begin_ns: Ns, end_ns: Ns) -> bool {
        let Some(ranges) = &self.ranges else {
            return true;
        };
        let next = ranges.partition_point(|range| range.1 < begin_ns);
        ranges.get(next).is_some_and(|range| range.0 <= end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_touch_are_one() {
        let ms = 1_000_000;
        let windows = Windows::around([
            (100 * ms, 110 * ms),
            (300 * ms, 300 * ms),
            (125 * ms, 126 * ms),
        ]);
        let ranges = vec![(90 * ms, 136 * ms), (290 * ms, 310 * ms)];
        assert_eq!(windows.ranges, Some(ranges));
        assert!(windows.show(0, 90 * ms) && windows.show(130 * ms, 140 * ms));
        assert!(!windows.show(0, 89 * ms) && !windows.show(137 * ms, 289 * ms));
        assert!(!windows.show(311 * ms, 400 * ms));
    }
}
