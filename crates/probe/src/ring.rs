//! A window of addresses through which the loop thread writes chunks of the file one after another.
//!
//! The window stays where it is (JavaScript holds it as one ArrayBuffer); what changes is which
//! part of the file lies behind each of its slots. The mapper thread maps chunks ahead, so that
//! the loop thread goes on to the next one without a system call.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::trace_file::{self, TraceFile};

/// What the loop thread and the mapper share.
pub struct Ring {
    base: *mut u8,
    pub slots: u32,
    pub chunk_bytes: u32,
    /// Highest chunk number that is mapped; set by the mapper.
    mapped: AtomicU64,
    /// Chunk number the loop thread writes; set by the loop thread.
    current: AtomicU64,
    /// The disk was full when the last chunk was wanted.
    disk_full: AtomicBool,
}

// SAFETY: the fields are atomic, and the memory behind `base` is used by number: the loop thread
// only touches chunk `current`, the mapper only slots of chunks that the loop thread has left.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// Reserves the addresses; nothing of a file lies behind them yet.
    pub fn new(slots: u32, chunk_bytes: u32) -> io::Result<Self> {
        let bytes = slots as usize * chunk_bytes as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: base.cast(),
            slots,
            chunk_bytes,
            mapped: AtomicU64::new(0),
            current: AtomicU64::new(0),
            disk_full: AtomicBool::new(false),
        })
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    pub fn bytes(&self) -> usize {
        self.slots as usize * self.chunk_bytes as usize
    }

    /// The chunk after the current one, if it is mapped. Loop thread.
    #[inline]
    pub fn next(&self) -> Option<u64> {
        let next = self.current.load(Ordering::Relaxed) + 1;
        (next <= self.mapped.load(Ordering::Acquire)).then_some(next)
    }

    /// The loop thread has left all chunks before `number`. Loop thread.
    #[inline]
    pub fn advance(&self, number: u64) {
        self.current.store(number, Ordering::Release);
    }

    /// There is no next chunk because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    /// A slot is free for the mapper.
    pub fn wants_chunk(&self) -> bool {
        let current = self.current.load(Ordering::Acquire).max(1);
        self.mapped.load(Ordering::Relaxed) + 1 < current + u64::from(self.slots)
    }

    /// Chunks mapped and written: for tests and doctor.
    pub fn numbers(&self) -> (u64, u64) {
        (
            self.mapped.load(Ordering::Relaxed),
            self.current.load(Ordering::Relaxed),
        )
    }

    /// Offset in the window of a chunk's slot.
    pub fn offset(&self, number: u64) -> u32 {
        bobtail_trace::layout::ring_offset(number, self.slots, self.chunk_bytes) as u32
    }

    /// Unmaps the window.
    ///
    /// # Safety
    /// Neither the loop thread nor the mapper nor JavaScript use it any more.
    pub unsafe fn unmap(&self) {
        // SAFETY: the mapping of `new`, with or without parts of the file in it.
        unsafe { libc::munmap(self.base.cast(), self.bytes()) };
    }
}

/// The mapper's side: which chunk lies in which slot of the file.
pub struct Slots {
    /// Chunk number by file slot.
    numbers: Vec<u64>,
    max_slots: u32,
}

impl Slots {
    /// `max_slots` is at least one more than the ring has.
    pub fn new(max_slots: u32) -> Self {
        Self {
            numbers: Vec::new(),
            max_slots,
        }
    }

    /// Maps one more chunk if a slot of the ring is free; tells whether it did.
    ///
    /// # Errors
    /// The file cannot grow or be mapped; the ring then says so to the loop thread.
    pub fn map_next(&mut self, ring: &Ring, file: &TraceFile) -> io::Result<bool> {
        if !ring.wants_chunk() {
            return Ok(false);
        }
        let result = self.map_chunk(ring, file);
        ring.disk_full.store(result.is_err(), Ordering::Relaxed);
        result.map(|()| true)
    }

    fn map_chunk(&mut self, ring: &Ring, file: &TraceFile) -> io::Result<()> {
        let number = ring.mapped.load(Ordering::Relaxed) + 1;
        let bytes = u64::from(file.chunk_bytes);
        let slot = self.slot_for_next();
        let offset = file.slots_offset + slot as u64 * bytes;
        if slot == self.numbers.len() {
            trace_file::reserve(file.raw(), offset, bytes)?;
        }
        // SAFETY: the slot of the ring is within it, and free (`wants_chunk`).
        let at = unsafe { ring.base.add(ring.offset(number) as usize) };
        trace_file::map(at, bytes as usize, file.raw(), offset)?;
        if slot == self.numbers.len() {
            self.numbers.push(number);
        } else {
            self.numbers[slot] = number;
        }
        ring.mapped.store(number, Ordering::Release);
        Ok(())
    }

    /// A new slot, or when the file may not grow the one with the lowest number.
    fn slot_for_next(&self) -> usize {
        if self.numbers.len() < self.max_slots as usize {
            return self.numbers.len();
        }
        let oldest = self
            .numbers
            .iter()
            .enumerate()
            .min_by_key(|(_, number)| **number);
        oldest.map_or(0, |(slot, _)| slot)
    }
}
