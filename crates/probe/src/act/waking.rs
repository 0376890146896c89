//! How a loop's thread wakes the driver: at a collection, and when it goes to work.
//!
//! A futex of our own: a channel or a condition variable would have the loop's thread take a lock.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};

use bobtail_control::{futex_wait, futex_wake};

/// Wakes the driver; counts, so that none is missed.
static WAKE: AtomicU32 = AtomicU32::new(0);
/// A driver runs and is to be woken by collections.
static IS_DRIVING: AtomicBool = AtomicBool::new(false);
/// The driver sleeps until a loop goes to work.
static IS_ASLEEP: AtomicBool = AtomicBool::new(false);

/// A driver runs from now on.
pub fn begin() {
    IS_DRIVING.store(true, SeqCst);
}

/// A collection begins or ends: a moment to decide. For the loop's thread.
pub fn note_collection() {
    if IS_DRIVING.load(Relaxed) {
        wake();
    }
}

/// The loop goes to work: the driver must look, if it sleeps.
#[inline]
pub fn note_work() {
    if IS_ASLEEP.load(Relaxed) && IS_ASLEEP.swap(false, SeqCst) {
        wake();
    }
}

fn wake() {
    WAKE.fetch_add(1, SeqCst);
    futex_wake(&WAKE);
}

/// How often the driver was woken so far.
pub fn seen() -> u32 {
    WAKE.load(SeqCst)
}

/// Sleeps until a wake-up after the `seen`th, at most this long; also until a loop goes to work, if
/// `is_wakeable`.
pub fn sleep(seen: u32, at_most_ns: u64, is_wakeable: bool) {
    IS_ASLEEP.store(is_wakeable, SeqCst);
    futex_wait(&WAKE, seen, Some(at_most_ns));
    IS_ASLEEP.store(false, SeqCst);
}
