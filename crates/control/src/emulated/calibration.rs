//! Finds how short a piece may be, and how much each must be shortened for the speed to come out
//! right.
//!
//! By a closed loop on real work, since what a wake-up costs differs between machines by a factor
//! of ten; the work runs as a real-time thread below the thieves, so that only they slow it.

use std::time::Duration;

use crate::emulated::thief::period_ns;
use crate::emulated::{Emulated, FULL_PERMILLE, KIND, require_near};
use crate::error::ControlError;
use crate::gauge::{Effort, Gauge, WorkGauge};
use crate::lever::Domain;
use crate::syscalls;

/// Below the thieves, above what is not real-time.
const PRIORITY: i32 = 20;
/// Each step corrects nearly all of the error, so that a few are enough.
const STEPS: usize = 5;
/// Good enough to stop; closer would be to follow noise.
const CLOSE: f64 = 0.01;
/// Of what a wake-up alone takes, so that something is left to spin for, and to correct.
const PIECE_BY_WAKE_UP: f64 = 1.25;
/// Full speed and the other are measured in turn so often: what a virtual machine's host takes
/// away in between spoils some pairs, and the middle one counts.
const PAIRS: usize = 9;

/// Work in runs of some ms, much longer than a period.
pub(crate) fn gauge() -> WorkGauge {
    WorkGauge {
        run_ns: 4_000_000,
        runs: 3,
        priority: Some(PRIORITY),
    }
}

impl Emulated {
    /// Sets the correction of each thread and leaves them parked.
    ///
    /// # Errors
    ///
    /// [`ControlError::Off`] when a speed is not what it should be in the end.
    pub(crate) fn calibrate(&mut self, gauge: &mut dyn Gauge) -> Result<(), ControlError> {
        let base = self.lever.range.base;
        if self.permille(base) == FULL_PERMILLE {
            return Ok(());
        }
        self.bound_pieces(gauge)?;
        let asked_ns = self.emulation.period_ns;
        let mut outcome = self.measure(gauge, base);
        for _ in 0..STEPS {
            let Ok((expected, measured)) = outcome else {
                break;
            };
            if (measured / expected - 1.0).abs() < CLOSE {
                break;
            }
            // Too slow by this share of each period: take that much less.
            for thief in &self.thieves {
                let period_ns = period_ns(asked_ns, thief.piece_min_ns(), self.permille(base));
                let surplus_ns = (expected - measured) * period_ns as f64;
                let exit_ns = thief.exit_ns() as f64 + surplus_ns;
                thief.set_exit_ns(exit_ns.clamp(0.0, period_ns as f64) as u64);
            }
            outcome = self.measure(gauge, base);
        }
        let (expected, measured) = outcome?;
        require_near(expected, measured)?;
        self.check_others(gauge)
    }

    /// Checks the speeds besides base, from which alone the correction comes: a faster one takes
    /// smaller pieces, of which waking up is a larger part.
    ///
    /// # Errors
    ///
    /// [`ControlError::Off`] for the first that is not what it should be.
    pub(super) fn check_others(&mut self, gauge: &mut dyn Gauge) -> Result<(), ControlError> {
        for khz in self.others_khz() {
            let (expected, measured) = self.measure(gauge, khz)?;
            require_near(expected, measured)?;
        }
        Ok(())
    }

    /// Finds what waking up takes without any spinning, of which each piece is to be more.
    ///
    /// It is a few µs on a quiet machine and 80 where a virtual one's host is busy: then no speed
    /// between base and full would be slower than another.
    fn bound_pieces(&mut self, gauge: &mut dyn Gauge) -> Result<(), ControlError> {
        for thief in &self.thieves {
            thief.set_piece_min_ns(0);
        }
        let nothing_taken = self.emulation.full_khz / FULL_PERMILLE * (FULL_PERMILLE - 1);
        let (_, measured) = self.measure(gauge, nothing_taken)?;
        let wake_up_ns = (1.0 - measured).clamp(0.0, 1.0) * self.emulation.period_ns as f64;
        for thief in &self.thieves {
            thief.set_piece_min_ns((wake_up_ns * PIECE_BY_WAKE_UP) as u64);
        }
        Ok(())
    }

    /// The speed at a value, as a share of full speed: expected and found.
    pub(super) fn measure(
        &mut self,
        gauge: &mut dyn Gauge,
        value: u32,
    ) -> Result<(f64, f64), ControlError> {
        let Domain::Cpus(cpus) = self.lever.domain.clone() else {
            unreachable!("it is made of CPUs");
        };
        let full_khz = self.emulation.full_khz;
        let mut ratios = Vec::with_capacity(PAIRS);
        self.now = None;
        for _ in 0..PAIRS {
            let mut rate_at = |khz| {
                self.change_at_once(khz);
                gauge.rate(KIND, &cpus, Effort::Sustained)
            };
            let rates = rate_at(full_khz).and_then(|full| Ok((full, rate_at(value)?)));
            let (full, slow) = rates.inspect_err(|_| self.change_at_once(full_khz))?;
            ratios.push(slow / full);
        }
        self.change_at_once(full_khz);
        ratios.sort_unstable_by(f64::total_cmp);
        let expected = f64::from(self.permille(value)) / f64::from(FULL_PERMILLE);
        Ok((expected, ratios[PAIRS / 2]))
    }

    /// Asks as if it had been early enough, so that no latency has to pass, and waits until it is.
    fn change_at_once(&self, khz: u32) {
        let asked_ns = syscalls::now_ns().saturating_sub(self.emulation.latency_ns);
        self.requests.push(asked_ns, self.permille(khz));
        std::thread::sleep(Duration::from_nanos(2 * self.emulation.period_ns));
    }
}
