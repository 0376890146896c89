//! Garbage collections by number, as the record tells them.
//!
//! How much of them lies where is answered by the stretches; this one keeps the whole pause, so
//! that who waited for a part of it can be told how long all of it was.

use bobtail_trace::record::{CodePlace, GcCause, Ns, Record};

use crate::path::CulpritKind;
use crate::ring::Ring;

/// One collection, or one step of incremental marking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collection {
    /// V8's GCType.
    pub kind: u32,
    pub cause: GcCause,
    /// The code that asked for it; without a file where it is unknown.
    pub caller: CodePlace,
    pub begin_ns: Ns,
    pub end_ns: Ns,
}

impl Collection {
    /// The collection that a record tells.
    pub fn told_by(record: &Record) -> Option<Self> {
        match *record {
            Record::Gc {
                kind,
                cause,
                caller,
                begin_ns,
                end_ns,
            } => Some(Self {
                kind,
                cause,
                caller,
                begin_ns,
                end_ns,
            }),
            _ => None,
        }
    }

    /// What it is as a culprit.
    pub fn as_culprit(&self) -> CulpritKind {
        CulpritKind::Gc(self.kind, self.cause)
    }
}

/// Numbered from 1 in the order of their ends.
pub(crate) type Collections = Ring<Collection>;

/// None yet.
pub(crate) fn collections(initial: usize, bound: usize) -> Collections {
    Ring::new(1, initial, bound)
}
