//! Sockets listen and accept.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Relaxed, Release};

use bobtail_trace::record::{HandleKind, LoopKind};

use super::dispatched;
use super::original;
use crate::act::senses;
use crate::clock::monotonic_ns;
use crate::fd_table::{self, Entry, Kind};
use crate::handles::{self, KeepErrno, handle_of};
use crate::loop_state::LoopState;
use crate::thread::state;
use crate::{registry, trampoline};

/// Replaces `listen`: connections inherit the stamping, so even a first request that arrives
/// before it is accepted has a stamp.
pub unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { original::listen(fd, backlog) };
    // A loop that is sensed for a policy only has no use for stamps.
    let is_blind = senses::sensed().is_some_and(|sensed| sensed.exchanges.is_none());
    if result == 0 && !registry::is_forked() && !is_blind {
        let _errno = KeepErrno::new();
        if let Some(entry) = fd_table::entry(fd) {
            entry.clear();
            entry.set_kind(handles::classify(fd));
            handles::stamp(fd, entry);
            if let (Some(state), true) = (state(), entry.kind().is_listener()) {
                handles::open_listener(state, fd, entry);
            }
        }
    }
    result
}

/// Replaces `accept4`.
pub unsafe extern "C" fn accept4(
    fd: c_int,
    address: *mut libc::sockaddr,
    address_bytes: *mut libc::socklen_t,
    flags: c_int,
) -> c_int {
    let turn = dispatched(fd).map(|(state, entry)| {
        let begin_ns = monotonic_ns();
        (entry, begin_ns, state.dispatch(fd, entry, begin_ns))
    });
    // SAFETY: the caller's arguments.
    let accepted = unsafe { original::accept4(fd, address, address_bytes, flags) };
    if let (Some((listener, begin_ns, first)), Some(state)) = (turn, state()) {
        if accepted >= 0 {
            begin(state, fd, listener, begin_ns);
            open(state, listener, accepted);
            trampoline::hook_stream(state.uv_loop, fd);
        } else if first {
            state.shared.head_begin_ns.store(0, Release);
        }
    } else if let (Some(entry), true) = (fd_table::entry(accepted), accepted >= 0) {
        entry.clear();
        if let Some((_, listener)) = senses::exchanges_of(fd) {
            entry.set_kind(accepted_kind(listener));
            entry.is_server.store(1, Relaxed);
            entry.stamped.store(listener.stamped.load(Relaxed), Relaxed);
        }
    }
    accepted
}

fn begin(state: &mut LoopState, fd: c_int, listener: &Entry, begin_ns: u64) {
    let handle = handle_of(state, fd, listener);
    let ready = state.ready_unstamped(listener);
    listener.last_read_ns.store(monotonic_ns(), Relaxed);
    state.begin(LoopKind::Accept, begin_ns, Some(ready), handle, 0, 0);
}

/// What a listener accepts.
fn accepted_kind(listener: &Entry) -> Kind {
    match listener.kind() {
        Kind::UnixListener => Kind::UnixStream,
        _ => Kind::Tcp,
    }
}

fn open(state: &mut LoopState, listener: &Entry, accepted: c_int) {
    let Some(entry) = fd_table::entry(accepted) else {
        return;
    };
    entry.clear();
    let kind = accepted_kind(listener);
    let handle_kind = match kind {
        Kind::UnixStream => HandleKind::UnixServerConnection,
        _ => HandleKind::ServerConnection,
    };
    entry.set_kind(kind);
    entry.stamped.store(listener.stamped.load(Relaxed), Relaxed);
    handles::open(state, entry, handle_kind, listener.name.load(Relaxed));
}
