//! Where everything lies in a trace file: offsets, sizes and the words of the live block.
//!
//! Plain constants instead of a `repr(C)` struct, because the probe, JavaScript and readers on
//! machines of another byte order address the same bytes (`spec/trace-format.md`).

/// The version this crate writes, and the newest it reads.
pub const VERSION: u32 = 1;
/// First eight bytes of a trace file.
pub const MAGIC: [u8; 8] = *b"BOBTAIL\n";
/// Size of the header page; the string table starts here.
pub const HEADER_BYTES: usize = 4096;
/// A writer starts a record only where this many bytes are left in the chunk.
pub const MAX_RECORD_BYTES: usize = 64;
/// No event gets a higher number: a writer that comes to it writes MARK paused and pauses for good.
pub const LAST_EVENT: u32 = u32::MAX - 2;

/// Byte offsets in the header page.
pub mod header {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 8;
    pub const HEADER_BYTES: usize = 12;
    pub const STRINGS_BYTES: usize = 16;
    pub const CHUNK_BYTES: usize = 20;
    pub const RING_SLOTS: usize = 24;
    pub const MAX_SLOTS: usize = 28;
    pub const PID: usize = 32;
    pub const THREAD: usize = 36;
    pub const DETAIL: usize = 40;
    pub const START_NS: usize = 48;
    pub const START_REALTIME_NS: usize = 56;
    pub const NODE: usize = 64;
    pub const NODE_BYTES: usize = 32;
    pub const ARCH: usize = 96;
    pub const ARCH_BYTES: usize = 16;
    /// End of the fields above.
    pub const END: usize = 112;
    /// The live block starts here.
    pub const LIVE: usize = 1024;
}

/// Words (u32, except `LAST_NS`) of the live block, counted from `header::LIVE`.
pub mod live {
    pub const POSITION: usize = 0;
    pub const LIMIT: usize = 1;
    pub const EVENT: usize = 2;
    pub const CURRENT: usize = 3;
    pub const LOOP_EVENT: usize = 4;
    pub const CONTEXT: usize = 5;
    pub const STRINGS_USED: usize = 6;
    pub const REQUEST: usize = 7;
    /// An f64 in words 8 and 9.
    pub const LAST_NS: usize = 8;
    pub const STATE: usize = 10;
    pub const OP: usize = 11;
    pub const HANDLE: usize = 12;
    pub const PAUSED: usize = 13;
    /// JavaScript is in the middle of a record.
    pub const BUSY: usize = 14;
    /// Native code has kept something until the record is whole.
    pub const DEFERRED: usize = 15;
    /// First of sixteen loss counters, by loss code.
    pub const LOSSES: usize = 16;
    pub const LOSS_KINDS: usize = 16;
    /// Words in the block.
    pub const WORDS: usize = 32;

    /// `STATE` while the writer records.
    pub const STATE_RECORDING: u32 = 0;
    /// `STATE` after the writer closed the trace.
    pub const STATE_CLOSED: u32 = 1;

    /// Byte offset in the file of a word.
    pub const fn byte_offset(word: usize) -> usize {
        super::header::LIVE + 4 * word
    }
}

/// Byte offsets in a chunk header.
pub mod chunk {
    pub const MAGIC: usize = 0;
    pub const USED_BYTES: usize = 4;
    pub const NUMBER: usize = 8;
    pub const BASE_NS: usize = 16;
    pub const FIRST_EVENT: usize = 24;
    pub const CURRENT: usize = 28;
    pub const LOOP_EVENT: usize = 32;
    /// Size of the header; records follow.
    pub const HEADER_BYTES: usize = 64;
    /// `CHNK` as a little-endian u32.
    pub const MAGIC_WORD: u32 = 0x4b4e_4843;
}

/// Bounds that keep a hostile header from asking for unreasonable memory.
pub mod bound {
    /// Header, one record and its margin.
    pub const MIN_CHUNK_BYTES: u32 = 128;
    pub const MAX_CHUNK_BYTES: u32 = 64 << 20;
    pub const MAX_STRINGS_BYTES: u32 = 64 << 20;
    pub const MAX_SLOTS: u32 = 1 << 22;
    /// Largest time relative to the start that an f64 holds exactly (104 days).
    pub const MAX_RELATIVE_NS: u64 = 1 << 53;
}

/// The first byte of a record: kind in bits 0–5, flags in bits 6 and 7.
pub mod tag {
    pub const LOOP_BEGIN: u8 = 1;
    pub const LOOP_END: u8 = 2;
    pub const MICRO: u8 = 3;
    pub const RESUME: u8 = 4;
    pub const POLL: u8 = 5;
    pub const REGISTER: u8 = 6;
    pub const WRITE: u8 = 7;
    pub const HANDLE_OPEN: u8 = 8;
    pub const HANDLE_CLOSE: u8 = 9;
    pub const SOURCE: u8 = 10;
    pub const SINK: u8 = 11;
    pub const GC: u8 = 12;
    pub const LOCATION: u8 = 13;
    pub const MARK: u8 = 14;
    pub const LOSS: u8 = 15;
    pub const WORK: u8 = 16;
    pub const NOT_RUNNING: u8 = 17;

    pub const KIND_BITS: u8 = 0x3f;
    /// Bit 6: ready known (LOOP_BEGIN), timed (MICRO, RESUME), has due (REGISTER), has unsent
    /// (WRITE), has jit (WORK), has cause (GC).
    pub const FLAG_A: u8 = 0x40;
    /// Bit 7: has op (LOOP_BEGIN), registrar known (MICRO), has ic (WORK), caller known (GC).
    pub const FLAG_B: u8 = 0x80;
}

/// Ring offset of the ring slot that chunk `number` (1, 2, …) is written through.
pub const fn ring_offset(number: u64, ring_slots: u32, chunk_bytes: u32) -> u64 {
    number.wrapping_sub(1)
        % (if ring_slots == 0 {
            1
        } else {
            ring_slots as u64
        })
        * chunk_bytes as u64
}

/// Largest `position` at which a record may start in the chunk at ring offset `slot_start`.
pub const fn limit(slot_start: u32, chunk_bytes: u32) -> u32 {
    slot_start + chunk_bytes - MAX_RECORD_BYTES as u32
}
