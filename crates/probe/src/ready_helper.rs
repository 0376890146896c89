//! Sees from another thread which descriptors are ready while the loop thread is busy, for what
//! the kernel does not stamp: unix sockets, connections to accept, several segments at once.
//!
//! The loop's own epoll set is asked without waiting; it is level-triggered, so this takes nothing
//! from the loop. That is looked up, and again later where the set was still empty at the start:
//! libuv fills it when it polls. The watchdog asks while an event runs long, which is when it
//! matters and costs nothing else. A thread of its own (`BOBTAIL_READY_HELPER=1`) is nested in the
//! set and sees everything within microseconds, but wakes once per event: a tenth of the
//! service's CPU.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use crate::clock::monotonic_ns;
use crate::fd_table;
use crate::registry;
use crate::thread::even_paused;

const EVENTS_MAX: usize = 256;
/// The thread's own epoll set; -1 while there is none.
static NESTED: AtomicI32 = AtomicI32::new(-1);

/// A loop's epoll set as other threads ask it.
pub struct Backend {
    /// Its descriptor; -1 when it must not be asked.
    fd: AtomicI32,
    /// It was empty, so it did not show how it is triggered.
    is_unsure: AtomicBool,
    /// The batch that runs now.
    pub batch: AtomicU64,
}

impl Backend {
    pub const fn new() -> Self {
        Self {
            fd: AtomicI32::new(-1),
            is_unsure: AtomicBool::new(true),
            batch: AtomicU64::new(0),
        }
    }

    /// Allows other threads to ask `fd`.
    ///
    /// # Errors
    /// A reason in words when that could take events from the loop.
    pub fn allow(&self, fd: c_int) -> Result<(), String> {
        self.examine(fd)?;
        self.fd.store(fd, Ordering::Release);
        Ok(())
    }

    /// Looks how `fd` is triggered, unless that is known; nobody may ask it when it is by edges.
    ///
    /// # Errors
    /// As `allow`.
    pub fn examine(&self, fd: c_int) -> Result<(), String> {
        if !self.is_unsure.load(Ordering::Acquire) {
            return Ok(());
        }
        let path = format!("/proc/self/fdinfo/{fd}");
        let info = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"));
        let examined = info.and_then(|info| match has_edge_triggered(&info) {
            true => Err("libuv's epoll set is edge-triggered".into()),
            false => Ok(has_descriptor(&info)),
        });
        match examined {
            Ok(is_sure) => self.is_unsure.store(!is_sure, Ordering::Release),
            Err(reason) => {
                self.forbid();
                return Err(reason);
            }
        }
        Ok(())
    }

    /// Allows other threads to ask what was allowed before.
    pub fn allow_again(&self, fd: c_int) {
        self.fd.store(fd, Ordering::Release);
    }

    /// Nobody may ask any more.
    pub fn forbid(&self) {
        self.fd.store(-1, Ordering::Release);
    }

