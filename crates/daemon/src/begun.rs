//! What a start makes before it serves, and takes away again where it fails.
//!
//! A path that was mistyped must not be given a lock beside it, nor a journal. What a lever still
//! needs stays: a guard that has something to put back keeps the journal and its lock.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bobtail_control::Host;

use crate::config::Config;
use crate::guard::{self, Guard};
use crate::journal;
use crate::lock::{Lock, LockError};

/// A guard or a daemon that is ending lets go in this time.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Dropped, it is undone.
pub(crate) struct Begun {
    host: Host,
    journal: PathBuf,
    locks: Vec<Lock>,
    guard: Option<Guard>,
    /// Of the daemon before.
    has_journal: bool,
    has_entries: bool,
}

impl Begun {
    /// Takes the locks of journal and socket.
    pub(crate) fn take(host: &Host, config: &Config) -> Result<Self, LockError> {
        let mut begun = Self {
            host: host.clone(),
            journal: config.journal.clone(),
            locks: Vec::new(),
            guard: None,
            has_journal: fs::symlink_metadata(&config.journal).is_ok(),
            has_entries: false,
        };
        for path in [&config.journal, &config.socket] {
            begun.locks.push(Lock::take(path, LOCK_WAIT)?);
        }
        Ok(begun)
    }

    /// The machine whose levers it is about.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// From now on there is a guard, and before it there were entries in the journal, or none.
    pub(crate) fn guarded_by(&mut self, guard: Guard, has_entries: bool) {
        self.guard = Some(guard);
        self.has_entries = has_entries;
    }

    /// It serves: all that was made is wanted.
    pub(crate) fn keep(mut self) -> (Option<Guard>, Vec<Lock>) {
        (self.guard.take(), std::mem::take(&mut self.locks))
    }

    fn is_all_back(&self) -> bool {
        match journal::read(&self.journal, &self.host) {
            Ok(Some(content)) => content.entries.is_empty(),
            Ok(None) => !self.has_entries,
            Err(_) => false,
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(guard) = &self.guard {
            if !self.is_all_back() {
                return;
            }
            // It would look for the journal, and take its lock for that.
            guard::dismiss(guard);
            if !self.has_journal {
                journal::clear(&self.journal);
            }
        }
        self.locks.drain(..).for_each(Lock::discard);
    }
}
