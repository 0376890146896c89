//! Reads CLOCK_MONOTONIC, and converts kernel receive stamps (CLOCK_REALTIME) to it.
//!
//! The offset between the two clocks is sampled again and again instead of once, because
//! CLOCK_REALTIME is steered and stepped; a sample is refused when the thread was preempted in it.

/// Samples older than this are taken again.
const RESAMPLE_NS: u64 = 5_000_000;
/// A sample whose bracket is wider than this was disturbed.
const WIDEST_SAMPLE_NS: u64 = 2_000;

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid out pointer; these clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    nanoseconds(&time)
}

/// Nanoseconds of a timespec.
pub fn nanoseconds(time: &libc::timespec) -> u64 {
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of CLOCK_REALTIME.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Nanoseconds of CPU that the calling thread used.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CLOCK_REALTIME minus CLOCK_MONOTONIC, kept fresh.
pub struct RealtimeOffset {
    offset_ns: u64,
    sampled_ns: u64,
}

impl RealtimeOffset {
    /// Takes the best of a few samples.
    pub fn new() -> Self {
        let mut best = (u64::MAX, 0, 0);
        for _ in 0..5 {
            let (width_ns, offset_ns, at_ns) = Self::sample();
            if width_ns < best.0 {
                best = (width_ns, offset_ns, at_ns);
            }
        }
        Self {
            offset_ns: best.1,
            sampled_ns: best.2,
        }
    }

    fn sample() -> (u64, u64, u64) {
        let before_ns = monotonic_ns();
        let real_ns = realtime_ns();
        let after_ns = monotonic_ns();
        let width_ns = after_ns.wrapping_sub(before_ns);
        let middle_ns = before_ns.wrapping_add(width_ns / 2);
        (width_ns, real_ns.wrapping_sub(middle_ns), after_ns)
    }

    /// Samples again when the last sample is old; keeps the old one when disturbed.
    #[inline]
    pub fn refresh(&mut self, now_ns: u64) {
        if now_ns.wrapping_sub(self.sampled_ns) < RESAMPLE_NS {
            return;
        }
        let (width_ns, offset_ns, at_ns) = Self::sample();
        if width_ns < WIDEST_SAMPLE_NS {
            self.offset_ns = offset_ns;
            self.sampled_ns = at_ns;
        }
    }

    /// The same moment on CLOCK_MONOTONIC.
    #[inline]
    pub fn to_monotonic_ns(&self, realtime_ns: u64) -> u64 {
        realtime_ns.wrapping_sub(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_now_to_now() {
        let mut offset = RealtimeOffset::new();
        offset.refresh(monotonic_ns());
        let before_ns = monotonic_ns();
        let converted_ns = offset.to_monotonic_ns(realtime_ns());
        let after_ns = monotonic_ns();
        assert!(
            converted_ns + 1_000_000 > before_ns,
            "{converted_ns} {before_ns}"
        );
        assert!(
            converted_ns < after_ns + 1_000_000,
            "{converted_ns} {after_ns}"
        );
    }
}
