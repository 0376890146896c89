//! What the driver did so far, for whoever runs the boost: always as of one look, never half of
//! one.
//!
//! In a file that is mapped (`mapped.rs`) instead of one that the loop writes once a second: that
//! was work of the loop, lost the last second of whoever is killed, and ended where a server gave
//! up the rights that it was started with.

use std::io;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::fence;

use crate::act::mapped::Mapped;

/// What a driver did so far, as of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times it looked, and the CPU time of that, with waking up for it.
    pub looks: u64,
    pub looking_ns: u64,
    /// Boosts that began, and for how long there was one, without the one under way.
    pub boosts: u64,
    pub boosted_ns: u64,
    /// When the one under way began (CLOCK_MONOTONIC); 0 none.
    pub boosted_since_ns: u64,
    /// Boosts that began for a collection, a long queue, a long event, a long turn; one may have
    /// several.
    pub by_reason: [u64; 4],
    /// Changes the lever refused.
    pub refused: u64,
    /// For how long the lever was out of hand, without the time that it is now.
    pub lost_ns: u64,
    /// Since when it is now (CLOCK_MONOTONIC); 0 it is not.
    pub lost_since_ns: u64,
}

impl Counts {
    /// Boosted time until now, with the boost under way.
    pub fn boosted_until_ns(&self, now_ns: u64) -> u64 {
        match self.boosted_since_ns {
            0 => self.boosted_ns,
            since_ns => self.boosted_ns + now_ns.saturating_sub(since_ns),
        }
    }

    /// Time without the lever until now.
    pub fn lost_until_ns(&self, now_ns: u64) -> u64 {
        match self.lost_since_ns {
            0 => self.lost_ns,
            since_ns => self.lost_ns + now_ns.saturating_sub(since_ns),
        }
    }
}

/// "bobtdrv1", read as a number of a little-endian machine.
const MAGIC: u64 = u64::from_le_bytes(*b"bobtdrv1");
/// Odd while it is written: who reads the same even number before and after has read one look.
const SEQUENCE: usize = 1;
const FIRST: usize = 2;
/// How long it has driven, what `Counts` has, and whether the lever is out of hand.
const NUMBERS: usize = 12;
/// Bytes of why that is, and the text itself, which is cut there.
const WHY_LENGTH: usize = FIRST + NUMBERS;
const WHY: usize = WHY_LENGTH + 1;
const WHY_BYTES: usize = 256;
const WORDS: usize = WHY + WHY_BYTES / size_of::<u64>();

/// Tells the counts of one driver; `packages/bobtail/src/cli/boost/driver-file.ts` reads them.
pub struct Told {
    mapped: Mapped,
    /// When it began to drive (CLOCK_MONOTONIC).
    since_ns: u64,
}

impl Told {
    /// Tells in a new file, which only its user may read.
    ///
    /// # Errors
    /// There is such a file, or no room for it.
    pub fn create(path: &str, since_ns: u64) -> io::Result<Self> {
        let mapped = Mapped::create(path, WORDS)?;
        mapped.words()[0].store(MAGIC, Relaxed);
        Ok(Self { mapped, since_ns })
    }

    /// Tells how it stands after a look, and why the lever was lost last, where it ever was. For
    /// the driver's thread.
    pub fn tell(&mut self, counts: &Counts, why_lost: Option<&str>, now_ns: u64) {
        let words = self.mapped.words();
        let sequence = words[SEQUENCE].load(Relaxed);
        words[SEQUENCE].store(sequence + 1, Relaxed);
        // Nothing of this look is seen without that number, and all of it before the next.
        fence(Release);
        let [collections, lengths, heads, turns] = counts.by_reason;
        let numbers: [u64; NUMBERS] = [
            now_ns.saturating_sub(self.since_ns),
            counts.looks,
            counts.looking_ns,
            counts.boosts,
            counts.boosted_until_ns(now_ns),
            collections,
            lengths,
            heads,
            turns,
            counts.refused,
            counts.lost_until_ns(now_ns),
            u64::from(counts.lost_since_ns != 0),
        ];
        for (word, number) in words[FIRST..].iter().zip(numbers) {
            word.store(number, Relaxed);
        }
        let why = why_lost.map(str::as_bytes).unwrap_or_default();
        let why = &why[..why.len().min(WHY_BYTES)];
        words[WHY_LENGTH].store(why.len() as u64, Relaxed);
        for (word, bytes) in words[WHY..].iter().zip(why.chunks(size_of::<u64>())) {
            let mut eight = [0; size_of::<u64>()];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(eight), Relaxed);
        }
        words[SEQUENCE].store(sequence + 2, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const BEGAN_NS: u64 = 1_000;

    fn words_of(path: &str) -> Vec<u64> {
        let bytes = fs::read(path).expect("a file");
        let words = bytes.chunks_exact(8);
        words
            .map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")))
            .collect()
    }

    #[test]
    fn what_a_driver_did_stands_in_the_file_as_of_one_look() {
        let path = std::env::temp_dir().join(format!("counters-{}", std::process::id()));
        let path = path.to_str().expect("a name");
        let mut told = Told::create(path, BEGAN_NS).expect("created");
        let again = Told::create(path, BEGAN_NS).err().expect("there is one");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let counts = Counts {
            looks: 7,
            looking_ns: 8,
            boosts: 9,
            boosted_ns: 10,
            boosted_since_ns: 5_000,
            by_reason: [1, 2, 3, 4],
            refused: 11,
            lost_ns: 12,
            lost_since_ns: 5_500,
        };
        told.tell(&counts, Some("another has its lever"), 6_000);
        let words = words_of(path);
        assert_eq!(words[0], MAGIC);
        assert_eq!(words[SEQUENCE], 2, "even, since nobody writes now");
        let expected = [5_000, 7, 8, 9, 1_010, 1, 2, 3, 4, 11, 512, 1];
        assert_eq!(words[FIRST..WHY_LENGTH], expected);
        assert_eq!(words[WHY_LENGTH], 21);
        assert_eq!(words[WHY], u64::from_ne_bytes(*b"another "));
        told.tell(&Counts::default(), Some(&"x".repeat(1_000)), 7_000);
        let words = words_of(path);
        assert_eq!(words[SEQUENCE], 4);
        assert_eq!(words[WHY_LENGTH], WHY_BYTES as u64, "cut");
        assert_eq!(words[FIRST + NUMBERS - 1], 0, "in hand");
        fs::remove_file(path).expect("removed");
    }
}
