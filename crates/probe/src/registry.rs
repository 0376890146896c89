//! Knows the recorded loops of the process, for the threads that look at them from outside: pool
//! threads (whose mutex is this?), the mapper and the watchdog.
//!
//! Mutex addresses lie in their own array of atomics, so that a pool thread compares numbers and
//! follows a pointer only after a match.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::act::senses::SensedSums;
use crate::completion::Completions;
use crate::ready_helper::Backend;
use crate::ring::{Ring, Slots};
use crate::trace_file::TraceFile;

/// Loops recorded at the same time.
pub const LOOPS_MAX: usize = 256;

/// What other threads may see of a loop.
pub struct Shared {
    pub index: usize,
    /// Begin of the loop event that runs now (CLOCK_MONOTONIC); 0 when none: Queue Boost's
    /// head-of-line sensor.
    pub head_begin_ns: AtomicU64,
    /// Events of the batch that were not dispatched yet: Queue Boost's queue sensor.
    pub queue_length: AtomicU32,
    /// Number of the loop event that runs now.
    pub event: AtomicU32,
    /// Event the watchdog asked a location for; 0 none.
    pub asked_event: AtomicU32,
    /// When it was asked (CLOCK_MONOTONIC).
    pub asked_ns: AtomicU64,
    pub isolate: AtomicUsize,
    /// Polls that found events, and the events.
    pub batches: AtomicU64,
    pub ready_events: AtomicU64,
    /// Of a loop that is sensed (`act`).
    pub sensed: SensedSums,
    pub completions: Completions,
    pub backend: Backend,
}

impl Shared {
    fn new(index: usize) -> Self {
        Self {
            index,
            head_begin_ns: AtomicU64::new(0),
            queue_length: AtomicU32::new(0),
            event: AtomicU32::new(0),
            asked_event: AtomicU32::new(0),
            asked_ns: AtomicU64::new(0),
            isolate: AtomicUsize::new(0),
            batches: AtomicU64::new(0),
            ready_events: AtomicU64::new(0),
            sensed: SensedSums::default(),
            completions: Completions::new(),
            backend: Backend::new(),
        }
    }

    /// Nothing happened yet.
    fn reset(&self) {
        self.head_begin_ns.store(0, Ordering::Relaxed);
        self.queue_length.store(0, Ordering::Relaxed);
        self.event.store(0, Ordering::Relaxed);
        self.asked_event.store(0, Ordering::Relaxed);
        self.asked_ns.store(0, Ordering::Relaxed);
        self.isolate.store(0, Ordering::Relaxed);
        self.batches.store(0, Ordering::Relaxed);
        // Jobs of a loop that ended before it was told of them: their places are used again.
        self.completions.reset();
        self.ready_events.store(0, Ordering::Relaxed);
        self.sensed.reset();
    }
}

/// A recorded loop as the mapper and the watchdog know it.
pub struct Recorded {
    pub shared: Arc<Shared>,
    pub ring: Arc<Ring>,
    pub file: TraceFile,
    pub slots: Slots,
}

static MUTEXES: [AtomicUsize; LOOPS_MAX] = [const { AtomicUsize::new(0) }; LOOPS_MAX];
static SHARED: [AtomicPtr<Shared>; LOOPS_MAX] = [const { AtomicPtr::new(null_mut()) }; LOOPS_MAX];
/// Entries of the arrays above up to the last one in use: each unlock of a mutex looks at them.
static USED: AtomicUsize = AtomicUsize::new(0);
static RECORDED: Mutex<Vec<Recorded>> = Mutex::new(Vec::new());
/// By number: whether it is in use. Never freed but used again, because a pool thread may still
/// hold a reference when a worker's loop goes away.
static ALLOCATED: Mutex<Vec<(bool, Arc<Shared>)>> = Mutex::new(Vec::new());
/// Loops that are being recorded now: those above without the paused ones.
static AWAKE: Mutex<usize> = Mutex::new(0);
static WOKEN: Condvar = Condvar::new();
/// A forked child has none of the threads and must not touch the parent's traces.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The recorded loops. Not for the loop thread's hot path.
pub fn recorded() -> MutexGuard<'static, Vec<Recorded>> {
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This process is a fork of the one that records.
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Called in a forked child.
pub fn set_forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Gives a new loop its number; `None` when there are too many.
pub fn allocate() -> Option<Arc<Shared>> {
    let mut allocated = ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((used, shared)) = allocated.iter_mut().find(|(used, _)| !used) {
        *used = true;
        shared.reset();
        return Some(shared.clone());
    }
    if allocated.len() == LOOPS_MAX {
        return None;
    }
    let shared = Arc::new(Shared::new(allocated.len()));
    allocated.push((true, shared.clone()));
    Some(shared)
}

