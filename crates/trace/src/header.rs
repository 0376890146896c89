//! The header page: what was recorded, where, and how the file is laid out.
//!
//! The magic is written last, so that a file whose header is not complete is no trace at all
//! instead of a trace with wrong sizes.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::error::TraceError;
use crate::layout::{HEADER_BYTES, MAGIC, VERSION, bound, header};
use crate::record::Ns;

/// Whether micro events and dependencies were recorded, or loop events only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Full = 0,
    Loop = 1,
}

impl Detail {
    /// The word used on the command line and in dumps.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Loop => "loop",
        }
    }
}

/// The fixed fields of a trace file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// As read; a writer always writes [`VERSION`].
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
            put_u32(page, at, word);
        }
        put_u64(page, header::START_NS, self.start_ns);
        put_u64(page, header::START_REALTIME_NS, self.start_realtime_ns);
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

    /// Reads the fixed fields from the first bytes of a file, `page` being all there are of the
    /// first 4096. Fails on another format, another version, an incomplete page and on sizes
    /// outside the bounds of the format.
    pub fn decode(page: &[u8]) -> Result<Self, TraceError> {
        check_identity(page)?;
        let word = |at| u32_at(page, at);
        let detail = match word(header::DETAIL) {
            0 => Detail::Full,
            1 => Detail::Loop,
            value => return Err(bad("detail", value, header::DETAIL)),
        };
        let header = Self {
            version: word(header::VERSION),
            strings_bytes: word(header::STRINGS_BYTES),
            chunk_bytes: word(header::CHUNK_BYTES),
            ring_slots: word(header::RING_SLOTS),
            max_slots: word(header::MAX_SLOTS),
            pid: word(header::PID),
            thread: word(header::THREAD),
            detail,
            start_ns: u64_at(page, header::START_NS),
            start_realtime_ns: u64_at(page, header::START_REALTIME_NS),
            node: name(&page[header::NODE..header::NODE + header::NODE_BYTES]),
            arch: name(&page[header::ARCH..header::ARCH + header::ARCH_BYTES]),
        };
        header.check()?;
        Ok(header)
    }

    /// Whether the sizes are within the bounds of the format.
    pub fn check(&self) -> Result<(), TraceError> {
        let chunk_bytes = self.chunk_bytes;
        if self.strings_bytes > bound::MAX_STRINGS_BYTES {
            return Err(bad(
                "strings_bytes",
                self.strings_bytes,
                header::STRINGS_BYTES,
            ));
        }
        if !(bound::MIN_CHUNK_BYTES..=bound::MAX_CHUNK_BYTES).contains(&chunk_bytes)
            || !chunk_bytes.is_multiple_of(8)
        {
            return Err(bad("chunk_bytes", chunk_bytes, header::CHUNK_BYTES));
        }
        if self.max_slots > bound::MAX_SLOTS {
            return Err(bad("max_slots", self.max_slots, header::MAX_SLOTS));
        }
        let ring_bytes = u64::from(self.ring_slots) * u64::from(chunk_bytes);
        if self.ring_slots == 0
            || self.ring_slots > self.max_slots
            || ring_bytes > u64::from(u32::MAX)
        {
            return Err(bad("ring_slots", self.ring_slots, header::RING_SLOTS));
        }
        Ok(())
    }

    /// Byte offset in the file of a chunk slot (0, 1, …).
    pub fn slot_offset(&self, slot: u32) -> u64 {
        HEADER_BYTES as u64
            + u64::from(self.strings_bytes)
            + u64::from(slot) * u64::from(self.chunk_bytes)
    }
}

fn check_identity(page: &[u8]) -> Result<(), TraceError> {
    let shown = page.len().min(MAGIC.len());
    if shown == 0 || page[..shown] != MAGIC[..shown] {
        return Err(TraceError::NotATrace {
            found: page[..shown].to_vec(),
        });
    }
    if page.len() >= header::VERSION + 4 {
        match u32_at(page, header::VERSION) {
            VERSION => {}
            0 => return Err(bad("version", 0, header::VERSION)),
            found => {
                return Err(TraceError::Newer {
                    found,
                    newest: VERSION,
                });
            }
        }
    }
    if page.len() < HEADER_BYTES {
        return Err(TraceError::Truncated {
            offset: page.len() as u64,
            inside: "the header",
        });
    }
    match u32_at(page, header::HEADER_BYTES) as usize {
        HEADER_BYTES => Ok(()),
        found => Err(bad("header_bytes", found as u32, header::HEADER_BYTES)),
    }
}

fn bad(field: &'static str, value: u32, offset: usize) -> TraceError {
    TraceError::Header {
        field,
        value: u64::from(value),
        offset: offset as u64,
    }
}

fn name(field: &[u8]) -> String {
    let end = field
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn put_name(field: &mut [u8], name: &str) {
    let mut bytes = name.len().min(field.len());
    while !name.is_char_boundary(bytes) {
        bytes -= 1;
    }
    field.fill(0);
    field[..bytes].copy_from_slice(&name.as_bytes()[..bytes]);
}
