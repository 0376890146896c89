//! Lays out a whole trace file in memory, byte for byte as a probe would.
//!
//! For golden vectors, drawn traces and tests. It goes through the same encoder as the probe, so a
//! trace made here is read by the same path as a recorded one; the bytes are a trace after every
//! call, as they are on disk after a kill.

mod record;

use std::collections::HashMap;

use thiserror::Error;

use crate::bytes::{put_f64, put_u32, u32_at};
use crate::chunk::{self, ChunkStart};
use crate::encode::Window;
use crate::error::TraceError;
use crate::header::Header;
use crate::layout::{self, HEADER_BYTES, MAX_RECORD_BYTES, live};
use crate::record::{EventId, LossKind, Ns, Record, StringId};
use crate::varint;

/// Why a record cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    #[error("event {found} opens where event {expected} is next")]
    EventOrder { expected: EventId, found: EventId },
    #[error("event {found} was not given out yet; the last is {last}")]
    EventUnknown { found: EventId, last: EventId },
    #[error("time {found} is before the start {start}")]
    BeforeStart { found: Ns, start: Ns },
    #[error("time {found} is more than 2^53 ns after the start {start}")]
    TooLate { found: Ns, start: Ns },
    #[error(transparent)]
    Header(#[from] TraceError),
}

/// A trace under construction.
#[derive(Debug, Clone)]
pub struct TraceWriter {
    header: Header,
    bytes: Vec<u8>,
    strings: HashMap<String, StringId>,
    /// Of the open chunk.
    number: u64,
    last_ns: u64,
    event: EventId,
    current: EventId,
    loop_event: EventId,
}

impl TraceWriter {
    /// Starts a trace with its first chunk open and `(other)` as string 1. Fails on sizes outside
    /// the bounds of the format.
    pub fn new(header: Header) -> Result<Self, WriteError> {
        header.check()?;
        let mut page = [0; HEADER_BYTES];
        header.encode(&mut page);
        let mut bytes = page.to_vec();
        bytes.resize(HEADER_BYTES + header.strings_bytes as usize, 0);
        let mut writer = Self {
            header,
            bytes,
            strings: HashMap::new(),
            number: 0,
            last_ns: 0,
            event: 0,
            current: 0,
            loop_event: 0,
        };
        writer.intern("(other)");
        writer.roll();
        Ok(writer)
    }

    /// The file as it is now, which is what a kill would leave.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Marks the trace as closed and returns the file. The last chunk is sealed.
    pub fn close(mut self) -> Vec<u8> {
        self.seal();
        self.set_word(live::STATE, live::STATE_CLOSED);
        self.bytes
    }

    /// The id of a string, entered on its first use; `(other)`, and a loss, when the table is full.
    pub fn intern(&mut self, text: &str) -> StringId {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let used_bytes = self.word(live::STRINGS_USED) as usize;
        let mut entry = Vec::new();
        varint::push(&mut entry, text.len() as u64);
        entry.extend_from_slice(text.as_bytes());
        let end = used_bytes + entry.len();
        if end > self.header.strings_bytes as usize {
            self.count_loss(LossKind::Strings, 1);
            return 1;
        }
        self.bytes[HEADER_BYTES + used_bytes..HEADER_BYTES + end].copy_from_slice(&entry);
        self.set_word(live::STRINGS_USED, end as u32);
        let id = self.strings.len() as StringId + 1;
        self.strings.insert(text.to_owned(), id);
        id
    }

    /// Appends a record. Times before the last one are written as the last one. Fails without
    /// writing anything on an event number out of order and on a time outside the trace.
    pub fn push(&mut self, record: &Record) -> Result<(), WriteError> {
        self.check(record)?;
        self.make_room();
        let at = self.slot_offset() + self.used_bytes();
        let mut window: Window = [0; MAX_RECORD_BYTES];
        let encoded = self.encode(&mut window, record)?;
        self.bytes[at..at + encoded.bytes].copy_from_slice(&window[..encoded.bytes]);
        self.last_ns = encoded.last_ns;
        self.follow(record);
        self.set_word(
            live::POSITION,
            self.word(live::POSITION) + encoded.bytes as u32,
        );
        self.set_words();
        Ok(())
    }

