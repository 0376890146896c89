//! What the graph hands on: one finished request with its critical path, tiled by segments.
//!
//! The buffers live in flat vectors that are reused from request to request (a segment points into
//! `culprits` by range), because a path per request must not cost allocations per request.

use std::ops::Range;

use bobtail_trace::record::{
    CodePlace, EventId, GcCause, LoopKind, MicroKind, NotRunningCause, Ns, ReadyQuality, RequestId,
    StringId,
};

use crate::work::Work;

/// What kind of callback an event was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// Dispatched by libuv.
    Loop(LoopKind),
    /// Run inside a loop event.
    Micro(MicroKind),
}

impl EventKind {
    /// The word used in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Loop(kind) => kind.word(),
            Self::Micro(kind) => kind.word(),
        }
    }
}

/// The four things a moment on the critical path can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SegmentKind {
    /// From register to ready: waiting for something outside the loop thread.
    Io,
    /// Ready, but the loop thread did something else.
    Queue,
    /// The loop thread worked on this path.
    Exec,
    /// What the record does not explain.
    Unattributed,
}

impl SegmentKind {
    /// The word used in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::Queue => "queue",
            Self::Exec => "exec",
            Self::Unattributed => "unattributed",
        }
    }
}

/// What an `io` segment waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// Nothing is known beyond the kind of the event.
    Unnamed,
    /// The client of this very request: the rest of its body (the event is a read), or that it
    /// takes more of the response (the event tells that its connection can be written to).
    Client,
    /// A name in the string table: a file, host:port …
    Named(StringId),
}

/// Which half of a thread-pool job a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PoolPart {
    /// Submitted, but no pool thread was free.
    Wait,
    /// A pool thread worked on it.
    Run,
}

impl PoolPart {
    /// The word used in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wait => "pool-wait",
            Self::Run => "pool-run",
        }
    }
}

/// One piece of the critical path. Pieces follow each other without gap or overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub kind: SegmentKind,
    /// Absolute.
    pub start_ns: Ns,
    pub duration_ns: u64,
    /// The event this piece belongs to: whose wait, whose place in the queue, who ran.
    pub event: EventId,
    pub event_kind: EventKind,
    pub resource: Resource,
    /// The work waited for (`io`) or run (`exec`) was started by another request.
    pub shared: bool,
    /// Both ends are observed, not bounds or estimates.
    pub exact: bool,
    /// The hop that led here was deduced.
    pub inferred: bool,
    pub part: Option<PoolPart>,
    /// What the loop thread did in it; all 0 for `io` and `unattributed`.
    pub work: Work,
    /// Range of [`RequestPath::culprits`].
    pub culprits: Range<u32>,
}

/// Who had the loop thread during a piece of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CulpritKind {
    /// A callback.
    Event(EventKind),
    /// A collection of this V8 GCType.
    Gc(u32, GcCause),
    /// A job had one of the pool's threads, for which this request waited.
    Job,
    /// The thread was runnable, but did not run.
    NotRunning(NotRunningCause),
    /// The loop asked the kernel for more.
    Poll,
    /// Between two callbacks.
    Between,
    /// History was lost here.
    Lost,
}

impl CulpritKind {
    /// The word used in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Event(kind) => kind.word(),
            Self::Gc(kind, cause) => collection_word(kind, cause),
            Self::Job => "job",
            Self::NotRunning(cause) => cause.word(),
            Self::Poll => "poll",
            Self::Between => "other",
            Self::Lost => "lost",
        }
    }
}

/// A collection in words: its kind, and its cause where V8 tells one.
fn collection_word(kind: u32, cause: GcCause) -> &'static str {
    match (kind, cause) {
        (1, GcCause::Heap) => "scavenge",
        (1, GcCause::Asked) => "scavenge (asked for)",
        (1, GcCause::External) => "scavenge (external memory)",
        (1, GcCause::Everything) => "scavenge (to free all)",
        (2, GcCause::Heap) => "minor mark-compact",
        (2, GcCause::Asked) => "minor mark-compact (asked for)",
        (4, GcCause::Heap) => "mark-compact",
        (4, GcCause::Asked) => "mark-compact (asked for)",
        (4, GcCause::External) => "mark-compact (external memory)",
        (4, GcCause::Everything) => "mark-compact (to free all)",
        (8, _) => "incremental marking",
        (16, _) => "weak callbacks",
        (2, _) => "minor mark-compact (of a cause)",
        _ => "gc",
    }
}

