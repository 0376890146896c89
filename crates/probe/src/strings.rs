//! Gives strings numbers: the string table of the trace file and the index to find them again.
//!
//! The index is allocated once and bounded, because strings are also added while an event runs.

use std::sync::atomic::{AtomicU32, Ordering};

/// Strings that may be added by native code (resources, handles, locations).
pub const NATIVE_MAX: usize = 4096;
/// Strings in all.
pub const TOTAL_MAX: usize = 12_288;
/// Longest string; a longer one is cut.
pub const BYTES_MAX: usize = 4096;
/// Id of `(other)`, what a string is called when there is no room.
pub const OTHER: u32 = 1;
const INDEX_SLOTS: usize = 32_768;

/// Who adds a string; each has its own share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Native,
    JavaScript,
}

/// An entry of the table: where its bytes lie.
#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    offset: u32,
    length: u32,
}

/// The string table of one trace.
pub struct Strings {
    table: *mut u8,
    table_bytes: usize,
    /// Live word `strings_used`.
    used: *mut u32,
    entries: Vec<Entry>,
    /// Entry number by hash, open addressing; 0 is free.
    index: Vec<u16>,
    native_count: usize,
}

impl Strings {
    /// Starts with `(other)`.
    ///
    /// # Safety
    /// `table` has `table_bytes` writable bytes and `used` is a writable word, for the life of the
    /// value; only one thread uses it.
    pub unsafe fn new(table: *mut u8, table_bytes: usize, used: *mut u32) -> Self {
        let mut strings = Self {
            table,
            table_bytes,
            used,
            entries: Vec::with_capacity(TOTAL_MAX),
            index: vec![0; INDEX_SLOTS],
            native_count: 0,
        };
        strings.intern(&[b"(other)"], Origin::Native);
        strings
    }

    /// The bytes of a string that was given this id.
    pub fn bytes(&self, id: u32) -> &[u8] {
        let Some(entry) = self.entries.get((id as usize).wrapping_sub(1)) else {
            return &[];
        };
        // SAFETY: entries lie within the table and are never changed.
        unsafe {
            std::slice::from_raw_parts(self.table.add(entry.offset as usize), entry.length as usize)
        }
    }

    /// Id of the string that the parts make up; `None` when there is no room for a new one.
    /// No allocation.
    pub fn intern(&mut self, parts: &[&[u8]], origin: Origin) -> Option<u32> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        let (hash, length) = (hash(parts), length.min(BYTES_MAX));
        let mut slot = hash as usize % INDEX_SLOTS;
        while self.index[slot] != 0 {
            let number = self.index[slot];
            let entry = self.entries[usize::from(number) - 1];
            if entry.hash == hash && self.is(u32::from(number), parts, length) {
                return Some(u32::from(number));
            }
            slot = (slot + 1) % INDEX_SLOTS;
        }
        let full = self.entries.len() >= TOTAL_MAX
            || origin == Origin::Native && self.native_count >= NATIVE_MAX;
        if full {
            return None;
        }
        let number = self.append(parts, length, hash)?;
        self.index[slot] = number as u16;
        self.native_count += usize::from(origin == Origin::Native);
        Some(number)
    }

    fn is(&self, id: u32, parts: &[&[u8]], length: usize) -> bool {
        let mut rest = self.bytes(id);
        if rest.len() != length {
            return false;
        }
        for part in parts {
            let part = &part[..part.len().min(rest.len())];
            if !rest.starts_with(part) {
                return false;
            }
            rest = &rest[part.len()..];
        }
        true
    }

    fn append(&mut self, parts: &[&[u8]], length: usize, hash: u32) -> Option<u32> {
        // SAFETY: a live word that this thread and JavaScript on it share.
        let used = unsafe { AtomicU32::from_ptr(self.used) };
        let mut at = used.load(Ordering::Relaxed) as usize;
        if at + 2 + length > self.table_bytes {
            return None;
        }
        let mut put = |bytes: &[u8]| {
            // SAFETY: `at` stays within the table, checked above.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.table.add(at), bytes.len());
            }
            at += bytes.len();
        };
        if length < 0x80 {
            put(&[length as u8]);
        } else {
            put(&[length as u8 | 0x80, (length >> 7) as u8]);
        }
        let mut left = length;
        for part in parts {
            let part = &part[..part.len().min(left)];
            put(part);
            left -= part.len();
        }
        // After the bytes, so that a reader of a killed process never sees half a string.
        used.store(at as u32, Ordering::Release);
        self.entries.push(Entry {
            hash,
            offset: (at - length) as u32,
            length: length as u32,
        });
        Some(self.entries.len() as u32)
    }
}

