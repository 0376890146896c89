//! Follows jobs of the thread pool from the event that submitted them to their callback.
//!
//! Seen in libuv's own queues under its own mutex, instead of with async_hooks (which would cost
//! more than everything else together): the tail of the queue that was unlocked is the job that
//! was just submitted, and its callback is swapped before any thread can take it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use bobtail_trace::layout::live;
use bobtail_trace::record::{LoopKind, LossKind, ReadyQuality};

use crate::clock::monotonic_ns;
use crate::libuv::{self, work};
use crate::loop_state::LoopState;
use crate::pool_name;
use crate::symbols::Symbols;
use crate::thread::state;
use crate::trampoline;

/// Address of the pool's mutex; 0 when jobs are not followed.
pub static MUTEX: AtomicUsize = AtomicUsize::new(0);
/// The same, also while no loop is being recorded.
static KNOWN_MUTEX: AtomicUsize = AtomicUsize::new(0);
/// Loops whose jobs are followed now.
static LOOPS: Mutex<usize> = Mutex::new(0);
static QUEUE: AtomicUsize = AtomicUsize::new(0);
static SLOW_QUEUE: AtomicUsize = AtomicUsize::new(0);
static SLOW_MESSAGE: AtomicUsize = AtomicUsize::new(0);
static EXIT_MESSAGE: AtomicUsize = AtomicUsize::new(0);

/// Slots of a loop's table of jobs: few at first, so that it stays in the processor's cache.
const SLOTS_MIN: usize = 64;
const SLOTS_MAX: usize = 16_384;

/// Jobs under way at the same time that so many slots take; more are recorded without their
/// registrar.
const fn room(slots: usize) -> usize {
    slots / 4 * 3
}
const CANCELLED: i32 = -libc::ECANCELED;

/// A job under way.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Address of the `uv__work`; 0 is a free slot.
    pub work: usize,
    pub op: u32,
    /// Request of the event that submitted it.
    pub request: u32,
    /// Its resource.
    pub resource: u32,
    /// When it was submitted (CLOCK_MONOTONIC).
    pub register_ns: u64,
}

/// The jobs of one loop by address: open addressing, doubled when it fills.
pub struct Jobs {
    slots: Box<[Job]>,
    count: usize,
}

impl Jobs {
    pub fn new() -> Self {
        Self::with_slots(SLOTS_MIN)
    }

    fn with_slots(slots: usize) -> Self {
        Self {
            slots: vec![Job::default(); slots].into_boxed_slice(),
            count: 0,
        }
    }

