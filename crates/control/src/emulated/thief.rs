//! The thread that takes away a share of one CPU.
//!
//! In each period it spins for what is not to be given, counted from when it was due to wake, so
//! that its own wake-up is part of the share; and it sleeps for the rest. Where the share is less
//! than a wake-up costs, the period is longer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use crate::emulated::request::Requests;
use crate::emulated::{Emulation, FULL_PERMILLE, PERIOD_MAX_NS};
use crate::syscalls;

/// Above everything that an application may have.
const PRIORITY: i32 = 60;
/// Before it is calibrated: what getting back to sleep costs, about.
const EXIT_DEFAULT_NS: u64 = 10_000;

const STACK_BYTES: usize = 128 << 10;

/// A started thread; it ends when its requests say stop.
#[derive(Debug)]
pub(crate) struct Thief {
    shared: Arc<Shared>,
    requests: Arc<Requests>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// What a piece is shortened by: the way back to sleep, which costs the CPU too.
    exit_ns: AtomicU64,
    /// Below this a piece would be less than its wake-up.
    piece_min_ns: AtomicU64,
    periods: AtomicU64,
    missed: AtomicU64,
    taken_ns: AtomicU64,
    changed_ns: AtomicU64,
}

/// What threads did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Periods in which something was taken.
    pub periods: u64,
    /// Periods dropped because the thread woke too late.
    pub missed: u64,
    /// Time spent spinning.
    pub taken_ns: u64,
    /// When the last change of speed was taken up (`CLOCK_MONOTONIC`); after one to full speed
    /// nothing is taken any longer, before it something may have been.
    pub changed_ns: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.periods += other.periods;
        self.missed += other.missed;
        self.taken_ns += other.taken_ns;
        self.changed_ns = self.changed_ns.max(other.changed_ns);
    }
}

