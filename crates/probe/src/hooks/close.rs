//! Descriptors are closed. libuv calls the system call itself, not `close`.

use std::ffi::{c_int, c_long};

use super::original;
use crate::act::senses;
use crate::thread::state;
use crate::{fd_table, handles, registry};

/// Before the descriptor is closed, because its number may be given out again at once.
#[inline]
fn closing(fd: c_int) {
    if let Some(entry) = fd_table::entry(fd)
        && !entry.is_clear()
        && !registry::is_forked()
    {
        let state = state();
        if state.is_none()
            && let Some(sensed) = senses::sensed()
        {
            sensed.closing(entry);
        }
        handles::closing(state, fd, entry);
    }
}

/// Replaces `close`.
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    closing(fd);
    // SAFETY: the caller's argument.
    unsafe { original::close(fd) }
}

/// Replaces `syscall`, which is variadic; the seven words it may take are passed on.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == libc::SYS_close {
        closing(a as c_int);
    }
    // SAFETY: the caller's arguments; unused words are ignored.
    unsafe { original::syscall(number, a, b, c, d, e, f) }
}
