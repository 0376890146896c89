//! The thread that ticks: it wakes the mapper when a ring wants a chunk, and asks for the code
//! location of an event that runs long, and at what becomes ready meanwhile.
//!
//! It sleeps while no loop is being recorded. A tick instead of a notification, because the loop
//! thread must not make a system call to ask.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::clock::monotonic_ns;
use crate::{location, mapper, registry};

const TICK: Duration = Duration::from_millis(4);
/// While nothing ran long for a while: each tick takes the service's processor for 10 to 20 µs.
const QUIET_TICK: Duration = Duration::from_millis(12);
/// Nothing ran long for this long.
const QUIET_NS: u64 = 5_000_000_000;
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

/// The thread's body; never returns.
pub fn run() {
    let mut long = [Long::default(); registry::LOOPS_MAX];
    let mut last_long_ns = monotonic_ns();
    loop {
        registry::wait_until_awake();
        let quiet = monotonic_ns().saturating_sub(last_long_ns) > QUIET_NS;
        std::thread::sleep(if quiet { QUIET_TICK } else { TICK });
        let now_ns = monotonic_ns();
        let mut wants_chunk = false;
        for entry in registry::recorded().iter() {
            wants_chunk |= entry.ring.wants_chunk();
            if look(&entry.shared, &mut long[entry.shared.index], now_ns) {
                last_long_ns = now_ns;
            }
        }
        if wants_chunk {
            mapper::wake();
        }
    }
}

/// Tells whether an event runs long.
fn look(shared: &registry::Shared, long: &mut Long, now_ns: u64) -> bool {
    let begin_ns = shared.head_begin_ns.load(Ordering::Acquire);
    let event = shared.event.load(Ordering::Acquire);
    let isolate = shared.isolate.load(Ordering::Acquire);
    if begin_ns == 0 {
        return false;
    }
    let running_ns = now_ns.saturating_sub(begin_ns);
    if running_ns > BUSY_NS {
        shared.backend.sample();
    }
    let is_long = running_ns >= LONG_NS;
    if event == 0 || isolate == 0 {
        return is_long;
    }
    if long.event != event {
        *long = Long {
            event,
            next_ns: LONG_NS,
        };
    }
    if running_ns < long.next_ns {
        return is_long;
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
    is_long
}
