//! An imitated CPU frequency, for experiments on machines without a real one.
//!
//! A real-time thread per CPU takes away a share of it in pieces of some ten µs, so that 1 ms of
//! work is as even as on the bare machine; at full speed the threads are parked. The share is
//! calibrated, not calculated, since a timer's wake-up costs the CPU 20 µs and more in a virtual
//! machine. CPU quota cannot do this: it is enforced at the scheduler's tick, for milliseconds.
//! Everything that runs on these CPUs is slowed, and memory with it, unlike by a real frequency.

mod calibration;
mod claim;
mod request;
mod thief;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::emulated::claim::Claim;
use crate::emulated::request::Requests;
use crate::emulated::thief::{Thief, Totals};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
use crate::saved::SavedState;
use crate::syscalls;

const KIND: LeverKind = LeverKind::Emulated;
/// The paper's frequencies: full speed stands for 4.0 GHz, base for 2.6 GHz.
const FULL_KHZ: u32 = 4_000_000;
const BASE_KHZ: u32 = 2_600_000;
/// Below this the threads would come near the limit of real-time threads (95 % of each second).
const SLOWEST_PERMILLE: u32 = 200;
const FULL_PERMILLE: u32 = 1000;
const PERIOD_MIN_NS: u64 = 200_000;
const PERIOD_MAX_NS: u64 = 10_000_000;
const LATENCY_MAX_NS: u64 = 1_000_000_000;
/// How far the measured speed may be from the one asked for.
const TOLERANCE: f64 = 0.07;
const ATTEMPTS: usize = 3;

/// Whether this process may have the real-time threads that the imitation needs; nothing is slowed.
///
/// # Errors
///
/// The kernel's refusal.
pub fn check_rights() -> Result<(), ControlError> {
    // On a thread of its own, which ends: the caller's scheduling stays what it is.
    let trial = std::thread::spawn(|| syscalls::become_real_time(1));
    let outcome = match trial.join() {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    outcome.map_err(|cause| ControlError::Call {
        lever: KIND,
        call: "sched_setscheduler",
        cause,
    })
}

/// What is imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emulation {
    /// What full speed stands for.
    pub full_khz: u32,
    /// How often a share is taken away: 200 µs, or more for a coarser speed. Below that the pieces
    /// would be shorter than the wake-up.
    pub period_ns: u64,
    /// How long a change takes, as on a real lever; 0 is as fast as it goes.
    pub latency_ns: u64,
    pub between: Between,
}

/// What will be asked for between base and peak, which is checked then as base is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Between {
    /// Nothing.
    Nothing,
    /// This frequency, in kHz.
    Khz(u32),
    /// Nobody knows yet: the middle stands for all.
    #[default]
    Any,
}

impl Default for Emulation {
    fn default() -> Self {
        Self {
            full_khz: FULL_KHZ,
            period_ns: PERIOD_MIN_NS,
            latency_ns: 0,
            between: Between::default(),
        }
    }
}

/// The imitated frequency of some CPUs.
#[derive(Debug)]
pub struct Emulated {
    lever: Lever,
    saved: SavedState,
    emulation: Emulation,
    requests: Arc<Requests>,
    thieves: Vec<Thief>,
    /// Dropped after the threads have ended.
    _claims: Vec<Claim>,
    now: Option<u32>,
}

impl Emulated {
    /// Starts the threads on these CPUs, calibrates them at base and checks the other speeds that
    /// they will be at, all at once, which takes a second to two and slows these CPUs meanwhile;
    /// they are parked afterwards.
    ///
    /// # Errors
    ///
    /// When the values make no sense, the process may not have real-time threads
    /// (`CAP_SYS_NICE`, and no CPU group of its own under `CONFIG_RT_GROUP_SCHED`), another one
    /// imitates one of these CPUs, or a speed is off by more than 7 % in each of three attempts.
    pub fn start(cpus: &[u32], asked: &Asked, emulation: Emulation) -> Result<Self, ControlError> {
        Self::start_measured(cpus, asked, emulation, &mut calibration::gauge())
    }

    /// The same by another measure of speed than work that is done.
    ///
    /// # Errors
    ///
    /// As [`Emulated::start`], and what the gauge refuses.
    pub fn start_measured(
        cpus: &[u32],
        asked: &Asked,
        emulation: Emulation,
        gauge: &mut dyn Gauge,
    ) -> Result<Self, ControlError> {
        let mut emulated = Self::start_uncalibrated(cpus, asked, emulation)?;
        let mut outcome = emulated.calibrate(gauge);
        for _ in 1..ATTEMPTS {
            if !matches!(outcome, Err(ControlError::Off { .. })) {
                break;
            }
            outcome = emulated.calibrate(gauge);
        }
        outcome?;
        Ok(emulated)
    }

    /// The frequencies that it would have.
    ///
    /// # Errors
    ///
    /// When the values make no sense.
    pub fn range(asked: &Asked, emulation: &Emulation) -> Result<Range, ControlError> {
        check(emulation)?;
        let full_khz = emulation.full_khz;
        Range {
            unit: Unit::Khz,
            lowest: full_khz / FULL_PERMILLE * SLOWEST_PERMILLE,
            highest: full_khz,
            base: (u64::from(full_khz) * u64::from(BASE_KHZ) / u64::from(FULL_KHZ)) as u32,
            peak: full_khz,
        }
        .narrowed(KIND, asked)
    }

