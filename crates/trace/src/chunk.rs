//! Chunk headers: opening, sealing and reading the first 64 bytes of a slot.
//!
//! A chunk becomes valid with its `number`, which is stored last, and sealed with `used_bytes`, so
//! that a writer killed between any two stores leaves either the old state or the new one.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::layout::chunk;
use crate::record::EventId;

/// Stream state at the start of a chunk; a reader starts anew from it after a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkStart {
    /// 1, 2, 3 …
    pub number: u64,
    /// `last_ns` when the chunk was opened, relative to the start.
    pub base_ns: u64,
    /// Last event given out before the first record of the chunk, recorded or not.
    pub first_event: EventId,
    pub current: EventId,
    pub loop_event: EventId,
}

/// Writes the header of a fresh or recycled slot. The chunk before it must be sealed, and the live
/// block's `position` and `limit` must already point into this slot.
pub fn open(slot: &mut [u8; chunk::HEADER_BYTES], start: &ChunkStart) {
    put(slot, chunk::NUMBER, &0u64.to_le_bytes());
    compiler_fence(Ordering::SeqCst);
    put(slot, chunk::MAGIC, &chunk::MAGIC_WORD.to_le_bytes());
    put(slot, chunk::USED_BYTES, &0u32.to_le_bytes());
    put(slot, chunk::BASE_NS, &(start.base_ns as f64).to_le_bytes());
    put(slot, chunk::FIRST_EVENT, &start.first_event.to_le_bytes());
    put(slot, chunk::CURRENT, &start.current.to_le_bytes());
    put(slot, chunk::LOOP_EVENT, &start.loop_event.to_le_bytes());
    slot[chunk::LOOP_EVENT + 4..].fill(0);
    compiler_fence(Ordering::SeqCst);
    put(slot, chunk::NUMBER, &start.number.to_le_bytes());
}

/// Closes the chunk: `used_bytes` includes the header.
pub fn seal(slot: &mut [u8; chunk::HEADER_BYTES], used_bytes: u32) {
    put(slot, chunk::USED_BYTES, &used_bytes.to_le_bytes());
    compiler_fence(Ordering::SeqCst);
}

fn put<const N: usize>(slot: &mut [u8; chunk::HEADER_BYTES], at: usize, bytes: &[u8; N]) {
    slot[at..at + N].copy_from_slice(bytes);
}
