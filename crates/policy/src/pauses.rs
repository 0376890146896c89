//! How long collections take, by their kind: what is to be expected of one that begins.

use crate::average::RunningAverage;
use crate::reading::{Collection, CollectionKind, Reading};

/// Collections of one kind over which their length is averaged.
const WINDOW: u32 = 8;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Pauses {
    under_way: Option<Collection>,
    kinds: [OfKind; CollectionKind::ALL.len()],
}

#[derive(Debug, Clone, Copy)]
struct OfKind {
    count: u64,
    sum_ns: u64,
    average: RunningAverage,
    /// The longest of late: each one later it counts a tenth less.
    longest_ns: f64,
}

impl Pauses {
    pub(crate) fn new() -> Self {
        Self {
            under_way: None,
            kinds: CollectionKind::ALL.map(|_| OfKind {
                count: 0,
                sum_ns: 0,
                average: RunningAverage::new(WINDOW),
                longest_ns: 0.0,
            }),
        }
    }

    /// Learns how long a collection took, as soon as it is over.
    pub(crate) fn learn(&mut self, reading: &Reading) {
        if reading.collection == self.under_way {
            return;
        }
        if let Some(ended) = self.under_way {
            let kind = &mut self.kinds[ended.kind.index()];
            let pause_ns = reading.now_ns.saturating_sub(ended.begin_ns);
            kind.count += 1;
            kind.longest_ns = (pause_ns as f64).max(kind.longest_ns * 0.9);
            kind.sum_ns = kind.sum_ns.saturating_add(pause_ns);
            kind.average.update(kind.sum_ns, kind.count);
        }
        self.under_way = reading.collection;
    }

    /// Whether the mean of a kind is so long; before enough of it were seen, it may be.
    pub(crate) fn lasts(&self, kind: CollectionKind, at_least_ns: f64) -> bool {
        self.kinds[kind.index()]
            .average
            .get()
            .is_none_or(|expected_ns| expected_ns >= at_least_ns)
    }

    /// The longest of late of a kind; none before enough of it were seen.
    pub(crate) fn longest_ns(&self, kind: CollectionKind) -> Option<f64> {
        let kind = &self.kinds[kind.index()];
        kind.average.get().map(|_| kind.longest_ns)
    }
}
