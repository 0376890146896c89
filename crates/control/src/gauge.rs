//! Measures how fast CPUs are by timing work on them: the proof that a lever does something.
//!
//! The kernel's own word is not enough: a virtual machine takes a frequency, says it back and
//! runs as before.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, SelfTest};
use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::lever::{Domain, Lever, LeverKind};
use crate::syscalls;

/// Tells how fast CPUs are.
pub trait Gauge {
    /// Work done per time on each of these CPUs, the slowest's, in a unit of its own.
    fn rate(&mut self, lever: LeverKind, cpus: &[u32], effort: Effort)
    -> Result<f64, ControlError>;

    /// How many CPUs' worth of time a group uses while threads that `enter` it want all there is,
    /// over `window_ns`; `used_ns` tells what it has used since ever. None where it is not
    /// measured.
    ///
    /// # Errors
    ///
    /// Those of `enter` and `used_ns`.
    fn share(
        &mut self,
        _lever: LeverKind,
        _window_ns: u64,
        _enter: Enter,
        _used_ns: UsedNs,
    ) -> Result<Option<f64>, ControlError> {
        Ok(None)
    }
}

/// What the work is like that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// All the time: what a CPU does at a frequency that is held.
    Sustained,
    /// A moment after the CPU had nothing to do: what a floor is for. A governor that is left its
    /// freedom takes a CPU that is always busy to the top with any floor.
    AfterIdle,
}

/// Puts the calling thread where it is to be measured.
pub type Enter<'a> = &'a (dyn Fn() -> Result<(), ControlError> + Sync);
/// CPU time used so far, where somebody counts it.
pub type UsedNs<'a> = &'a dyn Fn() -> Result<Option<u64>, ControlError>;

/// Times a fixed calculation on a thread of its own, pinned to each CPU in turn.
#[derive(Debug, Clone, Copy)]
pub struct WorkGauge {
    /// How long a run takes; much longer than the lever's own grain.
    pub run_ns: u64,
    /// Runs on each CPU.
    pub runs: u32,
    /// A real-time priority, against what else runs on the machine; none runs as an ordinary
    /// thread, and then the fastest run counts, since others only make work slower.
    pub priority: Option<i32>,
}

impl Default for WorkGauge {
    fn default() -> Self {
        Self {
            run_ns: 1_000_000,
            runs: 20,
            priority: None,
        }
    }
}

impl Gauge for WorkGauge {
    fn rate(
        &mut self,
        lever: LeverKind,
        cpus: &[u32],
        effort: Effort,
    ) -> Result<f64, ControlError> {
        let gauge = *self;
        let failed = |(call, cause)| ControlError::Call { lever, call, cause };
        let start = |cpu: &u32| {
            let cpu = *cpu;
            std::thread::Builder::new()
                .name("bobtail-gauge".to_owned())
                .spawn(move || gauge.rate_on(cpu, effort))
                .map_err(|cause| failed(("clone", cause)))
        };
        // Real-time threads do not mind each other on CPUs of their own, and all at once take as
        // long as one; ordinary ones would leave the machine's other work no CPU.
        let at_once = if self.priority.is_some() {
            cpus.len()
        } else {
            1
        };
        let mut slowest = f64::INFINITY;
        for cpus in cpus.chunks(at_once.max(1)) {
            let workers: Vec<_> = cpus.iter().map(start).collect();
            for worker in workers {
                let rate = match worker?.join() {
                    Ok(rate) => rate.map_err(failed)?,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
                slowest = slowest.min(rate);
            }
        }
        Ok(slowest)
    }

    fn share(
        &mut self,
        _: LeverKind,
        window_ns: u64,
        enter: Enter,
        used_ns: UsedNs,
    ) -> Result<Option<f64>, ControlError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let spin = || {
                syscalls::block_signals();
                enter()?;
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
                Ok(())
            };
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(spin)).collect();
            let used = used_over(window_ns, used_ns);
            stop.store(true, Relaxed);
            for worker in workers {
                match worker.join() {
                    Ok(outcome) => outcome?,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            used
        })
    }
}

/// CPU time by time over a window.
fn used_over(window_ns: u64, used_ns: UsedNs) -> Result<Option<f64>, ControlError> {
    let (begin_ns, before) = (syscalls::now_ns(), used_ns()?);
    syscalls::sleep_until(begin_ns + window_ns);
    let (end_ns, after) = (syscalls::now_ns(), used_ns()?);
    let both = before.zip(after);
    let elapsed_ns = (end_ns - begin_ns).max(1) as f64;
    Ok(both.map(|(before, after)| after.saturating_sub(before) as f64 / elapsed_ns))
}

