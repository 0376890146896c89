//! A floor for how busy the scheduler takes one thread to be, by `sched_setattr`.
//!
//! The right interface for one thread, but only where the kernel has `CONFIG_UCLAMP_TASK` and the
//! governor is schedutil: intel_pstate and amd_pstate in active mode do not ask the scheduler. It
//! acts at schedutil's next update, some ms later.

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::host::{Host, Place};
use crate::lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
use crate::saved::{Restored, SavedSetting, SavedState};
use crate::threads::start_of;

const KIND: LeverKind = LeverKind::Uclamp;
const CAPACITY: u32 = 1024;

/// The clamp of one thread.
#[derive(Debug)]
pub struct Uclamp {
    host: Host,
    lever: Lever,
    saved: SavedState,
    thread: i32,
    /// Tells it from a later one of the same id.
    started: u64,
    max: u32,
    /// Moved, and not known to be back.
    is_touched: bool,
    now: Option<u32>,
}

impl Uclamp {
    /// Opens the lever of a thread, by its kernel id.
    ///
    /// # Errors
    ///
    /// When the kernel has no clamps, no CPU runs under schedutil, or there is no such thread.
    pub fn open(host: &Host, thread: i32, asked: &Asked) -> Result<Self, ControlError> {
        // First, since it tells of a thread that is not there in words of this lever.
        read_clamps(host, thread)?;
        Self::open_started(host, thread, start_of(host, thread)?, asked)
    }

    /// Likewise of the thread that started then (ticks since boot): ids are used again, and `apply`
    /// moves no other one.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub fn open_started(
        host: &Host,
        thread: i32,
        started: u64,
        asked: &Asked,
    ) -> Result<Self, ControlError> {
        let (min, max) = read_clamps(host, thread)?;
        let unavailable = |why: &str| ControlError::Unavailable {
            lever: KIND,
            why: why.to_owned(),
        };
        // A kernel without clamps leaves both at 0; with them the maximum is 1 or more.
        if max == 0 {
            return Err(unavailable("the kernel has no CONFIG_UCLAMP_TASK"));
        }
        if !has_schedutil(host)? {
            return Err(unavailable("no CPU runs under the governor schedutil"));
        }
        let range = Range {
            unit: Unit::Capacity,
            lowest: 0,
            highest: max.min(CAPACITY),
            base: min,
            peak: max.min(CAPACITY),
        }
        .narrowed(KIND, asked)?;
        if range.base == range.peak {
            return Err(unavailable("the thread has its highest clamp already"));
        }
        let domain = Domain::Thread(thread);
        Ok(Self {
            lever: Lever {
                kind: KIND,
                domain: domain.clone(),
                range,
                about: format!("uclamp.min of thread {thread}; acts at schedutil's next update"),
                transition_ns: None,
                is_emulated: false,
            },
            saved: SavedState {
                lever: KIND,
                domain,
                settings: vec![SavedSetting::Clamps {
                    thread,
                    started,
                    min,
                    max,
                }],
            },
            thread,
            started,
            max,
            is_touched: false,
            now: None,
            host: host.clone(),
        })
    }
}

impl Actuator for Uclamp {
    fn lever(&self) -> &Lever {
        &self.lever
    }

    fn saved(&self) -> &SavedState {
        &self.saved
    }

    /// One system call, after a look at whether the thread is still the one that was opened.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let value = self.lever.range.value(KIND, speed)?;
        let is_changed = self.now != Some(value);
        if is_changed {
            require_same(&self.host, self.thread, self.started)?;
            set_clamps(&self.host, self.thread, value, self.max)?;
            self.is_touched = true;
            self.now = Some(value);
        }
        Ok(Applied { value, is_changed })
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        let host = self.host.clone();
        self.put_back(&host).into_result()
    }

    fn put_back(&mut self, host: &Host) -> Restored {
        self.now = None;
        if !self.is_touched {
            return Restored::default();
        }
        let restored = self.saved.restore(host);
        self.is_touched = !restored.failed.is_empty();
        restored
    }

    /// That the kernel keeps the clamp; what it brings depends on how busy the thread is.
    fn self_test(&mut self, _: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        let peak = self.apply(Speed::Peak)?.value;
        let reads = read_clamps(&self.host, self.thread);
        self.undo()?;
        let (reads, _) = reads?;
        if reads == peak {
            return Ok(SelfTest::default());
        }
        Err(ControlError::NoEffect {
            lever: KIND,
            expected: f64::from(peak),
            measured: f64::from(reads),
        })
    }
}

impl Drop for Uclamp {
    fn drop(&mut self) {
        // Nobody is left to tell; what could not be put back is in the owner's journal.
        drop(self.undo());
    }
}

/// Puts a thread's clamps back, if it is still the same thread: kernel ids are used again.
pub(crate) fn restore(
    host: &Host,
    thread: i32,
    started: u64,
    (min, max): (u32, u32),
) -> Result<(), ControlError> {
    require_same(host, thread, started)?;
    set_clamps(host, thread, min, max)
}

/// Says that a thread is gone whose id is another's by now.
fn require_same(host: &Host, thread: i32, started: u64) -> Result<(), ControlError> {
    if start_of(host, thread)? == started {
        return Ok(());
    }
    Err(ControlError::Call {
        lever: KIND,
        call: "sched_setattr",
        cause: std::io::Error::from_raw_os_error(libc::ESRCH),
    })
}

fn read_clamps(host: &Host, thread: i32) -> Result<(u32, u32), ControlError> {
    let call = "sched_getattr";
    let read = host.threads().clamps(thread);
    read.map_err(|cause| ControlError::Call {
        lever: KIND,
        call,
        cause,
    })
}

fn set_clamps(host: &Host, thread: i32, min: u32, max: u32) -> Result<(), ControlError> {
    let call = "sched_setattr";
    let set = host.threads().set_clamps(thread, min, max);
    set.map_err(|cause| ControlError::Call {
        lever: KIND,
        call,
        cause,
    })
}

fn has_schedutil(host: &Host) -> Result<bool, ControlError> {
    for name in host.list(&Place::sys("devices/system/cpu/cpufreq"))? {
        let place = Place::sys(format!(
            "devices/system/cpu/cpufreq/{name}/scaling_governor"
        ));
        if host.read_if_there(&place)?.as_deref() == Some("schedutil") {
            return Ok(true);
        }
    }
    Ok(false)
}
