//! Bytes are handed to the kernel, and loops are woken.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use bobtail_trace::encode;
use bobtail_trace::layout::live;
use bobtail_trace::record::LoopKind;

use super::original;
use super::read::is_again;
use crate::act::senses;
use crate::clock::monotonic_ns;
use crate::fd_table::{self, Entry, Kind};
use crate::handles::{KeepErrno, classify, handle_of};
use crate::libuv;
use crate::thread::state;

/// Replaces `write`.
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, bytes: usize) -> isize {
    let writing = before(fd);
    // SAFETY: the caller's arguments.
    let result = unsafe { original::write(fd, buffer, bytes) };
    after(fd, writing, result, || bytes);
    result
}

/// Replaces `writev`.
pub unsafe extern "C" fn writev(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    let writing = before(fd);
    // SAFETY: the caller's arguments.
    let result = unsafe { original::writev(fd, parts, count) };
    // SAFETY: the kernel has just read the same parts.
    after(fd, writing, result, || unsafe {
        total(parts, count as usize)
    });
    result
}

/// Replaces `sendmsg`.
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    let writing = before(fd);
    // SAFETY: the caller's arguments.
    let result = unsafe { original::sendmsg(fd, message, flags) };
    // SAFETY: the kernel has just read the same message.
    after(fd, writing, result, || unsafe {
        total((*message).msg_iov, (*message).msg_iovlen)
    });
    result
}

/// Bytes that were to be written.
///
/// SAFETY: `count` parts are readable.
unsafe fn total(parts: *const libc::iovec, count: usize) -> usize {
    // SAFETY: by the caller.
    let parts = unsafe { std::slice::from_raw_parts(parts, count) };
    parts.iter().map(|part| part.iov_len).sum()
}

/// A write that matters.
struct Writing {
    fd: c_int,
    entry: &'static Entry,
    handle: u32,
    /// When the kernel was asked; 0 where the time counts at which it had taken the bytes.
    asked_ns: u64,
}

/// What is known of a write before it. What a response waits for is asked for then: the answer may
/// come, and the thread lose its processor, before the kernel returns. A response is handed over
/// when the kernel returns.
#[inline]
fn before(fd: c_int) -> Option<Writing> {
    let entry = fd_table::entry(fd)?;
    match entry.kind() {
        Kind::Ignored => return None,
        Kind::Wakeup => {
            if entry.woken_ns.load(Relaxed) == 0 {
                let now_ns = monotonic_ns();
                // The first wake-up since the loop read it is when the event was ready; a second
                // thread that is as early loses nothing.
                let _ = entry.woken_ns.compare_exchange(0, now_ns, AcqRel, Relaxed);
            }
            return None;
        }
        _ => {}
    }
    let Some(state) = state() else {
        // Of a loop that is sensed: libuv goes on with a write that found no room before.
        if entry.is_unsent.load(Relaxed) != 0
            && let Some(sensed) = senses::sensed()
        {
            entry.is_unsent.store(0, Relaxed);
            sensed.dispatch(fd);
        }
        return None;
    };
    if entry.kind() == Kind::Unknown {
        let _errno = KeepErrno::new();
        entry.set_kind(classify(fd));
    }
    // libuv's signal handler writes to a pipe, in the middle of whatever this thread was writing.
    if matches!(entry.kind(), Kind::Ignored | Kind::Pipe) {
        return None;
    }
    let is_open = state.writer.live.get(live::LOOP_EVENT) != 0;
    let goes_on = entry.batch.load(Relaxed) == state.batch
        && (entry.is_unsent.load(Relaxed) != 0 || !is_open);
    // Readable and writable at once: its read was an event, and is over.
    let follows_read = !is_open && state.dispatched == fd;
    if goes_on || follows_read {
        let begin_ns = monotonic_ns();
        if state.dispatch(fd, entry, begin_ns) || follows_read {
            // libuv goes on with a write that found no room before: it tries no other write on
            // that descriptor meanwhile, so this is a new event even while one seems open.
            let handle = handle_of(state, fd, entry);
            let ready = state.ready_unstamped(entry);
            state.begin(LoopKind::Poll, begin_ns, Some(ready), handle, 0, 0);
        }
    }
    // First, because it may write a record with a time of its own.
    let handle = handle_of(state, fd, entry);
    let asked_ns = match entry.is_server.load(Relaxed) {
        0 => monotonic_ns(),
        _ => 0,
    };
    (handle != 0).then_some(Writing {
        fd,
        entry,
        handle,
        asked_ns,
    })
}

/// Also tells of a write for which there was no room at all, and of an empty one on a server's
/// connection: the response ends there.
#[inline]
fn after(fd: c_int, writing: Option<Writing>, result: isize, wanted: impl FnOnce() -> usize) {
    let (Some(writing), Some(state)) = (writing, state()) else {
        if let (Some((exchanges, entry)), 1..) = (senses::exchanges_of(fd), result) {
            exchanges.answer(entry);
        }
        return;
    };
    let entry = writing.entry;
    let _errno = (result < 0).then(KeepErrno::new);
    if result < 0 && !is_again() {
        entry.is_unsent.store(0, Relaxed);
        return;
    }
    let taken = result.max(0) as u64;
    let unsent = unsent(state.uv_loop, writing.fd, wanted() as u64, taken);
    // Not an exchange, which would lock the bus: this thread alone writes to an open descriptor.
    let was_unsent = entry.is_unsent.load(Relaxed) != 0;
    entry.is_unsent.store(u8::from(unsent != 0), Relaxed);
    let tells = match taken {
        0 if unsent != 0 => !was_unsent,
        0 => entry.is_server.load(Relaxed) != 0,
        _ => true,
    };
    if !tells {
        return;
    }
    let at_ns = match writing.asked_ns {
        0 => monotonic_ns(),
        asked_ns => asked_ns,
    };
    let (at_ns, handle) = (state.writer.relative(at_ns), writing.handle);
    state
        .writer
        .put(|out, last_ns| encode::write(out, last_ns, at_ns, handle, taken, unsent));
    if entry.is_client.load(Relaxed) != 0 {
        let request = state.writer.live.get(live::CONTEXT);
        entry.request.store(request, Relaxed);
    }
}

/// What still waits in the process. libuv counts what it has queued, this write included, and takes
/// off what was written only after the call; a write that it only tries is not in its count.
#[inline]
fn unsent(uv_loop: usize, fd: c_int, wanted: u64, taken: u64) -> u64 {
    // SAFETY: on the loop's thread; libuv writes to streams only. While nothing is watched for
    // the descriptor, nothing is queued but this write.
    let queued = unsafe {
        match libuv::stream_of(uv_loop, fd) {
            0 => 0,
            stream => libuv::get::<usize>(stream, libuv::stream::WRITE_QUEUE_SIZE) as u64,
        }
    };
    queued.max(wanted).saturating_sub(taken)
}
