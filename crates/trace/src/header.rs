//! The header page: what was recorded, where, and how the file is laid out.
//!
//! The magic is written last, so that a file whose header is not complete is no trace at all
//! instead of a trace with wrong sizes.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::layout::{HEADER_BYTES, MAGIC, VERSION, header};
use crate::record::Ns;

/// Whether micro events and dependencies were recorded, or loop events only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Full = 0,
    Loop = 1,
}

/// The fixed fields of a trace file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub version: u32,
    pub strings_bytes: u32,
    pub chunk_bytes: u32,
    pub ring_slots: u32,
    pub max_slots: u32,
    pub pid: u32,
    pub thread: u32,
    pub detail: Detail,
    /// The writer's start; all stored times are relative to it.
    pub start_ns: Ns,
    /// The same moment on `CLOCK_REALTIME`.
    pub start_realtime_ns: u64,
    /// Such as `v24.21.0`; at most 32 bytes.
    pub node: String,
    /// Such as `x64`; at most 16 bytes.
    pub arch: String,
}

impl Header {
    /// Writes the fixed fields; the live block and the rest of the page are left as they are.
    /// Names that are too long are cut at a character.
    pub fn encode(&self, page: &mut [u8; HEADER_BYTES]) {
        let words = [
            (header::VERSION, VERSION),
            (header::HEADER_BYTES, HEADER_BYTES as u32),
            (header::STRINGS_BYTES, self.strings_bytes),
            (header::CHUNK_BYTES, self.chunk_bytes),
            (header::RING_SLOTS, self.ring_slots),
            (header::MAX_SLOTS, self.max_slots),
            (header::PID, self.pid),
            (header::THREAD, self.thread),
            (header::DETAIL, self.detail as u32),
            (header::DETAIL + 4, 0),
        ];
        for (at, word) in words {
            page[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        for (at, value) in [
            (header::START_NS, self.start_ns),
            (header::START_REALTIME_NS, self.start_realtime_ns),
        ] {
            page[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        put_name(
            &mut page[header::NODE..header::NODE + header::NODE_BYTES],
            &self.node,
        );
        put_name(
            &mut page[header::ARCH..header::ARCH + header::ARCH_BYTES],
            &self.arch,
        );
        compiler_fence(Ordering::SeqCst);
        page[..MAGIC.len()].copy_from_slice(&MAGIC);
    }
}

fn put_name(field: &mut [u8], name: &str) {
    let mut bytes = name.len().min(field.len());
    while !name.is_char_boundary(bytes) {
        bytes -= 1;
    }
    field.fill(0);
    field[..bytes].copy_from_slice(&name.as_bytes()[..bytes]);
}
