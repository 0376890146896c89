//! One setting of the kernel that a lever writes: opened once, written often.
//!
//! The file stays open because opening costs more than writing, and because a boost must not
//! fail when descriptors have run out meanwhile.

use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::error::ControlError;
use crate::files::KnobFile;
use crate::host::{Host, Place};

/// An open setting.
#[derive(Debug)]
pub(crate) struct Knob {
    pub(crate) place: Place,
    path: PathBuf,
    file: Box<dyn KnobFile>,
}

impl Knob {
    /// Opens a setting for writing; nothing is written yet.
    pub(crate) fn open(host: &Host, place: Place) -> Result<Self, ControlError> {
        let path = host.path(&place)?;
        match host.files().open(&path) {
            Ok(file) => Ok(Self { place, path, file }),
            Err(cause) => Err(ControlError::Open { path, cause }),
        }
    }

    /// Opens a setting that is only held, never written.
    pub(crate) fn open_to_hold(host: &Host, place: Place) -> Result<Self, ControlError> {
        let path = host.path(&place)?;
        match host.files().open_to_hold(&path) {
            Ok(file) => Ok(Self { place, path, file }),
            Err(cause) => Err(ControlError::Read { path, cause }),
        }
    }

    /// Sets a text.
    pub(crate) fn write(&mut self, value: &str) -> Result<(), ControlError> {
        self.write_bytes(value.as_bytes())
    }

    /// Sets a number, without allocating.
    pub(crate) fn write_number(&mut self, value: i64) -> Result<(), ControlError> {
        let mut text = [0_u8; 20];
        let mut rest = &mut text[..];
        // 20 bytes hold every i64, so that this cannot run out of room.
        let room_left = write!(rest, "{value}").map(|()| rest.len()).unwrap_or(0);
        self.write_bytes(&text[..text.len() - room_left])
    }

    fn write_bytes(&mut self, value: &[u8]) -> Result<(), ControlError> {
        self.file.write(value).map_err(|cause| ControlError::Write {
            path: self.path.clone(),
            value: String::from_utf8_lossy(value).into_owned(),
            cause,
        })
    }

    /// Sets a text and reads it back.
    ///
    /// # Errors
    ///
    /// [`ControlError::Ignored`] when the kernel took the value and has another one.
    pub(crate) fn write_checked(&mut self, host: &Host, value: &str) -> Result<(), ControlError> {
        self.write(value)?;
        host.expect(&self.place, value, |reads| reads == value)
    }

    /// Marks the setting as held by this process.
    ///
    /// # Errors
    ///
    /// [`ControlError::Held`] when another process holds it.
    pub(crate) fn hold(&mut self) -> Result<(), ControlError> {
        match self.file.hold() {
            Ok(true) => Ok(()),
            Ok(false) => Err(ControlError::Held {
                path: self.path.clone(),
            }),
            Err(cause) => Err(ControlError::Write {
                path: self.path.clone(),
                value: "a lock".to_owned(),
                cause,
            }),
        }
    }

    /// What the mark belongs to.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.file.descriptor()
    }

    /// Takes the mark off.
    pub(crate) fn let_go(&mut self) {
        self.file.let_go();
    }
}
