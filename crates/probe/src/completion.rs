//! Carries the times of finished pool jobs from the pool threads to the loop thread, in order.
//!
//! A ring with one consumer; producers hold the loop's work-queue mutex, so there is one at a time.
//! The order is that in which libuv will call the jobs' callbacks. The ring is small, so that it
//! stays in the processor's cache; what a loop that runs long does not take in time waits in a
//! queue behind it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const CAPACITY: usize = 256;
/// Completions that wait behind a full ring.
const OVERFLOW_MAX: usize = 32_768;

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
    /// Finished after all that is in the ring.
    overflow: Mutex<VecDeque<Completion>>,
    has_overflow: AtomicBool,
    lost: AtomicU32,
}

impl Completions {
    pub fn new() -> Self {
        Self {
            words: vec![0; CAPACITY * 3].into_boxed_slice(),
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            overflow: Mutex::new(VecDeque::new()),
            has_overflow: AtomicBool::new(false),
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
        let waiting = tail.wrapping_sub(self.head.load(Ordering::Acquire)) as usize;
        if waiting >= CAPACITY || self.has_overflow.load(Ordering::Acquire) {
            self.push_behind(completion);
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

    #[cold]
    fn push_behind(&self, completion: Completion) {
        let mut overflow = self.overflow();
        if overflow.len() >= OVERFLOW_MAX {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        overflow.push_back(completion);
        self.has_overflow.store(true, Ordering::Release);
    }

    fn overflow(&self) -> MutexGuard<'_, VecDeque<Completion>> {
        self.overflow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next completion of `work` that was started at `since_ns` or later, and drops what
    /// was finished before it. Addresses are used again: one that was started earlier is that of
    /// another job, whose callback was never seen.
    pub fn take(&self, work: usize, since_ns: u64) -> Option<Completion> {
        let head = self.head.load(Ordering::Relaxed);
        let tail = self.tail.load(Ordering::Acquire);
        for step in 0..tail.wrapping_sub(head) {
            let number = head.wrapping_add(step);
            let start_ns = self.word(number, 1).load(Ordering::Relaxed);
            if self.word(number, 0).load(Ordering::Relaxed) == work as u64 && start_ns >= since_ns {
                let completion = Completion {
                    work,
                    start_ns,
                    ready_ns: self.word(number, 2).load(Ordering::Relaxed),
                };
                self.head.store(number.wrapping_add(1), Ordering::Release);
                return Some(completion);
            }
        }
        match self.has_overflow.load(Ordering::Acquire) {
            true => self.take_behind(work, since_ns, tail),
            false => None,
        }
    }

    /// As `take`, from behind the ring, which ended at `tail`.
    #[cold]
    fn take_behind(&self, work: usize, since_ns: u64, tail: u32) -> Option<Completion> {
        let mut overflow = self.overflow();
        let is_it = |done: &Completion| done.work == work && done.start_ns >= since_ns;
        let at = overflow.iter().position(is_it)?;
        let completion = overflow.drain(..=at).next_back();
        self.has_overflow
            .store(!overflow.is_empty(), Ordering::Release);
        self.head.store(tail, Ordering::Release);
        completion
    }

    /// Drops what was finished so far. By the loop thread.
    pub fn clear(&self) {
        let mut overflow = self.overflow();
        overflow.clear();
        self.has_overflow.store(false, Ordering::Release);
        self.head
            .store(self.tail.load(Ordering::Acquire), Ordering::Release);
    }

    /// As new, for another loop. Before its jobs are followed.
    pub fn reset(&self) {
        self.clear();
        self.lost.store(0, Ordering::Relaxed);
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
        assert_eq!(completions.take(2, 0), Some(completion(2)));
        assert_eq!(
            completions.take(1, 0),
            None,
            "was finished before 2 and is gone"
        );
        assert_eq!(completions.take(3, 0), Some(completion(3)));
        assert_eq!(completions.take(3, 0), None);
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
        assert_eq!(completions.take(1, 0).map(|c| c.ready_ns), Some(2));
        assert_eq!(completions.take(1, 0).map(|c| c.ready_ns), Some(4));
    }

    #[test]
    fn one_that_started_before_the_job_is_another_ones() {
        let at = |start_ns| Completion {
            work: 7,
            start_ns,
            ready_ns: start_ns + 5,
        };
        // In the ring, and behind a full one.
        for waiting in [0, CAPACITY] {
            let completions = Completions::new();
            (0..waiting).for_each(|work| completions.push(completion(work + 100)));
            completions.push(at(70));
            assert_eq!(completions.take(7, 71), None);
            completions.push(at(71));
            assert_eq!(completions.take(7, 71), Some(at(71)));
            assert_eq!(completions.take(7, 0), None, "the first is gone with it");
        }
    }

    #[test]
    fn what_the_ring_has_no_room_for_waits_behind_it() {
        let completions = Completions::new();
        let all = CAPACITY * 3;
        for work in 1..=all {
            completions.push(completion(work));
        }
        for work in 1..=all / 2 {
            assert_eq!(completions.take(work, 0), Some(completion(work)), "{work}");
        }
        // Goes behind the others, though the ring has room again.
        completions.push(completion(1));
        assert_eq!(completions.take(all, 0), Some(completion(all)));
        assert_eq!(completions.take(all - 1, 0), None, "was finished before");
        assert_eq!(completions.take(1, 0), Some(completion(1)));
        assert_eq!(completions.take(1, 0), None);
        assert_eq!(completions.lost(), 0);
    }

    #[test]
    fn too_many_are_counted() {
        let completions = Completions::new();
        for work in 1..=CAPACITY + OVERFLOW_MAX + 2 {
            completions.push(completion(work));
        }
        assert_eq!(completions.lost(), 2);
        completions.clear();
        assert_eq!(completions.take(1, 0), None);
        completions.push(completion(1));
        assert_eq!(completions.take(1, 0), Some(completion(1)));
    }

    #[test]
    fn both_threads_at_once() {
        let completions = Completions::new();
        let count = 200_000;
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=count).for_each(|work| completions.push(completion(work))));
            let mut taken = 0;
            for work in 1..=count {
                while taken < work && completions.lost() == 0 {
                    match completions.take(work, 0) {
                        Some(done) => taken = done.work,
                        None => std::thread::yield_now(),
                    }
                }
            }
            assert!(taken == count || completions.lost() > 0);
        });
    }
}