    fn home(&self, work: usize) -> usize {
        let hash = (work as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 48) as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// False when there are too many.
    pub fn insert(&mut self, job: Job) -> bool {
        let mut slot = self.home(job.work);
        while self.slots[slot].work != 0 && self.slots[slot].work != job.work {
            slot = self.after(slot);
        }
        if self.slots[slot].work == 0 {
            if self.count >= room(self.slots.len()) {
                return self.grow() && self.insert(job);
            }
            self.count += 1;
        }
        self.slots[slot] = job;
        true
    }

    /// False when the table is as large as it may be. Takes memory, which is allowed here: the
    /// pool's mutex has been unlocked.
    #[cold]
    fn grow(&mut self) -> bool {
        if self.slots.len() == SLOTS_MAX {
            return false;
        }
        let larger = Self::with_slots(self.slots.len() * 2);
        let smaller = std::mem::replace(self, larger);
        for job in smaller.slots {
            if job.work != 0 {
                self.insert(job);
            }
        }
        true
    }

    pub fn remove(&mut self, work: usize) -> Option<Job> {
        let mut slot = self.home(work);
        while self.slots[slot].work != work {
            if self.slots[slot].work == 0 {
                return None;
            }
            slot = self.after(slot);
        }
        let job = self.slots[slot];
        self.count -= 1;
        self.close_gap(slot);
        Some(job)
    }

    /// Moves what was pushed past the free slot back, so that look-ups need no tombstones.
    fn close_gap(&mut self, mut gap: usize) {
        let mut slot = gap;
        loop {
            self.slots[gap] = Job::default();
            loop {
                slot = self.after(slot);
                if self.slots[slot].work == 0 {
                    return;
                }
                let home = self.home(self.slots[slot].work);
                let from_home = slot.wrapping_sub(home) & (self.slots.len() - 1);
                let from_gap = slot.wrapping_sub(gap) & (self.slots.len() - 1);
                if from_home >= from_gap {
                    break;
                }
            }
            self.slots[gap] = self.slots[slot];
            gap = slot;
        }
    }

    /// Jobs under way.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// A job that was just put into the queue.
pub struct Submitted {
    work: usize,
    /// The callback it will end in.
    done: usize,
    at_ns: u64,
    /// What the file it works on was opened as; asked before a pool thread may close it.
    opened: u32,
}

/// Follows jobs from now on.
pub fn follow(symbols: &Symbols) {
    QUEUE.store(symbols.pool_queue, Ordering::Relaxed);
    SLOW_QUEUE.store(symbols.pool_slow_queue, Ordering::Relaxed);
    SLOW_MESSAGE.store(symbols.pool_slow_message, Ordering::Relaxed);
    EXIT_MESSAGE.store(symbols.pool_exit_message, Ordering::Relaxed);
    KNOWN_MUTEX.store(symbols.pool_mutex, Ordering::Release);
}

/// One more loop wants its jobs followed.
pub fn wake() {
    let mut loops = LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    *loops += 1;
    MUTEX.store(KNOWN_MUTEX.load(Ordering::Acquire), Ordering::Release);
}

/// One loop less; without any, the pool's threads are left alone.
pub fn rest() {
    let mut loops = LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    *loops = loops.saturating_sub(1);
    if *loops == 0 {
        MUTEX.store(0, Ordering::Release);
    }
}

/// Swaps the callbacks of this loop's jobs that were in the queue before recording began, so that
/// they are not taken for new ones.
pub fn adopt(uv_loop: usize) {
    let mutex = MUTEX.load(Ordering::Acquire) as *mut libc::pthread_mutex_t;
    if mutex.is_null() {
        return;
    }
    // SAFETY: libuv's mutex, held for a walk over queues that only change under it. A queue whose
    // links are null was never used.
    unsafe {
        libc::pthread_mutex_lock(mutex);
        for queue in [
            QUEUE.load(Ordering::Relaxed),
            SLOW_QUEUE.load(Ordering::Relaxed),
        ] {
            let mut link = libuv::get::<usize>(queue, 0);
            while link != 0 && link != queue {
                if let Some(work) = job_at(link, uv_loop) {
                    // One that cannot be hooked is left alone.
                    let _ = trampoline::hook_work(work);
                }
                link = libuv::get::<usize>(link, 0);
            }
        }
        libc::pthread_mutex_unlock(mutex);
    }
}

/// The job whose link this is, if it is one of this loop.
///
/// SAFETY: `link` is in one of the pool's queues and the pool's mutex is held.
unsafe fn job_at(link: usize, uv_loop: usize) -> Option<usize> {
    let message = link == SLOW_MESSAGE.load(Ordering::Relaxed)
        || link == EXIT_MESSAGE.load(Ordering::Relaxed);
    let work = link - work::LINK;
    // SAFETY: what is no message is the link of a job.
    (!message && unsafe { libuv::get::<usize>(work, work::LOOP) } == uv_loop).then_some(work)
}

/// The loop thread is about to unlock the pool's mutex: what it just submitted, if anything.
/// Its callback is swapped; what is left to do is done after the unlock, by `register`.
#[inline]
pub fn submitted(state: &LoopState) -> Option<Submitted> {
    for queue in [&QUEUE, &SLOW_QUEUE] {
        // SAFETY: the mutex is held.
        unsafe {
            let tail = libuv::queue_tail(queue.load(Ordering::Relaxed));
            let job = tail.and_then(|tail| job_at(tail, state.uv_loop));
            if let Some((work, done)) =
                job.and_then(|work| Some((work, trampoline::hook_work(work)?)))
            {
                return Some(Submitted {
                    work,
                    done,
                    at_ns: monotonic_ns(),
                    opened: pool_name::opened_as(state, work, done),
                });
            }
        }
    }
    None
}

/// Writes REGISTER for a job and remembers it.
pub fn register(state: &mut LoopState, submitted: Submitted) {
    if state.writer.live.is_silent() {
        return;
    }
    let work = submitted.work;
    // SAFETY: the loop thread calls the job back later, so it is alive.
    let resource = unsafe { pool_name::resource(state, work, submitted.done, submitted.opened) };
    let op = state.register(LoopKind::Pool, resource, submitted.at_ns);
    let current = state.writer.live.get(live::CURRENT);
    let job = Job {
        work,
        op,
        request: if current == 0 {
            0
        } else {
            state.context_of(current)
        },
        resource,
        register_ns: submitted.at_ns,
    };
    if !state.jobs.insert(job) {
        state.writer.live.lose(LossKind::PoolTable);
    }
}

/// The loop thread is about to call a job back.
pub fn begin(work: usize, original: usize, status: i32) {
    let Some(state) = state() else {
        return;
    };
    let begin_ns = state.begin_behind_ns();
    let job = state.jobs.remove(work).unwrap_or_default();
    let done = state.shared.completions.take(work, job.register_ns);
    if done.is_none() && status != CANCELLED {
        state.writer.live.lose(LossKind::ReadyMissing);
    }
    // Of a job that was taken before a pause, or in it, that time is not known.
    let done = done.filter(|done| done.start_ns >= state.resumed_ns);
    let ready = done.map(|done| (done.ready_ns.min(begin_ns), ReadyQuality::Exact));
    let run_ns = done.map_or(0, |done| done.ready_ns.saturating_sub(done.start_ns));
    // SAFETY: the job is alive until its callback returns.
    unsafe { pool_name::remember_opened(state, work, original, job.resource) };
    state.begin(LoopKind::Pool, begin_ns, ready, 0, job.op, run_ns);
    state.set_event_context(job.request);
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS_MAX: usize = room(SLOTS_MAX);

    fn job(work: usize) -> Job {
        Job {
            work,
            op: work as u32,
            request: 0,
            resource: 0,
            register_ns: 0,
        }
    }

    #[test]
    fn finds_every_job_whatever_the_order() {
        let mut jobs = Jobs::new();
        let addresses = (1..=5_000_usize)
            .map(|n| n * 48 + 0x5600_0000)
            .collect::<Vec<_>>();
        for &work in &addresses {
            assert!(jobs.insert(job(work)));
        }
        for &work in addresses.iter().rev().step_by(2) {
            assert_eq!(jobs.remove(work), Some(job(work)));
        }
        for &work in addresses.iter().rev().skip(1).step_by(2) {
            assert_eq!(jobs.remove(work), Some(job(work)));
            assert_eq!(jobs.remove(work), None);
        }
        assert_eq!(jobs.count(), 0);
        assert!(jobs.slots.iter().all(|slot| slot.work == 0));
    }

    #[test]
    fn a_full_table_refuses() {
        let mut jobs = Jobs::new();
        for work in 1..=JOBS_MAX {
            assert!(jobs.insert(job(work * 16)));
        }
        assert!(!jobs.insert(job((JOBS_MAX + 1) * 16)));
        assert!(jobs.insert(job(16)), "the same address again takes no room");
    }
}
