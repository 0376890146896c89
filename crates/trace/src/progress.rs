//! Where a reader is in a trace, and what it has to tell before the next record.
//!
//! Apart from the reader, so that going back to the start is one assignment, and so that all that
//! is said about gaps stands in one place without any reading.

use std::collections::VecDeque;

use crate::chunk::ChunkStart;
use crate::decode::StreamState;
use crate::error::Damage;
use crate::layout::chunk::HEADER_BYTES;
use crate::live::LiveBlock;
use crate::load::Place;
use crate::record::{EventId, LossKind, Ns, Record};

/// Everything that changes while a trace is read, but the bytes of the chunk in memory.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) state: StreamState,
    /// Made by the reader, to be yielded before the records of the chunk.
    pub(crate) pending: VecDeque<Record>,
    /// The current event after a gap, until it is yielded.
    pub(crate) resync: Option<EventId>,
    /// Next record in the chunk.
    pub(crate) at: usize,
    /// End of the records that may be decoded; equal to `at` while something else goes first.
    pub(crate) end: usize,
    /// End of the records in the chunk.
    pub(crate) loaded: usize,
    /// The chunk was open when it was loaded: its last record may be one that is written anew.
    pub(crate) is_open: bool,
    /// Index of the next chunk.
    pub(crate) next_chunk: usize,
    /// Number of the last chunk entered, and where in the file it lies.
    pub(crate) number: u64,
    pub(crate) offset: u64,
    /// 1 when the rest of the last chunk entered was left out.
    pub(crate) broken_inside: u64,
    /// Chunks left out since the last one was entered.
    pub(crate) broken_whole: u64,
    /// Slots with a damaged header that were not told yet.
    broken_slots: u64,
    /// Chunks recycled while the trace was read, since the last one was entered.
    pub(crate) recycled: u64,
    pub(crate) finished: bool,
}

impl Progress {
    /// Before the first record; `broken_slots` slots have a damaged header.
    pub(crate) fn start(start_ns: Ns, broken_slots: u64) -> Self {
        let state = StreamState {
            last_ns: start_ns,
            ..StreamState::default()
        };
        Self {
            state,
            broken_slots,
            ..Self::default()
        }
    }

    /// After an error: nothing more to yield.
    pub(crate) fn ended(&self) -> Self {
        let Self { state, number, .. } = *self;
        Self {
            state,
            number,
            finished: true,
            ..Self::default()
        }
    }

    /// Whether a chunk goes on where the last one ended, or later.
    pub(crate) fn check(&self, state: &StreamState, start: &ChunkStart) -> Result<(), Damage> {
        if state.event < self.state.event {
            let value = u64::from(state.event);
            return Err(Damage::Range {
                field: "first_event",
                value,
            });
        }
        if state.last_ns < self.state.last_ns {
            return Err(Damage::Range {
                field: "base_ns",
                value: start.base_ns,
            });
        }
        Ok(())
    }

    /// Goes to the start of a chunk, and tells what is missing before it.
    pub(crate) fn enter(
        &mut self,
        place: &Place,
        state: StreamState,
        loaded: usize,
        is_open: bool,
    ) {
        let missing = place.number - self.number - 1;
        let broken_whole = missing.min(self.broken_whole + self.broken_slots);
        self.broken_slots -= broken_whole.saturating_sub(self.broken_whole);
        let events = state.event.saturating_sub(self.state.event);
        let damaged = broken_whole + self.broken_inside;
        let gap = self.lose(damaged, missing - broken_whole, events);
        let moved = (state.event, state.current) != (self.state.event, self.state.current);
        if gap || moved || self.resync.is_some() {
            self.resync = Some(state.current);
        }
        self.state = state;
        self.number = place.number;
        self.offset = place.offset;
        self.at = HEADER_BYTES;
        self.end = HEADER_BYTES;
        self.loaded = loaded;
        self.is_open = is_open;
        self.broken_inside = 0;
        self.broken_whole = 0;
        self.recycled = 0;
    }

    /// Tells what is missing after the last chunk. A writer that was killed may have given out one
    /// number more than it stored a record for.
    pub(crate) fn finish(&mut self, live: &LiveBlock) {
        self.finished = true;
        let damaged = self.broken_inside + self.broken_whole + self.broken_slots;
        let events = live.event().saturating_sub(self.state.event);
        let told = self.lose(damaged, self.recycled, events);
        let ahead = if live.is_closed() { 0 } else { 1 };
        if told || events <= ahead {
            return;
        }
        let starved = [LossKind::NoChunk, LossKind::DiskFull];
        let loss = match live.losses().find(|(kind, _)| starved.contains(kind)) {
            Some((kind, _)) => Record::Loss {
                kind,
                count: u64::from(events),
                events,
            },
            None => Record::Loss {
                kind: LossKind::Damaged,
                count: 1,
                events,
            },
        };
        self.pending.push_back(loss);
    }

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
