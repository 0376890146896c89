//! Measures how fast CPUs are by timing work on them: the proof that a lever does something.
//!
//! The kernel's own word is not enough: a virtual machine takes a frequency, says it back and
//! runs as before.

use std::time::{Duration, Instant};

use bobtail_policy::Speed;

use crate::actuator::{Actuator, SelfTest};
use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::lever::{Domain, Lever, LeverKind};
use crate::syscalls;

/// Tells how fast CPUs are.
pub trait Gauge {
    /// Work done per time on each of these CPUs, the slowest's, in a unit of its own.
    fn rate(&mut self, lever: LeverKind, cpus: &[u32]) -> Result<f64, ControlError>;
}

/// Times a fixed calculation, pinned to each CPU; takes about 20 ms per CPU.
///
/// The fastest of many short runs counts, since what else runs on a machine only makes work slower.
#[derive(Debug, Clone, Copy)]
pub struct WorkGauge {
    /// How long to repeat on each CPU.
    pub span: Duration,
    /// Additions in one run; one run shall be much longer than the lever's own grain.
    pub steps: u32,
}

impl Default for WorkGauge {
    fn default() -> Self {
        Self {
            span: Duration::from_millis(20),
            steps: 1_000_000,
        }
    }
}

impl Gauge for WorkGauge {
    fn rate(&mut self, lever: LeverKind, cpus: &[u32]) -> Result<f64, ControlError> {
        let failed = |call| move |cause| ControlError::Call { lever, call, cause };
        let was = syscalls::affinity().map_err(failed("sched_getaffinity"))?;
        let mut slowest = f64::INFINITY;
        for &cpu in cpus {
            syscalls::set_affinity(&[cpu]).map_err(failed("sched_setaffinity"))?;
            slowest = slowest.min(self.rate_here());
        }
        syscalls::set_affinity(&was).map_err(failed("sched_setaffinity"))?;
        Ok(slowest)
    }
}

impl WorkGauge {
    fn rate_here(&self) -> f64 {
        let start = Instant::now();
        let mut best_ns = u128::MAX;
        let mut sum = 0_u64;
        while best_ns == u128::MAX || start.elapsed() < self.span {
            let begin = Instant::now();
            for step in 0..self.steps {
                // Each step needs the one before, so that no processor overlaps them.
                sum = std::hint::black_box(sum.wrapping_add(u64::from(step)));
            }
            best_ns = best_ns.min(begin.elapsed().as_nanos().max(1));
        }
        f64::from(self.steps) / best_ns as f64
    }
}

/// Moves a lever to base and to peak, has each value confirmed, and compares the work done there.
///
/// A lever passes when it brings at least half of the gain that its range promises. The other half
/// is left to what else runs on the machine, and to turbo that keeps base above its nominal value.
pub(crate) fn compare(
    actuator: &mut dyn Actuator,
    gauge: &mut dyn Gauge,
    confirm: &mut dyn FnMut(u32) -> Result<(), ControlError>,
) -> Result<SelfTest, ControlError> {
    let outcome = compare_held(actuator, gauge, confirm);
    let undone = actuator.undo();
    let test = outcome?;
    undone?;
    Ok(test)
}

fn compare_held(
    actuator: &mut dyn Actuator,
    gauge: &mut dyn Gauge,
    confirm: &mut dyn FnMut(u32) -> Result<(), ControlError>,
) -> Result<SelfTest, ControlError> {
    let Lever {
        kind,
        range,
        domain,
        ..
    } = actuator.lever().clone();
    let Domain::Cpus(cpus) = domain else {
        return Err(ControlError::Unavailable {
            lever: kind,
            why: "its speed cannot be measured: it moves no CPUs".to_owned(),
        });
    };
    let mut rate_at = |speed| {
        let applied = actuator.apply(speed)?;
        confirm(applied.value)?;
        gauge.rate(kind, &cpus)
    };
    let measured = 1.0 / rate_at(Speed::Base)? * rate_at(Speed::Peak)?;
    let expected = f64::from(range.peak) / f64::from(range.base);
    if measured < 1.0 + (expected - 1.0) / 2.0 {
        return Err(ControlError::NoEffect {
            lever: kind,
            expected,
            measured,
        });
    }
    Ok(SelfTest {
        expected: Some(expected),
        measured: Some(measured),
    })
}

/// That a setting says the number it was given.
pub(crate) fn expect_reading(host: &Host, place: &Place, value: u32) -> Result<(), ControlError> {
    let reads = host.read(place)?;
    if reads == value.to_string() {
        return Ok(());
    }
    Err(ControlError::Ignored {
        path: host.path(place)?,
        wrote: value.to_string(),
        reads,
    })
}
