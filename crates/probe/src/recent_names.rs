//! Remembers which string a job of the thread pool was named last time.
//!
//! A service reads the same few files again and again; joining and hashing the name anew for every
//! job would be the largest part of what a job costs. What is remembered is compared before it is
//! believed, so a name is never wrong.

use crate::strings::Strings;

/// A power of two.
const SLOTS: usize = 64;

#[derive(Default, Clone, Copy)]
struct Slot {
    /// What the name begins with; 0 is free.
    prefix: u32,
    /// Bytes of the name before the subject.
    prefix_bytes: u32,
    key: u64,
    id: u32,
}

/// Names by what they begin with and what follows.
pub struct RecentNames([Slot; SLOTS]);

impl RecentNames {
    pub fn new() -> Self {
        Self([Slot::default(); SLOTS])
    }

    /// Id of the name that begins with `prefix` (a number of the caller's, not 0) and goes on with
    /// `subject`, if it was put here lately.
    #[inline]
    pub fn find(&self, strings: &Strings, prefix: u32, subject: &[u8]) -> Option<u32> {
        let key = key(subject);
        let slot = &self.0[place(prefix, key)];
        if slot.prefix != prefix || slot.key != key {
            return None;
        }
        let name = strings.bytes(slot.id);
        (name.get(slot.prefix_bytes as usize..) == Some(subject)).then_some(slot.id)
    }

    /// Remembers `id`, which is `prefix_bytes` bytes and `subject`.
    pub fn put(&mut self, prefix: u32, prefix_bytes: usize, subject: &[u8], id: u32) {
        let key = key(subject);
        self.0[place(prefix, key)] = Slot {
            prefix,
            prefix_bytes: prefix_bytes as u32,
            key,
            id,
        };
    }

    /// As `find`, for a subject that is a string of the table itself.
    #[inline]
    pub fn find_of(&self, prefix: u32, subject: u32) -> Option<u32> {
        let slot = &self.0[place(prefix, subject.into())];
        (slot.prefix == prefix && slot.key == u64::from(subject)).then_some(slot.id)
    }

    /// As `put`, for a subject that is a string of the table itself.
    pub fn put_of(&mut self, prefix: u32, subject: u32, id: u32) {
        self.0[place(prefix, subject.into())] = Slot {
            prefix,
            prefix_bytes: 0,
            key: subject.into(),
            id,
        };
    }
}

fn place(prefix: u32, key: u64) -> usize {
    let mixed = (key ^ u64::from(prefix) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize % SLOTS
}

/// Tells most subjects apart by their length, first and last bytes.
fn key(subject: &[u8]) -> u64 {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let ends = match (subject.first_chunk(), subject.last_chunk()) {
        (Some(first), Some(last)) => word(first) ^ word(last).rotate_left(23),
        _ => subject
            .iter()
            .fold(0, |all, byte| all << 8 | u64::from(*byte)),
    };
    ends ^ (subject.len() as u64).rotate_left(48)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strings::Origin;

    #[test]
    fn believes_only_what_it_compared() {
        let mut table = vec![0_u8; 1 << 16];
        let mut used = 0_u32;
        // SAFETY: both outlive the value.
        let mut strings = unsafe { Strings::new(table.as_mut_ptr(), table.len(), &raw mut used) };
        let mut names = RecentNames::new();
        // Same length, first and last bytes.
        let (one, two): (&[u8], &[u8]) = (b"/var/lib/1/same-end", b"/var/lib/2/same-end");
        assert_eq!(key(one), key(two));
        let parts: [&[u8]; 2] = [b"fs.read ", one];
        let id = strings.intern(&parts, Origin::Native).expect("room");
        names.put(3, 8, one, id);
        assert_eq!(names.find(&strings, 3, one), Some(id));
        assert_eq!(names.find(&strings, 3, two), None);
        assert_eq!(names.find(&strings, 4, one), None, "another operation");
        assert_eq!(names.find(&strings, 3, b""), None);
    }

    #[test]
    fn short_subjects_differ() {
        let subjects: [&[u8]; 6] = [b"", b"/", b"/a", b"/b", b"/a/b/c", b"/b/a/c"];
        for (at, one) in subjects.iter().enumerate() {
            for other in &subjects[at + 1..] {
                assert_ne!(key(one), key(other));
            }
        }
    }
}