    fn start_uncalibrated(
        cpus: &[u32],
        asked: &Asked,
        emulation: Emulation,
    ) -> Result<Self, ControlError> {
        let range = Self::range(asked, &emulation)?;
        let full_khz = emulation.full_khz;
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        let claims = cpus
            .iter()
            .map(|&cpu| Claim::of_cpu(cpu))
            .collect::<Result<_, _>>()?;
        let requests = Arc::new(Requests::default());
        let start = |&cpu: &u32| Thief::start(cpu, &requests, emulation);
        let thieves = cpus.iter().map(start).collect::<Result<Vec<_>, _>>();
        let thieves = thieves.map_err(|(call, cause)| ControlError::Call {
            lever: KIND,
            call,
            cause,
        })?;
        if thieves.is_empty() {
            return Err(ControlError::Unavailable {
                lever: KIND,
                why: "it was given no CPUs".to_owned(),
            });
        }
        let domain = Domain::Cpus(cpus);
        Ok(Self {
            lever: Lever {
                kind: KIND,
                domain: domain.clone(),
                range,
                about: format!(
                    "EMULATED: a real-time thread takes CPU time away every {} µs or more; \
                     full speed stands for {} GHz",
                    emulation.period_ns / 1000,
                    f64::from(full_khz) / 1e6
                ),
                transition_ns: Some(emulation.latency_ns),
                is_emulated: true,
            },
            saved: SavedState {
                lever: KIND,
                domain,
                settings: vec![],
            },
            emulation,
            requests,
            thieves,
            _claims: claims,
            now: None,
        })
    }

    /// What the threads did since they started, summed.
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for thief in &self.thieves {
            sum.add(&thief.totals());
        }
        sum
    }

    /// The speeds besides base that it will be at and at which time is taken away; as far as that
    /// is known.
    fn others_khz(&self) -> Vec<u32> {
        let Range {
            base,
            peak,
            lowest,
            highest,
            ..
        } = self.lever.range;
        let between = match self.emulation.between {
            Between::Nothing => None,
            Between::Khz(khz) => Some(khz.clamp(lowest, highest)),
            Between::Any => Some(base.midpoint(peak)),
        };
        let mut others: Vec<u32> = between.into_iter().chain([peak]).collect();
        others.retain(|&khz| khz != base && self.permille(khz) < FULL_PERMILLE);
        others.dedup();
        others
    }

    fn permille(&self, khz: u32) -> u32 {
        let permille =
            u64::from(khz) * u64::from(FULL_PERMILLE) / u64::from(self.emulation.full_khz);
        (permille as u32).clamp(SLOWEST_PERMILLE, FULL_PERMILLE)
    }
}

impl Actuator for Emulated {
    fn lever(&self) -> &Lever {
        &self.lever
    }

    /// Empty: the threads end with their process, and full speed is back.
    fn saved(&self) -> &SavedState {
        &self.saved
    }

    /// No system call on the way up; one futex wake on the way down from full speed.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let value = self.lever.range.value(KIND, speed)?;
        let is_changed = self.now != Some(value);
        if is_changed {
            self.requests.push(syscalls::now_ns(), self.permille(value));
            self.now = Some(value);
        }
        Ok(Applied { value, is_changed })
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        if self.now.take().is_some() {
            self.requests.push(syscalls::now_ns(), FULL_PERMILLE);
        }
        Ok(())
    }

    /// Stricter than of a real lever: an experiment relies on the speed that it was told.
    fn self_test(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        let (expected, measured) = self.measure(gauge, self.lever.range.base)?;
        require_near(expected, measured)?;
        self.check_others(gauge)?;
        Ok(SelfTest {
            expected: Some(1.0 / expected),
            measured: Some(1.0 / measured),
        })
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        self.requests.stop.store(true, Relaxed);
        self.requests.push(syscalls::now_ns(), FULL_PERMILLE);
    }
}

/// That a speed, as a share of full speed, is the one expected.
fn require_near(expected: f64, measured: f64) -> Result<(), ControlError> {
    if (measured / expected - 1.0).abs() <= TOLERANCE {
        return Ok(());
    }
    Err(ControlError::Off {
        lever: KIND,
        expected,
        measured,
    })
}

fn check(emulation: &Emulation) -> Result<(), ControlError> {
    let refuse = |why: String| Err(ControlError::Unavailable { lever: KIND, why });
    let Emulation {
        full_khz,
        period_ns,
        latency_ns,
        between: _,
    } = *emulation;
    if !(100_000..=10_000_000).contains(&full_khz) {
        return refuse(format!("{full_khz} kHz is no frequency from 0.1 to 10 GHz"));
    }
    if !(PERIOD_MIN_NS..=PERIOD_MAX_NS).contains(&period_ns) {
        return refuse(format!(
            "a period of {period_ns} ns is not from 200 µs to 10 ms"
        ));
    }
    if latency_ns > LATENCY_MAX_NS {
        return refuse(format!("a latency of {latency_ns} ns is more than 1 s"));
    }
    Ok(())
}
