//! What can be wrong with a lever, with the file and the value that were refused.
//!
//! The kernel's own error is kept, because EACCES, EROFS and EBUSY ask for different remedies.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::lever::{LeverKind, Unit};
use crate::syscalls;

/// Why a lever cannot be used, or did not do what it was told.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    #[error("{} cannot be read: {cause}{}", path.display(), remedy(cause))]
    Read { path: PathBuf, cause: io::Error },
    #[error("{} cannot be opened to write: {cause}{}", path.display(), remedy(cause))]
    Open { path: PathBuf, cause: io::Error },
    #[error("{} does not take \"{value}\": {cause}{}", path.display(), remedy(cause))]
    Write {
        path: PathBuf,
        value: String,
        cause: io::Error,
    },
    #[error("{} is \"{value}\", not {expected}", path.display())]
    Malformed {
        path: PathBuf,
        value: String,
        expected: &'static str,
    },
    #[error("{} took \"{wrote}\" and says \"{reads}\"", path.display())]
    Ignored {
        path: PathBuf,
        wrote: String,
        reads: String,
    },
    #[error("{} is held by another process", path.display())]
    Held { path: PathBuf },
    #[error("{} was \"{was}\" and is \"{reads}\" now that it is held", path.display())]
    Changed {
        path: PathBuf,
        was: String,
        reads: String,
    },
    #[error("{} leads out of its tree", path.display())]
    Outside { path: PathBuf },
    #[error("{what} of {value} {unit}: {lever} allows {lowest} to {highest} {unit}")]
    OutOfRange {
        lever: LeverKind,
        what: &'static str,
        value: u32,
        lowest: u32,
        highest: u32,
        unit: Unit,
    },
    #[error("{lever} has no frequencies, so {khz} kHz means nothing to it")]
    NotAFrequency { lever: LeverKind, khz: u32 },
    #[error("{lever}: {call} failed: {cause}{}", remedy(cause))]
    Call {
        lever: LeverKind,
        call: &'static str,
        cause: io::Error,
    },
    #[error("{lever} is not available: {why}")]
    Unavailable { lever: LeverKind, why: String },
    #[error("{lever} does nothing: expected {expected:.2} times the speed, found {measured:.2}")]
    NoEffect {
        lever: LeverKind,
        expected: f64,
        measured: f64,
    },
    #[error("neither powercap nor perf has a package of a processor that counts energy")]
    NoCounter,
    #[error("{} is not counted by perf: {cause}{}", event.display(), remedy_of_perf(cause))]
    Perf { event: PathBuf, cause: io::Error },
    #[error("{lever} is off: expected {expected:.3} of full speed, found {measured:.3}")]
    Off {
        lever: LeverKind,
        expected: f64,
        measured: f64,
    },
}

impl ControlError {
    /// Stable name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "BOBTAIL_LEVER_READ",
            Self::Open { .. } => "BOBTAIL_LEVER_OPEN",
            Self::Write { .. } => "BOBTAIL_LEVER_WRITE",
            Self::Malformed { .. } => "BOBTAIL_LEVER_MALFORMED",
            Self::Ignored { .. } => "BOBTAIL_LEVER_IGNORED",
            Self::Held { .. } => "BOBTAIL_LEVER_HELD",
            Self::Changed { .. } => "BOBTAIL_LEVER_CHANGED",
            Self::Outside { .. } => "BOBTAIL_LEVER_OUTSIDE",
            Self::OutOfRange { .. } => "BOBTAIL_LEVER_RANGE",
            Self::NotAFrequency { .. } => "BOBTAIL_LEVER_NOT_A_FREQUENCY",
            Self::Call { .. } => "BOBTAIL_LEVER_CALL",
            Self::Unavailable { .. } => "BOBTAIL_LEVER_UNAVAILABLE",
            Self::NoEffect { .. } => "BOBTAIL_LEVER_NO_EFFECT",
            Self::NoCounter => "BOBTAIL_ENERGY_NO_COUNTER",
            Self::Perf { .. } => "BOBTAIL_ENERGY_PERF",
            Self::Off { .. } => "BOBTAIL_LEVER_OFF",
        }
    }

    /// Whether the lever is or was in the hand of another owner: nothing of it was moved, and what
    /// stands there is not this one's to put back.
    pub fn is_anothers(&self) -> bool {
        matches!(self, Self::Held { .. } | Self::Changed { .. })
    }

    /// Whether there were no descriptors left, of the process or of the machine.
    pub fn is_of_descriptors(&self) -> bool {
        let errno = self.cause().and_then(io::Error::raw_os_error);
        matches!(errno, Some(libc::EMFILE | libc::ENFILE))
    }

    /// The kernel's own error, if it is one.
    pub fn cause(&self) -> Option<&io::Error> {
        match self {
            Self::Read { cause, .. }
            | Self::Open { cause, .. }
            | Self::Write { cause, .. }
            | Self::Call { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// Whether what the error speaks of is no longer there: an offline CPU, a removed group.
    pub fn is_gone(&self) -> bool {
        let errno = self.cause().and_then(io::Error::raw_os_error);
        matches!(errno, Some(libc::ENOENT | libc::ENODEV | libc::ESRCH))
    }
}

/// What to do about an error of the kernel that most hosts give; empty for the others.
fn remedy(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) if syscalls::is_root() => {
            "; root may not either, as in many containers: bobtaild on the host can"
        }
        Some(libc::EACCES | libc::EPERM) => "; it needs root, or bobtaild",
        Some(libc::EROFS) => "; a container mounts it read-only, bobtaild on the host can write it",
        _ => "",
    }
}

/// Likewise of a counter of perf.
fn remedy_of_perf(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "; it needs root, CAP_PERFMON, or kernel.perf_event_paranoid of 0"
        }
        _ => "",
    }
}
