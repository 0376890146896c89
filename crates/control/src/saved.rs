//! What was before a lever was moved, as data that another process can put back.
//!
//! An owner that is killed cannot undo anything. So this is complete before anything is changed,
//! plain, and names no file outside the kernel's roots.

use serde::{Deserialize, Serialize};

use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::knob::Knob;
use crate::lever::{Domain, LeverKind};
use crate::uclamp;

/// The settings of one lever as they were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedState {
    pub lever: LeverKind,
    pub domain: Domain,
    /// In the order in which they must be written.
    pub settings: Vec<SavedSetting>,
}

/// One setting as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SavedSetting {
    /// The text of a file.
    File { place: Place, value: String },
    /// The utilization clamps of a thread, which is the one that started then (ticks since boot).
    Clamps {
        thread: i32,
        started: u64,
        min: u32,
        max: u32,
    },
}

/// What became of putting settings back.
#[derive(Debug, Default)]
pub struct Restored {
    /// Settings that are now as they were.
    pub restored: usize,
    /// Settings that no longer exist (an offline CPU, a removed group, an ended thread).
    pub gone: usize,
    /// Settings that took their old value and show another: somebody else limits them too.
    pub differing: Vec<ControlError>,
    /// Settings that refused their old value.
    pub failed: Vec<ControlError>,
}

impl SavedState {
    /// Puts every setting back, also those after one that fails; repeating it does no harm.
    ///
    /// A setting may refuse its value until a later one is back (a minimum above the current
    /// maximum), so what failed is tried once more after the others.
    pub fn restore(&self, host: &Host) -> Restored {
        let mut result = Restored::default();
        let mut refused = Vec::new();
        for setting in &self.settings {
            if !result.count(setting.restore(host)) {
                refused.push(setting);
            }
        }
        if !refused.is_empty() {
            result.failed.clear();
            for setting in refused {
                result.count(setting.restore(host));
            }
        }
        result
    }
}

impl SavedState {
    /// That every file still says what was saved of it.
    ///
    /// # Errors
    ///
    /// [`ControlError::Changed`] for the first that does not.
    pub fn check_unchanged(&self, host: &Host) -> Result<(), ControlError> {
        for setting in &self.settings {
            let SavedSetting::File { place, value } = setting else {
                continue;
            };
            let reads = host.read(place)?;
            if reads != *value {
                return Err(ControlError::Changed {
                    path: host.path(place)?,
                    was: value.clone(),
                    reads,
                });
            }
        }
        Ok(())
    }
}

impl Restored {
    /// Counts one outcome; false for a refusal.
    fn count(&mut self, outcome: Result<(), ControlError>) -> bool {
        match outcome {
            Ok(()) => self.restored += 1,
            Err(error) if error.is_gone() => self.gone += 1,
            Err(error @ ControlError::Ignored { .. }) => self.differing.push(error),
            Err(error) => {
                self.failed.push(error);
                return false;
            }
        }
        true
    }

    /// The first setting that is not as it was.
    ///
    /// # Errors
    ///
    /// That setting's.
    pub fn into_result(self) -> Result<(), ControlError> {
        let not_back = self.failed.into_iter().chain(self.differing).next();
        not_back.map_or(Ok(()), Err)
    }
}

impl SavedSetting {
    /// What a file says now.
    pub(crate) fn of_file(host: &Host, place: &Place) -> Result<Self, ControlError> {
        Ok(Self::File {
            place: place.clone(),
            value: host.read(place)?,
        })
    }

    fn restore(&self, host: &Host) -> Result<(), ControlError> {
        match self {
            Self::File { place, value } => restore_file(host, place, value),
            Self::Clamps {
                thread,
                started,
                min,
                max,
            } => uclamp::restore(host, *thread, *started, (*min, *max)),
        }
    }
}

/// Writes also where the file says it already: what was raised a moment ago may not show yet. The
/// file is closed before it is read, since there may be no more than one descriptor left.
fn restore_file(host: &Host, place: &Place, value: &str) -> Result<(), ControlError> {
    let written = Knob::open(host, place.clone()).and_then(|mut knob| knob.write(value));
    match written {
        Ok(()) => host.expect(place, value, |reads| reads == value),
        // Not the setting refuses, so that what it says tells nothing of it.
        Err(error) if error.is_of_descriptors() => Err(error),
        // A refused one is back only if nothing else shows for as long as it may.
        Err(_) if host.read_settled(place, |reads| reads != value)? == *value => Ok(()),
        Err(error) => Err(error),
    }
}
