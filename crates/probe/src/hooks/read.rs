//! Streams, wake-ups and signals are read.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::{Relaxed, Release};

use bobtail_trace::record::{LoopKind, ReadyQuality};

use super::dispatched;
use super::original;
use crate::act::senses;
use crate::clock::{monotonic_ns, nanoseconds};
use crate::fd_table::Entry;
use crate::handles::handle_of;
use crate::libuv::{self, uv_loop};
use crate::loop_state::LoopState;
use crate::messages::Wakeup;
use crate::thread::state;
use crate::trampoline;

/// A read of at least this much may have taken several segments, stamped with the last.
const SEVERAL_SEGMENTS: isize = 65_536;
const CONTROL_BYTES: usize = 128;

/// A control buffer with the alignment `cmsghdr` wants.
#[repr(C, align(8))]
pub struct Control(pub [u8; CONTROL_BYTES]);

impl Control {
    pub fn new() -> Self {
        Self([0; CONTROL_BYTES])
    }
}

/// Replaces `read`.
pub unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, bytes: usize) -> isize {
    let Some((state, entry)) = dispatched(fd) else {
        // SAFETY: the caller's arguments.
        return unsafe { unrecorded(fd, buffer, bytes) };
    };
    let begin_ns = monotonic_ns();
    let first = state.dispatch(fd, entry, begin_ns);
    // SAFETY: on the loop's thread.
    let watcher = unsafe { libuv::watcher_of(state.uv_loop, fd) };
    let own = watcher.wrapping_sub(state.uv_loop);
    if own < uv_loop::BYTES {
        if first {
            begin_own(state, entry, own, begin_ns);
        }
        // SAFETY: the caller's arguments.
        return unsafe { original::read(fd, buffer, bytes) };
    }
    if entry.stamped.load(Relaxed) == 0 {
        // SAFETY: the caller's arguments.
        let result = unsafe { original::read(fd, buffer, bytes) };
        finish(fd, entry, begin_ns, first, result, 0);
        return result;
    }
    // SAFETY: the caller's arguments.
    let (result, stamp_ns) = unsafe { read_stamped(fd, buffer, bytes) };
    finish(fd, entry, begin_ns, first, result, stamp_ns);
    result
}

/// Reads, and gives the kernel's stamp of what was read, too; 0 none.
///
/// # Safety
/// As of `read`.
unsafe fn read_stamped(fd: c_int, buffer: *mut c_void, bytes: usize) -> (isize, u64) {
    let mut part = libc::iovec {
        iov_base: buffer,
        iov_len: bytes,
    };
    let mut control = Control::new();
    // SAFETY: zeros are a valid message header.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES;
    // SAFETY: the caller's buffer, our control buffer.
    let result = unsafe { original::recvmsg(fd, &mut message, 0) };
    let stamp_ns = match result {
        // SAFETY: the kernel filled the control buffer.
        1.. => unsafe { stamp_of(&message) },
        _ => 0,
    };
    (result, stamp_ns)
}

/// On a loop that is not recorded: a request may begin, if it is sensed.
///
/// # Safety
/// As of `read`.
unsafe fn unrecorded(fd: c_int, buffer: *mut c_void, bytes: usize) -> isize {
    let exchange = senses::exchanges_of(fd)
        .and_then(|(exchanges, entry)| Some((entry, exchanges.begins(fd, entry)?)));
    let Some((entry, wants_stamp)) = exchange else {
        // SAFETY: the caller's arguments.
        return unsafe { original::read(fd, buffer, bytes) };
    };
    // SAFETY: the caller's arguments.
    let (result, stamp_ns) = unsafe {
        match wants_stamp {
            true => read_stamped(fd, buffer, bytes),
            false => (original::read(fd, buffer, bytes), 0),
        }
    };
    if let (Some((exchanges, _)), 1..) = (senses::exchanges_of(fd), result) {
        exchanges.begin(entry, stamp_ns);
    }
    result
}

/// A watcher of the loop itself: wake-ups, signals.
fn begin_own(state: &mut LoopState, entry: &Entry, own: usize, begin_ns: u64) {
    let (kind, ready) = match own {
        uv_loop::ASYNC_WATCHER => {
            let woken_ns = state.seen_ready_ns(entry);
            let exact = (woken_ns != 0).then_some((woken_ns, ReadyQuality::Exact));
            (LoopKind::Async, exact)
        }
        uv_loop::SIGNAL_WATCHER => (LoopKind::Signal, None),
        _ => (LoopKind::Poll, None),
    };
    let ready = ready.unwrap_or_else(|| state.ready_by_poll());
    state.begin(kind, begin_ns, Some(ready), 0, 0, 0);
    if kind == LoopKind::Async {
        state.wakeup = Wakeup::new(state, ready.0);
    }
}

/// The kernel's receive stamp in a message, CLOCK_REALTIME; 0 none.
///
/// # Safety
/// `message` was filled by recvmsg.
pub unsafe fn stamp_of(message: &libc::msghdr) -> u64 {
    // SAFETY: by the caller; the macros stay within the control buffer.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let (level, kind) = ((*header).cmsg_level, (*header).cmsg_type);
            if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>();
                return nanoseconds(&time.read_unaligned());
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    0
}

/// A dispatched read returned: writes the event whose callback runs next, if one will.
pub fn finish(fd: c_int, entry: &Entry, begin_ns: u64, first: bool, result: isize, stamp_ns: u64) {
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
    let ready = ready_of(state, entry, begin_ns, first, result, stamp_ns);
    // Looks from other threads may fall between begin and read; a kernel stamp cannot.
    let read_ns = if stamp_ns == 0 {
        monotonic_ns()
    } else {
        begin_ns
    };
    entry.last_read_ns.store(read_ns, Relaxed);
    state.begin(LoopKind::Read, begin_ns, Some(ready), handle, 0, 0);
    state.set_event_context(entry.request.load(Relaxed));
    trampoline::hook_stream(state.uv_loop, fd);
}

/// Nothing was there to read.
pub fn is_again() -> bool {
    // SAFETY: glibc's thread-local errno.
    let errno = unsafe { *libc::__errno_location() };
    errno == libc::EAGAIN || errno == libc::EINTR
}

/// When the bytes just read were there, and how well that is known.
pub fn ready_of(
    state: &mut LoopState,
    entry: &Entry,
    begin_ns: u64,
    first: bool,
    result: isize,
    stamp_ns: u64,
) -> (u64, ReadyQuality) {
    let unstamped = state.ready_unstamped(entry);
    if stamp_ns == 0 {
        return unstamped;
    }
    let Some(at_ns) = state.realtime.moment_of(stamp_ns, begin_ns) else {
        return unstamped;
    };
    // A step that no sample shows must not move it out of what is possible.
    let at_ns = at_ns.max(entry.last_read_ns.load(Relaxed)).min(begin_ns);
    if first && result < SEVERAL_SEGMENTS {
        (at_ns, ReadyQuality::Exact)
    } else {
        // The stamp is that of the last segment; the first may have been seen earlier.
        (at_ns.min(unstamped.0), ReadyQuality::UpperBound)
    }
}
