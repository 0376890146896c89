//! A lever that is one value in one or more files, which the kernel keeps as it is written.
//!
//! What is left of a lever when it needs no governor, no bounds and no account.

use bobtail_policy::Speed;

use crate::actuator::{Actuator, Applied, SelfTest};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::host::{Host, Place};
use crate::knob::{self, Knob};
use crate::lever::Lever;
use crate::saved::{SavedSetting, SavedState};

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
    /// Held together with `knobs`.
    marks: Vec<Knob>,
    notation: Notation,
    is_touched: bool,
    now: Option<u32>,
}

impl PlainSetting {
    /// Opens the files of a described lever, which holds `marks` as well while it is moved.
    pub(crate) fn open(
        host: &Host,
        lever: Lever,
        places: Vec<Place>,
        marks: Vec<Knob>,
        notation: Notation,
    ) -> Result<Self, ControlError> {
        let settings = places
            .iter()
            .map(|place| SavedSetting::of_file(host, place));
        let settings = settings.collect::<Result<_, _>>()?;
        let knobs = places.into_iter().map(|place| Knob::open(host, place));
        Ok(Self {
            saved: SavedState {
                lever: lever.kind,
                domain: lever.domain.clone(),
                settings,
            },
            knobs: knobs.collect::<Result<_, _>>()?,
            marks,
            lever,
            notation,
            is_touched: false,
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
        if !self.is_touched {
            let all = self.knobs.iter_mut().chain(&mut self.marks);
            knob::hold_all(all, &self.host, &self.saved)?;
            self.is_touched = true;
        }
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
        self.now = None;
        if !std::mem::take(&mut self.is_touched) {
            return Ok(());
        }
        let restored = self.saved.restore(&self.host).into_result();
        let all = self.knobs.iter_mut().chain(&mut self.marks);
        all.for_each(Knob::let_go);
        restored
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
