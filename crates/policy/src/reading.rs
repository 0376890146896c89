//! What a sensor tells about one event loop: all that a policy may know.
//!
//! Sums since the start instead of averages: a sensor on the loop's thread only adds, and what is
//! averaged over how long is the policy's business.

/// One event loop at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// A clock that does not go back; its origin does not matter.
    pub now_ns: u64,
    /// The collection under way.
    pub collection: Option<Collection>,
    /// Events that are ready and have not begun; the one that executes is not among them.
    pub queue_length: u32,
    /// How long the event that executes has done so; 0 when the loop is idle.
    pub head_ns: u64,
    /// Sums since the loop started.
    pub totals: LoopTotals,
}

impl Reading {
    /// How long the loop was in events so far, the one that executes included.
    pub fn busy_ns(&self) -> u64 {
        self.totals.events_ns.saturating_add(self.head_ns)
    }
}

/// Sums over the life of a loop; they never fall, unless the loop is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoopTotals {
    /// Polls that have ended, whether they found something or not: each begins a turn.
    pub turns: u64,
    /// Polls that found something ready.
    pub polls: u64,
    /// Sum of the queue's length right after each of these polls.
    pub queue_lengths: u64,
    /// Events that ended.
    pub events: u64,
    /// Sum of their durations, begin to end.
    pub events_ns: u64,
}

/// A garbage collection, or a step of one, that stops the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collection {
    pub kind: CollectionKind,
    pub begin_ns: u64,
}

/// What V8 collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CollectionKind {
    /// The young generation, by copying.
    Scavenge,
    /// The young generation, by marking.
    MinorMarkSweep,
    /// Everything.
    MarkCompact,
    /// Incremental marking: its start, of which alone V8 calls back; in recordings each step.
    IncrementalMarking,
    /// Callbacks of weak references.
    WeakCallbacks,
}

impl CollectionKind {
    /// All of them, in the order of their [`index`](Self::index).
    pub const ALL: [Self; 5] = [
        Self::Scavenge,
        Self::MinorMarkSweep,
        Self::MarkCompact,
        Self::IncrementalMarking,
        Self::WeakCallbacks,
    ];

    /// The kind for a value of V8's `GCType`; the largest of several.
    pub fn from_v8(gc_type: u32) -> Self {
        match gc_type {
            kind if kind & 4 != 0 => Self::MarkCompact,
            kind if kind & 8 != 0 => Self::IncrementalMarking,
            kind if kind & 2 != 0 => Self::MinorMarkSweep,
            kind if kind & 1 != 0 => Self::Scavenge,
            _ => Self::WeakCallbacks,
        }
    }

    /// Its place in a table with one entry per kind.
    pub fn index(self) -> usize {
        self as usize
    }
}
