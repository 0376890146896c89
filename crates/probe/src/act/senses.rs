//! What a loop shows of itself while it is not recorded: how long its queue is, since when its
//! head runs, and whether V8 collects. Policies decide by that.
//!
//! Not a recording that writes nothing: that one would look at the clock around every event and
//! know handles, jobs and timers, which no policy asks for. Here a turn of the loop costs two looks
//! at the clock, and an event that is dispatched one.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use bobtail_policy::{Collection, CollectionKind, LoopTotals, Reading};

use crate::act::exchanges::Exchanges;
use crate::act::waking;
use crate::clock::monotonic_ns;
use crate::fd_table::{self, Entry};
use crate::registry::Shared;

/// A turn in which nothing was dispatched and that was shorter ran no callback: libuv looks without
/// waiting before it waits.
const TURN_NS: u64 = 2_000;

/// What a recorded loop does not have, because its records tell it.
#[derive(Default)]
pub struct SensedSums {
    /// Kind of the collection that stops the thread now, by V8's GCType; 0 none.
    pub collecting: AtomicU32,
    /// When it began (CLOCK_MONOTONIC).
    pub collecting_since_ns: AtomicU64,
    /// Collections so far.
    pub collections: AtomicU64,
    /// Polls that ended.
    pub turns: AtomicU64,
    /// Events that ended, and how long they ran. What libuv runs without a system call (timers,
    /// immediates) counts as one event a turn, or as part of the one before it.
    pub events: AtomicU64,
    pub events_ns: AtomicU64,
}

impl SensedSums {
    /// Nothing happened yet.
    pub fn reset(&self) {
        self.collecting.store(0, Relaxed);
        self.collecting_since_ns.store(0, Relaxed);
        self.collections.store(0, Relaxed);
        self.turns.store(0, Relaxed);
        self.events.store(0, Relaxed);
        self.events_ns.store(0, Relaxed);
    }
}

/// A loop that is sensed; on its own thread only, but for `shared`.
pub struct Sensed {
    pub shared: Arc<Shared>,
    pub backend_fd: c_int,
    /// The isolate whose collections are told; 0 where V8 does not tell them.
    pub isolate: usize,
    /// As of a recorded loop: its number above, so that no other loop has the same.
    batch: u64,
    /// Collections under way, one inside the other.
    collecting: u32,
    /// What runs now, or ran last, was dispatched in this turn.
    is_dispatched: bool,
    /// Its requests, if somebody wants to know how long they take.
    pub exchanges: Option<Exchanges>,
}

thread_local! {
    static SENSED: Cell<*mut Sensed> = const { Cell::new(null_mut()) };
}

/// The sensed loop of this thread.
///
/// The reference must not live across calls into libuv or JavaScript.
#[inline]
pub fn sensed<'a>() -> Option<&'a mut Sensed> {
    // SAFETY: set by `install` to a box that is only freed by `take`, on this thread.
    unsafe { SENSED.get().as_mut() }
}

/// Makes this thread's loop a sensed one.
pub fn install(sensed: Box<Sensed>) {
    SENSED.set(Box::into_raw(sensed));
}

/// The requests of this thread's loop, where they are counted, and what is known of a descriptor.
/// As with `sensed`, the reference must not live across calls into libuv or JavaScript.
#[inline]
pub fn exchanges_of<'a>(fd: c_int) -> Option<(&'a mut Exchanges, &'static Entry)> {
    let exchanges = sensed()?.exchanges.as_mut()?;
    Some((exchanges, fd_table::entry(fd)?))
}

/// Ends it.
pub fn take() -> Option<Box<Sensed>> {
    let sensed = SENSED.replace(null_mut());
    // SAFETY: the box of `install`.
    (!sensed.is_null()).then(|| unsafe { Box::from_raw(sensed) })
}

/// Forgets it without freeing it: it is that of another process.
pub fn forget() {
    SENSED.set(null_mut());
}

impl Sensed {
    /// A loop with this number that has not run yet.
    pub fn new(shared: Arc<Shared>, backend_fd: c_int, isolate: usize) -> Self {
        // Not from 0: what a loop that had this number before left in the table is none of ours.
        let batch = (shared.index as u64 + 1) << 48 | monotonic_ns() & 0xffff_ffff_ffff;
        Self {
            shared,
            backend_fd,
            isolate,
            batch,
            collecting: 0,
            is_dispatched: false,
            exchanges: None,
        }
    }

