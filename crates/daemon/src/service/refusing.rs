//! What a client is told of an error.

use std::io;

use bobtail_control::ControlError;

use crate::holdings::HoldError;
use crate::protocol::Refusal;

/// A request that is not granted, with the kernel's error number if there is one.
pub(super) type Refused = (Refusal, u32);

/// A lever that is there and misses its speed is worth another try, one that is missing is not.
pub(super) fn unopened(error: &ControlError) -> Refusal {
    match error {
        ControlError::Off { .. } | ControlError::NoEffect { .. } => Refusal::SpeedOff,
        _ => Refusal::NoLever,
    }
}

pub(super) fn refusal_of(error: &HoldError) -> Refused {
    match error {
        HoldError::Lever(error) => (Refusal::LeverFailed, errno_of(error)),
        HoldError::Journal(_) => (Refusal::NoJournal, 0),
        HoldError::InTrouble | HoldError::BackingOff => (Refusal::LeverFailed, 0),
    }
}

pub(super) fn errno_of(error: &ControlError) -> u32 {
    if error.is_anothers() {
        return nix::libc::EBUSY as u32;
    }
    let errno = error.cause().and_then(io::Error::raw_os_error);
    errno.unwrap_or_default() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobtail_control::LeverKind;

    #[test]
    fn a_lever_that_misses_its_speed_is_not_one_that_is_missing() {
        let lever = LeverKind::Emulated;
        let off = ControlError::Off {
            lever,
            expected: 0.65,
            measured: 0.5,
        };
        assert_eq!(unopened(&off), Refusal::SpeedOff);
        let why = "it is imitated for experiments only".to_owned();
        let missing = ControlError::Unavailable { lever, why };
        assert_eq!(unopened(&missing), Refusal::NoLever);
    }
}
