//! What the probe knows about each descriptor of the process, by its number.
//!
//! One table for all loops, because a descriptor can be closed on any thread; its address range is
//! reserved once and touched where descriptors are, so that a look-up is one addition.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Descriptors beyond this are not tracked.
pub const COUNT: usize = 1 << 18;

/// What a descriptor is, as far as the probe looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Unknown = 0,
    /// File, eventfd, …: nothing of it is recorded.
    Ignored = 1,
    Tcp = 2,
    UnixStream = 3,
    Udp = 4,
    TcpListener = 5,
    UnixListener = 6,
    /// Pipe, terminal, …: its reads are recorded.
    Pipe = 7,
    /// What other threads wake a recorded loop with.
    Wakeup = 8,
}

impl Kind {
    fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Ignored,
            2 => Self::Tcp,
            3 => Self::UnixStream,
            4 => Self::Udp,
            5 => Self::TcpListener,
            6 => Self::UnixListener,
            7 => Self::Pipe,
            8 => Self::Wakeup,
            _ => Self::Unknown,
        }
    }

    /// Accepts connections.
    pub fn is_listener(self) -> bool {
        matches!(self, Self::TcpListener | Self::UnixListener)
    }
}

/// One descriptor; zero is "nothing known".
#[derive(Default)]
pub struct Entry {
    /// Batch of events in which it is ready and was not dispatched yet.
    pub batch: AtomicU64,
    /// Upper bound of what the next bytes waited: end of the last read (CLOCK_MONOTONIC).
    pub last_read_ns: AtomicU64,
    /// When another thread first woke the loop through it; 0 not since the last read.
    pub woken_ns: AtomicU64,
    /// Server connection of a sensed loop: when the request under way was there; 0 none is.
    pub asked_ns: AtomicU64,
    pub handle: AtomicU32,
    /// Listener: name of accepted connections. File: `fs.open` string it was opened as.
    pub name: AtomicU32,
    /// Operation of the connect under way.
    pub connect_op: AtomicU32,
    /// Request that its next bytes are thought to belong to.
    pub request: AtomicU32,
    /// Loop (index + 1) that `handle` and `name` belong to.
    pub owner: AtomicU16,
    kind: AtomicU8,
    /// The kernel stamps what is received.
    pub stamped: AtomicU8,
    /// This end connected: what comes in answers what this process wrote.
    pub is_client: AtomicU8,
    /// A connection this process accepted or was passed.
    pub is_server: AtomicU8,
    /// The kernel took only a part of the last write: libuv goes on when there is room.
    pub is_unsent: AtomicU8,
    /// Came over a pipe from another process, so it is a server connection.
    pub passed: AtomicU8,
}

impl Entry {
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::from_code(self.kind.load(Ordering::Relaxed))
    }

    pub fn set_kind(&self, kind: Kind) {
        self.kind.store(kind as u8, Ordering::Relaxed);
    }

    /// When another thread first saw it ready, and forgets that; 0 not seen.
    #[inline]
    pub fn take_woken_ns(&self) -> u64 {
        // The exchange locks the bus, and there is mostly nothing to take.
        match self.woken_ns.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.woken_ns.swap(0, Ordering::AcqRel),
        }
    }

    /// Forgets the descriptor; any thread.
    pub fn clear(&self) {
        self.batch.store(0, Ordering::Relaxed);
        self.last_read_ns.store(0, Ordering::Relaxed);
        self.woken_ns.store(0, Ordering::Relaxed);
        self.asked_ns.store(0, Ordering::Relaxed);
        self.handle.store(0, Ordering::Relaxed);
        self.name.store(0, Ordering::Relaxed);
        self.connect_op.store(0, Ordering::Relaxed);
        self.request.store(0, Ordering::Relaxed);
        self.owner.store(0, Ordering::Relaxed);
        self.kind.store(0, Ordering::Relaxed);
        self.stamped.store(0, Ordering::Relaxed);
        self.is_client.store(0, Ordering::Relaxed);
        self.is_unsent.store(0, Ordering::Relaxed);
        self.is_server.store(0, Ordering::Relaxed);
        self.passed.store(0, Ordering::Relaxed);
    }

    /// Nothing is known about it.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.kind.load(Ordering::Relaxed) == 0
            && self.batch.load(Ordering::Relaxed) == 0
            && self.passed.load(Ordering::Relaxed) == 0
    }
}

static TABLE: AtomicPtr<Entry> = AtomicPtr::new(null_mut());

/// Reserves the table, once.
pub fn reserve() -> std::io::Result<()> {
    if !TABLE.load(Ordering::Acquire).is_null() {
        return Ok(());
    }
    let bytes = COUNT * size_of::<Entry>();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh anonymous mapping: zeros, which are valid entries.
    let at = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    let (none, table) = (null_mut(), at.cast());
    let kept = TABLE.compare_exchange(none, table, Ordering::AcqRel, Ordering::Acquire);
    if kept.is_err() {
        // SAFETY: the mapping above; another thread's is used.
        unsafe { libc::munmap(at, bytes) };
    }
    Ok(())
}

/// The entry of a descriptor; `None` when it is beyond the table or nothing is recorded.
#[inline(always)]
pub fn entry(fd: c_int) -> Option<&'static Entry> {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() || fd as u32 as usize >= COUNT {
        return None;
    }
    // SAFETY: within the table, which is never unmapped; entries are all atomics.
    Some(unsafe { &*table.add(fd as u32 as usize) })
}

/// Marks the descriptors of these events as ready in `batch`; gives how many are in the table.
///
/// # Safety
/// `events` has `count` events of libuv's.
#[inline]
pub unsafe fn mark_batch(events: *const libc::epoll_event, count: c_int, batch: u64) -> u32 {
    let mut ready = 0;
    for index in 0..count.max(0) as usize {
        // SAFETY: by the caller; libuv's data is the descriptor.
        let fd = unsafe { (*events.add(index)).u64 as u32 as c_int };
        if let Some(entry) = entry(fd) {
            entry.batch.store(batch, Ordering::Relaxed);
            ready += 1;
        }
    }
    ready
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_forgets_everything() {
        reserve().expect("reserves");
        let entry = entry(77).expect("in the table");
        entry.set_kind(Kind::Tcp);
        entry.handle.store(5, Ordering::Relaxed);
        entry.batch.store(9, Ordering::Relaxed);
        assert!(!entry.is_clear());
        entry.clear();
        assert!(entry.is_clear());
        assert_eq!(entry.handle.load(Ordering::Relaxed), 0);
        assert_eq!(entry.kind(), Kind::Unknown);
    }

    #[test]
    fn descriptors_outside_have_no_entry() {
        reserve().expect("reserves");
        assert!(entry(-1).is_none());
        assert!(entry(COUNT as c_int).is_none());
    }
}