    /// The loop enters the kernel: nothing runs and nothing waits.
    pub fn poll_enter(&mut self) {
        let now_ns = monotonic_ns();
        self.end_event(now_ns);
        if let Some(exchanges) = &mut self.exchanges {
            exchanges.poll_enter(now_ns);
        }
        self.shared.head_begin_ns.store(0, Release);
        self.shared.queue_length.store(0, Release);
    }

    /// It came back with events: all of them wait, and the loop is busy from now on.
    ///
    /// # Safety
    /// `events` has `count` events of libuv's.
    pub unsafe fn poll_leave(&mut self, events: *const libc::epoll_event, count: c_int) {
        self.batch = self.batch & !0xffff_ffff_ffff | (self.batch + 1) & 0xffff_ffff_ffff;
        self.is_dispatched = false;
        // SAFETY: by the caller.
        let ready = unsafe { fd_table::mark_batch(events, count, self.batch) };
        // SAFETY: by the caller.
        unsafe { mark_writable(events, count) };
        let shared = &self.shared;
        shared.queue_length.store(ready, Release);
        let now_ns = monotonic_ns();
        shared.head_begin_ns.store(now_ns, Release);
        if let Some(exchanges) = &mut self.exchanges {
            exchanges.poll_leave(now_ns);
        }
        add(&shared.sensed.turns, 1);
        if ready != 0 {
            add(&shared.batches, 1);
            add(&shared.ready_events, u64::from(ready));
        }
        waking::note_work();
    }

    /// Libuv does something with `fd`: if it is its turn, it is the head from now on.
    #[inline]
    pub fn dispatch(&mut self, fd: c_int) {
        let Some(entry) = fd_table::entry(fd) else {
            return;
        };
        if entry.batch.load(Relaxed) != self.batch {
            return;
        }
        entry.batch.store(0, Relaxed);
        let now_ns = monotonic_ns();
        // Before the first of a turn the loop only looked what is ready.
        if self.is_dispatched {
            self.end_event(now_ns);
        }
        self.is_dispatched = true;
        let left = self.shared.queue_length.load(Relaxed).saturating_sub(1);
        self.shared.queue_length.store(left, Relaxed);
        self.shared.head_begin_ns.store(now_ns, Release);
    }

    /// A descriptor is about to be closed: if it waited, it waits no more.
    pub fn closing(&mut self, entry: &Entry) {
        if entry.batch.load(Relaxed) == self.batch {
            let left = self.shared.queue_length.load(Relaxed).saturating_sub(1);
            self.shared.queue_length.store(left, Relaxed);
        }
    }

    /// Counts what ran until now.
    fn end_event(&mut self, now_ns: u64) {
        let begin_ns = self.shared.head_begin_ns.load(Relaxed);
        let ran_ns = now_ns.saturating_sub(begin_ns);
        if begin_ns == 0 || !self.is_dispatched && ran_ns < TURN_NS {
            return;
        }
        let sums = &self.shared.sensed;
        add(&sums.events, 1);
        add(&sums.events_ns, ran_ns);
    }

    /// A collection begins; true for the outermost.
    pub fn begin_collection(&mut self, kind: u32) -> bool {
        self.collecting += 1;
        if self.collecting == 1 {
            let sums = &self.shared.sensed;
            sums.collecting_since_ns.store(monotonic_ns(), Relaxed);
            add(&sums.collections, 1);
            sums.collecting.store(kind.max(1), Release);
        }
        self.collecting == 1
    }

    /// It ends; true for the outermost. One that began before there were senses is none.
    pub fn end_collection(&mut self) -> bool {
        let was_within = self.collecting;
        self.collecting = self.collecting.saturating_sub(1);
        if was_within == 1 {
            self.shared.sensed.collecting.store(0, Release);
        }
        was_within == 1
    }
}

/// Notes which events are of descriptors that can only be written: they are dispatched by a write,
/// which for all others is somebody else's.
///
/// # Safety
/// `events` has `count` events of libuv's.
unsafe fn mark_writable(events: *const libc::epoll_event, count: c_int) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: by the caller; unaligned, since the kernel packs them.
        let event = unsafe { events.add(index).read_unaligned() };
        if let Some(entry) = fd_table::entry(event.u64 as u32 as c_int) {
            let is_writable = event.events == libc::EPOLLOUT as u32;
            entry.is_unsent.store(u8::from(is_writable), Relaxed);
        }
    }
}

