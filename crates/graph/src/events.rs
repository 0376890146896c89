//! The event window: what is remembered of every event, by its number.
//!
//! Micro events outnumber all else by ten to one, so an event is one small fixed row found by
//! masking its number; what only loop events have lies in rows of its own.

use bobtail_trace::record::{
    EventId, HandleId, LoopKind, MicroKind, Ns, OpId, ReadyQuality, RequestId, StringId,
};

use crate::path::EventKind;

/// Number of a row of some ring; see the ring it is used with.
pub(crate) type Row = u32;

/// An event of either kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub kind: EventKind,
    /// The event that caused it to be; 0 unknown or not a single one.
    pub registrar: EventId,
    /// Row of the loop event it is or runs in.
    pub loop_row: Row,
    /// The request it works for; 0 unknown or none.
    pub request: RequestId,
    /// The event before it of the same request; 0 when it is the first.
    pub previous_own: EventId,
    /// First and last run in which it executes.
    pub first_run: Row,
    pub last_run: Row,
}

impl Default for Event {
    fn default() -> Self {
        Self {
            kind: EventKind::Micro(MicroKind::Promise),
            registrar: 0,
            loop_row: 0,
            request: 0,
            previous_own: 0,
            first_run: 0,
            last_run: 0,
        }
    }
}

/// What only a loop event has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopEvent {
    pub event: EventId,
    pub kind: LoopKind,
    pub quality: ReadyQuality,
    pub begin_ns: Ns,
    /// 0 while it is open.
    pub end_ns: Ns,
    pub ready_ns: Option<Ns>,
    /// Duration of a pool job on its thread, ending at ready.
    pub run_ns: u64,
    pub handle: HandleId,
    pub op: OpId,
    /// The request its registrar worked for when it registered it.
    pub registrar_request: RequestId,
    pub register_ns: Ns,
    pub resource: StringId,
    /// The loop event before it on the same handle; 0 none.
    pub previous_on_handle: EventId,
    /// Row of the last write to its handle before it.
    pub last_write: Option<Row>,
}

impl Default for LoopEvent {
    fn default() -> Self {
        Self {
            event: 0,
            kind: LoopKind::Other,
            quality: ReadyQuality::Exact,
            begin_ns: 0,
            end_ns: 0,
            ready_ns: None,
            run_ns: 0,
            handle: 0,
            op: 0,
            registrar_request: 0,
            register_ns: 0,
            resource: 0,
            previous_on_handle: 0,
            last_write: None,
        }
    }
}
