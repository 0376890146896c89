//! What a thread knows of itself, above all the state of the loop it runs.
//!
//! A thread-local variable, and beside it a copy for the process's first thread, which is told by
//! its thread pointer: in a loaded module a look-up of a thread-local is a call, and a request
//! makes some twenty of them.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::clock::monotonic_ns;
use crate::loop_state::LoopState;

/// One value, because each look-up is a call.
struct Thread {
    state: Cell<*mut LoopState>,
    /// The state while recording is paused: the wrapped functions must not find it.
    aside: Cell<*mut LoopState>,
    /// When this pool thread took its job.
    taken_ns: Cell<u64>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            state: Cell::new(null_mut()),
            aside: Cell::new(null_mut()),
            taken_ns: Cell::new(0),
        }
    };
}

/// Thread pointer of the first thread once that was recorded. It lives as long as the process, so
/// no other thread ever has the same.
static FIRST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// `Thread::state` of the first thread; touched by that thread only.
static STATE_OF_FIRST: AtomicPtr<LoopState> = AtomicPtr::new(null_mut());

/// The register that tells threads apart; 0 where none is known.
#[inline(always)]
fn thread_pointer() -> usize {
    let pointer: usize;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the first word of a thread's control block is its own address (System V ABI).
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, pure));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: reads a register that user space may read.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, pure));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        pointer = 0;
    }
    pointer
}

/// Copies the state of the first thread to where it is found without a call.
fn note_first() {
    // SAFETY: only ask.
    let is_first = unsafe { libc::syscall(libc::SYS_gettid) == i64::from(libc::getpid()) };
    if is_first && thread_pointer() != 0 {
        STATE_OF_FIRST.store(THREAD.with(|thread| thread.state.get()), Relaxed);
        FIRST.store(thread_pointer(), Relaxed);
    }
}

/// Puts another state in place of this thread's; gives the one before.
fn replace(state: *mut LoopState) -> *mut LoopState {
    let before = THREAD.with(|thread| thread.state.replace(state));
    if thread_pointer() == FIRST.load(Relaxed) {
        STATE_OF_FIRST.store(state, Relaxed);
    }
    before
}

/// The state of this thread's loop.
///
/// The reference must not live across calls into libuv or JavaScript.
#[inline(always)]
pub fn state<'a>() -> Option<&'a mut LoopState> {
    let state = match thread_pointer() == FIRST.load(Relaxed) {
        true => STATE_OF_FIRST.load(Relaxed),
        false => THREAD.with(|thread| thread.state.get()),
    };
    // SAFETY: set by `install` to a box that is only freed by `take`, on this thread.
    unsafe { state.as_mut() }
}

/// Makes this thread's loop a recorded one.
pub fn install(state: Box<LoopState>) {
    replace(Box::into_raw(state));
    note_first();
}

/// The state of this thread's loop, also while recording is paused.
///
/// As with `state`, the reference must not live across calls into libuv or JavaScript.
pub fn even_paused<'a>() -> Option<&'a mut LoopState> {
    // SAFETY: as in `state`.
    state().or_else(|| THREAD.with(|thread| unsafe { thread.aside.get().as_mut() }))
}

/// Recording of this thread is paused.
pub fn is_paused() -> bool {
    THREAD.with(|thread| !thread.aside.get().is_null())
}

/// Hides the state from everything but `even_paused`.
pub fn put_aside() {
    let state = replace(null_mut());
    THREAD.with(|thread| thread.aside.set(state));
}

/// Shows a hidden state again and gives it.
pub fn take_up<'a>() -> Option<&'a mut LoopState> {
    if !is_paused() {
        return None;
    }
    replace(THREAD.with(|thread| thread.aside.replace(null_mut())));
    state()
}

/// Ends recording on this thread, paused or not.
pub fn take() -> Option<Box<LoopState>> {
    take_up();
    let state = replace(null_mut());
    // SAFETY: the box of `install`.
    (!state.is_null()).then(|| unsafe { Box::from_raw(state) })
}

/// Forgets the state without freeing it: it is that of another process.
pub fn forget() {
    replace(null_mut());
    // The child's only thread may be a copy of another than the first.
    STATE_OF_FIRST.store(null_mut(), Relaxed);
    THREAD.with(|thread| thread.aside.set(null_mut()));
}

/// A thread without a recorded loop took a job from the thread pool now. Of a paused loop's own
/// thread nothing is kept: it submitted one.
#[inline]
pub fn note_taken() {
    THREAD.with(|thread| {
        if thread.aside.get().is_null() {
            thread.taken_ns.set(monotonic_ns());
        }
    });
}

/// When this pool thread took its job; 0 when this is no pool thread.
pub fn taken_ns() -> u64 {
    THREAD.with(|thread| thread.taken_ns.get())
}