/// A share of a segment and who is to blame for it.
///
/// In a `queue` segment the culprits sum to its duration; in an `exec` segment only collections and
/// times of not running are listed. In a wait for a thread of the pool they are the jobs that had
/// the threads, each with its share of the time; they sum to the part of it in which such jobs are
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Culprit {
    pub kind: CulpritKind,
    /// The event that ran, or was interrupted by what the kind tells; 0 between events.
    pub event: EventId,
    /// The request that event belongs to; 0 unknown.
    pub request: RequestId,
    /// Route of that request, or its name while the route is not known; 0 unknown.
    pub route: StringId,
    /// What it executed, who asked for the collection, or what started the job; without a file
    /// where that is unknown.
    pub location: CodePlace,
    /// Number of the collection of which this is a part; 0 for other kinds.
    pub collection: u32,
    /// What the job worked on; 0 unknown, and for other kinds.
    pub resource: StringId,
    pub duration_ns: u64,
}

/// How an event on the path was reached from the one before it on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// The first event of the path: it received the request.
    Source,
    /// Ran in the same loop event, after its predecessor.
    Inside,
    /// The predecessor started or awaited, at `register_ns`, what made this loop event ready.
    Wait { register_ns: Ns },
}

/// An event on the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathEvent {
    pub event: EventId,
    pub kind: EventKind,
    pub hop: Hop,
    /// The work that made the event ready was started by another request.
    pub shared: bool,
    /// The hop was deduced, not observed.
    pub inferred: bool,
    /// The wait was for a socket of an agent: this micro event queued for it.
    pub agent: EventId,
}

/// A finished request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    pub id: RequestId,
    /// Method and path.
    pub name: StringId,
    /// Route, or the name where the application gave none.
    pub route: StringId,
    pub status: u32,
    /// Where the latency begins.
    pub source_ready_ns: Ns,
    /// Whether that is an exact ready time.
    pub source_quality: Option<ReadyQuality>,
    /// The moment the request was seen by the application; decides whether it is warm-up.
    pub source_ns: Ns,
    /// The loop event that received the request.
    pub source_event: EventId,
    pub sink_ns: Ns,
    pub sink_event: EventId,
    /// At `sink_ns` the kernel had taken the whole response. Otherwise the connection was closed or
    /// the trace ended before, and `sink_ns` is the call that ended the response.
    pub handed_over: bool,
    /// The connection was closed before the kernel had the whole response.
    pub cut_off: bool,
    pub latency_ns: u64,
    /// False when the graph was told not to walk this request; what follows is empty then.
    pub walked: bool,
    /// A part of the history between source and sink is gone.
    pub truncated: bool,
    pub inferred_hops: u32,
    /// From source to sink.
    pub events: Vec<PathEvent>,
    /// In path order; durations sum to `latency_ns`.
    pub segments: Vec<Segment>,
    pub culprits: Vec<Culprit>,
    /// The paper's latency: waits plus whole callbacks along the path, which counts time twice
    /// when a callback goes on after registering the next event.
    pub paper_sum_ns: u64,
}

impl RequestPath {
    /// An empty path, to be filled and reused.
    pub fn new() -> Self {
        Self {
            id: 0,
            name: 0,
            route: 0,
            status: 0,
            source_ready_ns: 0,
            source_quality: None,
            source_ns: 0,
            source_event: 0,
            sink_ns: 0,
            sink_event: 0,
            handed_over: false,
            cut_off: false,
            latency_ns: 0,
            walked: false,
            truncated: false,
            inferred_hops: 0,
            events: Vec::new(),
            segments: Vec::new(),
            culprits: Vec::new(),
            paper_sum_ns: 0,
        }
    }

    /// True when nothing was lost: every hop leads to the source.
    pub fn complete(&self) -> bool {
        !self.truncated
    }

    /// Sum of the segments of a kind.
    pub fn total_ns(&self, kind: SegmentKind) -> u64 {
        self.segments
            .iter()
            .filter(|s| s.kind == kind)
            .map(|s| s.duration_ns)
            .sum()
    }

    /// What the loop thread did in the segments.
    pub fn work(&self) -> Work {
        let mut work = Work::default();
        self.segments.iter().for_each(|s| work += s.work);
        work
    }

    /// Who had the loop during a segment.
    pub fn culprits_of(&self, segment: &Segment) -> &[Culprit] {
        &self.culprits[segment.culprits.start as usize..segment.culprits.end as usize]
    }
}

impl Default for RequestPath {
    fn default() -> Self {
        Self::new()
    }
}
