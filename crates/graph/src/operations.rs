//! Registered operations that have not caused their event yet.
//!
//! A timer may be cleared and never come, or come a thousand times (`setInterval`), so an
//! operation is neither taken out when it fires nor kept for ever.

use bobtail_trace::record::{EventId, LoopKind, Ns, RequestId, StringId};

use crate::id_table::{Alive, IdTable};

/// What REGISTER told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub kind: LoopKind,
    pub registrar: EventId,
    /// The request the registrar worked for at that moment.
    pub request: RequestId,
    pub at_ns: Ns,
    pub resource: StringId,
    pub due_ns: Option<Ns>,
    pub fired: bool,
}

impl Default for Operation {
    fn default() -> Self {
        Self {
            kind: LoopKind::Other,
            registrar: 0,
            request: 0,
            at_ns: 0,
            resource: 0,
            due_ns: None,
            fired: false,
        }
    }
}

impl Alive for Operation {
    /// A timer that fired may be an interval.
    fn alive(&self) -> bool {
        !self.fired || self.kind == LoopKind::Timer
    }
}

const OPERATIONS_YOUNG: usize = 1 << 14;
const OPERATIONS_OLD: usize = 1 << 15;

pub(crate) type Operations = IdTable<Operation>;

pub(crate) fn operations() -> Operations {
    IdTable::new(OPERATIONS_YOUNG, OPERATIONS_OLD)
}
