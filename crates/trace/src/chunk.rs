//! Chunk headers: opening, sealing and reading the first 64 bytes of a slot.
//!
//! A chunk becomes valid with its `number`, which is stored last, and sealed with `used_bytes`, so
//! that a writer killed between any two stores leaves either the old state or the new one.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::bytes::{f64_at, put_f64, put_u32, put_u64, u32_at, u64_at};
use crate::error::Damage;
use crate::layout::{bound, chunk};
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
    put_u64(slot, chunk::NUMBER, 0);
    compiler_fence(Ordering::SeqCst);
    put_u32(slot, chunk::MAGIC, chunk::MAGIC_WORD);
    put_u32(slot, chunk::USED_BYTES, 0);
    put_f64(slot, chunk::BASE_NS, start.base_ns as f64);
    put_u32(slot, chunk::FIRST_EVENT, start.first_event);
    put_u32(slot, chunk::CURRENT, start.current);
    put_u32(slot, chunk::LOOP_EVENT, start.loop_event);
    slot[chunk::LOOP_EVENT + 4..].fill(0);
    compiler_fence(Ordering::SeqCst);
    put_u64(slot, chunk::NUMBER, start.number);
}

/// Closes the chunk: `used_bytes` includes the header.
pub fn seal(slot: &mut [u8; chunk::HEADER_BYTES], used_bytes: u32) {
    put_u32(slot, chunk::USED_BYTES, used_bytes);
    compiler_fence(Ordering::SeqCst);
}

/// A slot's chunk number and `used_bytes` (0 while open); `None` where the slot was never used.
pub(crate) fn identify(
    slot: &[u8; chunk::HEADER_BYTES],
) -> Option<Result<(u64, u32), (u64, Damage)>> {
    let number = u64_at(slot, chunk::NUMBER);
    let magic = u32_at(slot, chunk::MAGIC);
    match number {
        0 => None,
        _ if magic != chunk::MAGIC_WORD => Some(Err((number, Damage::Magic(magic)))),
        _ => Some(Ok((number, u32_at(slot, chunk::USED_BYTES)))),
    }
}

/// The stream state in a chunk header.
pub(crate) fn start(slot: &[u8; chunk::HEADER_BYTES]) -> Result<ChunkStart, Damage> {
    let base_ns = f64_at(slot, chunk::BASE_NS);
    let largest = bound::MAX_RELATIVE_NS as f64;
    if !(0.0..=largest).contains(&base_ns) || base_ns.fract() != 0.0 {
        return Err(Damage::Range {
            field: "base_ns bits",
            value: base_ns.to_bits(),
        });
    }
    Ok(ChunkStart {
        number: u64_at(slot, chunk::NUMBER),
        base_ns: base_ns as u64,
        first_event: u32_at(slot, chunk::FIRST_EVENT),
        current: u32_at(slot, chunk::CURRENT),
        loop_event: u32_at(slot, chunk::LOOP_EVENT),
    })
}
