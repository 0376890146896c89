//! What the probe keeps per event loop, and how what it sees becomes records.
//!
//! One value per thread, reached through `thread`. A reference to it never lives across a call into
//! libuv or JavaScript, because those come back through other wrappers.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bobtail_trace::encode::{self, LoopBegin};
use bobtail_trace::layout::live;
use bobtail_trace::record::{CodePlace, LoopKind, LossKind, MarkKind, ReadyQuality};

use crate::clock::{RealtimeOffset, monotonic_ns};
use crate::cpu_timer::CpuTimer;
use crate::fd_table::Entry;
use crate::interjection::{Deferred, Interjection};
use crate::messages::Wakeup;
use crate::pauses::Equipment;
use crate::pool::Jobs;
use crate::recent_names::RecentNames;
use crate::registry::Shared;
use crate::strings::{OTHER, Origin, Strings};
use crate::timers::NodeHandles;
use crate::v8::{Hooks, Work};
use crate::writer::Writer;

/// A poll that took longer than this waited for the first of its events.
const BLOCKED_NS: u64 = 3_000;

/// The poll whose events run now.
#[derive(Debug, Default, Clone, Copy)]
pub struct Poll {
    pub enter_ns: u64,
    pub leave_ns: u64,
    /// Polls without waiting that found nothing, not written yet: they began here.
    pub pending_ns: u64,
}

/// State of one recorded loop; on its own thread only, but for `shared`.
pub struct LoopState {
    pub uv_loop: usize,
    pub backend_fd: c_int,
    pub writer: Writer,
    pub strings: Strings,
    pub recent_names: RecentNames,
    pub shared: Arc<Shared>,
    /// Number of the batch, with the loop's number above; never 0.
    pub batch: u64,
    /// Descriptor that was dispatched last in this batch; -1 none.
    pub dispatched: c_int,
    pub poll: Poll,
    pub wakeup: Wakeup,
    pub realtime: RealtimeOffset,
    pub jobs: Jobs,
    pub node: NodeHandles,
    pub work: Work,
    pub hooks: Hooks,
    pub deferred: Deferred,
    pub context: *mut u32,
    pub env: usize,
    pub equipment: Equipment,
    /// Wakes the watchdog while this thread runs.
    pub cpu_timer: Option<CpuTimer>,
    /// When the last event ended (CLOCK_MONOTONIC), and where its record did.
    pub ended: (u64, u32),
    /// Recording went on then, after a pause (CLOCK_MONOTONIC).
    pub resumed_ns: u64,
    /// A thread watches what becomes ready all the time.
    pub has_helper: bool,
    /// Ports this process listens on: tells servers' connections from clients'.
    pub ports: Vec<u16>,
}

impl LoopState {
    /// Owner number in the descriptor table.
    pub fn owner(&self) -> u16 {
        self.shared.index as u16 + 1
    }

    /// Starts the next batch; the number is not that of another loop's batch.
    pub fn next_batch(&mut self) {
        self.batch = (self.shared.index as u64 + 1) << 48 | (self.batch + 1) & 0xffff_ffff_ffff;
        self.dispatched = -1;
        self.shared.backend.batch.store(self.batch, Release);
    }

    /// Takes `fd` out of the batch if it is in it: it is dispatched now, which ends what ran.
    #[inline]
    pub fn dispatch(&mut self, fd: c_int, entry: &Entry, now_ns: u64) -> bool {
        if entry.batch.load(Relaxed) != self.batch {
            return false;
        }
        entry.batch.store(0, Relaxed);
        self.writer.loop_end(now_ns);
        let left = self.shared.queue_length.load(Relaxed).saturating_sub(1);
        self.shared.queue_length.store(left, Relaxed);
        self.shared.event.store(0, Release);
        self.shared.head_begin_ns.store(now_ns, Release);
        self.dispatched = fd;
        true
    }

    /// Opens a loop event. Times are of CLOCK_MONOTONIC.
    #[inline]
    pub fn begin(
        &mut self,
        kind: LoopKind,
        begin_ns: u64,
        ready: Option<(u64, ReadyQuality)>,
        handle: u32,
        op: u32,
        run_ns: u64,
    ) {
        self.write_pending_poll();
        let fields = LoopBegin {
            kind,
            begin_ns: self.writer.relative(begin_ns),
            ready: ready.map(|(at_ns, quality)| (self.writer.relative(at_ns), quality)),
            handle,
            op,
            run_ns,
        };
        let event = self.writer.loop_begin(&fields);
        if event != 0 {
            self.set_context(event, 0);
        }
        self.shared.head_begin_ns.store(begin_ns, Release);
        self.shared.event.store(event, Release);
    }

    /// Ends the open loop event now.
    #[inline]
    pub fn end(&mut self) {
        self.shared.event.store(0, Release);
        self.shared.head_begin_ns.store(0, Release);
        if self.writer.live.get(live::LOOP_EVENT) != 0 {
            let end_ns = monotonic_ns();
            self.writer.loop_end(end_ns);
            self.ended = (end_ns, self.writer.live.get(live::POSITION));
        }
    }

    /// When an event begins that libuv calls right behind another: the end of that one if nothing
    /// was recorded since, which spares a look at the clock, else now.
    #[inline]
    pub fn begin_behind_ns(&self) -> u64 {
        let (end_ns, position) = self.ended;
        match position == self.writer.live.get(live::POSITION) && self.poll.pending_ns == 0 {
            true => end_ns,
            false => monotonic_ns(),
        }
    }

