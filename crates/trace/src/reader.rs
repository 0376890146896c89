//! Reads a trace record by record, with one chunk in memory at a time.
//!
//! A trace may be read while it is written or after its writer was killed. So the newest chunk is
//! measured by the live block, every chunk is identified again after its bytes were taken, and
//! what is gone by then is a loss, not an error.

use std::collections::VecDeque;

use crate::chunk::ChunkStart;
use crate::decode::StreamState;
use crate::error::{Damage, TraceError};
use crate::header::Header;
use crate::layout::chunk::HEADER_BYTES as CHUNK_HEADER_BYTES;
use crate::layout::{HEADER_BYTES, live, tag};
use crate::live::LiveBlock;
use crate::load::{Loaded, Place, load};
use crate::read_at::ReadAt;
use crate::record::{EventId, LossKind, Record};
use crate::slots::{Slots, read};
use crate::strings::Strings;

/// What a reader does where the bytes do not follow the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDamage {
    /// Ends with an error that tells the place.
    #[default]
    Fail,
    /// Leaves out the rest of the chunk and tells it as a loss of kind `Damaged`. What was decoded
    /// before the damage was noticed may be wrong, so times may run backwards after it.
    Skip,
}

/// A trace, from its first record to its last.
///
/// After a gap the reader yields the [`Record::Loss`]es and then a [`Record::Resume`] that tells the
/// current event of the stream; [`state`](Self::state) tells the open loop event, too.
#[derive(Debug)]
pub struct TraceReader<S> {
    source: S,
    header: Header,
    live: LiveBlock,
    strings: Strings,
    on_damage: OnDamage,
    slots: Slots,
    progress: Progress,
    /// The chunk in memory, header included.
    bytes: Vec<u8>,
}

/// Everything that [`TraceReader::rewind`] sets back.
#[derive(Debug, Default)]
struct Progress {
    state: StreamState,
    /// Made by the reader, to be yielded before the records in `bytes`.
    pending: VecDeque<Record>,
    /// The current event after a gap, until it is yielded.
    resync: Option<EventId>,
    /// Next record in `bytes`.
    at: usize,
    /// End of the records that may be decoded; equal to `at` while something else goes first.
    end: usize,
    /// End of the records in `bytes`.
    loaded: usize,
    /// Index of the next chunk in `slots`.
    next_chunk: usize,
    /// Number of the last chunk entered, and where in the file it lies.
    number: u64,
    offset: u64,
    /// Chunks of which the rest or all was left out since the last one was entered.
    broken_inside: u64,
    broken_whole: u64,
    /// Slots with a damaged header that were not told yet.
    broken_slots: u64,
    /// Chunks recycled while the trace was read, since the last one was entered.
    recycled: u64,
    finished: bool,
}

impl<S: ReadAt> TraceReader<S> {
    /// Reads the header, the live block, the string table and where the chunks are.
    pub fn open(source: S, on_damage: OnDamage) -> Result<Self, TraceError> {
        let mut page = [0; HEADER_BYTES];
        let got = read(&source, 0, &mut page)?;
        let header = Header::decode(&page[..got])?;
        let live = LiveBlock::decode(&page);
        let strings = read_strings(&source, &header, &live, on_damage)?;
        let slots = Slots::scan(&source, &header, on_damage)?;
        let mut reader = Self {
            source,
            header,
            live,
            strings,
            on_damage,
            slots,
            progress: Progress::default(),
            bytes: Vec::new(),
        };
        reader.rewind();
        Ok(reader)
    }

    /// What was recorded, and how the file is laid out.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The live block as it was when the trace was opened or last refreshed.
    pub fn live(&self) -> &LiveBlock {
        &self.live
    }

    /// The strings as they were when the trace was opened or last refreshed.
    pub fn strings(&self) -> &Strings {
        &self.strings
    }

