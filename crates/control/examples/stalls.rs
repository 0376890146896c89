//! Tells when a CPU did not run, for experiments on machines whose host takes time from them.
//!
//! The kernel tells such time in ticks of 10 ms for all CPUs together, long after it has come: ten
//! stalls of 1 ms look like one of 10, and all that came around it has to be left out. A thread
//! above all others that wants to wake each millisecond sees each by itself.
//!
//! `chrt --fifo 90 target/release/examples/stalls CPU` prints a line each time that it wakes a
//! millisecond late or more, until its standard output is gone: when it was to wake
//! (`CLOCK_MONOTONIC`) and how much later it did, both in ns. A stall that begins while it sleeps
//! is told less by what was left of its sleep, so that all of 2 ms are told, and some of 1.

use std::io::{self, Write};

use rustix::thread::{self, CpuSet};
use rustix::time::{self, ClockId, Timespec};

const PERIOD_NS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpu = std::env::args().nth(1).ok_or("usage: stalls CPU")?;
    let mut cpus = CpuSet::new();
    cpus.set(cpu.parse()?);
    thread::sched_setaffinity(None, &cpus)?;
    let mut out = io::stdout().lock();
    // That it watches: whoever started it waits for this.
    writeln!(out, "{} 0", now_ns())?;
    loop {
        let due_ns = now_ns() + PERIOD_NS;
        sleep_until(due_ns)?;
        let late_ns = now_ns().saturating_sub(due_ns);
        if late_ns >= PERIOD_NS {
            writeln!(out, "{due_ns} {late_ns}")?;
        }
    }
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
