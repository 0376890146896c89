//! Garbage collections by number, as the record tells them.
//!
//! How much of them lies where is answered by the stretches; this one keeps the whole pause, so
//! that who waited for a part of it can be told how long all of it was.

use bobtail_trace::record::Ns;

use crate::ring::Ring;

/// One collection, or one step of incremental marking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collection {
    /// V8's GCType.
    pub kind: u32,
    pub begin_ns: Ns,
    pub end_ns: Ns,
}

/// Numbered from 1 in the order of their ends.
pub(crate) type Collections = Ring<Collection>;

/// None yet.
pub(crate) fn collections(initial: usize, bound: usize) -> Collections {
    Ring::new(1, initial, bound)
}
