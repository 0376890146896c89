//! The facts a trace consists of, decoded: absolute times, absolute event numbers.
//!
//! Decoded records are plain data with every delta resolved, so that no stage after this one knows
//! how a trace is laid out on disk (`spec/trace-format.md`).

pub use crate::code::{
    GcCause, HandleKind, LoopKind, LossKind, MarkKind, MicroKind, NotRunningCause, ReadyQuality,
};

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
    Poll {
        enter_ns: Ns,
        leave_ns: Ns,
        ready_count: u32,
    },
    /// The current event started an operation that will cause a loop event of `kind`.
    Register {
        op: OpId,
        kind: LoopKind,
        at_ns: Ns,
        resource: StringId,
        due_ns: Option<Ns>,
    },
    /// The current event handed bytes to the kernel.
    Write {
        handle: HandleId,
        at_ns: Ns,
        /// What the kernel took.
        bytes: u64,
        /// Bytes for this handle that still wait in the process after the call.
        unsent: u64,
    },
    /// A descriptor came to be (accept, connect) or was first seen.
    HandleOpen {
        handle: HandleId,
        kind: HandleKind,
        at_ns: Ns,
        name: StringId,
    },
    /// A descriptor was closed.
    HandleClose { handle: HandleId, at_ns: Ns },
    /// The current event received a request.
    Source {
        request: RequestId,
        at_ns: Ns,
        name: StringId,
    },
    /// The current event handed over the last of a response.
    Sink {
        request: RequestId,
        at_ns: Ns,
        route: StringId,
        status: u32,
    },
    /// A garbage collection.
    Gc {
        /// V8's `GCType`.
        kind: u32,
        cause: GcCause,
        /// The code that asked for it; file 0 unknown.
        caller: CodePlace,
        begin_ns: Ns,
        end_ns: Ns,
    },
    /// What the thread spent in compilation and in inline-cache misses between
    /// `end_ns - span_ns` and `end_ns`, exclusive of each other and of collections.
    Work {
        end_ns: Ns,
        span_ns: u64,
        jit_ns: u64,
        ic_ns: u64,
    },
    /// The thread could have run but did not, for `duration_ns` until `end_ns`. Told later, at
    /// `at_ns`: records before this one may lie after that time.
    NotRunning {
        at_ns: Ns,
        end_ns: Ns,
        duration_ns: u64,
        cause: NotRunningCause,
    },
    /// What the current event was executing at that time.
    Location { at_ns: Ns, place: CodePlace },
    /// A moment of the run.
    Mark {
        kind: MarkKind,
        at_ns: Ns,
        text: StringId,
    },
    /// `count` records (chunks for the kinds that readers make) and `events` event numbers are
    /// missing here. Readers go on with a `Resume` where the state of the stream jumped.
    Loss {
        kind: LossKind,
        count: u64,
        events: u32,
    },
}

/// A place in the JavaScript that ran, as V8 told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodePlace {
    /// Name of the function; 0 for one without a name and for the code of a module.
    pub function: StringId,
    /// Path of the script, or what else it is called.
    pub file: StringId,
    /// From 1; 0 unknown.
    pub line: u32,
    /// From 1, in UTF-16 units; 0 unknown.
    pub column: u32,
}

/// When what an event waits for was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    pub at_ns: Ns,
    pub quality: ReadyQuality,
}
