//! What must be put back should the daemon not be able to: a file that is always whole.
//!
//! Written before a lever is touched and replaced as a whole, so that a reader finds the state
//! before or after, never between. On a tmpfs such as `/run` it goes with a reboot, as the levers
//! do; elsewhere the boot's id tells that it is of another boot.

mod replaced;

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bobtail_control::{Actuator, Domain, Host, LeverKind, Place, SavedState};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::lent::Lender;

const VERSION: u32 = 1;
/// No journal that this daemon writes comes near.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    #[error("journal {}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("journal {}: {what}; put levers back by hand, then delete it", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error(
        "journal {} belongs to user {uid} with mode {mode:o}: others can make bobtaild write \
         levers by it",
        path.display()
    )]
    Foreign { path: PathBuf, uid: u32, mode: u32 },
}

/// The file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    version: u32,
    /// Of the kernel, anew at each boot.
    boot: String,
    /// Of the daemon that wrote it: another one's has been put back already.
    pub owner: String,
    /// Each lever that is or may be raised, as it was before.
    pub entries: Vec<SavedState>,
}

/// The journal of a running daemon; who has it holds its lock.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    content: Content,
    /// To the guard, which follows this journal.
    lender: Lender,
}

impl Journal {
    /// Begins a journal over whatever was there, and writes it.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or has no room to be written again.
    pub fn begin(
        path: &Path,
        host: &Host,
        owner: &str,
        entries: Vec<SavedState>,
    ) -> Result<Self, JournalError> {
        let journal = Self::of(path, host, owner, entries);
        let written = journal.write_more();
        if written.is_err() && journal.remove_empty() {
            clear(path);
        }
        written.map(|()| journal)
    }

    /// Writes what is left of a journal of which all the rest is back.
    ///
    /// # Errors
    ///
    /// When something is left and the file cannot be written: then all is listed as before.
    pub fn leave(
        path: &Path,
        host: &Host,
        owner: &str,
        left: Vec<SavedState>,
    ) -> Result<(), JournalError> {
        Self::of(path, host, owner, left).write_less()
    }

    fn of(path: &Path, host: &Host, owner: &str, entries: Vec<SavedState>) -> Self {
        Self {
            path: path.to_owned(),
            content: Content {
                version: VERSION,
                boot: boot_id(host),
                owner: owner.to_owned(),
                entries,
            },
            lender: Lender::default(),
        }
    }

    /// Lends the locks of what is in it to the guard.
    pub fn lending(mut self, lender: Lender) -> Self {
        self.lender = lender;
        self
    }

    /// Shares the locks of a lever that is in it with the guard.
    pub fn lend(&self, actuator: &dyn Actuator) {
        self.lender.lend(actuator.saved(), &actuator.locks());
    }

    /// Whether there is a guard that must be lent the locks of all that is in it.
    pub fn is_guard_behind(&self) -> bool {
        self.lender.is_behind()
    }

    /// Adds a lever that is about to be raised. When this fails it must not be.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn add(&mut self, saved: &SavedState) -> Result<(), JournalError> {
        self.forget(saved.lever, &saved.domain);
        self.content.entries.push(saved.clone());
        let written = self.write_more();
        if written.is_err() {
            self.forget(saved.lever, &saved.domain);
            // It may be in the file by now; then all that comes of it is that it is put back.
            drop(self.write_less());
        }
        written
    }

    /// Takes out a lever that is back where it was. Where there is no room for that, a journal
    /// without any other is removed, and one with others lists this one too, which at worst puts it
    /// back once more.
    ///
    /// # Errors
    ///
    /// When the file still has it.
    pub fn remove(&mut self, lever: LeverKind, domain: &Domain) -> Result<(), JournalError> {
        self.forget(lever, domain);
        self.lender.forget(lever, domain);
        self.write_less()
    }

    /// What is or may be raised.
    pub fn entries(&self) -> &[SavedState] {
        &self.content.entries
    }

    fn forget(&mut self, lever: LeverKind, domain: &Domain) {
        let other = |entry: &SavedState| entry.lever != lever || entry.domain != *domain;
        self.content.entries.retain(other);
    }

    /// Before a lever is raised: with the room to write it again, once that lever is back.
    fn write_more(&self) -> Result<(), JournalError> {
        self.write()?;
        self.reserve()
    }

    /// After a lever was put back, which has been done whatever becomes of this.
    fn write_less(&self) -> Result<(), JournalError> {
        let written = self.write();
        if written.is_ok() {
            // Who wants it later may find room then.
            drop(self.reserve());
            return Ok(());
        }
        match self.remove_empty() {
            true => Ok(()),
            false => written,
        }
    }

    /// Removes a journal that would list nothing, which takes no room; whether it is gone.
    fn remove_empty(&self) -> bool {
        if !self.content.entries.is_empty() {
            return false;
        }
        match fs::remove_file(&self.path) {
            Ok(()) => true,
            Err(cause) => cause.kind() == io::ErrorKind::NotFound,
        }
    }

    fn write(&self) -> Result<(), JournalError> {
        replaced::replace(&self.path, &self.text()?).map_err(|cause| self.io(cause))
    }

    fn reserve(&self) -> Result<(), JournalError> {
        replaced::reserve(&self.path, self.text()?.len()).map_err(|cause| self.io(cause))
    }

    fn text(&self) -> Result<Vec<u8>, JournalError> {
        serde_json::to_vec(&self.content).map_err(|cause| self.io(cause.into()))
    }

    fn io(&self, cause: io::Error) -> JournalError {
        let path = self.path.clone();
        JournalError::Io { path, cause }
    }
}

/// Reads what a daemon left; none where there is no journal, or only one of an earlier boot.
///
/// # Errors
///
/// When the file cannot be read, is damaged, or could have been written by others.
pub fn read(path: &Path, host: &Host) -> Result<Option<Content>, JournalError> {
    let io = |cause| JournalError::Io {
        path: path.to_owned(),
        cause,
    };
    let file = match replaced::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(io(cause)),
    };
    let metadata = file.metadata().map_err(io)?;
    let is_own = metadata.uid() == nix::unistd::geteuid().as_raw();
    if !is_own || metadata.mode() & 0o022 != 0 {
        return Err(JournalError::Foreign {
            path: path.to_owned(),
            uid: metadata.uid(),
            mode: metadata.mode() & 0o7777,
        });
    }
    let damaged = |what: String| JournalError::Damaged {
        path: path.to_owned(),
        what,
    };
    if !metadata.is_file() {
        return Err(damaged("it is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    let mut whole = (&*file).take(BYTES_MAX);
    whole.read_to_end(&mut bytes).map_err(io)?;
    let content: Content =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if content.version != VERSION {
        return Err(damaged(format!("version {} is not 1", content.version)));
    }
    Ok(Some(content).filter(|content| content.boot == boot_id(host)))
}

/// The file as which a journal is written before it takes its place.
pub fn written_first(path: &Path) -> PathBuf {
    replaced::spare_of(path)
}

/// Takes a journal away that tells of nothing, with what was kept for writing it.
pub fn clear(path: &Path) {
    for file in [path.to_owned(), written_first(path)] {
        // One that is not there is as good.
        drop(fs::remove_file(file));
    }
}

/// The kernel's name of this boot; empty where there is none, which then equals itself.
fn boot_id(host: &Host) -> String {
    host.read(&Place::proc("sys/kernel/random/boot_id"))
        .unwrap_or_default()
}
