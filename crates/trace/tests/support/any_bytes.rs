//! What must hold for any bytes: the fuzz targets in `fuzz/` and the ordinary tests ask the same.
//!
//! Included by path from both, because the targets live outside the workspace and a reader has no
//! use for these functions in its library.

use bobtail_trace::dump::line;
use bobtail_trace::layout::chunk;
use bobtail_trace::{Detail, Header, OnDamage, Record, TraceReader, TraceWriter};

pub const CHUNK_BYTES: usize = 1 << 16;

/// Any bytes as a trace file: reading ends with records or an error.
pub fn trace_read(bytes: &[u8]) {
    for on_damage in [OnDamage::Fail, OnDamage::Skip] {
        let Ok(mut reader) = TraceReader::open(bytes, on_damage) else {
            continue;
        };
        while let Ok(Some(record)) = reader.next_record() {
            line(&record, reader.header().start_ns, reader.strings());
        }
    }
}

/// Any bytes as the records of a chunk: what is decoded can be written again and reads the same.
/// Gives how many records were.
pub fn trace_records(body: &[u8]) -> usize {
    let mut bytes = writer().close();
    let slot = bytes.len() - CHUNK_BYTES;
    let used_bytes = (chunk::HEADER_BYTES + body.len()).min(CHUNK_BYTES);
    bytes[slot + chunk::USED_BYTES..][..4].copy_from_slice(&(used_bytes as u32).to_le_bytes());
    bytes[slot + chunk::HEADER_BYTES..slot + used_bytes]
        .copy_from_slice(&body[..used_bytes - chunk::HEADER_BYTES]);
    let mut again = writer();
    let mut written = Vec::new();
    for record in read(&bytes) {
        // A ready or due time outside the trace can be read but not written.
        if again.push(&record).is_err() {
            break;
        }
        written.push(record);
    }
    assert_eq!(read(again.bytes()), written);
    written.len()
}

fn writer() -> TraceWriter {
    let header = Header {
        version: 1,
        strings_bytes: 16,
        chunk_bytes: CHUNK_BYTES as u32,
        ring_slots: 1,
        max_slots: 16,
        pid: 1,
        thread: 0,
        detail: Detail::Full,
        start_ns: 1 << 60,
        start_realtime_ns: 0,
        node: String::new(),
        arch: String::new(),
    };
    TraceWriter::new(header).expect("the sizes are within the bounds")
}

fn read(bytes: &[u8]) -> Vec<Record> {
    let mut reader = TraceReader::open(bytes, OnDamage::Fail).expect("the header is sound");
    let mut records = Vec::new();
    while let Ok(Some(record)) = reader.next_record() {
        records.push(record);
    }
    records
}
