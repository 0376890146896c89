//! Datagrams, and messages that may carry descriptors, are received.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::{Relaxed, Release};

use bobtail_trace::record::LoopKind;

use super::dispatched;
use super::original;
use super::read::{Control, finish, is_again, ready_of, stamp_of};
use crate::act::senses;
use crate::clock::monotonic_ns;
use crate::fd_table::{self, Entry, Kind};
use crate::handles::handle_of;
use crate::thread::state;

/// Replaces `recvmsg`: UDP sockets, and pipes between processes (`process.send`, cluster).
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    let Some((state, entry)) = dispatched(fd) else {
        // SAFETY: the caller's arguments.
        let result = unsafe { original::recvmsg(fd, message, flags) };
        if result >= 0 && senses::exchanges_of(fd).is_some() {
            // SAFETY: the kernel filled it.
            unsafe { take_passed(&*message) };
        }
        return result;
    };
    let begin_ns = monotonic_ns();
    let first = state.dispatch(fd, entry, begin_ns);
    if entry.kind() == Kind::Unknown {
        handle_of(state, fd, entry);
    }
    if entry.kind() != Kind::Udp {
        // SAFETY: the caller's arguments.
        let result = unsafe { original::recvmsg(fd, message, flags) };
        if result >= 0 {
            // SAFETY: the kernel filled it.
            unsafe { take_passed(&*message) };
        }
        finish(fd, entry, begin_ns, first, result, 0);
        return result;
    }
    // SAFETY: the caller's message.
    let borrowed = unsafe { (*message).msg_control.is_null() };
    let mut control = Control::new();
    let mut stamp_ns = 0;
    // SAFETY: the caller's message, with our control buffer for the time of the call if it has
    // none of its own.
    let result = unsafe {
        if borrowed {
            (*message).msg_control = control.0.as_mut_ptr().cast();
            (*message).msg_controllen = control.0.len();
        }
        let result = original::recvmsg(fd, message, flags);
        if result >= 0 {
            stamp_ns = stamp_of(&*message);
        }
        if borrowed {
            (*message).msg_control = std::ptr::null_mut();
            (*message).msg_controllen = 0;
            (*message).msg_flags &= !libc::MSG_CTRUNC;
        }
        result
    };
    datagram(fd, entry, begin_ns, first, result, stamp_ns);
    result
}

fn datagram(fd: c_int, entry: &Entry, begin_ns: u64, first: bool, result: isize, stamp_ns: u64) {
    let Some(state) = state() else {
        return;
    };
    if result < 0 && is_again() {
        if first {
            state.shared.head_begin_ns.store(0, Release);
        }
        return;
    }
    let handle = handle_of(state, fd, entry);
    // Each datagram has its own stamp, so the second of a turn is as exact as the first.
    let ready = ready_of(state, entry, begin_ns, true, result.min(1), stamp_ns);
    state.begin(LoopKind::Udp, begin_ns, Some(ready), handle, 0, 0);
}

/// Descriptors that came with a message are connections a cluster's primary accepted.
///
/// SAFETY: `message` was filled by recvmsg.
unsafe fn take_passed(message: &libc::msghdr) {
    // SAFETY: by the caller; the macros stay within the control buffer.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let (level, kind) = ((*header).cmsg_level, (*header).cmsg_type);
            if level == libc::SOL_SOCKET && kind == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(header).cast::<c_int>();
                let bytes = (*header)
                    .cmsg_len
                    .saturating_sub(libc::CMSG_LEN(0) as usize);
                for index in 0..bytes / size_of::<c_int>() {
                    if let Some(entry) = fd_table::entry(data.add(index).read_unaligned()) {
                        entry.clear();
                        entry.passed.store(1, Relaxed);
                    }
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// Replaces `recvmmsg`.
pub unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: u32,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    let turn = turn(fd);
    // SAFETY: the caller's arguments.
    let result = unsafe { original::recvmmsg(fd, messages, count, flags, timeout) };
    if let (Some((entry, begin_ns, first)), true) = (turn, result != 0) {
        datagram(fd, entry, begin_ns, first, result as isize, 0);
    }
    result
}

/// Replaces `recvfrom`: c-ares, and what else watches its own sockets.
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    buffer: *mut c_void,
    bytes: usize,
    flags: c_int,
    from: *mut libc::sockaddr,
    from_bytes: *mut libc::socklen_t,
) -> isize {
    readiness(fd);
    // SAFETY: the caller's arguments.
    unsafe { original::recvfrom(fd, buffer, bytes, flags, from, from_bytes) }
}

/// Replaces `recv`.
pub unsafe extern "C" fn recv(fd: c_int, buffer: *mut c_void, bytes: usize, flags: c_int) -> isize {
    readiness(fd);
    // SAFETY: the caller's arguments.
    unsafe { original::recv(fd, buffer, bytes, flags) }
}

fn turn(fd: c_int) -> Option<(&'static Entry, u64, bool)> {
    let (state, entry) = dispatched(fd)?;
    let begin_ns = monotonic_ns();
    Some((entry, begin_ns, state.dispatch(fd, entry, begin_ns)))
}

/// The callback already runs; this is the first that is seen of it.
fn readiness(fd: c_int) {
    if let (Some((entry, begin_ns, true)), Some(state)) = (turn(fd), state()) {
        let handle = handle_of(state, fd, entry);
        let ready = state.ready_unstamped(entry);
        state.begin(LoopKind::Poll, begin_ns, Some(ready), handle, 0, 0);
    }
}
