//! The lock on a lever: taken before it is moved, kept until it is back.
//!
//! Let go any sooner, another owner would take what is still raised for what was before, and put
//! that back for good; and who tries again to put it back would write over what the other has set.

use std::os::fd::BorrowedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cpufreq::marks;
use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::knob::Knob;
use crate::lever::Domain;
use crate::saved::{Restored, SavedSetting, SavedState};

/// How often a lock is tried while it is waited for.
const PAUSE: Duration = Duration::from_millis(2);

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
            marks: in_one_order(places)
                .into_iter()
                .map(open)
                .collect::<Result<_, _>>()?,
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

    /// What the locks belong to. Who has these open too keeps them when this process ends; who lets
    /// go of them does so for both.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let files = self.marks.iter().filter_map(|mark| mark.file.as_ref());
        files.filter_map(Knob::descriptor).collect()
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

/// The lock on a lever that nobody has in hand, as far as its files are there; gone when dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is held, not read")] Vec<Knob>);

impl SavedState {
    /// Locks what an owner of this lever would hold, and waits at most so long for another to let
    /// go; none where it does not. Anybody who may read the files can lock them, so that who puts
    /// a lever back must not wait for ever.
    pub fn hold(&self, host: &Host, patience: Duration) -> Option<Lock> {
        let mut files = Vec::new();
        for place in self.held_places() {
            match Knob::open_to_hold(host, place) {
                Ok(file) => files.push(file),
                // What is left is for putting back, which comes before a lock.
                Err(error) if error.is_of_descriptors() => return Some(Lock(vec![])),
                // What is not there holds nobody up.
                Err(_) => {}
            }
        }
        let began = Instant::now();
        for file in &mut files {
            while matches!(file.hold(), Err(ControlError::Held { .. })) {
                if began.elapsed() >= patience {
                    return None;
                }
                sleep(PAUSE);
            }
        }
        Some(Lock(files))
    }

    /// The files that are written, and the mark that all levers of a clock have in common.
    fn held_places(&self) -> Vec<Place> {
        let cpus: &[u32] = match &self.domain {
            Domain::Cpus(cpus) => cpus,
            Domain::Group(_) | Domain::Thread(_) => &[],
        };
        let settings = self.settings.iter().filter_map(|setting| match setting {
            SavedSetting::File { place, .. } => Some(place.clone()),
            SavedSetting::Clamps { .. } => None,
        });
        // A policy has the number of a CPU of its own.
        in_one_order(settings.chain(marks(cpus)))
    }
}

/// Each once, in the order in which all hold them: of two who want the same files one has all, and
/// not each a part, and no two wait for each other.
fn in_one_order(places: impl IntoIterator<Item = Place>) -> Vec<Place> {
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by(|one, other| one.path.cmp(&other.path));
    places.dedup();
    places
}
