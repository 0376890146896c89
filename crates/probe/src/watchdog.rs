//! The thread that looks: it wakes the mapper when a ring wants a chunk, and asks for the code
//! location of an event that runs long, and at what becomes ready meanwhile.
//!
//! It sleeps while no loop is being recorded, and while loops wait. It is not notified by a loop
//! thread, which must not make a system call to do so, but by the kernel, when that thread has run.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::monotonic_ns;
use crate::cpu_timer::CpuTimer;
use crate::{cpu_timer, location, mapper, registry};

/// How often at least: an event that blocks its thread runs long without using processor time.
const LONGEST_WAIT: Duration = Duration::from_millis(25);
/// How often when a loop's thread has no timer.
const TICK: Duration = Duration::from_millis(4);
/// The first location of an event is asked after this; the next ones after twice the time.
pub const LONG_NS: u64 = 4_000_000;

/// What becomes ready is looked at when an event runs this long.
const BUSY_NS: u64 = 1_000_000;

/// An event that was seen running long.
#[derive(Default, Clone, Copy)]
struct Long {
    event: u32,
    next_ns: u64,
}

/// A loop is recorded that has no timer.
static TICKS: AtomicBool = AtomicBool::new(false);

/// Has the calling loop's thread looked at while it runs and the value lives. `None` when it gets
/// no timer; all loops are looked at at a steady pace from then on.
pub fn timer() -> Option<CpuTimer> {
    let timer = CpuTimer::of_this_thread().ok();
    if timer.is_none() {
        TICKS.store(true, Ordering::Relaxed);
    }
    timer
}

/// The thread's body; never returns. It blocks all signals.
pub fn run() {
    let mut long = [Long::default(); registry::LOOPS_MAX];
    loop {
        registry::wait_until_awake();
        cpu_timer::wait(match TICKS.load(Ordering::Relaxed) {
            true => TICK,
            false => LONGEST_WAIT,
        });
        let now_ns = monotonic_ns();
        let mut wants_chunk = false;
        for entry in registry::recorded().iter() {
            wants_chunk |= entry.ring.wants_chunk();
            look(&entry.shared, &mut long[entry.shared.index], now_ns);
        }
        if wants_chunk {
            mapper::wake();
        }
    }
}

/// Looks at what a loop runs now.
fn look(shared: &registry::Shared, long: &mut Long, now_ns: u64) {
    let begin_ns = shared.head_begin_ns.load(Ordering::Acquire);
    let event = shared.event.load(Ordering::Acquire);
    let isolate = shared.isolate.load(Ordering::Acquire);
    if begin_ns == 0 {
        return;
    }
    let running_ns = now_ns.saturating_sub(begin_ns);
    if running_ns > BUSY_NS {
        shared.backend.sample();
    }
    if event == 0 || isolate == 0 {
        return;
    }
    if long.event != event {
        *long = Long {
            event,
            next_ns: LONG_NS,
        };
    }
    if running_ns < long.next_ns {
        return;
    }
    while long.next_ns <= running_ns {
        long.next_ns *= 2;
    }
    // What was asked before and is still not answered counts from then.
    if shared.asked_event.load(Ordering::Acquire) != event {
        shared.asked_ns.store(now_ns, Ordering::Release);
    }
    shared.asked_event.store(event, Ordering::Release);
    // The registry's lock is held: a loop that goes away waits for it, so the isolate lives.
    location::ask(isolate as *mut c_void);
}
