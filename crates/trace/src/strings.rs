//! The string table: every name in a trace, once.
//!
//! One buffer with the ends of the entries, not a `Vec<String>`, because a trace may hold a
//! hundred thousand routes and locations.

use crate::error::{Damage, TraceError};
use crate::header::Header;
use crate::layout::{HEADER_BYTES, live};
use crate::live::LiveBlock;
use crate::read_at::ReadAt;
use crate::reader::OnDamage;
use crate::record::StringId;
use crate::slots::read;
use crate::varint;

/// The strings of a trace; ids start with 1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    /// The string with this id; `None` for 0 and for an id that is not in the table.
    pub fn get(&self, id: StringId) -> Option<&str> {
        let index = (id as usize).checked_sub(1)?;
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(&self.text[start..end])
    }

    /// How many strings there are; also the highest id.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All strings in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (StringId, &str)> {
        (1..=self.ends.len() as StringId).filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Appends a string and returns its id.
    pub fn push(&mut self, text: &str) -> StringId {
        self.text.push_str(text);
        self.ends.push(self.text.len());
        self.ends.len() as StringId
    }

    /// Takes the table of a trace into memory.
    pub(crate) fn read<S: ReadAt>(
        source: &S,
        header: &Header,
        live: &LiveBlock,
        on_damage: OnDamage,
    ) -> Result<Self, TraceError> {
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
        Self::decode(&table[..got], lenient)
    }

    /// Reads the used bytes of the table. A lenient reader keeps what precedes the damage and
    /// replaces what is not UTF-8.
    fn decode(table: &[u8], lenient: bool) -> Result<Self, TraceError> {
        let mut strings = Self::default();
        let mut at = 0;
        while at < table.len() {
            match entry(table, at) {
                Ok((bytes, next)) => {
                    let id = strings.ends.len() as StringId + 1;
                    match std::str::from_utf8(bytes) {
                        Ok(text) => strings.push(text),
                        Err(_) if lenient => strings.push(&String::from_utf8_lossy(bytes)),
                        Err(_) => return Err(bad(Damage::Utf8(id), at)),
                    };
                    at = next;
                }
                Err(_) if lenient => break,
                Err(damage) => return Err(bad(damage, at)),
            }
        }
        Ok(strings)
    }
}

fn entry(table: &[u8], at: usize) -> Result<(&[u8], usize), Damage> {
    let mut start = at;
    let bytes = varint::take(table, &mut start)?;
    let bytes = usize::try_from(bytes).map_err(|_| Damage::End)?;
    let end = start.checked_add(bytes).ok_or(Damage::End)?;
    Ok((table.get(start..end).ok_or(Damage::End)?, end))
}

fn bad(damage: Damage, at: usize) -> TraceError {
    TraceError::Strings {
        damage,
        offset: (HEADER_BYTES + at) as u64,
    }
}
