//! Tells when a CPU did not run or was slow, for experiments on machines whose host takes time from
//! them.
//!
//! The kernel tells such time in ticks of 10 ms for all CPUs together, long after it has come: ten
//! stalls of 1 ms look like one of 10, and all that came around it has to be left out. A thread
//! above all others that wants to wake each millisecond sees each by itself.
//!
//! And a neighbour on the other half of a core makes it slower by half for seconds, of which the
//! kernel tells nothing at all: every hundredth of a second it does a fixed piece of work of some
//! 20 us, 0.2 % of the CPU.
//!
//! `chrt --fifo 90 target/release/examples/stalls CPU` prints lines until its standard output is
//! gone, of times in ns, the first by `CLOCK_MONOTONIC`:
//!
//! - `stall DUE LATE`: it was to wake then, and did so a millisecond later or more. A stall that
//!   begins while it sleeps is told less by what was left of its sleep, so that all of 2 ms are
//!   told, and some of 1;
//! - `work AT TOOK`: what the piece of work took, the median of the tenth of a second until then.

use std::hint::black_box;
use std::io::{self, Write};

use rustix::thread::{self, CpuSet};
use rustix::time::{self, ClockId, Timespec};

const PERIOD_NS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// Of its looks, one has a piece of work.
const LOOKS_PER_WORK: u64 = 10;
/// Pieces of work of which the median is told.
const WORKS_PER_LINE: usize = 10;
/// Steps of a piece of work.
const STEPS: u64 = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpu = std::env::args().nth(1).ok_or("usage: stalls CPU")?;
    let mut cpus = CpuSet::new();
    cpus.set(cpu.parse()?);
    thread::sched_setaffinity(None, &cpus)?;
    let mut out = io::stdout().lock();
    // That it watches: whoever started it waits for this.
    writeln!(out, "stall {} 0", now_ns())?;
    let mut works_ns = Vec::with_capacity(WORKS_PER_LINE);
    for look in 0.. {
        let due_ns = now_ns() + PERIOD_NS;
        sleep_until(due_ns)?;
        let woke_ns = now_ns();
        let late_ns = woke_ns.saturating_sub(due_ns);
        if late_ns >= PERIOD_NS {
            writeln!(out, "stall {due_ns} {late_ns}")?;
        }
        if look % LOOKS_PER_WORK == 0 {
            work(look);
            works_ns.push(now_ns() - woke_ns);
        }
        if works_ns.len() == WORKS_PER_LINE {
            works_ns.sort_unstable();
            writeln!(out, "work {} {}", now_ns(), works_ns[WORKS_PER_LINE / 2])?;
            works_ns.clear();
        }
    }
    Ok(())
}

/// A fixed piece of work. Of four sums that do not wait for each other: one alone leaves half of
/// the core idle, and is not slower where a neighbour takes that half.
fn work(seed: u64) {
    let mut sums = [seed, seed + 1, seed + 2, seed + 3];
    for step in 0..STEPS {
        for sum in &mut sums {
            *sum = (*sum ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            *sum ^= *sum >> 29;
        }
    }
    black_box(sums);
}

fn now_ns() -> u64 {
    let now = time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

fn sleep_until(due_ns: u64) -> rustix::io::Result<()> {
    let due = Timespec {
        tv_sec: (due_ns / NS_PER_S) as i64,
        tv_nsec: (due_ns % NS_PER_S) as i64,
    };
    thread::clock_nanosleep_absolute(thread::ClockId::Monotonic, &due)
}