    /// Remembers now for each descriptor that is ready and was not when its batch began.
    pub fn sample(&self) {
        let fd = self.fd.load(Ordering::Acquire);
        // What was not seen to be level-triggered is not asked: that could take events away.
        if fd < 0 || self.examine(fd).is_err() || self.is_unsure.load(Ordering::Acquire) {
            return;
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
        // SAFETY: room for that many events; does not wait.
        let count = unsafe { libc::epoll_wait(fd, events.as_mut_ptr(), EVENTS_MAX as c_int, 0) };
        let now_ns = monotonic_ns();
        let batch = self.batch.load(Ordering::Acquire);
        for event in events.iter().take(count.max(0) as usize) {
            let Some(entry) = fd_table::entry(event.u64 as u32 as c_int) else {
                continue;
            };
            if entry.batch.load(Ordering::Relaxed) != batch {
                let seen = &entry.woken_ns;
                // An earlier look was as right.
                let _ = seen.compare_exchange(0, now_ns, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }
}

/// A line of fdinfo is `tfd: 13 events: 19 data: …`, the events in hexadecimal.
fn has_edge_triggered(fdinfo: &str) -> bool {
    fdinfo.lines().any(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| *word != "events:")
            .skip(1);
        let events = words
            .next()
            .and_then(|word| u32::from_str_radix(word, 16).ok());
        line.starts_with("tfd:") && events.is_none_or(|events| events & libc::EPOLLET as u32 != 0)
    })
}

fn has_descriptor(fdinfo: &str) -> bool {
    fdinfo.lines().any(|line| line.starts_with("tfd:"))
}

/// Why nobody may ask the set of this thread's loop, found out now that it has descriptors; `None`
/// when they may, or when that was told at the start.
pub fn look_again() -> Option<String> {
    let state = even_paused()?;
    if !state.equipment.looks {
        return None;
    }
    let reason = state.shared.backend.examine(state.backend_fd).err();
    state.equipment.looks = reason.is_none();
    reason
}

/// The user asked for the thread.
pub fn is_wanted() -> bool {
    std::env::var_os("BOBTAIL_READY_HELPER").is_some_and(|value| value == "1")
}

/// Watches a loop's epoll set with the thread.
pub fn nest(shared: &registry::Shared) {
    let backend = shared.backend.fd.load(Ordering::Acquire);
    let mut event = libc::epoll_event {
        events: (libc::EPOLLIN | libc::EPOLLET) as u32,
        u64: shared.index as u64,
    };
    let nested = NESTED.load(Ordering::Acquire);
    if backend >= 0 && nested >= 0 {
        // SAFETY: two epoll descriptors. The entry goes away when the loop closes its set.
        unsafe { libc::epoll_ctl(nested, libc::EPOLL_CTL_ADD, backend, &mut event) };
    }
}

/// Ends that.
pub fn leave(shared: &registry::Shared) {
    let backend = shared.backend.fd.load(Ordering::Acquire);
    let nested = NESTED.load(Ordering::Acquire);
    if backend >= 0 && nested >= 0 {
        // SAFETY: two epoll descriptors; the kernel ignores the event.
        unsafe { libc::epoll_ctl(nested, libc::EPOLL_CTL_DEL, backend, std::ptr::null_mut()) };
    }
}

/// Creates the thread's epoll set.
pub fn prepare() {
    // SAFETY: no pointers.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    NESTED.store(fd, Ordering::Release);
}

/// The thread's body; returns only without an epoll set.
pub fn run() {
    let nested = NESTED.load(Ordering::Acquire);
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 16];
    if nested < 0 {
        return;
    }
    loop {
        // SAFETY: room for 16 events.
        let count = unsafe { libc::epoll_wait(nested, events.as_mut_ptr(), 16, -1) };
        for event in events.iter().take(count.max(0) as usize) {
            let index = event.u64 as usize;
            // The lock keeps a loop that goes away from closing its set meanwhile.
            let recorded = registry::recorded();
            if let Some(entry) = recorded.iter().find(|entry| entry.shared.index == index) {
                entry.shared.backend.sample();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    fn watch(epoll: c_int, fd: c_int, flags: c_int) {
        let mut event = libc::epoll_event {
            events: flags as u32,
            u64: fd as u64,
        };
        // SAFETY: two descriptors of this test.
        let result = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
        assert_eq!(result, 0);
    }

    #[test]
    fn stamps_what_became_ready_and_takes_nothing() {
        fd_table::reserve().expect("reserves");
        // SAFETY: no pointers.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let (mut ours, theirs) = UnixStream::pair().expect("pairs");
        watch(epoll, theirs.as_raw_fd(), libc::EPOLLIN);
        let entry = fd_table::entry(theirs.as_raw_fd()).expect("in the table");
        entry.clear();
        let backend = Backend::new();
        backend.batch.store(7, Ordering::Relaxed);
        backend.allow(epoll).expect("level-triggered");
        backend.sample();
        assert_eq!(entry.woken_ns.load(Ordering::Relaxed), 0);
        ours.write_all(b"x").expect("writes");
        backend.sample();
        let seen_ns = entry.woken_ns.load(Ordering::Relaxed);
        assert!(seen_ns > 0);
        backend.sample();
        assert_eq!(
            entry.woken_ns.load(Ordering::Relaxed),
            seen_ns,
            "the first look counts"
        );
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: room for one event.
        assert_eq!(unsafe { libc::epoll_wait(epoll, &mut event, 1, 0) }, 1);
    }

    #[test]
    fn refuses_an_edge_triggered_set() {
        // SAFETY: no pointers.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let (_ours, theirs) = UnixStream::pair().expect("pairs");
        watch(epoll, theirs.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET);
        assert!(Backend::new().allow(epoll).is_err());
    }

    #[test]
    fn refuses_a_set_that_turns_out_to_be_edge_triggered() {
        // SAFETY: no pointers.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let backend = Backend::new();
        backend.allow(epoll).expect("empty");
        let (mut ours, theirs) = UnixStream::pair().expect("pairs");
        watch(epoll, theirs.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET);
        ours.write_all(b"x").expect("writes");
        backend.sample();
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: room for one event.
        let left = unsafe { libc::epoll_wait(epoll, &mut event, 1, 0) };
        assert_eq!(left, 1, "a look took the event away");
        assert!(backend.examine(epoll).is_err());
        backend.allow_again(epoll);
        backend.sample();
        assert_eq!(backend.fd.load(Ordering::Relaxed), -1);
    }
}
