//! The fields of a record: numbers, times and event numbers, each checked for its range.
//!
//! Apart from the kinds of records, so that a kind reads as the list of its fields.

use crate::decode::StreamState;
use crate::error::Damage;
use crate::record::{EventId, Ns};
use crate::varint;

/// A record being decoded: its bytes from `at` on, and the state its deltas refer to.
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    pub(crate) state: &'a mut StreamState,
}

impl Fields<'_> {
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Result<u64, Damage> {
        varint::take(self.bytes, &mut self.at)
    }

    #[inline(always)]
    pub(crate) fn number(&mut self, field: &'static str) -> Result<u32, Damage> {
        let value = self.take()?;
        u32::try_from(value).map_err(|_| range(field, value))
    }

    #[inline(always)]
    pub(crate) fn time(&mut self) -> Result<Ns, Damage> {
        let delta_ns = self.take()?;
        let at_ns = self
            .state
            .last_ns
            .checked_add(delta_ns)
            .ok_or(range("dt", delta_ns))?;
        self.state.last_ns = at_ns;
        Ok(at_ns)
    }

    #[inline(always)]
    pub(crate) fn next_event(&self) -> Result<EventId, Damage> {
        let event = self.state.event;
        event.checked_add(1).ok_or(range("event", u64::from(event)))
    }

    #[inline(always)]
    pub(crate) fn open(&mut self, event: EventId) {
        self.state.event = event;
        self.state.current = event;
    }

    pub(crate) fn close(&mut self) {
        self.state.current = 0;
        self.state.loop_event = 0;
    }
}

#[inline(always)]
pub(crate) fn known<T>(value: Option<T>, field: &'static str, code: u32) -> Result<T, Damage> {
    value.ok_or(Damage::Code {
        field,
        value: u64::from(code),
    })
}

pub(crate) fn range(field: &'static str, value: u64) -> Damage {
    Damage::Range { field, value }
}
