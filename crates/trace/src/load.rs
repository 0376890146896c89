//! Takes one chunk into memory, whether it is sealed, still open, or recycled meanwhile.
//!
//! The position is read before the bytes and the number again after them: what the writer stores
//! in between can make the chunk shorter than it is by now, but never mix two chunks. Only a WORK
//! at its end may be half of what it was and half of what it becomes.

use crate::bytes::u32_at;
use crate::chunk::{self, ChunkStart};
use crate::error::{Damage, TraceError};
use crate::header::Header;
use crate::layout::chunk::HEADER_BYTES;
use crate::layout::{live, ring_offset};
use crate::read_at::ReadAt;
use crate::slots::read;

/// Where a chunk is expected.
pub(crate) struct Place {
    pub(crate) number: u64,
    /// Of its slot in the file.
    pub(crate) offset: u64,
    /// Whether no later chunk is known; only then may it be open.
    pub(crate) newest: bool,
}

pub(crate) enum Loaded {
    /// The slot holds another chunk by now.
    Recycled,
    /// The first `bytes` bytes are in memory; fewer than the buffer holds where the file ends.
    Chunk {
        start: ChunkStart,
        bytes: usize,
        /// The writer may be at its end.
        is_open: bool,
    },
    Damaged(Damage),
}

/// Reads a chunk into `bytes`, which becomes as long as the chunk is used.
pub(crate) fn load<S: ReadAt>(
    source: &S,
    header: &Header,
    place: &Place,
    bytes: &mut Vec<u8>,
) -> Result<Loaded, TraceError> {
    let mut position = [0; 4];
    if place.newest {
        read(
            source,
            live::byte_offset(live::POSITION) as u64,
            &mut position,
        )?;
    }
    let Some(stored) = identify(source, place)? else {
        return Ok(Loaded::Recycled);
    };
    let used_bytes = match used_bytes(header, place, stored, u32_at(&position, 0)) {
        Ok(used_bytes) => used_bytes,
        Err(damage) => return Ok(Loaded::Damaged(damage)),
    };
    bytes.resize(used_bytes, 0);
    let got = read(source, place.offset, bytes)?;
    if got < HEADER_BYTES || identify(source, place)?.is_none() {
        return Ok(Loaded::Recycled);
    }
    let mut head = [0; HEADER_BYTES];
    head.copy_from_slice(&bytes[..HEADER_BYTES]);
    Ok(match chunk::start(&head) {
        Ok(start) => Loaded::Chunk {
            start,
            bytes: got,
            is_open: stored == 0,
        },
        Err(damage) => Loaded::Damaged(damage),
    })
}

/// `used_bytes` as stored, if the slot still holds the chunk.
fn identify<S: ReadAt>(source: &S, place: &Place) -> Result<Option<u32>, TraceError> {
    let mut head = [0; HEADER_BYTES];
    let got = read(source, place.offset, &mut head)?;
    Ok(match chunk::identify(&head) {
        Some(Ok((number, used_bytes))) if got == head.len() && number == place.number => {
            Some(used_bytes)
        }
        _ => None,
    })
}

fn used_bytes(header: &Header, place: &Place, stored: u32, position: u32) -> Result<usize, Damage> {
    let used_bytes = match stored {
        0 if !place.newest => return Err(Damage::Unsealed),
        0 => {
            let slot_start = ring_offset(place.number, header.ring_slots, header.chunk_bytes);
            let position = u64::from(position);
            position.checked_sub(slot_start).ok_or(Damage::Range {
                field: "position",
                value: position,
            })?
        }
        stored => u64::from(stored),
    };
    if (HEADER_BYTES as u64..=u64::from(header.chunk_bytes)).contains(&used_bytes) {
        return Ok(used_bytes as usize);
    }
    Err(Damage::Range {
        field: "used_bytes",
        value: used_bytes,
    })
}