/// Hash of the joined parts, wherever they are cut: eight bytes at a time, since a path is hashed
/// with every job of the thread pool.
fn hash(parts: &[&[u8]]) -> u32 {
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (mut hash, mut word, mut filled_bits) = (0, 0_u64, 0);
    let mut left = BYTES_MAX;
    for part in parts {
        let part = &part[..part.len().min(left)];
        left -= part.len();
        let words = part.chunks_exact(8);
        let rest = words.remainder();
        for bytes in words {
            let next = bytes
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte));
            hash = mix(hash, word | next << filled_bits);
            word = next.checked_shr(64 - filled_bits).unwrap_or(0);
        }
        for byte in rest {
            word |= u64::from(*byte) << filled_bits;
            filled_bits += 8;
            if filled_bits == 64 {
                hash = mix(hash, word);
                (word, filled_bits) = (0, 0);
            }
        }
    }
    hash = mix(hash, word);
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(table_bytes: usize, check: impl FnOnce(&mut Strings, &dyn Fn() -> u32)) {
        let mut table = vec![0_u8; table_bytes];
        let mut used = 0_u32;
        let used_at = &raw mut used;
        // SAFETY: both outlive the value.
        let mut strings = unsafe { Strings::new(table.as_mut_ptr(), table_bytes, used_at) };
        // SAFETY: as above, same thread.
        check(&mut strings, &|| unsafe { used_at.read() });
    }

    #[test]
    fn same_parts_same_id() {
        with(1 << 16, |strings, used| {
            let read = strings.intern(&[b"fs.read ", b"/data/a"], Origin::Native);
            assert_eq!(read, Some(2));
            assert_eq!(
                strings.intern(&[b"fs.read /data", b"/a"], Origin::JavaScript),
                Some(2)
            );
            assert_eq!(
                strings.intern(&[b"fs.read /data/b"], Origin::Native),
                Some(3)
            );
            assert_eq!(strings.bytes(2), b"fs.read /data/a");
            assert_eq!(used(), 8 + 16 + 16);
        });
    }

    #[test]
    fn the_hash_does_not_depend_on_the_cuts() {
        let text = (0..=60).collect::<Vec<u8>>();
        let whole = hash(&[&text]);
        for first in 0..text.len() {
            for second in first..text.len() {
                let parts = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(hash(&parts), whole, "{first} {second}");
            }
        }
        let mut seen = std::collections::HashSet::new();
        for length in 0..text.len() {
            assert!(seen.insert(hash(&[&text[1..=length]])), "{length}");
        }
    }

    #[test]
    fn shares_are_bounded() {
        with(1 << 20, |strings, _| {
            for number in 0..NATIVE_MAX - 1 {
                let text = number.to_string();
                assert!(strings.intern(&[text.as_bytes()], Origin::Native).is_some());
            }
            assert_eq!(strings.intern(&[b"one more"], Origin::Native), None);
            assert!(strings.intern(&[b"one more"], Origin::JavaScript).is_some());
        });
    }

    #[test]
    fn a_full_table_takes_no_more() {
        with(32, |strings, used| {
            assert_eq!(strings.intern(&[&[b'x'; 64]], Origin::Native), None);
            assert_eq!(used(), 8);
            assert_eq!(strings.intern(&[b"short"], Origin::Native), Some(2));
        });
    }

    #[test]
    fn a_long_string_is_cut_and_found_again() {
        with(1 << 16, |strings, _| {
            let long = [b'y'; BYTES_MAX + 10];
            let id = strings.intern(&[&long], Origin::JavaScript).expect("room");
            assert_eq!(strings.bytes(id).len(), BYTES_MAX);
            assert_eq!(strings.intern(&[&long], Origin::JavaScript), Some(id));
        });
    }
}