/// Makes a loop known. `mutex` is that of its work queue.
pub fn add(entry: Recorded, mutex: usize) {
    let index = entry.shared.index;
    let mut recorded = recorded();
    SHARED[index].store(Arc::as_ptr(&entry.shared).cast_mut(), Ordering::Release);
    MUTEXES[index].store(mutex, Ordering::Release);
    recorded.push(entry);
    set_used(&recorded);
    drop(recorded);
    count_awake(|awake| awake + 1);
}

fn set_used(recorded: &[Recorded]) {
    let used = recorded.iter().map(|entry| entry.shared.index + 1).max();
    USED.store(used.unwrap_or(0), Ordering::Release);
}

/// A loop pauses: nothing of it is looked at.
pub fn rest(index: usize) {
    MUTEXES[index].store(0, Ordering::Release);
    count_awake(|awake| awake.saturating_sub(1));
}

/// A loop goes on after a pause.
pub fn wake(index: usize, mutex: usize) {
    MUTEXES[index].store(mutex, Ordering::Release);
    count_awake(|awake| awake + 1);
}

fn count_awake(change: impl FnOnce(usize) -> usize) {
    let mut awake = AWAKE.lock().unwrap_or_else(PoisonError::into_inner);
    *awake = change(*awake);
    WOKEN.notify_all();
}

/// Returns when a loop is being recorded. For threads that look at loops.
pub fn wait_until_awake() {
    let awake = AWAKE.lock().unwrap_or_else(PoisonError::into_inner);
    let awake = WOKEN.wait_while(awake, |awake| *awake == 0);
    drop(awake.unwrap_or_else(PoisonError::into_inner));
}

/// Forgets a loop whose thread records no more and has no job in the pool; gives its entry.
pub fn remove(index: usize) -> Option<Recorded> {
    rest(index);
    SHARED[index].store(null_mut(), Ordering::Release);
    let mut recorded = recorded();
    let at = recorded
        .iter()
        .position(|entry| entry.shared.index == index)?;
    let entry = recorded.swap_remove(at);
    set_used(&recorded);
    Some(entry)
}

/// Gives a number back, after the last use of its `Shared`.
pub fn release(index: usize) {
    ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner)[index].0 = false;
}

/// The loop whose work-queue mutex this is.
#[inline]
pub fn loop_of_mutex(mutex: usize) -> Option<&'static Shared> {
    let used = USED.load(Ordering::Relaxed);
    let index = MUTEXES[..used]
        .iter()
        .position(|m| m.load(Ordering::Relaxed) == mutex)?;
    // SAFETY: stored before the mutex, and never freed.
    unsafe { SHARED[index].load(Ordering::Acquire).as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording_memory::Memory;
    use crate::trace_file::Description;

    /// A loop of which nothing is written; its mutex is a number that nobody has.
    fn recorded_loop(mutex: usize) -> usize {
        let shared = allocate().expect("there is room");
        let description = Description::for_test(&format!("registry-{mutex}"), 5);
        let made = Memory::new(&description).ok().expect("is made");
        std::fs::remove_file(&description.path).expect("is there");
        let (index, ring, file, slots) = (shared.index, made.ring, made.file, made.slots);
        add(
            Recorded {
                shared,
                ring,
                file,
                slots,
            },
            mutex,
        );
        index
    }

    fn end(index: usize) {
        assert!(remove(index).is_some());
        release(index);
    }

    /// One test, because the registry is one.
    #[test]
    fn a_place_is_used_again_as_new_and_not_looked_at_between() {
        let all = [1, 2, 3].map(recorded_loop);
        assert_eq!(all, [0, 1, 2]);
        assert_eq!(USED.load(Ordering::Relaxed), 3);
        let found = |mutex| loop_of_mutex(mutex).map(|shared| shared.index);
        assert_eq!([1, 2, 3, 4].map(found), [Some(0), Some(1), Some(2), None]);

        let shared = loop_of_mutex(2).expect("is known");
        for _ in 0..40_000 {
            shared.completions.push(crate::completion::Completion {
                work: 77,
                start_ns: 1,
                ready_ns: 2,
            });
        }
        assert!(shared.completions.lost() > 0);

        end(1);
        assert_eq!(USED.load(Ordering::Relaxed), 3, "the third is behind it");
        assert_eq!([1, 2, 3].map(found), [Some(0), None, Some(2)]);
        end(2);
        assert_eq!(USED.load(Ordering::Relaxed), 1);

        assert_eq!(recorded_loop(5), 1, "the number of the second");
        let again = loop_of_mutex(5).expect("is known");
        assert!(std::ptr::eq(again, shared));
        assert_eq!(
            again.completions.take(77, 0),
            None,
            "jobs of the loop before"
        );
        assert_eq!(again.completions.lost(), 0);
        end(1);
        end(0);
        assert_eq!(USED.load(Ordering::Relaxed), 0);
    }
}
