//! Reads a trace record by record, with one chunk in memory at a time.
//!
//! A trace may be read while it is written or after its writer was killed. So the newest chunk is
//! measured by the live block, every chunk is identified again after its bytes were taken, and
//! what is gone by then is a loss, not an error.

use crate::chunk::ChunkStart;
use crate::decode::StreamState;
use crate::error::{Damage, TraceError};
use crate::header::Header;
use crate::layout::{HEADER_BYTES, MAX_RECORD_BYTES, tag};
use crate::live::LiveBlock;
use crate::load::{Loaded, Place, load};
use crate::progress::Progress;
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
/// After a gap the reader yields each [`Record::Loss`] and then a [`Record::Resume`] that tells the
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

impl<S: ReadAt> TraceReader<S> {
    /// Reads the header, the live block, the string table and where the chunks are.
    pub fn open(source: S, on_damage: OnDamage) -> Result<Self, TraceError> {
        let mut page = [0; HEADER_BYTES];
        let got = read(&source, 0, &mut page)?;
        let header = Header::decode(&page[..got])?;
        let live = LiveBlock::decode(&page);
        let strings = Strings::read(&source, &header, &live, on_damage)?;
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
        self.progress = Progress::start(self.header.start_ns, self.slots.damaged);
    }

    /// Takes live block and strings anew, for a trace that is still written.
    pub fn refresh(&mut self) -> Result<(), TraceError> {
        let mut page = [0; HEADER_BYTES];
        let got = read(&self.source, 0, &mut page)?;
        Header::decode(&page[..got])?;
        self.live = LiveBlock::decode(&page);
        self.strings = Strings::read(&self.source, &self.header, &self.live, self.on_damage)?;
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
        let left = progress.loaded - record_at;
        // While it is the last, a WORK is written anew: what was read of it may be of two times.
        let is_rewritten = progress.is_open
            && left <= MAX_RECORD_BYTES
            && self.bytes[record_at] & tag::KIND_BITS == tag::WORK;
        progress.end = progress.at;
        progress.loaded = progress.at;
        if is_rewritten {
            return Ok(());
        }
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
            OnDamage::Fail => self.fail(error),
        }
    }

    fn fail(&mut self, error: TraceError) -> Result<(), TraceError> {
        self.progress = self.progress.ended();
        Err(error)
    }

    /// Loads the next chunk, or tells what was lost at the end; `false` when all is said.
    fn advance(&mut self) -> Result<bool, TraceError> {
        if self.progress.finished {
            return Ok(false);
        }
        let index = self.progress.next_chunk;
        let Some(&(number, slot)) = self.slots.chunks.get(index) else {
            self.progress.finish(&self.live);
            return Ok(true);
        };
        self.progress.next_chunk += 1;
        let newest = self.progress.next_chunk == self.slots.chunks.len();
        let place = Place {
            number,
            offset: self.header.slot_offset(slot),
            newest,
        };
        match load(&self.source, &self.header, &place, &mut self.bytes) {
            Ok(Loaded::Recycled) => self.progress.recycled += 1,
            Ok(Loaded::Chunk {
                start,
                bytes,
                is_open,
            }) => self.enter(&place, &start, bytes, is_open)?,
            Ok(Loaded::Damaged(damage)) => self.leave_out(&place, damage)?,
            Err(error) => self.fail(error)?,
        }
        Ok(true)
    }

    /// Makes the chunk in memory the one to decode; `bytes` of it were in the file.
    fn enter(
        &mut self,
        place: &Place,
        start: &ChunkStart,
        bytes: usize,
        is_open: bool,
    ) -> Result<(), TraceError> {
        let strict = self.on_damage == OnDamage::Fail;
        let state = match StreamState::at_chunk(start, self.header.start_ns) {
            Ok(state) => state,
            Err(damage) => return self.leave_out(place, damage),
        };
        if let (true, Err(damage)) = (strict, self.progress.check(&state, start)) {
            return self.leave_out(place, damage);
        }
        self.progress.enter(place, state, bytes, is_open);
        if bytes == self.bytes.len() {
            return Ok(());
        }
        self.progress.broken_inside = 1;
        let offset = place.offset + bytes as u64;
        self.tolerate(TraceError::Truncated {
            offset,
            inside: "a chunk",
        })
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
}

impl<S: ReadAt> Iterator for TraceReader<S> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}
