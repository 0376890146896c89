//! Mutexes of the thread pool are unlocked: the moments at which a job is queued, taken, finished.
//! And one of V8's is locked, which the loop must not sleep for on our account.
//!
//! For jobs the unlock and not the lock, because the queue then shows what was done under the
//! mutex, and still cannot change.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use super::original;
use crate::clock::monotonic_ns;
use crate::completion::Completion;
use crate::libuv::{self, uv_loop, work};
use crate::location;
use crate::thread::{note_taken, state, taken_ns};
use crate::{pool, registry};

/// For longer than this nobody holds a mutex who runs; whoever does not is slept for.
const SPIN_NS: u64 = 50_000;

/// Replaces `pthread_mutex_unlock`.
pub unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    let submitted = if mutex as usize == pool::MUTEX.load(Relaxed) {
        at_pool()
    } else {
        if let Some(shared) = registry::loop_of_mutex(mutex as usize) {
            finished(shared, mutex as usize);
        }
        None
    };
    // SAFETY: the caller's mutex.
    let result = unsafe { original::pthread_mutex_unlock(mutex) };
    if let (Some(submitted), Some(state)) = (submitted, state()) {
        pool::register(state, submitted);
    }
    result
}

/// Replaces `pthread_mutex_lock`.
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    if location::is_being_asked() && state().is_some() {
        // SAFETY: the caller's mutex.
        if let Some(result) = unsafe { lock_awake(mutex) } {
            return result;
        }
    }
    // SAFETY: the caller's mutex.
    unsafe { original::pthread_mutex_lock(mutex) }
}

/// Locks without sleeping, if that works while a location is being asked for.
///
/// V8 asks this thread to stop while it still holds the mutex that this thread takes to see why. It
/// is free again within a microsecond, but a thread that sleeps gives its processor away, and
/// where others want it, it comes back at the next tick, 4 ms later.
///
/// SAFETY: a mutex that may be locked.
#[cold]
#[inline(never)]
unsafe fn lock_awake(mutex: *mut libc::pthread_mutex_t) -> Option<c_int> {
    let until_ns = monotonic_ns() + SPIN_NS;
    loop {
        // SAFETY: by the caller.
        match unsafe { libc::pthread_mutex_trylock(mutex) } {
            libc::EBUSY => {}
            result => return Some(result),
        }
        if !location::is_being_asked() || monotonic_ns() > until_ns {
            return None;
        }
        std::hint::spin_loop();
    }
}

/// The pool's own mutex: a loop thread submitted, or a pool thread took a job.
#[inline]
fn at_pool() -> Option<pool::Submitted> {
    match state() {
        Some(state) => pool::submitted(state),
        None => {
            if !registry::is_forked() {
                note_taken();
            }
            None
        }
    }
}

/// A loop's work-queue mutex: when a pool thread holds it, the tail is the job it just finished.
#[inline]
fn finished(shared: &registry::Shared, mutex: usize) {
    let start_ns = taken_ns();
    if start_ns == 0 || registry::is_forked() {
        return;
    }
    let queue = mutex - uv_loop::WORK_MUTEX + uv_loop::WORK_QUEUE;
    // SAFETY: the mutex is held.
    if let Some(tail) = unsafe { libuv::queue_tail(queue) } {
        shared.completions.push(Completion {
            work: tail - work::LINK,
            start_ns,
            ready_ns: monotonic_ns(),
        });
    }
}
