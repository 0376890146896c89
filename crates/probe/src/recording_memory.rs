//! The memory a loop is recorded through: the trace's mappings and the array of contexts.
//!
//! Made as one and given back as one, so that a start that is refused half-way leaves neither
//! mappings nor a file.

use std::io;
use std::sync::Arc;

use crate::ring::{Ring, Slots};
use crate::trace_file::{self, Description, TraceFile};

pub const CONTEXT_BYTES: usize = 65_536 * 4;
/// Chunks mapped before the first record.
const CHUNKS_AHEAD: usize = 2;

/// See the module.
pub struct Memory {
    pub ring: Arc<Ring>,
    pub file: TraceFile,
    pub slots: Slots,
    /// Request of each event, by the event's number modulo its length.
    pub context: *mut u32,
}

/// Why there is none.
pub enum Error {
    Memory(io::Error),
    Trace(trace_file::Error),
    /// The recording has reached its bound; how many loops of this process were refused for it.
    Total(u32),
}

impl Memory {
    /// Creates the trace and maps its first chunks.
    ///
    /// # Errors
    /// No memory, no room, or a trace that cannot be written; nothing is left of what was made.
    pub fn new(description: &Description) -> Result<Self, Error> {
        let _admission = description.total_bound().admit().map_err(Error::Total)?;
        let context = context_array().map_err(Error::Memory)?;
        let made = trace(description);
        if made.is_err() {
            unmap_context(context);
        }
        let (ring, file, slots) = made?;
        Ok(Self {
            ring: Arc::new(ring),
            file,
            slots,
            context,
        })
    }
}

fn trace(description: &Description) -> Result<(Ring, TraceFile, Slots), Error> {
    let ring = Ring::new(description.ring_slots, description.chunk_bytes).map_err(Error::Memory)?;
    match chunks(&ring, description) {
        Ok((file, slots)) => Ok((ring, file, slots)),
        Err(error) => {
            // SAFETY: nobody else knows the ring.
            unsafe { ring.unmap() };
            Err(Error::Trace(error))
        }
    }
}

fn chunks(ring: &Ring, description: &Description) -> Result<(TraceFile, Slots), trace_file::Error> {
    let file = TraceFile::create(description)?;
    let mut slots = Slots::new(description.max_slots, description.total_bound());
    for _ in 0..CHUNKS_AHEAD {
        if let Err(error) = slots.map_next(ring, &file) {
            // SAFETY: nobody else knows the file.
            unsafe { file.unmap() };
            file.remove(&description.path);
            return Err(trace_file::Error::Reserve(description.path.clone(), error));
        }
    }
    Ok((file, slots))
}

fn context_array() -> io::Result<*mut u32> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let none = std::ptr::null_mut();
    // SAFETY: a fresh anonymous mapping.
    match unsafe { libc::mmap(none, CONTEXT_BYTES, protection, flags, -1, 0) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        at => Ok(at.cast()),
    }
}

/// Unmaps an array of contexts that nobody uses any more.
pub fn unmap_context(context: *mut u32) {
    // SAFETY: the mapping of `context_array`; by the caller nobody uses it.
    unsafe { libc::munmap(context.cast(), CONTEXT_BYTES) };
}
