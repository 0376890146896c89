//! Mutexes of the thread pool are unlocked: the moments at which a job is queued, taken, finished.
//!
//! The unlock and not the lock, because the queue then shows what was done under the mutex, and
//! still cannot change.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use super::original;
use crate::clock::monotonic_ns;
use crate::completion::Completion;
use crate::libuv::{self, uv_loop, work};
use crate::loop_state::{note_taken, state, taken_ns};
use crate::{pool, registry};

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