    /// Stores which request an event is thought to belong to.
    #[inline]
    pub fn set_context(&self, event: u32, request: u32) {
        // SAFETY: the array has 65536 words.
        unsafe { self.context.add((event & 0xffff) as usize).write(request) };
        self.writer.live.set(live::CONTEXT, request);
    }

    /// Stores the request of the loop event that was just opened.
    #[inline]
    pub fn set_event_context(&self, request: u32) {
        if request != 0 && !self.writer.live.is_silent() {
            self.set_context(self.writer.live.get(live::EVENT), request);
        }
    }

    /// The request an event is thought to belong to.
    #[inline]
    pub fn context_of(&self, event: u32) -> u32 {
        // SAFETY: the array has 65536 words.
        unsafe { self.context.add((event & 0xffff) as usize).read() }
    }

    /// The loop enters the kernel: whatever was open is over.
    pub fn poll_enter(&mut self, now_ns: u64) {
        self.shared.event.store(0, Release);
        self.shared.head_begin_ns.store(0, Release);
        self.poll.enter_ns = now_ns;
        self.settle_work();
    }

    /// The loop came back with `count` events.
    pub fn poll_leave(&mut self, now_ns: u64, count: u32, may_wait: bool) {
        self.poll.leave_ns = now_ns;
        if self.poll.pending_ns == 0 {
            self.poll.pending_ns = self.poll.enter_ns;
        }
        self.writer.not_running.forget_since(self.poll.pending_ns);
        // libuv looks without waiting before it waits: both are one poll.
        if count == 0 && !may_wait {
            self.writer.close_event();
            return;
        }
        let enter_ns = std::mem::take(&mut self.poll.pending_ns);
        self.write_poll(enter_ns, count);
    }

    fn write_poll(&mut self, enter_ns: u64, count: u32) {
        let enter_ns = self.writer.relative(enter_ns);
        let leave_ns = self.writer.relative(self.poll.leave_ns);
        self.writer
            .put(|out, last_ns| encode::poll(out, last_ns, enter_ns, leave_ns, count));
        self.writer.close_event();
    }

    #[inline]
    fn write_pending_poll(&mut self) {
        if self.poll.pending_ns != 0 {
            let enter_ns = std::mem::take(&mut self.poll.pending_ns);
            self.write_poll(enter_ns, 0);
        }
    }

    /// What is known of when an event without an own stamp was ready: when another thread first
    /// saw it ready, else what the poll tells.
    pub fn ready_unstamped(&self, entry: &Entry) -> (u64, ReadyQuality) {
        let seen_ns = self.seen_ready_ns(entry);
        let (polled_ns, quality) = self.ready_by_poll();
        if seen_ns == 0 || seen_ns >= polled_ns || seen_ns < entry.last_read_ns.load(Relaxed) {
            return (polled_ns, quality);
        }
        let quality = match self.has_helper {
            true => ReadyQuality::Estimate,
            false => ReadyQuality::UpperBound,
        };
        (seen_ns, quality)
    }

    /// When another thread first saw the descriptor ready, since recording went on; 0 not.
    pub fn seen_ready_ns(&self, entry: &Entry) -> u64 {
        // What was seen before a pause was read unseen in it.
        match entry.take_woken_ns() {
            seen_ns if seen_ns >= self.resumed_ns => seen_ns,
            _ => 0,
        }
    }

    /// The poll's return: exact to a wake-up when the loop waited for it, else an upper bound.
    pub fn ready_by_poll(&self) -> (u64, ReadyQuality) {
        let waited_ns = self.poll.leave_ns.saturating_sub(self.poll.enter_ns);
        if waited_ns > BLOCKED_NS {
            (self.poll.leave_ns, ReadyQuality::Estimate)
        } else {
            (self.poll.leave_ns, ReadyQuality::UpperBound)
        }
    }

    /// Writes that the current event started an operation; gives its number.
    pub fn register(&mut self, kind: LoopKind, resource: u32, at_ns: u64) -> u32 {
        let op = self.writer.live.next(live::OP);
        let at_ns = self.writer.relative(at_ns);
        self.writer
            .put(|out, last_ns| encode::register(out, last_ns, at_ns, op, kind, resource, None));
        op
    }

    /// Id of a string from native code; `(other)` when there is no room.
    pub fn intern(&mut self, parts: &[&[u8]]) -> u32 {
        self.intern_for(parts, Origin::Native)
    }

    /// Id of a string; `(other)`, and a loss counted, when there is no room.
    pub fn intern_for(&mut self, parts: &[&[u8]], origin: Origin) -> u32 {
        self.strings.intern(parts, origin).unwrap_or_else(|| {
            self.writer.live.lose(LossKind::Strings);
            OTHER
        })
    }

    /// Writes a moment of the run.
    pub fn mark(&mut self, kind: MarkKind, text: u32) {
        let at_ns = self.writer.relative(monotonic_ns());
        self.writer
            .put(|out, last_ns| encode::mark(out, last_ns, at_ns, kind, text));
    }

    /// The location the watchdog asked for, if the event it asked about still runs.
    pub fn location_is_wanted(&self) -> bool {
        let asked = self.shared.asked_event.swap(0, AcqRel);
        asked != 0 && asked == self.shared.event.load(Acquire)
    }

    /// Writes what the current event is executing.
    pub fn locate(&mut self, place: CodePlace) {
        let at_ns = self.writer.relative(monotonic_ns());
        self.interject(Interjection::Location { at_ns, place });
    }
}