    /// Gives out `events` numbers without a record, as a writer does that has no chunk ready, then
    /// goes on in a new chunk with the LOSS. The last of them is current.
    pub fn lose(&mut self, count: u64, events: u32) -> Result<(), WriteError> {
        if events > 0 {
            self.event = self.event.saturating_add(events);
            self.current = self.event;
        }
        self.count_loss(LossKind::NoChunk, u32::try_from(count).unwrap_or(u32::MAX));
        self.roll();
        self.push(&Record::Loss {
            kind: LossKind::NoChunk,
            count,
            events,
        })
    }

    /// Seals the open chunk and opens the next one.
    pub fn roll(&mut self) {
        self.seal();
        self.number += 1;
        let Header {
            ring_slots,
            chunk_bytes,
            max_slots,
            ..
        } = self.header;
        let slot = ((self.number - 1) % u64::from(max_slots)) as u32;
        let end = self.header.slot_offset(slot + 1) as usize;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let slot_start = layout::ring_offset(self.number, ring_slots, chunk_bytes) as u32;
        self.set_word(
            live::POSITION,
            slot_start + layout::chunk::HEADER_BYTES as u32,
        );
        self.set_word(live::LIMIT, layout::limit(slot_start, chunk_bytes));
        let start = ChunkStart {
            number: self.number,
            base_ns: self.last_ns,
            first_event: self.event,
            current: self.current,
            loop_event: self.loop_event,
        };
        self.edit_chunk_header(|head| chunk::open(head, &start));
        self.set_words();
    }

    fn make_room(&mut self) {
        if self.word(live::POSITION) > self.word(live::LIMIT) {
            self.roll();
        }
    }

    fn seal(&mut self) {
        if self.number > 0 {
            let used_bytes = self.used_bytes() as u32;
            self.edit_chunk_header(|head| chunk::seal(head, used_bytes));
        }
    }

    fn edit_chunk_header(&mut self, edit: impl FnOnce(&mut [u8; layout::chunk::HEADER_BYTES])) {
        let at = self.slot_offset();
        if let Some(head) = self.bytes[at..].first_chunk_mut() {
            edit(head);
        }
    }

    fn slot_offset(&self) -> usize {
        let slot = (self.number - 1) % u64::from(self.header.max_slots);
        self.header.slot_offset(slot as u32) as usize
    }

    fn used_bytes(&self) -> usize {
        let Header {
            ring_slots,
            chunk_bytes,
            ..
        } = self.header;
        let slot_start = layout::ring_offset(self.number, ring_slots, chunk_bytes);
        self.word(live::POSITION) as usize - slot_start as usize
    }

    fn word(&self, word: usize) -> u32 {
        u32_at(&self.bytes, live::byte_offset(word))
    }

    fn set_word(&mut self, word: usize, value: u32) {
        put_u32(&mut self.bytes, live::byte_offset(word), value);
    }

    fn set_words(&mut self) {
        self.set_word(live::EVENT, self.event);
        self.set_word(live::CURRENT, self.current);
        self.set_word(live::LOOP_EVENT, self.loop_event);
        put_f64(
            &mut self.bytes,
            live::byte_offset(live::LAST_NS),
            self.last_ns as f64,
        );
    }

    fn count_loss(&mut self, kind: LossKind, count: u32) {
        let word = live::LOSSES + kind.code() as usize;
        self.set_word(word, self.word(word).saturating_add(count));
    }

    fn raise(&mut self, word: usize, value: u32) {
        self.set_word(word, self.word(word).max(value));
    }
}
