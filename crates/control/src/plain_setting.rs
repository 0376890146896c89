//! A lever that is one value in one or more files, which the kernel keeps as it is written.
//!
//! What is left of a lever when it needs no governor, no bounds and no account.

use std::os::fd::BorrowedFd;

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::held::Held;
use crate::host::{Host, Place};
use crate::knob::Knob;
use crate::lever::Lever;
use crate::saved::{Restored, SavedSetting, SavedState};

/// How a value is written.
#[derive(Debug)]
pub(crate) enum Notation {
    Number,
    /// The value is a place in this list.
    Words(Vec<String>),
}

/// The lever.
#[derive(Debug)]
pub struct PlainSetting {
    host: Host,
    lever: Lever,
    saved: SavedState,
    knobs: Vec<Knob>,
    held: Held,
    notation: Notation,
    now: Option<u32>,
}

impl PlainSetting {
    /// Opens the files of a described lever, which holds `marks` as well while it is moved.
    pub(crate) fn open(
        host: &Host,
        lever: Lever,
        places: Vec<Place>,
        marks: Vec<Place>,
        notation: Notation,
    ) -> Result<Self, ControlError> {
        let settings = places
            .iter()
            .map(|place| SavedSetting::of_file(host, place));
        let settings = settings.collect::<Result<_, _>>()?;
        let held = Held::open(host, places.iter().cloned().chain(marks))?;
        let knobs = places.into_iter().map(|place| Knob::open(host, place));
        Ok(Self {
            saved: SavedState {
                lever: lever.kind,
                domain: lever.domain.clone(),
                settings,
            },
            knobs: knobs.collect::<Result<_, _>>()?,
            held,
            lever,
            notation,
            now: None,
            host: host.clone(),
        })
    }

    fn check(&self, value: u32) -> Result<(), ControlError> {
        let wrote = match &self.notation {
            Notation::Number => value.to_string(),
            Notation::Words(words) => words[value as usize].clone(),
        };
        self.knobs.iter().try_for_each(|knob| {
            self.host
                .expect(&knob.place, &wrote, |reads| reads == wrote)
        })
    }
}

impl Actuator for PlainSetting {
    fn lever(&self) -> &Lever {
        &self.lever
    }

    fn saved(&self) -> &SavedState {
        &self.saved
    }

    /// One system call per file.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let value = self.lever.range.value(self.lever.kind, speed)?;
        let is_changed = self.now != Some(value);
        self.held.take(&self.host, &self.saved)?;
        if is_changed {
            for knob in &mut self.knobs {
                match &self.notation {
                    Notation::Number => knob.write_number(value.into())?,
                    Notation::Words(words) => knob.write(&words[value as usize])?,
                }
            }
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
        self.held.put_back(host, &self.saved)
    }

    fn let_go(&mut self) {
        self.held.let_go();
    }

    fn locks(&self) -> Vec<BorrowedFd<'_>> {
        self.held.descriptors()
    }

    /// That the kernel keeps both values; such a setting promises no speed.
    fn self_test(&mut self, _: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        let outcome = [Speed::Base, Speed::Peak]
            .into_iter()
            .try_for_each(|speed| {
                let value = self.apply(speed)?.value;
                self.check(value)
            });
        let undone = self.undo();
        outcome?;
        undone?;
        Ok(SelfTest::default())
    }
}

impl Drop for PlainSetting {
    fn drop(&mut self) {
        // Nobody is left to tell; what could not be put back is in the owner's journal.
        drop(self.undo());
    }
}
