//! The thread that keeps chunks of every trace mapped ahead of its loop thread.
//!
//! It sleeps until the watchdog's tick sees a ring that wants a chunk: the loop thread never makes
//! a system call to wake it.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::registry;

static WANTED: Mutex<bool> = Mutex::new(false);
static WAKE: Condvar = Condvar::new();
/// How long to leave a full disk alone.
const RETRY: Duration = Duration::from_millis(500);

/// Wakes the mapper. Not for the loop thread.
pub fn wake() {
    *WANTED.lock().unwrap_or_else(PoisonError::into_inner) = true;
    WAKE.notify_one();
}

/// The thread's body; never returns.
pub fn run() {
    loop {
        let wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted = WAKE
            .wait_while(wanted, |wanted| !*wanted)
            .unwrap_or_else(PoisonError::into_inner);
        *wanted = false;
        drop(wanted);
        if !map_all() {
            std::thread::sleep(RETRY);
        }
    }
}

/// Maps what all rings want; false when a disk is full.
fn map_all() -> bool {
    let mut room = true;
    for entry in registry::recorded().iter_mut() {
        loop {
            match entry.slots.map_next(&entry.ring, &entry.file) {
                Ok(true) => {}
                Ok(false) => break,
                // The ring tells the loop thread, which counts the loss.
                Err(_) => {
                    room = false;
                    break;
                }
            }
        }
    }
    room
}
