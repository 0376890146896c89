//! The loop enters and leaves the kernel.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::original;
use crate::act::senses;
use crate::clock::monotonic_ns;
use crate::fd_table;
use crate::loop_state::LoopState;
use crate::thread::state;
use crate::timers;

/// Replaces `epoll_pwait`.
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    room: c_int,
    timeout_ms: c_int,
    signals: *const libc::sigset_t,
) -> c_int {
    let wait = || {
        // SAFETY: the caller's arguments.
        unsafe { original::epoll_pwait(epoll, events, room, timeout_ms, signals) }
    };
    match state() {
        Some(state) if state.backend_fd == epoll => {
            timers::watch(state);
            state.poll_enter(monotonic_ns());
        }
        _ => return sense(epoll, events, wait),
    }
    let count = wait();
    if let Some(state) = state() {
        let now_ns = monotonic_ns();
        state.poll_leave(now_ns, count.max(0) as u32, timeout_ms != 0);
        state.realtime.refresh(now_ns);
        state.next_batch();
        // SAFETY: the kernel filled `count` events.
        unsafe { take_batch(state, events, count) };
    }
    count
}

/// On a thread that is not recorded: what its loop shows of itself, if somebody wants to know.
fn sense(epoll: c_int, events: *const libc::epoll_event, wait: impl FnOnce() -> c_int) -> c_int {
    match senses::sensed() {
        Some(sensed) if sensed.backend_fd == epoll => sensed.poll_enter(),
        _ => return wait(),
    }
    let count = wait();
    if let Some(sensed) = senses::sensed() {
        // SAFETY: the kernel filled `count` events.
        unsafe { sensed.poll_leave(events, count) };
    }
    count
}

/// SAFETY: `events` has `count` events.
unsafe fn take_batch(state: &mut LoopState, events: *const libc::epoll_event, count: c_int) {
    // SAFETY: by the caller.
    let ready = unsafe { fd_table::mark_batch(events, count, state.batch) };
    state.shared.queue_length.store(ready, Release);
    if ready != 0 {
        let shared = &state.shared;
        shared
            .batches
            .store(shared.batches.load(Relaxed) + 1, Relaxed);
        let events = shared.ready_events.load(Relaxed) + u64::from(ready);
        shared.ready_events.store(events, Relaxed);
    }
}
