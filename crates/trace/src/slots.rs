//! Finds the chunks of a trace: which slot holds which number, in the order of the numbers.
//!
//! Only headers are read here (one small read per slot), so that opening a trace of any length
//! costs a few bytes per chunk and the reader can go through it with one chunk in memory.

use crate::chunk;
use crate::error::{Damage, TraceError};
use crate::header::Header;
use crate::layout::chunk::HEADER_BYTES;
use crate::read_at::ReadAt;
use crate::reader::OnDamage;

/// The chunks that were in the file when it was scanned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    /// Number and slot, ascending by number.
    pub(crate) chunks: Vec<(u64, u32)>,
    /// Slots whose header is damaged; only with `OnDamage::Skip`.
    pub(crate) damaged: u64,
}

impl Slots {
    pub(crate) fn scan<S: ReadAt>(
        source: &S,
        header: &Header,
        on_damage: OnDamage,
    ) -> Result<Self, TraceError> {
        let mut slots = Self::default();
        let mut give_up = |error| match on_damage {
            OnDamage::Fail => Err(error),
            OnDamage::Skip => {
                slots.damaged += 1;
                Ok(())
            }
        };
        for slot in 0..header.max_slots {
            let offset = header.slot_offset(slot);
            let mut head = [0; HEADER_BYTES];
            let got = read(source, offset, &mut head)?;
            if got < HEADER_BYTES {
                if head.iter().any(|&byte| byte != 0) {
                    let offset = offset + got as u64;
                    give_up(TraceError::Truncated {
                        offset,
                        inside: "a chunk header",
                    })?;
                }
                break;
            }
            match chunk::identify(&head) {
                None => {}
                Some(Ok((number, _))) => slots.chunks.push((number, slot)),
                Some(Err((chunk, damage))) => {
                    give_up(TraceError::Damaged {
                        chunk,
                        offset,
                        damage,
                    })?;
                }
            }
        }
        slots.chunks.sort_unstable();
        slots.drop_twins(header, on_damage)?;
        Ok(slots)
    }

    fn drop_twins(&mut self, header: &Header, on_damage: OnDamage) -> Result<(), TraceError> {
        let twin = self.chunks.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let (Some(&[_, (chunk, slot)]), OnDamage::Fail) = (twin, on_damage) {
            let offset = header.slot_offset(slot);
            return Err(TraceError::Damaged {
                chunk,
                offset,
                damage: Damage::Twice,
            });
        }
        let before = self.chunks.len();
        self.chunks.dedup_by_key(|&mut (number, _)| number);
        self.damaged += (before - self.chunks.len()) as u64;
        Ok(())
    }
}

/// Reads, and says where it failed.
pub(crate) fn read<S: ReadAt>(
    source: &S,
    offset: u64,
    buf: &mut [u8],
) -> Result<usize, TraceError> {
    source
        .read_at(offset, buf)
        .map_err(|cause| TraceError::Read { offset, cause })
}
