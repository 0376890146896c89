//! The lock on a lever: taken before it is moved, kept until it is back.
//!
//! Let go any sooner, another owner would take what is still raised for what was before, and put
//! that back for good; and who tries again to put it back would write over what the other has set.

use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::knob::Knob;
use crate::lever::Domain;
use crate::saved::{Restored, SavedState};

/// The files that the owner of one lever holds.
#[derive(Debug)]
pub(crate) struct Held {
    marks: Vec<Mark>,
    /// Moved, and not known to be back.
    is_taken: bool,
}

#[derive(Debug)]
struct Mark {
    place: Place,
    /// None once the file is gone: a lock on it would not be one on the file that comes after it.
    file: Option<Knob>,
}

impl Held {
    /// Opens the files that are held together; nothing is held yet.
    pub(crate) fn open(
        host: &Host,
        places: impl IntoIterator<Item = Place>,
    ) -> Result<Self, ControlError> {
        let open = |place: Place| {
            Ok(Mark {
                file: Some(Knob::open_to_hold(host, place.clone())?),
                place,
            })
        };
        Ok(Self {
            marks: places.into_iter().map(open).collect::<Result<_, _>>()?,
            is_taken: false,
        })
    }

    /// Holds all of the files, or none; does nothing where the lever is not back yet.
    ///
    /// What was saved is looked at again: another owner may have had the lever when it was read and
    /// let go since, and what that one raised must not be taken for what was before.
    ///
    /// # Errors
    ///
    /// The first that another process holds, or that is not as it was saved.
    pub(crate) fn take(&mut self, host: &Host, saved: &SavedState) -> Result<(), ControlError> {
        if self.is_taken {
            return Ok(());
        }
        let held = self.hold(host).and_then(|()| saved.check_unchanged(host));
        match held {
            Ok(()) => self.is_taken = true,
            Err(_) => self.let_go(),
        }
        held
    }

    /// Whether the lever was taken and is not known to be back.
    pub(crate) fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Puts a lever back that was taken, under its lock, and lets go of it if it is back. One
    /// whose CPU is offline is not: the CPU comes back with what was set.
    pub(crate) fn put_back(&mut self, host: &Host, saved: &SavedState) -> Restored {
        if !self.is_taken {
            return Restored::default();
        }
        if let Err(error) = self.hold(host) {
            let mut restored = Restored::default();
            restored.failed.push(error);
            return restored;
        }
        let mut restored = saved.restore(host);
        // Read once more: what was raised a moment ago may show only now.
        let is_told = !restored.failed.is_empty() || !restored.differing.is_empty();
        if let (false, Err(ControlError::Changed { path, was, reads })) =
            (is_told, saved.check_unchanged(host))
        {
            restored.restored = restored.restored.saturating_sub(1);
            let wrote = was;
            let ignored = ControlError::Ignored { path, wrote, reads };
            restored.differing.push(ignored);
        }
        if restored.gone > 0 {
            self.forget_gone(host);
        }
        let may_come_back = restored.gone > 0 && matches!(saved.domain, Domain::Cpus(_));
        if restored.failed.is_empty() && restored.differing.is_empty() && !may_come_back {
            self.let_go();
        }
        restored
    }

    /// Lets go of the lever as it stands.
    pub(crate) fn let_go(&mut self) {
        self.is_taken = false;
        let files = self.marks.iter_mut().filter_map(|mark| mark.file.as_mut());
        files.for_each(Knob::let_go);
    }

    /// Holds each file that is there; a held one stays so.
    fn hold(&mut self, host: &Host) -> Result<(), ControlError> {
        for mark in &mut self.marks {
            let file = match mark.file.take() {
                Some(file) => Ok(file),
                None => Knob::open_to_hold(host, mark.place.clone()),
            };
            match file {
                Ok(file) => mark.file.insert(file).hold()?,
                Err(error) if error.is_gone() && self.is_taken => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn forget_gone(&mut self, host: &Host) {
        for mark in &mut self.marks {
            if host.read(&mark.place).is_err_and(|error| error.is_gone()) {
                mark.file = None;
            }
        }
    }
}
