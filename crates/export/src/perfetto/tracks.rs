//! The tracks of one event loop, and which of several lanes a slice goes on.
//!
//! Slices of one track must nest. Requests, pool jobs and what is told late overlap, so each of
//! these has lanes: tracks of the same name, which the viewer shows as one. A lane is made when no
//! other is free; so there are as many as there ever were at a time.

use std::collections::BTreeSet;
use std::io::{self, Write};

use bobtail_breakdown::TraceInfo;
use bobtail_trace::record::Ns;

use super::messages::{CounterDescriptor, ProcessDescriptor, ThreadDescriptor, TrackDescriptor};
use super::packets::Sequence;
use crate::ids::number;

/// `ChildTracksOrdering.EXPLICIT`.
const EXPLICIT: i32 = 3;
/// `CounterDescriptor.Unit.UNIT_COUNT`.
const UNIT_COUNT: i32 = 2;
/// Worker threads have no number of the kernel in a recording; these collide with no process.
const FIRST_WORKER_TID: u32 = 1 << 30;

/// Which track of a loop; the order is the one on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Process,
    Loop,
    Requests,
    QueueLength,
    Pauses,
    Compilation,
    NotRunning,
    Pool,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Process | Self::Loop => "event loop",
            Self::Requests => "requests",
            Self::QueueLength => "queue length",
            Self::Pauses => "garbage collection",
            Self::Compilation => "compilation and inline-cache misses",
            Self::NotRunning => "not running",
            Self::Pool => "thread-pool jobs",
        }
    }
}

/// Which event loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    pub pid: u32,
    pub thread: u32,
}

impl Loop {
    pub fn of(trace: &TraceInfo) -> Self {
        Self {
            pid: trace.pid,
            thread: trace.thread,
        }
    }

    pub fn uuid(self, kind: Kind, lane: usize) -> u64 {
        let thread = if kind == Kind::Process {
            0
        } else {
            self.thread
        };
        number(&[self.pid.into(), thread.into(), kind as u64, lane as u64])
    }

    fn tid(self) -> i32 {
        match self.thread {
            0 => self.pid as i32,
            thread => (FIRST_WORKER_TID + (self.pid % 4096) * 4096 + thread % 4096) as i32,
        }
    }

    /// Declares the process, the thread and the counter; lanes declare themselves.
    pub fn declare<W: Write>(
        self,
        sequence: &mut Sequence<W>,
        process_name: &str,
        command: &[String],
    ) -> io::Result<()> {
        sequence.track(TrackDescriptor {
            uuid: Some(self.uuid(Kind::Process, 0)),
            process: Some(ProcessDescriptor {
                pid: Some(self.pid as i32),
                cmdline: command.to_vec(),
                process_name: Some(process_name.to_owned()),
            }),
            ..TrackDescriptor::default()
        })?;
        let thread_name = match self.thread {
            0 => Kind::Loop.name().to_owned(),
            thread => format!("{} of worker {thread}", Kind::Loop.name()),
        };
        sequence.track(TrackDescriptor {
            uuid: Some(self.uuid(Kind::Loop, 0)),
            parent_uuid: Some(self.uuid(Kind::Process, 0)),
            thread: Some(ThreadDescriptor {
                pid: Some(self.pid as i32),
                tid: Some(self.tid()),
                thread_name: Some(thread_name),
            }),
            child_ordering: Some(EXPLICIT),
            ..TrackDescriptor::default()
        })?;
        sequence.track(TrackDescriptor {
            counter: Some(CounterDescriptor {
                unit: Some(UNIT_COUNT),
                unit_name: Some("events ready, not begun".to_owned()),
            }),
            ..self.child(Kind::QueueLength, 0)
        })
    }

    fn child(self, kind: Kind, lane: usize) -> TrackDescriptor {
        TrackDescriptor {
            uuid: Some(self.uuid(kind, lane)),
            parent_uuid: Some(self.uuid(Kind::Loop, 0)),
            name: Some(kind.name().to_owned()),
            sibling_order_rank: Some(kind as i32),
            ..TrackDescriptor::default()
        }
    }
}

/// Tracks of one kind, on each of which slices follow one another.
#[derive(Debug)]
pub(super) struct Lanes {
    of: Loop,
    kind: Kind,
    /// End of the last slice of each, and its number.
    ends: BTreeSet<(Ns, usize)>,
}

impl Lanes {
    pub fn new(of: Loop, kind: Kind) -> Self {
        Self {
            of,
            kind,
            ends: BTreeSet::new(),
        }
    }

    /// The track for a slice: the one whose last slice ended latest of those that are free.
    pub fn place<W: Write>(
        &mut self,
        sequence: &mut Sequence<W>,
        begin_ns: Ns,
        end_ns: Ns,
    ) -> io::Result<u64> {
        let free = self
            .ends
            .range(..=(begin_ns, usize::MAX))
            .next_back()
            .copied();
        let lane = match free {
            Some(last) => {
                self.ends.remove(&last);
                last.1
            }
            None => {
                sequence.track(self.of.child(self.kind, self.ends.len()))?;
                self.ends.len()
            }
        };
        self.ends.insert((end_ns, lane));
        Ok(self.of.uuid(self.kind, lane))
    }
}
