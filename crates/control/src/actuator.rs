//! The one interface of all levers: describe, apply, undo, test.
//!
//! Small on purpose: bobtaild, the probe and experiments drive any lever through it, and a new
//! lever is one file.

use std::os::fd::BorrowedFd;

use serde::Serialize;

use bobtail_policy::Speed;

use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::host::Host;
use crate::lever::Lever;
use crate::saved::{Restored, SavedState};

/// A lever in the hand of one owner.
///
/// Opening one only reads. The first [`apply`](Self::apply) takes hold of the lever and changes
/// it, so an owner writes [`saved`](Self::saved) into its journal before that. Dropping one
/// undoes it; the owner's death does not, which is what the journal is for.
pub trait Actuator: std::fmt::Debug + Send {
    /// What this lever is.
    fn lever(&self) -> &Lever;

    /// What another process needs to put everything back as it was when this was opened.
    fn saved(&self) -> &SavedState;

    /// Sets a speed; does nothing where it is set already.
    ///
    /// After the first call it neither allocates nor locks, but for the quota, which reads an
    /// account; which system calls it makes is told with each lever.
    ///
    /// # Errors
    ///
    /// When the kernel refuses the value. The lever is then where it was, or partly moved; the
    /// owner undoes it.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError>;

    /// Puts everything back as it was and lets go; later calls of `apply` take hold again. What
    /// could not be put back stays held, and another call tries it again.
    ///
    /// # Errors
    ///
    /// The first setting that could not be put back; the others are.
    fn undo(&mut self) -> Result<(), ControlError>;

    /// As [`undo`](Self::undo), and tells what became of each setting. A lever that has a lock
    /// holds it until all is back. What was never moved is not written: it may be another's by now.
    fn put_back(&mut self, _host: &Host) -> Restored {
        // Of a lever that has no settings.
        let mut restored = Restored::default();
        restored.failed.extend(self.undo().err());
        restored
    }

    /// Lets go of the lever as it stands: what reads otherwise than it was saved is somebody
    /// else's limit, and not to be put back.
    fn let_go(&mut self) {}

    /// What the locks on its files belong to, taken or not. A process that has duplicates of these
    /// keeps what is locked when this one is killed.
    fn locks(&self) -> Vec<BorrowedFd<'_>> {
        vec![]
    }

    /// Finds out whether the lever does something, by moving it; it is undone afterwards.
    ///
    /// # Errors
    ///
    /// [`ControlError::NoEffect`] or [`ControlError::Ignored`] when it does nothing.
    fn self_test(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError>;

    /// How often `apply` must be called even with the same speed, while the lever is held; none
    /// for a lever that keeps no account.
    fn upkeep_ns(&self) -> Option<u64> {
        None
    }

    /// The number of the change that was asked for last, where it is not known yet what came of it:
    /// [`outcome`](Self::outcome) tells after a later call of `apply`. None where that is known.
    fn unanswered(&self) -> Option<u32> {
        None
    }

    /// What came of a change that could only be asked for, once that is known.
    fn outcome(&mut self) -> Option<Outcome> {
        None
    }

    /// Whether what a boost took, or may still take, is to be given back, as of the last `apply`.
    /// Who lowers it for good keeps it at base until nothing is, since undoing it forgets the
    /// account.
    fn owes(&self) -> bool {
        false
    }
}

/// What an `apply` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// The value now set, in the unit of the lever's range.
    pub value: u32,
    /// Whether it was another one before.
    pub is_changed: bool,
}

/// What came of a change that was asked for, or of asking again for what should stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its number.
    pub change: u32,
    /// Where the lever stands; of several clocks where the fastest does. Where none was moved why.
    pub stands: Result<u32, String>,
    /// On how many clocks it was refused.
    pub refused: u32,
}

/// What a lever was seen to do.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelfTest {
    /// Speed at peak by speed at base, as the lever promises; none for a lever that promises none.
    pub expected: Option<f64>,
    /// The same, of real work; none where it was not measured.
    pub measured: Option<f64>,
}
