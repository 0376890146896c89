//! Sockets connect.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

use bobtail_trace::record::{HandleKind, LoopKind};

use super::dispatched;
use super::original;
use crate::clock::monotonic_ns;
use crate::fd_table::{self, Entry, Kind};
use crate::handles::{self, Address, KeepErrno, Name};
use crate::loop_state::LoopState;
use crate::thread::state;
use crate::trampoline;

/// Replaces `connect`.
pub unsafe extern "C" fn connect(
    fd: c_int,
    address: *const libc::sockaddr,
    address_bytes: libc::socklen_t,
) -> c_int {
    let (Some(_), Some(entry)) = (state(), fd_table::entry(fd)) else {
        // SAFETY: the caller's arguments.
        return unsafe { original::connect(fd, address, address_bytes) };
    };
    let at_ns = monotonic_ns();
    entry.clear();
    entry.set_kind(handles::classify(fd));
    handles::stamp(fd, entry);
    // SAFETY: the caller's arguments.
    let result = unsafe { original::connect(fd, address, address_bytes) };
    let errno = KeepErrno::new();
    let under_way =
        result == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EINPROGRESS);
    if let (Some(state), true) = (state(), under_way) {
        // SAFETY: the caller's address.
        let address = unsafe { Address::copy(address, address_bytes) };
        open(state, entry, &address, at_ns);
    }
    drop(errno);
    result
}

fn open(state: &mut LoopState, entry: &Entry, address: &Address, at_ns: u64) {
    let kind = match entry.kind() {
        Kind::Tcp => HandleKind::ClientConnection,
        Kind::UnixStream => HandleKind::UnixClientConnection,
        // A connected UDP socket is found at its first datagram.
        _ => return,
    };
    let mut name = Name::new();
    address.write(&mut name);
    let name = state.intern(&[name.bytes()]);
    handles::open(state, entry, kind, name);
    let op = state.register(LoopKind::Connect, name, at_ns);
    entry.connect_op.store(op, Relaxed);
}

/// Replaces `getsockopt`: libuv asks for the error of a connection when it is made or refused.
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    bytes: *mut libc::socklen_t,
) -> c_int {
    if level == libc::SOL_SOCKET && option == libc::SO_ERROR {
        connected(fd);
    }
    // SAFETY: the caller's arguments.
    unsafe { original::getsockopt(fd, level, option, value, bytes) }
}

fn connected(fd: c_int) {
    let Some((state, entry)) = dispatched(fd) else {
        return;
    };
    let op = entry.connect_op.swap(0, Relaxed);
    let begin_ns = monotonic_ns();
    if op != 0 && state.dispatch(fd, entry, begin_ns) {
        let ready = state.ready_unstamped(entry);
        let handle = entry.handle.load(Relaxed);
        state.begin(LoopKind::Connect, begin_ns, Some(ready), handle, op, 0);
        trampoline::hook_connect(state.uv_loop, fd);
    }
}
