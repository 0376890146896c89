//! Requests of a sensed loop: from when the kernel had the first bytes until the first bytes of the
//! response were handed to it, on connections that the process accepted or was passed.
//!
//! Of sockets and not of HTTP, so that nothing of the application is wrapped and a request costs
//! two looks at a table. So a connection has one request at a time: of several that are pipelined
//! the first counts, HTTP/2 is counted by its bursts, and a TLS handshake is a request.

use std::sync::atomic::Ordering::Relaxed;

use crate::act::latencies::Latencies;
use crate::clock::{RealtimeOffset, monotonic_ns};
use crate::fd_table::{Entry, Kind};
use crate::handles;

/// A turn of the loop this long makes it matter when in it the bytes came: the kernel is asked.
const LATE_NS: u64 = 100_000;

/// Of one loop.
pub struct Exchanges {
    latencies: Latencies,
    realtime: RealtimeOffset,
    /// When the kernel last told what is ready.
    told_ns: u64,
    /// What is ready now may have been so for long: the loop was busy before it asked.
    is_late: bool,
}

impl Exchanges {
    pub fn new(latencies: Latencies) -> Self {
        Self {
            latencies,
            realtime: RealtimeOffset::new(),
            told_ns: monotonic_ns(),
            is_late: false,
        }
    }

    /// The loop asks what is ready.
    #[inline]
    pub fn poll_enter(&mut self, now_ns: u64) {
        self.is_late = now_ns.saturating_sub(self.told_ns) > LATE_NS;
    }

    /// The kernel tells.
    #[inline]
    pub fn poll_leave(&mut self, now_ns: u64) {
        self.told_ns = now_ns;
    }

    /// Whether the bytes that are read next begin a request, and if so whether the kernel's stamp
    /// of them is wanted.
    #[inline]
    pub fn begins(&self, fd: i32, entry: &Entry) -> Option<bool> {
        if entry.passed.load(Relaxed) != 0 && entry.kind() == Kind::Unknown {
            adopt(fd, entry);
        }
        let begins = entry.is_server.load(Relaxed) != 0 && entry.asked_ns.load(Relaxed) == 0;
        begins.then(|| self.is_late && entry.stamped.load(Relaxed) != 0)
    }

    /// A request begins with bytes that the kernel stamped then (CLOCK_REALTIME; 0 did not).
    #[inline]
    pub fn begin(&mut self, entry: &Entry, stamp_ns: u64) {
        let asked_ns = match stamp_ns {
            0 => self.told_ns,
            _ => {
                let now_ns = monotonic_ns();
                self.realtime.refresh(now_ns);
                let moment = self.realtime.moment_of(stamp_ns, now_ns);
                moment.map_or(self.told_ns, |at_ns| at_ns.min(self.told_ns))
            }
        };
        entry.asked_ns.store(asked_ns.max(1), Relaxed);
    }

    /// Bytes were handed to the kernel: if a request waited for them, it was answered.
    #[inline]
    pub fn answer(&self, entry: &Entry) {
        let asked_ns = entry.asked_ns.load(Relaxed);
        if asked_ns != 0 {
            entry.asked_ns.store(0, Relaxed);
            self.latencies
                .count(monotonic_ns().saturating_sub(asked_ns));
        }
    }
}

/// A connection that the primary of a cluster accepted: what comes next is stamped.
#[cold]
fn adopt(fd: i32, entry: &Entry) {
    let _errno = handles::KeepErrno::new();
    entry.set_kind(handles::classify(fd));
    if matches!(entry.kind(), Kind::Tcp | Kind::UnixStream) {
        entry.is_server.store(1, Relaxed);
        handles::stamp(fd, entry);
    }
}