/// Of the one thread that writes it, so that no locked instruction is needed.
fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Relaxed) + more, Relaxed);
}

/// What a policy is told of a loop now, by any thread.
pub fn read(shared: &Shared) -> Reading {
    let now_ns = monotonic_ns();
    let sums = &shared.sensed;
    let collection = match sums.collecting.load(Acquire) {
        0 => None,
        kind => Some(Collection {
            kind: CollectionKind::from_v8(kind),
            begin_ns: sums.collecting_since_ns.load(Relaxed),
        }),
    };
    let head_begin_ns = shared.head_begin_ns.load(Acquire);
    Reading {
        now_ns,
        collection,
        queue_length: shared.queue_length.load(Relaxed),
        head_ns: match head_begin_ns {
            0 => 0,
            begin_ns => now_ns.saturating_sub(begin_ns),
        },
        totals: LoopTotals {
            turns: sums.turns.load(Relaxed),
            polls: shared.batches.load(Relaxed),
            queue_lengths: shared.ready_events.load(Relaxed),
            events: sums.events.load(Relaxed),
            events_ns: sums.events_ns.load(Relaxed),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn event(fd: c_int) -> libc::epoll_event {
        libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: fd as u64,
        }
    }

    #[test]
    fn the_queue_is_what_was_not_dispatched() {
        fd_table::reserve().expect("memory");
        let shared = registry::allocate().expect("a number");
        let mut sensed = Sensed::new(shared.clone(), 3, 0);
        let length = || shared.queue_length.load(Relaxed);
        let head_ns = || shared.head_begin_ns.load(Relaxed);
        let events = [event(70_001), event(70_002), event(70_003)];
        // SAFETY: three events.
        unsafe { sensed.poll_leave(events.as_ptr(), 3) };
        assert_eq!(length(), 3);
        let left_ns = head_ns();
        assert!(left_ns > 0);
        sensed.dispatch(70_009);
        assert_eq!((length(), head_ns()), (3, left_ns), "not of the batch");
        sensed.dispatch(70_002);
        assert_eq!(length(), 2);
        let second_ns = head_ns();
        assert!(second_ns >= left_ns);
        sensed.dispatch(70_002);
        assert_eq!(
            (length(), head_ns()),
            (2, second_ns),
            "the same event reads on"
        );
        let waiting = fd_table::entry(70_001).expect("in the table");
        sensed.closing(waiting);
        assert_eq!(length(), 1, "closed while it waited");
        let writable = |fd| fd_table::entry(fd).map(|entry| entry.is_unsent.load(Relaxed));
        assert_eq!(writable(70_003), Some(0), "to be read");
        let out = libc::epoll_event {
            events: libc::EPOLLOUT as u32,
            ..event(70_003)
        };
        sensed.poll_enter();
        // SAFETY: one event.
        unsafe { sensed.poll_leave(&raw const out, 1) };
        assert_eq!(writable(70_003), Some(1), "a write dispatches it");
        sensed.dispatch(70_003);
        sensed.poll_enter();
        assert_eq!((length(), head_ns()), (0, 0));
        // SAFETY: no events.
        unsafe { sensed.poll_leave(events.as_ptr(), 0) };
        sensed.dispatch(70_003);
        assert_eq!(length(), 0, "of the batch before");
        sensed.poll_enter();
        let totals = read(&shared).totals;
        // One event of sockets in each of two turns; the third ran nothing, or what took so long.
        assert_eq!((totals.polls, totals.queue_lengths), (2, 4));
        assert_eq!(totals.turns, 3, "also what found nothing");
        let second = totals.events - 2;
        assert!(totals.events_ns >= second * TURN_NS, "{totals:?}");
        registry::release(shared.index);
    }

    #[test]
    fn collections_inside_collections_are_one() {
        let shared = registry::allocate().expect("a number");
        let mut sensed = Sensed::new(shared.clone(), 3, 0);
        let kind = || shared.sensed.collecting.load(Relaxed);
        assert!(!sensed.end_collection(), "it began before");
        assert!(sensed.begin_collection(4));
        assert!(!sensed.begin_collection(16));
        assert_eq!(kind(), 4);
        assert!(!sensed.end_collection());
        assert_eq!(kind(), 4);
        assert!(sensed.end_collection());
        assert_eq!(kind(), 0);
        assert_eq!(shared.sensed.collections.load(Relaxed), 1);
        registry::release(shared.index);
    }
}