    /// What the writer lost, by its own counters. LOSS records tell where; these survive a full
    /// disk.
    pub fn losses(&self) -> impl Iterator<Item = (LossKind, u32)> + '_ {
        self.live.losses()
    }

    /// How many chunks there are to read.
    pub fn chunks(&self) -> usize {
        self.slots.chunks.len()
    }

    /// State of the stream after the last record yielded.
    pub fn state(&self) -> &StreamState {
        &self.progress.state
    }

    /// The event that registrations are charged to after the last record; 0 outside events.
    pub fn current_event(&self) -> EventId {
        self.progress.state.current
    }

    /// Number of the chunk that the last record came from; 0 before the first.
    pub fn chunk_number(&self) -> u64 {
        self.progress.number
    }

    /// Starts again with the first record, among the chunks found when the trace was opened.
    pub fn rewind(&mut self) {
        self.progress = Progress::default();
        self.progress.state.last_ns = self.header.start_ns;
        self.progress.broken_slots = self.slots.damaged;
    }

    /// Takes live block and strings anew, for a trace that is still written.
    pub fn refresh(&mut self) -> Result<(), TraceError> {
        let mut page = [0; HEADER_BYTES];
        let got = read(&self.source, 0, &mut page)?;
        Header::decode(&page[..got])?;
        self.live = LiveBlock::decode(&page);
        self.strings = read_strings(&self.source, &self.header, &self.live, self.on_damage)?;
        Ok(())
    }

    /// The next record, `None` after the last. After an error there is nothing more to read.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let progress = &mut self.progress;
            if progress.at < progress.end {
                let bytes = &self.bytes[..progress.end];
                let record_at = progress.at;
                match progress.state.decode(bytes, &mut progress.at) {
                    Ok(record) => return Ok(Some(record)),
                    Err(damage) => self.leave(record_at, damage)?,
                }
            }
            if let Some(record) = self.progress.pending.pop_front() {
                return Ok(Some(record));
            }
            if self.progress.end < self.progress.loaded {
                if let Some(record) = self.start_chunk()? {
                    return Ok(Some(record));
                }
            } else if !self.advance()? {
                return Ok(None);
            }
        }
    }

    /// Opens the chunk in memory for decoding. After a gap, first come the LOSS records that the
    /// chunk starts with, then where the stream goes on.
    fn start_chunk(&mut self) -> Result<Option<Record>, TraceError> {
        let progress = &mut self.progress;
        let Some(event) = progress.resync else {
            progress.end = progress.loaded;
            return Ok(None);
        };
        let record_at = progress.at;
        if self.bytes[record_at] != tag::LOSS {
            progress.resync = None;
            return Ok(Some(Record::Resume { event, at_ns: None }));
        }
        match progress
            .state
            .decode(&self.bytes[..progress.loaded], &mut progress.at)
        {
            Ok(record) => {
                progress.end = progress.at;
                Ok(Some(record))
            }
            Err(damage) => self.leave(record_at, damage).map(|()| None),
        }
    }

    /// Gives up the chunk in memory from a record on.
    #[cold]
    fn leave(&mut self, record_at: usize, damage: Damage) -> Result<(), TraceError> {
        let progress = &mut self.progress;
        progress.end = progress.at;
        progress.loaded = progress.at;
        progress.broken_inside = 1;
        let chunk = progress.number;
        let offset = progress.offset + record_at as u64;
        self.tolerate(TraceError::Damaged {
            chunk,
            offset,
            damage,
        })
    }

    fn tolerate(&mut self, error: TraceError) -> Result<(), TraceError> {
        match self.on_damage {
            OnDamage::Skip => Ok(()),
            OnDamage::Fail => {
                let progress = Progress {
                    finished: true,
                    ..Progress::default()
                };
                self.progress = Progress {
                    state: self.progress.state,
                    ..progress
                };
                Err(error)
            }
        }
    }

    /// Loads the next chunk, or tells what was lost at the end; `false` when all is said.
    fn advance(&mut self) -> Result<bool, TraceError> {
        if self.progress.finished {
            return Ok(false);
        }
        let index = self.progress.next_chunk;
        let Some(&(number, slot)) = self.slots.chunks.get(index) else {
            self.finish();
            return Ok(true);
        };
        self.progress.next_chunk += 1;
        let newest = self.progress.next_chunk == self.slots.chunks.len();
        let place = Place {
            number,
            offset: self.header.slot_offset(slot),
            newest,
        };
        match load(&self.source, &self.header, &place, &mut self.bytes)? {
            Loaded::Recycled => self.progress.recycled += 1,
            Loaded::Chunk { start, bytes } => match self.enter(&start, &place, bytes) {
                Ok(()) if bytes < self.bytes.len() => {
                    self.progress.broken_inside = 1;
                    let offset = place.offset + bytes as u64;
                    self.tolerate(TraceError::Truncated {
                        offset,
                        inside: "a chunk",
                    })?;
                }
                Ok(()) => {}
                Err(damage) => self.leave_out(&place, damage)?,
            },
            Loaded::Damaged(damage) => self.leave_out(&place, damage)?,
        }
        Ok(true)
    }

    /// Gives up a chunk before its first record.
    fn leave_out(&mut self, place: &Place, damage: Damage) -> Result<(), TraceError> {
        self.progress.broken_whole += 1;
        let Place {
            number: chunk,
            offset,
            ..
        } = *place;
        self.tolerate(TraceError::Damaged {
            chunk,
            offset,
            damage,
        })
    }

    /// Makes the chunk in memory the one to decode, and tells what is missing before it.
    fn enter(&mut self, start: &ChunkStart, place: &Place, loaded: usize) -> Result<(), Damage> {
        let state = StreamState::at_chunk(start, self.header.start_ns)?;
        let progress = &mut self.progress;
        if self.on_damage == OnDamage::Fail {
            if state.event < progress.state.event {
                let value = u64::from(state.event);
                return Err(Damage::Range {
                    field: "first_event",
                    value,
                });
            }
            if state.last_ns < progress.state.last_ns {
                return Err(Damage::Range {
                    field: "base_ns",
                    value: start.base_ns,
                });
            }
        }
        let missing = place.number - progress.number - 1;
        let whole = missing.min(progress.broken_whole + progress.broken_slots);
        progress.broken_slots -= whole.saturating_sub(progress.broken_whole);
        let events = state.event.saturating_sub(progress.state.event);
        let gap = progress.lose(whole + progress.broken_inside, missing - whole, events);
        if gap || progress.resync.is_some() || state.current != progress.state.current {
            progress.resync = Some(state.current);
        }
        progress.state = state;
        progress.number = place.number;
        progress.offset = place.offset;
        progress.at = CHUNK_HEADER_BYTES;
        progress.end = CHUNK_HEADER_BYTES;
        progress.loaded = loaded;
        progress.broken_inside = 0;
        progress.broken_whole = 0;
        progress.recycled = 0;
        Ok(())
    }

    /// Tells what is missing after the last chunk. A writer that was killed may have given out one
    /// number more than it stored a record for.
    fn finish(&mut self) {
        let progress = &mut self.progress;
        progress.finished = true;
        let damaged = progress.broken_inside + progress.broken_whole + progress.broken_slots;
        let events = self.live.event().saturating_sub(progress.state.event);
        let told = progress.lose(damaged, progress.recycled, events);
        let expected = if self.live.is_closed() { 0 } else { 1 };
        if !told && events > expected {
            let starved = self
                .live
                .losses()
                .any(|(kind, _)| kind == LossKind::NoChunk);
            let (kind, count) = match starved {
                true => (LossKind::NoChunk, u64::from(events)),
                false => (LossKind::Damaged, 1),
            };
            progress.pending.push_back(Record::Loss {
                kind,
                count,
                events,
            });
        }
    }
}

