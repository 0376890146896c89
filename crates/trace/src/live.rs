//! The live block: how far the writer is, and what it lost.

use crate::bytes::{f64_at, u32_at};
use crate::layout::{header, live};
use crate::record::{EventId, LossKind, RequestId};

/// The words of the live block as they were when it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveBlock {
    words: [u32; live::WORDS],
    last_ns: f64,
}

impl LiveBlock {
    /// Takes the block from a whole header page.
    pub(crate) fn decode(page: &[u8]) -> Self {
        let block = &page[header::LIVE..];
        let mut words = [0; live::WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            *word = u32_at(block, 4 * index);
        }
        Self {
            words,
            last_ns: f64_at(block, 4 * live::LAST_NS),
        }
    }

    /// Byte offset in the ring of the next record.
    pub fn position(&self) -> u32 {
        self.words[live::POSITION]
    }

    /// Last event number given out.
    pub fn event(&self) -> EventId {
        self.words[live::EVENT]
    }

    /// Last request number given out.
    pub fn request(&self) -> RequestId {
        self.words[live::REQUEST]
    }

    pub fn strings_used(&self) -> u32 {
        self.words[live::STRINGS_USED]
    }

    /// Time of the last timed record, relative to the start.
    pub fn last_ns(&self) -> f64 {
        self.last_ns
    }

    /// Whether the writer closed the trace; otherwise it goes on, or was killed.
    pub fn is_closed(&self) -> bool {
        self.words[live::STATE] == live::STATE_CLOSED
    }

    /// What was lost, by kind; kinds without losses are left out.
    pub fn losses(&self) -> impl Iterator<Item = (LossKind, u32)> + '_ {
        LossKind::ALL.iter().filter_map(|&kind| {
            let count = self.words[live::LOSSES + kind.code() as usize];
            (count > 0).then_some((kind, count))
        })
    }
}
