//! The functions that were replaced, as the executable had them.
//!
//! Not libc's by name: in an executable that takes a function's address, the name resolves to the
//! executable's own stub, which jumps to the replacement. And what an LD_PRELOAD library put there
//! stays in the chain.

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use libc::{epoll_event, iovec, mmsghdr, msghdr, pthread_mutex_t, sigset_t, sockaddr, socklen_t};

macro_rules! originals {
    ($($name:ident, $cell:ident, ($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $(
            /// Address, set before the replacement is in place.
            pub static $cell: AtomicUsize = AtomicUsize::new(0);

            /// Calls the original.
            ///
            /// # Safety
            /// As the function; only from its replacement.
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $name($($argument: $type),*) -> $result {
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                // SAFETY: the cell holds a function of that name, so of that type.
                unsafe {
                    std::mem::transmute::<usize, Function>($cell.load(Relaxed))($($argument),*)
                }
            }
        )+
    };
}

originals! {
    epoll_pwait, EPOLL_PWAIT,
        (epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int,
         signals: *const sigset_t) -> c_int;
    read, READ, (fd: c_int, buffer: *mut c_void, bytes: usize) -> isize;
    accept4, ACCEPT4,
        (fd: c_int, address: *mut sockaddr, bytes: *mut socklen_t, flags: c_int) -> c_int;
    syscall, SYSCALL,
        (number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long)
        -> c_long;
    write, WRITE, (fd: c_int, buffer: *const c_void, bytes: usize) -> isize;
    writev, WRITEV, (fd: c_int, parts: *const iovec, count: c_int) -> isize;
    pthread_mutex_unlock, PTHREAD_MUTEX_UNLOCK, (mutex: *mut pthread_mutex_t) -> c_int;
    pthread_mutex_lock, PTHREAD_MUTEX_LOCK, (mutex: *mut pthread_mutex_t) -> c_int;
    close, CLOSE, (fd: c_int) -> c_int;
    connect, CONNECT, (fd: c_int, address: *const sockaddr, bytes: socklen_t) -> c_int;
    getsockopt, GETSOCKOPT,
        (fd: c_int, level: c_int, option: c_int, value: *mut c_void, bytes: *mut socklen_t)
        -> c_int;
    listen, LISTEN, (fd: c_int, backlog: c_int) -> c_int;
    recvmsg, RECVMSG, (fd: c_int, message: *mut msghdr, flags: c_int) -> isize;
    recvmmsg, RECVMMSG,
        (fd: c_int, messages: *mut mmsghdr, count: u32, flags: c_int,
         timeout: *mut libc::timespec) -> c_int;
    recvfrom, RECVFROM,
        (fd: c_int, buffer: *mut c_void, bytes: usize, flags: c_int, from: *mut sockaddr,
         from_bytes: *mut socklen_t) -> isize;
    recv, RECV, (fd: c_int, buffer: *mut c_void, bytes: usize, flags: c_int) -> isize;
    sendmsg, SENDMSG, (fd: c_int, message: *const msghdr, flags: c_int) -> isize;
}