impl Thief {
    /// Starts one on a CPU, parked; or the system call that failed.
    pub(crate) fn start(
        cpu: u32,
        requests: &Arc<Requests>,
        emulation: Emulation,
    ) -> Result<Self, (&'static str, io::Error)> {
        let shared = Arc::new(Shared::default());
        shared.exit_ns.store(EXIT_DEFAULT_NS, Relaxed);
        let (told, outcome) = mpsc::sync_channel(1);
        let (of_thread, asked) = (Arc::clone(&shared), Arc::clone(requests));
        let body = move || {
            let ready = prepare(cpu);
            let is_ready = ready.is_ok();
            // The starter waits for this, so that it is there to take it.
            let is_told = told.send(ready).is_ok();
            if is_ready && is_told {
                take_time(&of_thread, &asked, emulation);
            }
        };
        let thread = thread::Builder::new()
            .name("bobtail-thief".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(body)
            .map_err(|cause| ("clone", cause))?;
        let no_answer = || ("clone", io::Error::other("the thread ended at once"));
        outcome.recv().map_err(|_| no_answer())??;
        Ok(Self {
            shared,
            requests: Arc::clone(requests),
            thread: Some(thread),
        })
    }

    pub(crate) fn set_exit_ns(&self, exit_ns: u64) {
        self.shared.exit_ns.store(exit_ns, Relaxed);
    }

    pub(crate) fn exit_ns(&self) -> u64 {
        self.shared.exit_ns.load(Relaxed)
    }

    pub(crate) fn set_piece_min_ns(&self, piece_min_ns: u64) {
        self.shared.piece_min_ns.store(piece_min_ns, Relaxed);
    }

    pub(crate) fn piece_min_ns(&self) -> u64 {
        self.shared.piece_min_ns.load(Relaxed)
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals {
            periods: self.shared.periods.load(Relaxed),
            missed: self.shared.missed.load(Relaxed),
            taken_ns: self.shared.taken_ns.load(Relaxed),
            changed_ns: self.shared.changed_ns.load(Relaxed),
        }
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.requests.stop.store(true, Relaxed);
        self.requests.push(syscalls::now_ns(), FULL_PERMILLE);
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }
}

fn prepare(cpu: u32) -> Result<(), (&'static str, io::Error)> {
    // A handler of the application must not run here, above everything else.
    syscalls::block_signals();
    syscalls::set_affinity(&[cpu]).map_err(|cause| ("sched_setaffinity", cause))?;
    syscalls::become_real_time(PRIORITY).map_err(|cause| ("sched_setscheduler", cause))
}

/// Until the requests say stop.
fn take_time(shared: &Shared, requests: &Requests, emulation: Emulation) {
    let latency_ns = emulation.latency_ns;
    let mut seen = 0;
    let mut permille = FULL_PERMILLE;
    let mut due_ns = 0;
    while !requests.stop.load(Relaxed) {
        let now_ns = syscalls::now_ns();
        let piece_min_ns = shared.piece_min_ns.load(Relaxed);
        let pending = requests.next(&mut seen);
        let change_ns = pending.map(|request| request.at_ns + latency_ns);
        if let Some(request) = pending.filter(|request| request.at_ns + latency_ns <= now_ns) {
            seen = seen.wrapping_add(1);
            if permille == FULL_PERMILLE {
                // Half of what is left to the CPU first: the middle of where it could begin.
                let period_ns = period_ns(emulation.period_ns, piece_min_ns, request.permille);
                due_ns = now_ns + period_ns * u64::from(request.permille) / 2000;
            }
            permille = request.permille;
            shared.changed_ns.store(now_ns, Relaxed);
            continue;
        }
        if permille == FULL_PERMILLE {
            match change_ns {
                Some(change_ns) => syscalls::sleep_until(change_ns),
                None => requests.park(seen),
            }
            continue;
        }
        if now_ns < due_ns {
            syscalls::sleep_until(change_ns.map_or(due_ns, |change_ns| change_ns.min(due_ns)));
            continue;
        }
        let period_ns = period_ns(emulation.period_ns, piece_min_ns, permille);
        let share_ns = period_ns * u64::from(FULL_PERMILLE - permille) / u64::from(FULL_PERMILLE);
        let end_ns = (due_ns + share_ns).saturating_sub(shared.exit_ns.load(Relaxed));
        // While one request is pending, later ones wait for it.
        let watched = pending.is_none().then_some(seen);
        let until_ns = change_ns.map_or(end_ns, |change_ns| change_ns.min(end_ns));
        let stopped_ns = spin_until(requests, watched, until_ns);
        shared.taken_ns.fetch_add(stopped_ns - now_ns, Relaxed);
        shared.periods.fetch_add(1, Relaxed);
        due_ns += period_ns;
        if due_ns < stopped_ns {
            let missed = (stopped_ns - due_ns) / period_ns + 1;
            shared.missed.fetch_add(missed, Relaxed);
            due_ns = stopped_ns + period_ns;
        }
    }
}

/// How often a piece is taken for a speed: as asked, or as rarely as lets a piece be long enough.
pub(crate) fn period_ns(asked_ns: u64, piece_min_ns: u64, permille: u32) -> u64 {
    let taken = u64::from(FULL_PERMILLE.saturating_sub(permille)).max(1);
    let enough_ns = (piece_min_ns * u64::from(FULL_PERMILLE)).div_ceil(taken);
    enough_ns.min(PERIOD_MAX_NS).max(asked_ns)
}

/// Uses the CPU up until a time, or until there are more requests than the `seen` first, if that
/// is watched; the time when it stopped.
fn spin_until(requests: &Requests, seen: Option<u32>, end_ns: u64) -> u64 {
    loop {
        let now_ns = syscalls::now_ns();
        if now_ns >= end_ns || seen.is_some_and(|seen| requests.count() != seen) {
            return now_ns;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_as_asked_unless_its_piece_would_be_too_short() {
        let cases = [
            // 200 µs, a piece of at least 30 µs: of 35 % it is 70, of 17.5 % it is 35.
            (200_000, 30_000, 650, 200_000),
            (200_000, 30_000, 825, 200_000),
            (200_000, 30_000, 950, 600_000),
            (200_000, 100_000, 825, 571_429),
            (200_000, 100_000, 999, PERIOD_MAX_NS),
            (PERIOD_MAX_NS, 0, 999, PERIOD_MAX_NS),
            (200_000, 30_000, 1000, PERIOD_MAX_NS),
        ];
        for (asked_ns, piece_min_ns, permille, expected) in cases {
            let found = period_ns(asked_ns, piece_min_ns, permille);
            assert_eq!(found, expected, "{permille} of a thousand");
        }
    }
}
