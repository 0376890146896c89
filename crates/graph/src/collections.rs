//! Garbage collections in order of time, with their running sum.
//!
//! Most questions are "how much collection lies in this interval"; the sum answers them by two
//! searches, however long the interval is.

use bobtail_trace::record::Ns;

use crate::events::Row;
use crate::ring::Ring;

/// One collection, without what overlaps an earlier one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Collection {
    pub begin_ns: Ns,
    pub end_ns: Ns,
    /// V8's GCType.
    pub kind: u32,
    /// Time in all collections before this one.
    before_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Collections {
    pub ring: Ring<Collection>,
    last_end_ns: Ns,
    sum_ns: u64,
}

impl Collections {
    pub(crate) fn new(initial: usize, bound: usize) -> Self {
        Self {
            ring: Ring::new(1, initial, bound),
            last_end_ns: 0,
            sum_ns: 0,
        }
    }

    /// Collections arrive by their end. A nested one ended before the one around it, so the part
    /// that is already counted is cut off and every nanosecond counts once.
    pub(crate) fn push(&mut self, kind: u32, begin_ns: Ns, end_ns: Ns) {
        let begin_ns = begin_ns.max(self.last_end_ns);
        if end_ns <= begin_ns {
            return;
        }
        self.ring.push(Collection {
            begin_ns,
            end_ns,
            kind,
            before_ns: self.sum_ns,
        });
        self.sum_ns += end_ns - begin_ns;
        self.last_end_ns = end_ns;
    }

    /// Collection time up to a moment.
    fn until_ns(&self, time_ns: Ns) -> u64 {
        match self.ring.get(self.first_ending_after(time_ns)) {
            Some(c) => c.before_ns + time_ns.saturating_sub(c.begin_ns),
            None => self.sum_ns,
        }
    }

    fn first_ending_after(&self, time_ns: Ns) -> Row {
        self.ring.partition_point(|c| c.end_ns <= time_ns)
    }

    /// Collection time in an interval.
    pub(crate) fn within_ns(&self, from: Ns, to: Ns) -> u64 {
        if from >= self.last_end_ns || to <= from {
            return 0;
        }
        self.until_ns(to) - self.until_ns(from)
    }

    /// The collections in an interval: kind and time inside it.
    pub(crate) fn each(&self, from: Ns, to: Ns) -> impl Iterator<Item = (u32, u64)> {
        let first = if from >= self.last_end_ns {
            self.ring.next()
        } else {
            self.first_ending_after(from)
        };
        (0..)
            .map_while(move |i: u32| self.ring.get(first.wrapping_add(i)))
            .take_while(move |c| c.begin_ns < to)
            .map(move |c| (c.kind, c.end_ns.min(to) - c.begin_ns.max(from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_collections_count_once() {
        let mut gc = Collections::new(4, 4);
        gc.push(1, 10, 20);
        gc.push(4, 5, 30);
        assert_eq!(gc.within_ns(0, 100), 20);
        assert_eq!(gc.within_ns(15, 25), 10);
        assert_eq!(gc.each(15, 25).collect::<Vec<_>>(), [(1, 5), (4, 5)]);
        assert_eq!((gc.within_ns(30, 40), gc.within_ns(0, 10)), (0, 0));
    }
}
