//! Reads CLOCK_MONOTONIC, and converts kernel receive stamps (CLOCK_REALTIME) to it.
//!
//! The offset between the two clocks is sampled again and again instead of once, because
//! CLOCK_REALTIME is steered and stepped; a sample is refused when the thread was preempted in it.

/// Samples older than this are taken again.
const RESAMPLE_NS: u64 = 5_000_000;
/// A sample whose bracket is wider than this was disturbed.
const WIDEST_SAMPLE_NS: u64 = 2_000;
/// Of the time that passes, as a divisor: twice what adjtimex(2) slews a clock by at most.
const STEERED_AT_MOST: u64 = 1_000;
/// What a moment may be wrong by: two samples.
const UNSURE_NS: u64 = 2 * WIDEST_SAMPLE_NS;

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
    /// CLOCK_REALTIME was not stepped since then (CLOCK_MONOTONIC), as far as is known.
    steady_ns: u64,
}

/// What the two clocks showed at one moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    offset_ns: u64,
    at_ns: u64,
    /// How far apart the readings of CLOCK_MONOTONIC around that of CLOCK_REALTIME were.
    width_ns: u64,
}

impl Sample {
    fn take() -> Self {
        let before_ns = monotonic_ns();
        let real_ns = realtime_ns();
        let at_ns = monotonic_ns();
        let width_ns = at_ns.wrapping_sub(before_ns);
        let middle_ns = before_ns.wrapping_add(width_ns / 2);
        let offset_ns = real_ns.wrapping_sub(middle_ns);
        Self {
            offset_ns,
            at_ns,
            width_ns,
        }
    }

    /// The least disturbed one of a few.
    fn take_well() -> Self {
        let mut best = Self::take();
        for _ in 0..4 {
            if best.width_ns < WIDEST_SAMPLE_NS {
                break;
            }
            let next = Self::take();
            if next.width_ns < best.width_ns {
                best = next;
            }
        }
        best
    }
}

impl RealtimeOffset {
    pub fn new() -> Self {
        let Sample {
            offset_ns, at_ns, ..
        } = Sample::take_well();
        Self {
            offset_ns,
            sampled_ns: at_ns,
            steady_ns: 0,
        }
    }

    /// Samples again when the last sample is old; keeps the old one when disturbed.
    #[inline]
    pub fn refresh(&mut self, now_ns: u64) {
        if now_ns.wrapping_sub(self.sampled_ns) < RESAMPLE_NS {
            return;
        }
        let sample = Sample::take();
        if sample.width_ns < WIDEST_SAMPLE_NS {
            self.learn(sample);
        }
    }

    fn learn(&mut self, sample: Sample) {
        let moved_ns = sample.offset_ns.wrapping_sub(self.offset_ns) as i64;
        let passed_ns = sample.at_ns.wrapping_sub(self.sampled_ns);
        let steered_ns = passed_ns / STEERED_AT_MOST + WIDEST_SAMPLE_NS + sample.width_ns;
        if moved_ns.unsigned_abs() > steered_ns {
            self.steady_ns = sample.at_ns;
        }
        self.offset_ns = sample.offset_ns;
        self.sampled_ns = sample.at_ns;
    }

    /// The moment of a stamp on CLOCK_MONOTONIC; what came after `by_ns` counts as of then. None if
    /// CLOCK_REALTIME may have been stepped since: a stamp does not tell of which side of a step it
    /// is.
    #[inline]
    pub fn moment_of(&mut self, stamp_ns: u64, by_ns: u64) -> Option<u64> {
        let at_ns = self.to_monotonic_ns(stamp_ns);
        // Outside of what passed since the last sample, a step of any size may have put it there.
        if at_ns < self.sampled_ns || at_ns > by_ns {
            self.learn(Sample::take_well());
        }
        self.moment_by_sample(stamp_ns, by_ns)
    }

    fn moment_by_sample(&self, stamp_ns: u64, by_ns: u64) -> Option<u64> {
        let at_ns = self.to_monotonic_ns(stamp_ns);
        // Bytes may come until they are read, which is after `by_ns` and before a sample then.
        let latest_ns = by_ns.max(self.sampled_ns).wrapping_add(UNSURE_NS);
        let known = self.steady_ns..=latest_ns;
        known.contains(&at_ns).then_some(at_ns.min(by_ns))
    }

    fn to_monotonic_ns(&self, realtime_ns: u64) -> u64 {
        realtime_ns.wrapping_sub(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn converts_now_to_now() {
        let mut offset = RealtimeOffset::new();
        offset.refresh(monotonic_ns());
        let before_ns = monotonic_ns();
        let stamp_ns = realtime_ns();
        let after_ns = monotonic_ns();
        let moment_ns = offset.moment_of(stamp_ns, after_ns).expect("no step");
        assert!(moment_ns + 1_000_000 > before_ns, "{moment_ns} {before_ns}");
        assert!(moment_ns <= after_ns, "{moment_ns} {after_ns}");
    }

    /// What stamps of 9, 10 and 11 s about a step of CLOCK_REALTIME at 10.5 s are taken for at
    /// 12 s, when it is `offset_ns` ahead of the other clock and was an hour ahead at 9.5 s.
    fn moments(offset_ns: u64) -> [Option<u64>; 3] {
        let mut offset = RealtimeOffset {
            offset_ns: 3600 * S,
            sampled_ns: 9 * S + S / 2,
            steady_ns: 0,
        };
        offset.learn(Sample {
            offset_ns,
            at_ns: 12 * S,
            width_ns: 100,
        });
        let stamps_ns = [9 * S + 3600 * S, 10 * S + 3600 * S, 11 * S + offset_ns];
        stamps_ns.map(|stamp_ns| offset.moment_by_sample(stamp_ns, 12 * S))
    }

    #[test]
    fn a_clock_that_is_steered_is_believed() {
        let steered_ns = S / 1000;
        let told = [9 * S - steered_ns, 10 * S - steered_ns, 11 * S];
        assert_eq!(moments(3600 * S + steered_ns), told.map(Some));
    }

    #[test]
    fn what_was_stamped_about_a_step_has_no_moment() {
        for offset_ns in [7200 * S, 3600 * S + S / 100, 3600 * S - S / 100, 0] {
            assert_eq!(moments(offset_ns), [None; 3], "{offset_ns}");
        }
    }

    #[test]
    fn what_comes_before_it_is_read_has_a_moment() {
        let mut offset = RealtimeOffset::new();
        let by_ns = monotonic_ns() - 1_000_000;
        assert_eq!(offset.moment_of(realtime_ns(), by_ns), Some(by_ns));
    }

    #[test]
    fn what_is_stamped_after_a_step_has_its_moment_again() {
        let mut offset = RealtimeOffset::new();
        // As if it had been stepped by an hour since the last sample.
        offset.offset_ns = offset.offset_ns.wrapping_sub(3600 * S);
        assert_eq!(offset.moment_of(realtime_ns(), monotonic_ns()), None);
        let (before_ns, stamp_ns) = (monotonic_ns(), realtime_ns());
        let moment_ns = offset.moment_of(stamp_ns, monotonic_ns()).expect("told");
        assert!(moment_ns.abs_diff(before_ns) < 1_000_000, "{moment_ns}");
    }
}