impl WorkGauge {
    fn rate_on(&self, cpu: u32, effort: Effort) -> Result<f64, (&'static str, io::Error)> {
        syscalls::block_signals();
        syscalls::set_affinity(&[cpu]).map_err(|cause| ("sched_setaffinity", cause))?;
        if let Some(priority) = self.priority {
            syscalls::become_real_time(priority).map_err(|cause| ("sched_setscheduler", cause))?;
        }
        let rate_of_run = |_| match effort {
            Effort::Sustained => self.rate_of_run(),
            Effort::AfterIdle => {
                std::thread::sleep(IDLE);
                rate_over(SHORT_NS)
            }
        };
        let runs = match effort {
            Effort::Sustained => self.runs.max(1),
            Effort::AfterIdle => self.runs.clamp(1, RESTED_RUNS_MAX),
        };
        let mut rates: Vec<f64> = (0..runs).map(rate_of_run).collect();
        rates.sort_unstable_by(f64::total_cmp);
        Ok(match (self.priority, effort) {
            (None, Effort::Sustained) => rates[rates.len() - 1],
            // What a lever takes away in small pieces counts, and what a governor had not let go
            // yet does not: not the luckiest run.
            _ => rates[rates.len() / 2],
        })
    }

    fn rate_of_run(&self) -> f64 {
        let begin_ns = syscalls::now_ns();
        let rate = rate_over(self.run_ns);
        if self.priority.is_some() {
            // The kernel stops real-time threads that leave nothing to the others.
            let end_ns = syscalls::now_ns();
            syscalls::sleep_until(end_ns + (end_ns - begin_ns) / 2);
        }
        rate
    }
}

/// Pieces of work by the time they took, at least so much.
fn rate_over(run_ns: u64) -> f64 {
    let begin_ns = syscalls::now_ns();
    let mut end_ns = begin_ns;
    let mut sum = 0_u64;
    let mut pieces = 0_u64;
    while end_ns - begin_ns < run_ns {
        for step in 0..PIECE_STEPS {
            // Each step needs the one before, so that no processor overlaps them.
            sum = std::hint::black_box(sum.wrapping_add(step));
        }
        pieces += 1;
        end_ns = syscalls::now_ns();
    }
    pieces as f64 / (end_ns - begin_ns).max(1) as f64
}

/// Steps of work between two looks at the clock.
const PIECE_STEPS: u64 = 2_000;
/// How long a CPU rests until its governor has let it go, and how long it works then: governors
/// raise a frequency after a millisecond and more.
const IDLE: Duration = Duration::from_millis(40);
const SHORT_NS: u64 = 200_000;
const RESTED_RUNS_MAX: u32 = 5;
/// By how much a floor has to make such work faster, of what its range promises: how soon a
/// governor or the hardware raises a frequency without it nobody tells.
const FLOOR_GAIN_MIN: f64 = 0.1;

/// Moves a lever to base and to peak, has each value confirmed, and compares the work done there.
///
/// A lever passes when it brings at least half of the gain that its range promises. The other half
/// is left to what else runs on the machine, and to turbo that keeps base above its nominal value.
/// One that is only a floor (`Effort::AfterIdle`) passes with [`FLOOR_GAIN_MIN`] of it. What passes
/// has to pass again the other way round: on a machine that others use, too, work that happens to
/// be disturbed at base alone looks like a gain.
pub(crate) fn compare(
    actuator: &mut dyn Actuator,
    gauge: &mut dyn Gauge,
    effort: Effort,
    confirm: &mut dyn FnMut(u32) -> Result<(), ControlError>,
) -> Result<SelfTest, ControlError> {
    let outcome = compare_held(actuator, gauge, effort, confirm);
    let undone = actuator.undo();
    let test = outcome?;
    undone?;
    Ok(test)
}

fn compare_held(
    actuator: &mut dyn Actuator,
    gauge: &mut dyn Gauge,
    effort: Effort,
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
        gauge.rate(kind, &cpus, effort)
    };
    let expected = f64::from(range.peak) / f64::from(range.base);
    let needed = match effort {
        Effort::Sustained => 0.5,
        Effort::AfterIdle => FLOOR_GAIN_MIN,
    };
    let gain_min = 1.0 + (expected - 1.0) * needed;
    let mut measured = 1.0 / rate_at(Speed::Base)? * rate_at(Speed::Peak)?;
    if measured >= gain_min {
        let again = rate_at(Speed::Peak)? / rate_at(Speed::Base)?;
        measured = measured.min(again);
    }
    if measured < gain_min {
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

/// That a setting says the number it was given, or one so near to it.
pub(crate) fn expect_reading(
    host: &Host,
    place: &Place,
    value: u32,
    off_at_most: u32,
) -> Result<(), ControlError> {
    let is_value = |reads: &str| {
        reads
            .parse()
            .is_ok_and(|reads: u32| reads.abs_diff(value) <= off_at_most)
    };
    host.expect(place, &value.to_string(), is_value)
}
