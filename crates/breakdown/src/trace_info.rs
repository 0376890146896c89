//! Which event loop a trace is of, and what was measured of it.

use bobtail_graph::Work as Spent;
use bobtail_trace::record::{Ns, RequestId};

use crate::report::Work;
use crate::taken::Taken;

/// Facts about a trace that its records do not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceInfo {
    pub pid: u32,
    pub thread: u32,
    /// Version of Node.
    pub node: String,
    /// When the recording of this loop started.
    pub start_ns: Ns,
    /// Requests received before are warm-up; a mark in the trace may set a later end.
    pub warmup_end_ns: Option<Ns>,
    pub measured: Measured,
    /// The limits of its heap, where the probe told them.
    pub heap: Option<Heap>,
    /// How often its CPU quota was used up; `None` unknown, or without a quota.
    pub throttled: Option<Throttled>,
    /// When the host took time from this machine.
    pub stolen: Taken,
    /// When V8's own threads took time from the processors of the process; never where that is
    /// unknown, or there are enough for all.
    pub taken_by_v8: Taken,
}

impl TraceInfo {
    /// The name of a request that is unique in the recording.
    pub fn request_name(&self, request: RequestId) -> String {
        format!("{}-{}:{request}", self.pid, self.thread)
    }
}

/// Which work classes were measured: a class that was not is unknown, never 0, and its time counts
/// as native.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    pub gc: bool,
    pub jit: bool,
    pub ic: bool,
    pub not_running: bool,
}

impl Measured {
    /// The mechanisms that measure each class, as reports name them.
    pub const MECHANISMS: [&'static str; 4] = [
        "garbage collections",
        "compilation",
        "inline-cache misses",
        "time not running",
    ];

    /// Everything.
    pub const ALL: Self = Self {
        gc: true,
        jit: true,
        ic: true,
        not_running: true,
    };

    /// In the order of [`Self::MECHANISMS`].
    pub(crate) fn each(self) -> [bool; 4] {
        [self.gc, self.jit, self.ic, self.not_running]
    }

    /// What both know.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            gc: self.gc && other.gc,
            jit: self.jit && other.jit,
            ic: self.ic && other.ic,
            not_running: self.not_running && other.not_running,
        }
    }

    /// The classes of a stretch of `total_ns`, of which those that were measured sum to `spent`.
    pub fn work(self, total_ns: u64, spent: &Spent) -> Work {
        let told = |measured: bool, ns: u64| measured.then_some(ns);
        let mut work = Work {
            native_ns: None,
            gc_ns: told(self.gc, spent.gc_ns),
            jit_ns: told(self.jit, spent.jit_ns),
            ic_ns: told(self.ic, spent.ic_ns),
            loop_ns: Some(spent.loop_ns),
            not_running_ns: told(self.not_running, spent.not_running_ns),
        };
        let parts = [
            work.gc_ns,
            work.jit_ns,
            work.ic_ns,
            work.loop_ns,
            work.not_running_ns,
        ];
        let known_ns: u64 = parts.iter().flatten().sum();
        work.native_ns = Some(total_ns.saturating_sub(known_ns));
        work
    }
}

impl Default for Measured {
    /// What every trace has had from the beginning.
    fn default() -> Self {
        Self {
            gc: true,
            jit: false,
            ic: false,
            not_running: false,
        }
    }
}

/// The limits of a process's heap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heap {
    /// Of the whole heap: it is collected ever more often near it.
    pub limit_bytes: u64,
    /// Of a half of the young generation, where it is known.
    pub semi_space_bytes: Option<u64>,
    /// What the container may use of memory.
    pub memory_limit_bytes: Option<u64>,
}

/// What a CPU quota cost a process while it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throttled {
    /// Periods in which the quota was used up.
    pub periods: u64,
    /// Time until the next period, in total.
    pub throttled_ns: u64,
}
