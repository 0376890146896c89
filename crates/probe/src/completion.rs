//! Carries the times of finished pool jobs from the pool threads to the loop thread, in order.
//!
//! A ring with one consumer; producers hold the loop's work-queue mutex, so there is one at a time.
//! The order is that in which libuv will call the jobs' callbacks.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const CAPACITY: usize = 32_768;
/// How far a look-up goes: what lies before a match was finished for nobody.
const LOOK_AHEAD: u32 = 1_024;

/// When a pool thread took a job, and when it had finished it (CLOCK_MONOTONIC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub work: usize,
    pub start_ns: u64,
    pub ready_ns: u64,
}

/// See the module.
pub struct Completions {
    words: Box<[u64]>,
    head: AtomicU32,
    tail: AtomicU32,
    lost: AtomicU32,
}

impl Completions {
    pub fn new() -> Self {
        Self {
            // Zeroed by the allocator, so untouched pages cost nothing.
            words: vec![0; CAPACITY * 3].into_boxed_slice(),
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            lost: AtomicU32::new(0),
        }
    }

    fn word(&self, number: u32, field: usize) -> &AtomicU64 {
        let at = (number as usize % CAPACITY) * 3 + field;
        // SAFETY: within the slice; all access to its words is atomic.
        unsafe { AtomicU64::from_ptr(self.words.as_ptr().add(at).cast_mut()) }
    }

    /// Adds one, under the loop's mutex; counts a loss when there is no room.
    pub fn push(&self, completion: Completion) {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail.wrapping_sub(self.head.load(Ordering::Acquire)) as usize >= CAPACITY {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.word(tail, 0)
            .store(completion.work as u64, Ordering::Relaxed);
        self.word(tail, 1)
            .store(completion.start_ns, Ordering::Relaxed);
        self.word(tail, 2)
            .store(completion.ready_ns, Ordering::Relaxed);
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
    }

    /// Takes the next completion of `work`, and drops what was finished before it.
    pub fn take(&self, work: usize) -> Option<Completion> {
        let head = self.head.load(Ordering::Relaxed);
        let count = self
            .tail
            .load(Ordering::Acquire)
            .wrapping_sub(head)
            .min(LOOK_AHEAD);
        for step in 0..count {
            let number = head.wrapping_add(step);
            if self.word(number, 0).load(Ordering::Relaxed) == work as u64 {
                let completion = Completion {
                    work,
                    start_ns: self.word(number, 1).load(Ordering::Relaxed),
                    ready_ns: self.word(number, 2).load(Ordering::Relaxed),
                };
                self.head.store(number.wrapping_add(1), Ordering::Release);
                return Some(completion);
            }
        }
        None
    }

    /// Drops what was finished so far. By the loop thread.
    pub fn clear(&self) {
        self.head
            .store(self.tail.load(Ordering::Acquire), Ordering::Release);
    }

    /// Completions that found no room.
    pub fn lost(&self) -> u32 {
        self.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(work: usize) -> Completion {
        Completion {
            work,
            start_ns: work as u64 * 10,
            ready_ns: work as u64 * 10 + 5,
        }
    }

    #[test]
    fn takes_in_order_and_skips_the_unknown() {
        let completions = Completions::new();
        for work in [1, 2, 3] {
            completions.push(completion(work));
        }
        assert_eq!(completions.take(2), Some(completion(2)));
        assert_eq!(
            completions.take(1),
            None,
            "was finished before 2 and is gone"
        );
        assert_eq!(completions.take(3), Some(completion(3)));
        assert_eq!(completions.take(3), None);
    }

    #[test]
    fn the_same_work_twice_keeps_its_order() {
        let completions = Completions::new();
        completions.push(Completion {
            work: 1,
            start_ns: 1,
            ready_ns: 2,
        });
        completions.push(Completion {
            work: 1,
            start_ns: 3,
            ready_ns: 4,
        });
        assert_eq!(completions.take(1).map(|c| c.ready_ns), Some(2));
        assert_eq!(completions.take(1).map(|c| c.ready_ns), Some(4));
    }

    #[test]
    fn a_full_ring_counts_and_goes_on() {
        let completions = Completions::new();
        for work in 0..CAPACITY + 2 {
            completions.push(completion(work));
        }
        assert_eq!(completions.lost(), 2);
        assert_eq!(completions.take(0), Some(completion(0)));
        completions.push(completion(7_000_000));
        assert_eq!(completions.take(1), Some(completion(1)));
    }
}
