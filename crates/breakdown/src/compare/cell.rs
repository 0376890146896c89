//! What is added up over requests, as one row of numbers: latency and the causes it consists of.

use bobtail_graph::{RequestPath, SegmentKind};

use crate::trace_info::Measured;

/// Causes in the order of [`Cell::parts`]: the first four sum to latency, the others to queue and
/// exec.
pub(crate) const CAUSES: [&str; 10] = [
    "io",
    "queue",
    "exec",
    "unattributed",
    "native",
    "gc",
    "jit",
    "ic",
    "loop",
    "notRunning",
];
const QUEUE: usize = 1;
const EXEC: usize = 2;
const NATIVE: usize = 4;
/// Where the classes of [`Measured::each`] are.
const MEASURED: [usize; 4] = [5, 6, 7, 9];

/// Sums over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cell {
    pub count: f64,
    pub latency_ns: f64,
    pub parts: [f64; CAUSES.len()],
}

impl Cell {
    /// One request.
    pub(crate) fn of(path: &RequestPath) -> Self {
        let work = path.work();
        let parts = [
            path.total_ns(SegmentKind::Io),
            path.total_ns(SegmentKind::Queue),
            path.total_ns(SegmentKind::Exec),
            path.total_ns(SegmentKind::Unattributed),
            work.native_ns,
            work.gc_ns,
            work.jit_ns,
            work.ic_ns,
            work.loop_ns,
            work.not_running_ns,
        ];
        Self {
            count: 1.0,
            latency_ns: path.latency_ns as f64,
            parts: parts.map(|ns| ns as f64),
        }
    }

    /// Adds so many of another.
    pub(crate) fn add(&mut self, other: &Self, times: f64) {
        self.count += other.count * times;
        self.latency_ns += other.latency_ns * times;
        for (sum, part) in self.parts.iter_mut().zip(&other.parts) {
            *sum += part * times;
        }
    }

    /// Time of a cause; `None` where it was not measured, which is part of native then.
    pub(crate) fn part_ns(&self, cause: usize, measured: Measured) -> Option<f64> {
        let classes = MEASURED.iter().zip(measured.each());
        let mut missing = classes.filter(|(_, known)| !known).map(|(&class, _)| class);
        if cause == NATIVE {
            let hidden_ns: f64 = missing.map(|class| self.parts[class]).sum();
            return Some(self.parts[NATIVE] + hidden_ns);
        }
        (!missing.any(|class| class == cause)).then_some(self.parts[cause])
    }

    /// What a cause is a share of: latency, or queue and exec.
    pub(crate) fn whole_ns(&self, cause: usize) -> f64 {
        if cause < NATIVE {
            self.latency_ns
        } else {
            self.parts[QUEUE] + self.parts[EXEC]
        }
    }
}
