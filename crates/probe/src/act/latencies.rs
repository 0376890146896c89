//! How long requests took, as counts that another process reads (`mapped.rs`): telling costs the
//! loop one addition.
//!
//! Log-linear buckets as of HdrHistogram, by a fixed layout instead of its library, since the
//! reader is another program that maps nothing: 128 to each power of two, so that a bucket is less
//! than 0.8 % wide. All numbers of the file are 64 bits wide, in the byte order of the machine:
//! `MAGIC`, the sum of all latencies, the longest, 0, then the counts.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::act::mapped::Mapped;

/// "bobtlat1", read as a number of a little-endian machine.
pub const MAGIC: u64 = u64::from_le_bytes(*b"bobtlat1");
const SUM: usize = 1;
const LONGEST: usize = 2;
const HEAD: usize = 4;
/// Buckets of a power of two, as a power of two.
const FINE_BITS: u32 = 7;
/// 18 minutes; what took longer counts as that.
const LONGEST_NS: u64 = (1 << 40) - 1;
const BUCKETS: usize = bucket_of(LONGEST_NS) + 1;

/// Counts of one loop; written by its thread only.
pub struct Latencies {
    mapped: Mapped,
}

impl Latencies {
    /// Counts in a new file, which only its user may read.
    ///
    /// # Errors
    /// There is such a file, or no room for it.
    pub fn create(path: &str) -> io::Result<Self> {
        let mapped = Mapped::create(path, HEAD + BUCKETS)?;
        mapped.words()[0].store(MAGIC, Relaxed);
        Ok(Self { mapped })
    }

    /// Counts a request. For the loop's thread.
    #[inline]
    pub fn count(&self, latency_ns: u64) {
        let latency_ns = latency_ns.min(LONGEST_NS);
        let words = self.mapped.words();
        add(&words[HEAD + bucket_of(latency_ns)], 1);
        add(&words[SUM], latency_ns);
        let longest = &words[LONGEST];
        longest.store(longest.load(Relaxed).max(latency_ns), Relaxed);
    }
}

/// Of the one thread that writes it.
fn add(word: &AtomicU64, more: u64) {
    word.store(word.load(Relaxed) + more, Relaxed);
}

/// The bucket of a latency: itself below 128 ns, then 128 to each power of two.
const fn bucket_of(ns: u64) -> usize {
    if ns < 1 << FINE_BITS {
        return ns as usize;
    }
    let shift = ns.ilog2() - FINE_BITS;
    ((shift as usize) << FINE_BITS) + (ns >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The shortest latency of a bucket, as the reader has it.
    fn shortest_ns(bucket: usize) -> u64 {
        match bucket >> FINE_BITS {
            0 => bucket as u64,
            power => {
                let shift = power - 1;
                ((bucket - (shift << FINE_BITS)) as u64) << shift
            }
        }
    }

    #[test]
    fn buckets_follow_each_other_without_gap() {
        assert_eq!(shortest_ns(0), 0);
        for bucket in 1..BUCKETS {
            let ns = shortest_ns(bucket);
            assert_eq!(bucket_of(ns), bucket, "{ns}");
            assert_eq!(bucket_of(ns - 1), bucket - 1, "{ns}");
            let width_ns = ns - shortest_ns(bucket - 1);
            assert!(width_ns == 1 || width_ns * 128 <= ns, "{bucket}");
        }
    }

    #[test]
    fn what_is_counted_stands_in_the_file() {
        let path = std::env::temp_dir().join(format!("latencies-{}", std::process::id()));
        let name = path.to_str().expect("a name");
        let latencies = Latencies::create(name).expect("created");
        let again = Latencies::create(name).err().expect("there is one");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        for ns in [1_000_000, 1_000_000, 5_000, u64::MAX] {
            latencies.count(ns);
        }
        let bytes = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("removed");
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")))
            .collect();
        assert_eq!(words.len(), HEAD + BUCKETS);
        assert_eq!(words[0], MAGIC);
        assert_eq!(words[SUM], 2_005_000 + LONGEST_NS);
        assert_eq!(words[LONGEST], LONGEST_NS);
        let counted: Vec<_> = (0..BUCKETS)
            .filter(|bucket| words[HEAD + bucket] > 0)
            .map(|bucket| (bucket, words[HEAD + bucket]))
            .collect();
        let expected = [(5_000, 1), (1_000_000, 2), (LONGEST_NS, 1)];
        assert_eq!(counted, expected.map(|(ns, times)| (bucket_of(ns), times)));
    }
}
