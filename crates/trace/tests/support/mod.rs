//! The header that tests write under.

use bobtail_trace::record::Ns;
use bobtail_trace::{Detail, Header};

pub const START_NS: Ns = 5_000_000_000_000;

/// A header with room for a few strings.
pub fn header(chunk_bytes: u32, ring_slots: u32, max_slots: u32) -> Header {
    Header {
        version: 1,
        strings_bytes: 256,
        chunk_bytes,
        ring_slots,
        max_slots,
        pid: 4121,
        thread: 0,
        detail: Detail::Full,
        start_ns: START_NS,
        start_realtime_ns: 1_790_000_000_000_000_000,
        node: "v24.21.0".to_owned(),
        arch: "x64".to_owned(),
    }
}
