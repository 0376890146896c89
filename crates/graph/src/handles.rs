//! Descriptors and who wrote to them.
//!
//! Connections outlive the event window by hours, so they are kept apart from it. The writes are
//! one ring for all handles, in which each write knows the one before it on its own handle: the
//! walk asks for "the last write to this handle before that event" long after newer ones happened.

use bobtail_trace::record::{EventId, HandleId, HandleKind, Ns, RequestId, StringId};

use crate::events::Row;
use crate::id_table::{Alive, IdTable};
use crate::ring::Ring;

/// One incarnation of a descriptor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Handle {
    pub kind: Option<HandleKind>,
    pub name: StringId,
    /// The last loop event on it.
    pub last_event: EventId,
    pub last_write: Option<Row>,
    /// The request last started on it.
    pub request: RequestId,
    /// The oldest request on it whose response is not out.
    pub first: RequestId,
    /// Requests on it whose response has not ended, and those whose response is not out since.
    pub open_requests: u32,
    pub leaving: u32,
    /// The last write left bytes in the process.
    pub is_unsent: bool,
    /// TLS or HTTP/2 lies between responses and writes.
    pub is_layered: bool,
    pub closed: bool,
}

impl Alive for Handle {
    fn alive(&self) -> bool {
        !self.closed
    }
}

/// Bytes handed to the kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Write {
    pub event: EventId,
    pub request: RequestId,
    pub at_ns: Ns,
    /// The write before it on the same handle.
    pub previous: Option<Row>,
}

/// Handles that were never seen to open are counted among these.
const HANDLES_YOUNG: usize = 1 << 12;
const HANDLES_OLD: usize = 1 << 16;
/// How far back the writes to one handle are searched.
pub(crate) const WRITES_SEARCHED: usize = 4096;

#[derive(Debug)]
pub(crate) struct Handles {
    pub table: IdTable<Handle>,
    pub writes: Ring<Write>,
}

impl Handles {
    pub(crate) fn new(initial: usize, bound: usize) -> Self {
        Self {
            table: IdTable::new(HANDLES_YOUNG, HANDLES_OLD),
            writes: Ring::new(1, initial, bound),
        }
    }

    /// The handle, made known if it was not.
    pub(crate) fn entry(&mut self, id: HandleId) -> &mut Handle {
        if self.table.get(id).is_none() {
            self.table.insert(id, Handle::default());
        }
        self.table
            .get_mut(id)
            .expect("id is not 0 and was just inserted")
    }

    pub(crate) fn write(&mut self, handle: HandleId, event: EventId, request: RequestId, at: Ns) {
        let previous = self.entry(handle).last_write;
        let row = self.writes.push(Write {
            event,
            request,
            at_ns: at,
            previous,
        });
        self.entry(handle).last_write = Some(row);
    }

    /// Writes to one handle, from this one back.
    pub(crate) fn back_from(&self, row: Option<Row>) -> impl Iterator<Item = &Write> {
        let first = row.and_then(|row| self.writes.get(row));
        std::iter::successors(first, |w| w.previous.and_then(|row| self.writes.get(row)))
            .take(WRITES_SEARCHED)
    }
}
