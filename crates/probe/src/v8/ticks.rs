//! Reads a clock in a few nanoseconds, for hooks that run a million times a second.
//!
//! The processor's counter instead of `clock_gettime`, which takes three times as long; only where
//! the kernel itself keeps CLOCK_MONOTONIC by an invariant counter. The scale is measured instead
//! of asked for, because what the processor tells of it is rounded or, in a guest, missing.

use std::sync::OnceLock;

use crate::clock::monotonic_ns;

/// A reading that is older is taken anew, so that the two clocks cannot drift apart.
const REFRESH_NS: u64 = 1_000_000;
/// The scale is measured over at least this long, after the first time.
const MEASURE_NS: u64 = 100_000_000;
/// And over this long the first time, once per process.
const FIRST_MEASURE_NS: u64 = 500_000;
/// A reading of both clocks that took longer was interrupted.
const WIDEST_NS: u64 = 2_000;
/// The scale is a fixed-point number with this many fractional bits.
const FRACTION_BITS: u32 = 32;

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    ticks: u64,
    at_ns: u64,
}

/// The counter as a clock; of one thread.
pub struct Ticks {
    is_counter: bool,
    now: Reading,
    measured_from: Reading,
    /// Nanoseconds per tick.
    scale: u64,
    refresh_ticks: u64,
}

/// Where the kernel trusts the counter, and what one tick is worth there.
struct Counter {
    first: Reading,
    scale: u64,
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x64 processor has the instruction; where the kernel forbids it, it does not
    // keep its own clock by it either, and this is not called.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let value: u64;
    // SAFETY: the virtual counter is readable from user space on Linux.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
    value
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    monotonic_ns()
}

/// The kernel keeps CLOCK_MONOTONIC by the counter.
fn is_trusted() -> bool {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(path).unwrap_or_default();
    match source.trim() {
        "tsc" => is_invariant(),
        "arch_sys_counter" => cfg!(target_arch = "aarch64"),
        _ => false,
    }
}

/// The counter goes on at one rate whatever the processor does.
fn is_invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Reads both clocks; `None` when the thread was interrupted in between.
fn read() -> Option<Reading> {
    let before_ns = monotonic_ns();
    let ticks = counter();
    let after_ns = monotonic_ns();
    let width_ns = after_ns.saturating_sub(before_ns);
    let at_ns = before_ns + width_ns / 2;
    (width_ns < WIDEST_NS).then_some(Reading { ticks, at_ns })
}

fn scale_between(from: Reading, to: Reading) -> Option<u64> {
    let ticks = to
        .ticks
        .checked_sub(from.ticks)
        .filter(|&ticks| ticks > 0)?;
    let took_ns = to.at_ns.checked_sub(from.at_ns)?;
    u64::try_from((u128::from(took_ns) << FRACTION_BITS) / u128::from(ticks))
        .ok()
        .filter(|&scale| scale > 0)
}

/// Measures the counter once per process; `None` where the kernel does not trust it.
fn counter_of_process() -> Option<&'static Counter> {
    static COUNTER: OnceLock<Option<Counter>> = OnceLock::new();
    let measure = || {
        if !is_trusted() {
            return None;
        }
        let first = (0..100).find_map(|_| read())?;
        while monotonic_ns() < first.at_ns + FIRST_MEASURE_NS {
            std::hint::spin_loop();
        }
        let last = (0..100).find_map(|_| read())?;
        let scale = scale_between(first, last)?;
        Some(Counter { first, scale })
    };
    COUNTER.get_or_init(measure).as_ref()
}

impl Ticks {
    /// The counter where the kernel trusts it, else CLOCK_MONOTONIC itself.
    pub fn new() -> Self {
        let counter = counter_of_process();
        let first = counter.map(|counter| counter.first);
        let now = Reading {
            ticks: monotonic_ns(),
            at_ns: monotonic_ns(),
        };
        let scale = counter.map_or(1 << FRACTION_BITS, |counter| counter.scale);
        let refresh_ticks = (u128::from(REFRESH_NS) << FRACTION_BITS) / u128::from(scale);
        let mut ticks = Self {
            is_counter: counter.is_some(),
            now: first.unwrap_or(now),
            measured_from: first.unwrap_or(now),
            scale,
            refresh_ticks: refresh_ticks as u64,
        };
        ticks.refresh();
        ticks
    }

    /// Ticks now.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.is_counter {
            true => counter(),
            false => monotonic_ns(),
        }
    }

    /// Sets the counter right where the last reading of both clocks is old.
    #[inline(always)]
    pub fn keep_fresh(&mut self, now_ticks: u64) {
        if now_ticks.wrapping_sub(self.now.ticks) > self.refresh_ticks && self.is_counter {
            self.refresh();
        }
    }

    #[cold]
    #[inline(never)]
    fn refresh(&mut self) {
        let Some(now) = read().filter(|_| self.is_counter) else {
            return;
        };
        self.now = now;
        if now.at_ns.saturating_sub(self.measured_from.at_ns) < MEASURE_NS {
            return;
        }
        // A counter that jumped (a guest that was moved) is not worth a scale.
        let near = |scale: &u64| scale.abs_diff(self.scale) < self.scale / 100;
        if let Some(scale) = scale_between(self.measured_from, now).filter(near) {
            self.scale = scale;
        }
        self.measured_from = now;
    }

    /// The time of a tick on CLOCK_MONOTONIC.
    #[inline]
    pub fn monotonic_ns(&self, ticks: u64) -> u64 {
        if !self.is_counter {
            return ticks;
        }
        match ticks.checked_sub(self.now.ticks) {
            Some(after) => self.now.at_ns.wrapping_add(self.duration_ns(after)),
            None => {
                let before = self.now.ticks - ticks;
                self.now.at_ns.saturating_sub(self.duration_ns(before))
            }
        }
    }

    /// How long so many ticks are.
    #[inline]
    pub fn duration_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> FRACTION_BITS) as u64
    }

    /// Ticks in so many nanoseconds.
    pub fn ticks_in(&self, duration_ns: u64) -> u64 {
        ((u128::from(duration_ns) << FRACTION_BITS) / u128::from(self.scale)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_monotonic_clock() {
        let mut ticks = Ticks::new();
        for _ in 0..1000 {
            let before_ns = monotonic_ns();
            let now = ticks.now();
            let after_ns = monotonic_ns();
            ticks.keep_fresh(now);
            let told_ns = ticks.monotonic_ns(now);
            // The counter is off by what the first measurement of its scale was off.
            assert!(told_ns + 10_000 >= before_ns, "{before_ns} {told_ns}");
            assert!(told_ns <= after_ns + 10_000, "{told_ns} {after_ns}");
        }
    }

    #[test]
    fn converts_durations_both_ways() {
        let ticks = Ticks::new();
        for duration_ns in [1_000, 1_000_000, 60_000_000_000] {
            let there_and_back = ticks.duration_ns(ticks.ticks_in(duration_ns));
            assert!(
                there_and_back.abs_diff(duration_ns) <= 2,
                "{duration_ns} {there_and_back}"
            );
        }
    }

    #[test]
    fn keeps_times_before_the_last_reading() {
        let ticks = Ticks::new();
        let earlier = ticks.now().saturating_sub(ticks.ticks_in(1_000_000));
        let earlier_ns = ticks.monotonic_ns(earlier);
        let back_ns = monotonic_ns().saturating_sub(earlier_ns);
        assert!(back_ns >= 990_000, "{back_ns}");
    }
}
