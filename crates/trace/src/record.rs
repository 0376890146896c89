//! The facts a trace consists of, decoded: absolute times, absolute event numbers.
//!
//! Decoded records are plain data with every delta resolved, so that no stage after this one knows
//! how a trace is laid out on disk (`spec/trace-format.md`).

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub type Ns = u64;
/// Number of an event within its trace; 0 is "no event". Events are numbered by begin order.
pub type EventId = u32;
/// Number of a registered operation (a timer, a thread-pool job …); 0 is "none".
pub type OpId = u32;
/// Number of one incarnation of a descriptor; 0 is "none".
pub type HandleId = u32;
/// Number of a request within its trace; 0 is "none".
pub type RequestId = u32;
/// Entry of the string table; 0 is "no string".
pub type StringId = u32;

/// One fact, in the order in which it happened on the loop thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// A loop event begins; an open one ends here. Opens the next event number.
    LoopBegin {
        event: EventId,
        kind: LoopKind,
        begin_ns: Ns,
        ready: Option<Ready>,
        handle: HandleId,
        op: OpId,
        /// Duration of a pool job on its pool thread, ending at `ready`; 0 for other kinds.
        run_ns: u64,
    },
    /// The open loop event, with all its micro events, returned.
    LoopEnd { end_ns: Ns },
    /// A micro event begins inside the open loop event. Opens the next event number.
    Micro {
        event: EventId,
        kind: MicroKind,
        /// Event that registered it (`await`, `.then`, `nextTick`, bind); 0 unknown.
        registrar: EventId,
        /// Only known where the writer read a clock (the request context changed).
        begin_ns: Option<Ns>,
    },
    /// `event` goes on after something nested in it returned.
    Resume { event: EventId, at_ns: Option<Ns> },
    /// The loop waited in the kernel from `enter_ns` to `leave_ns`; ends the open event.
    Poll { enter_ns: Ns, leave_ns: Ns, ready_count: u32 },
    /// The current event started an operation that will cause a loop event of `kind`.
    Register { op: OpId, kind: LoopKind, at_ns: Ns, resource: StringId, due_ns: Option<Ns> },
    /// The current event handed bytes to the kernel.
    Write { handle: HandleId, at_ns: Ns, bytes: u64 },
    /// A descriptor came to be (accept, connect) or was first seen.
    HandleOpen { handle: HandleId, kind: HandleKind, at_ns: Ns, name: StringId },
    HandleClose { handle: HandleId, at_ns: Ns },
    /// The current event received a request.
    Source { request: RequestId, at_ns: Ns, name: StringId },
    /// The current event handed over the last of a response.
    Sink { request: RequestId, at_ns: Ns, route: StringId, status: u32 },
    Gc { kind: u32, begin_ns: Ns, end_ns: Ns },
    /// What the current event was executing at that time.
    Location { at_ns: Ns, name: StringId },
    Mark { kind: MarkKind, at_ns: Ns, text: StringId },
    Loss { kind: LossKind, count: u64, events: u32 },
}

/// When what an event waits for was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    pub at_ns: Ns,
    pub quality: ReadyQuality,
}

macro_rules! codes {
    ($(#[$m:meta])* $name:ident { $($(#[$vm:meta])* $variant:ident = $code:literal $word:literal),+ $(,)? }) => {
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
    }
);
codes!(
    /// How well a ready time is known.
    ReadyQuality { Exact = 0 "exact", UpperBound = 1 "bound", Estimate = 2 "estimate" }
);
codes!(
    /// Moments of the run.
    MarkKind { Listening = 1 "listening", WarmupEnd = 2 "warmup-end", Paused = 3 "paused", Resumed = 4 "resumed" }
);
codes!(
    /// What was lost, and why.
    LossKind {
        NoChunk = 0 "no-chunk", DiskFull = 1 "disk-full", Strings = 2 "strings", PoolTable = 3 "pool-table",
        HandleTable = 4 "handle-table", RecordLength = 5 "record-length", Overwritten = 6 "overwritten",
        ReadyMissing = 7 "ready-missing", Damaged = 8 "damaged",
    }
);
