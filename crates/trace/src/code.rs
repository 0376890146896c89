//! The code tables of the format: kinds, qualities, marks and losses, each with the word that
//! reports and drawn traces use.
//!
//! One macro keeps code, word and variant on one line, so that they cannot drift apart the way
//! three hand-written `match`es would.

macro_rules! codes {
    ($(#[$m:meta])* $name:ident {
        $($(#[$vm:meta])* $variant:ident = $code:literal $word:literal),+ $(,)?
    }) => {
        $(#[$m])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vm])* $variant = $code),+ }
        impl $name {
            /// All values, in code order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The code in the format.
            pub fn code(self) -> u32 { self as u32 }
            /// The value with this code.
            pub fn from_code(code: u32) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }
            /// The word used in reports and drawn traces.
            pub fn word(self) -> &'static str { match self { $(Self::$variant => $word),+ } }
            /// The value with this word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

codes!(
    /// What dispatched a loop event.
    LoopKind {
        Read = 1 "read", Accept = 2 "accept", Connect = 3 "connect", Pool = 4 "pool",
        Timer = 5 "timer", Immediate = 6 "immediate", Signal = 7 "signal", Child = 8 "child",
        Async = 9 "async", Message = 10 "message", Poll = 11 "poll", Other = 12 "other",
        Udp = 13 "udp", Timers = 14 "timers", Immediates = 15 "immediates", Close = 16 "close",
    }
);
codes!(
    /// What queued a micro event.
    MicroKind {
        Promise = 1 "promise", Tick = 2 "tick", Microtask = 3 "microtask",
        Callback = 4 "callback", Agent = 5 "agent", Emitter = 6 "emitter",
    }
);
codes!(
    /// What a descriptor is.
    HandleKind {
        ServerConnection = 1 "server", ClientConnection = 2 "client", Listener = 3 "listener",
        Pipe = 4 "pipe", Udp = 5 "udp", UnixServerConnection = 6 "unix-server",
        UnixClientConnection = 7 "unix-client", Other = 8 "other",
        /// A MessagePort or a Worker: a WRITE is a post.
        Port = 9 "port",
    }
);
codes!(
    /// How well a ready time is known.
    ReadyQuality { Exact = 0 "exact", UpperBound = 1 "bound", Estimate = 2 "estimate" }
);
codes!(
    /// Why a thread that could have run did not.
    NotRunningCause {
        /// The kernel took the processor away: for another thread, or because the quota was used.
        Preempted = 0 "preempted",
        /// The kernel told how long, not why.
        Other = 1 "other",
    }
);
codes!(
    /// Why V8 collected garbage, as far as it tells.
    GcCause {
        /// Its own heuristics; other reasons are told where V8 says them.
        Heap = 0 "heap",
        /// The program: `gc()`, or whoever else asked for this very collection.
        Asked = 1 "asked",
        /// Memory outside the heap that objects in it hold: buffers.
        External = 2 "external",
        /// Everything that could be freed was wanted: a heap snapshot, or memory ran out.
        Everything = 3 "everything",
    }
);
impl Default for GcCause {
    /// What a record without a cause means.
    fn default() -> Self {
        Self::Heap
    }
}
codes!(
    /// Moments of the run.
    MarkKind {
        Listening = 1 "listening", WarmupEnd = 2 "warmup-end", Paused = 3 "paused",
        Resumed = 4 "resumed",
    }
);
codes!(
    /// What was lost, and why.
    LossKind {
        NoChunk = 0 "no-chunk", DiskFull = 1 "disk-full", Strings = 2 "strings",
        PoolTable = 3 "pool-table", HandleTable = 4 "handle-table",
        RecordLength = 5 "record-length", Overwritten = 6 "overwritten",
        ReadyMissing = 7 "ready-missing", Damaged = 8 "damaged", Switches = 9 "switches",
        Interjections = 10 "interjections",
    }
);
