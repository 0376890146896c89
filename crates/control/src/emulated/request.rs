//! Speeds asked for, with their times: from whoever decides to the threads that take time away.
//!
//! A ring instead of the latest speed alone, because with an injected latency a boost shall be
//! over as late as it began, even if it was shorter than the latency. Nothing here blocks.

use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::syscalls;

/// Changes that may be under way at once; one more makes a thread skip to the newest.
const SLOTS: u32 = 64;
/// Bits of a request that hold the speed; the others hold the time in steps of so many ns, for nine
/// years of uptime.
const SPEED_BITS: u32 = 10;
const STEP_NS: u64 = 16;
const SPEED_MASK: u64 = (1 << SPEED_BITS) - 1;

/// The requests of one lever; one writer, many readers.
#[derive(Debug)]
pub(crate) struct Requests {
    slots: [AtomicU64; SLOTS as usize],
    /// How many there were, wrapping; parked threads wait on it.
    count: AtomicU32,
    parked: AtomicU32,
    pub(crate) stop: AtomicBool,
}

/// A speed and when it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) at_ns: u64,
    pub(crate) permille: u32,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            slots: [const { AtomicU64::new(0) }; SLOTS as usize],
            count: AtomicU32::new(0),
            parked: AtomicU32::new(0),
            stop: AtomicBool::new(false),
        }
    }
}

impl Requests {
    /// Asks for a speed; a system call only if a thread is parked.
    pub(crate) fn push(&self, at_ns: u64, permille: u32) {
        let index = self.count.load(Relaxed);
        let packed = (at_ns / STEP_NS) << SPEED_BITS | u64::from(permille);
        self.slots[(index % SLOTS) as usize].store(packed, Relaxed);
        // Sequentially consistent with `park`: either the thread sees the request, or this sees
        // that it is parked.
        self.count.store(index.wrapping_add(1), SeqCst);
        if self.parked.load(SeqCst) > 0 {
            syscalls::futex_wake(&self.count);
        }
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Acquire)
    }

    /// The first request after the `seen` first, which are moved on past those that are lost.
    pub(crate) fn next(&self, seen: &mut u32) -> Option<Request> {
        let count = self.count();
        if count == *seen {
            return None;
        }
        // The writer may be filling the oldest slot already, hence one less.
        if count.wrapping_sub(*seen) >= SLOTS {
            *seen = count.wrapping_sub(1);
        }
        let packed = self.slots[(*seen % SLOTS) as usize].load(Relaxed);
        Some(Request {
            at_ns: (packed >> SPEED_BITS) * STEP_NS,
            permille: (packed & SPEED_MASK) as u32,
        })
    }

    /// Sleeps until there are others than the `seen` first.
    pub(crate) fn park(&self, seen: u32) {
        self.parked.fetch_add(1, SeqCst);
        while self.count.load(SeqCst) == seen {
            syscalls::futex_wait(&self.count, seen, None);
        }
        self.parked.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, Requests, SLOTS, STEP_NS};

    #[test]
    fn requests_come_in_order_and_an_overrun_skips_to_the_newest() {
        let requests = Requests::default();
        let mut seen = 0;
        assert_eq!(requests.next(&mut seen), None);
        requests.push(32, 650);
        // After seven years.
        requests.push(7 << 55, 1000);
        let first = Request {
            at_ns: 32,
            permille: 650,
        };
        assert_eq!(requests.next(&mut seen), Some(first));
        seen += 1;
        assert_eq!(requests.next(&mut seen).unwrap().at_ns, 7 << 55);
        for step in 0..u64::from(SLOTS) + 9 {
            requests.push(step * STEP_NS, 1);
        }
        assert_eq!(
            requests.next(&mut seen).unwrap().at_ns,
            (u64::from(SLOTS) + 8) * STEP_NS
        );
    }

    #[test]
    fn a_parked_thread_wakes_for_a_request() {
        let requests = std::sync::Arc::new(Requests::default());
        let shared = std::sync::Arc::clone(&requests);
        let parked = std::thread::spawn(move || shared.park(0));
        requests.push(1, 1);
        parked.join().unwrap();
    }
}