impl Progress {
    /// Whether anything is missing. `events` is told with the first loss.
    fn lose(&mut self, damaged: u64, overwritten: u64, events: u32) -> bool {
        let mut events = events;
        for (kind, count) in [
            (LossKind::Damaged, damaged),
            (LossKind::Overwritten, overwritten),
        ] {
            if count > 0 {
                self.pending.push_back(Record::Loss {
                    kind,
                    count,
                    events,
                });
                events = 0;
            }
        }
        damaged > 0 || overwritten > 0
    }
}

impl<S: ReadAt> Iterator for TraceReader<S> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

fn read_strings<S: ReadAt>(
    source: &S,
    header: &Header,
    live: &LiveBlock,
    on_damage: OnDamage,
) -> Result<Strings, TraceError> {
    let lenient = on_damage == OnDamage::Skip;
    let mut used_bytes = live.strings_used();
    if used_bytes > header.strings_bytes {
        if !lenient {
            return Err(TraceError::Strings {
                damage: Damage::Range {
                    field: "strings_used",
                    value: u64::from(used_bytes),
                },
                offset: live::byte_offset(live::STRINGS_USED) as u64,
            });
        }
        used_bytes = header.strings_bytes;
    }
    let mut table = vec![0; used_bytes as usize];
    let got = read(source, HEADER_BYTES as u64, &mut table)?;
    if got < table.len() && !lenient {
        let offset = (HEADER_BYTES + got) as u64;
        return Err(TraceError::Truncated {
            offset,
            inside: "the string table",
        });
    }
    Strings::decode(&table[..got], lenient)
}
