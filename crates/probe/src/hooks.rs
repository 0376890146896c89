//! The wrapped libc functions: what libuv calls around every loop event.
//!
//! Each does what the wrapped one does, with the same result and errno, and tells the loop state
//! what it saw. They must not unwind, block, allocate or lock.

mod accept;
mod close;
mod connect;
mod mutex;
mod original;
mod poll;
mod read;
mod receive;
mod write;

use std::ffi::c_int;

use crate::act::senses;
use crate::fd_table::{self, Entry};
use crate::got::Replacement;
use crate::loop_state::LoopState;
use crate::thread::state;

/// Functions without which nothing can be recorded; the first `REQUIRED` of `REPLACEMENTS`.
pub const REQUIRED: usize = 7;

macro_rules! replacements {
    ($($name:literal $function:path, $original:ident;)+) => {
        /// What replaces what, the most important first.
        pub fn replacements() -> Vec<Replacement> {
            vec![$(Replacement {
                name: $name,
                address: $function as *const () as usize,
                original: &original::$original,
            },)+]
        }
    };
}

replacements! {
    c"epoll_pwait" poll::epoll_pwait, EPOLL_PWAIT;
    c"read" read::read, READ;
    c"accept4" accept::accept4, ACCEPT4;
    c"syscall" close::syscall, SYSCALL;
    c"write" write::write, WRITE;
    c"writev" write::writev, WRITEV;
    c"pthread_mutex_unlock" mutex::pthread_mutex_unlock, PTHREAD_MUTEX_UNLOCK;
    c"close" close::close, CLOSE;
    c"connect" connect::connect, CONNECT;
    c"getsockopt" connect::getsockopt, GETSOCKOPT;
    c"listen" accept::listen, LISTEN;
    c"recvmsg" receive::recvmsg, RECVMSG;
    c"recvmmsg" receive::recvmmsg, RECVMMSG;
    c"recvfrom" receive::recvfrom, RECVFROM;
    c"recv" receive::recv, RECV;
    c"sendmsg" write::sendmsg, SENDMSG;
    c"pthread_mutex_lock" mutex::pthread_mutex_lock, PTHREAD_MUTEX_LOCK;
}

/// The loop state and entry of a descriptor that is dispatched now: it is in the batch and its
/// turn comes, or it is still its turn.
#[inline(always)]
fn dispatched<'a>(fd: c_int) -> Option<(&'a mut LoopState, &'static Entry)> {
    let Some(state) = state() else {
        if let Some(sensed) = senses::sensed() {
            sensed.dispatch(fd);
        }
        return None;
    };
    let entry = fd_table::entry(fd)?;
    let its_turn = state.dispatched == fd
        || entry.batch.load(std::sync::atomic::Ordering::Relaxed) == state.batch;
    its_turn.then_some((state, entry))
}
