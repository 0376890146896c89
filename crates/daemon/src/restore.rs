//! Puts levers back that an owner left: what the daemon, its guard and its next start have in
//! common.
//!
//! A lever that is gone is not done: a CPU that comes back online has the bounds it had before.

use std::path::Path;
use std::time::{Duration, Instant};

use bobtail_control::{ControlError, Domain, Host, Restored, SavedState};
use thiserror::Error;

use crate::journal::{self, Journal, JournalError};
use crate::lent::{Lent, Whose};
use crate::lock::{Lock, LockError};
use crate::log;

/// Locks that are not this process's are waited for so long in all, then what they are on is put
/// back all the same: anybody who may read the files can lock them, and must not keep a lever
/// raised by it. A guard that has the lock is through long before.
const LOCK_PATIENCE: Duration = Duration::from_millis(200);

/// What became of one lever.
#[derive(Debug)]
pub enum Outcome {
    /// Everything took its old value; the errors say what reads as another one all the same.
    Back(Vec<ControlError>),
    /// It does not exist now.
    Gone,
    /// It could not be put back; worth another try.
    Refused(ControlError),
}

/// Puts one lever back that nobody has in hand.
pub fn put_back(host: &Host, saved: &SavedState) -> Outcome {
    outcome(saved.restore(host), &saved.domain)
}

/// What became of a lever whose settings were put back so.
pub fn outcome(restored: Restored, domain: &Domain) -> Outcome {
    if let Some(error) = restored.failed.into_iter().next() {
        return Outcome::Refused(error);
    }
    if restored.gone > 0 && matches!(domain, Domain::Cpus(_)) {
        return Outcome::Gone;
    }
    Outcome::Back(restored.differing)
}

/// Puts back all that it can, each under its lock, with a line for each; what is left over. Of
/// what was `lent` nothing is written that another owner has by now.
pub fn put_all_back(host: &Host, entries: Vec<SavedState>, lent: &mut Lent) -> Vec<SavedState> {
    let began = Instant::now();
    let mut left = Vec::new();
    for saved in entries {
        let name = name(&saved);
        let _lock = match lent.hold(&saved) {
            Whose::Own => None,
            Whose::Anothers => {
                log::line(format_args!("{name} was back, and is another owner's now"));
                lent.forget(saved.lever, &saved.domain);
                continue;
            }
            Whose::Unknown => saved.hold(host, LOCK_PATIENCE.saturating_sub(began.elapsed())),
        };
        let outcome = put_back(host, &saved);
        if matches!(outcome, Outcome::Back(_)) {
            lent.forget(saved.lever, &saved.domain);
        }
        match outcome {
            Outcome::Back(differing) => match differing.first() {
                None => log::line(format_args!("put back {name}")),
                Some(error) => log::line(format_args!("put back {name}, but {error}")),
            },
            Outcome::Gone => {
                log::line(format_args!(
                    "{name} is not there now; will be put back later"
                ));
                left.push(saved);
            }
            Outcome::Refused(error) => {
                log::line(format_args!("cannot put back {name}: {error}"));
                left.push(saved);
            }
        }
    }
    left
}

/// Waits until nobody has the locks of levers that are back, for as long as a lock may be waited
/// for: the guard of the daemon before has them until it sees that it was followed, and who asks
/// meanwhile would be refused.
pub fn wait_for_locks(host: &Host, entries: &[SavedState]) {
    let began = Instant::now();
    for saved in entries {
        drop(saved.hold(host, LOCK_PATIENCE.saturating_sub(began.elapsed())));
    }
}

/// A lever and its domain, for people.
pub fn name(saved: &SavedState) -> String {
    match &saved.domain {
        Domain::Cpus(cpus) => match (cpus.first(), cpus.last()) {
            (Some(first), Some(last)) if first != last => {
                format!("{} of CPUs {first} to {last}", saved.lever)
            }
            _ => format!("{} of CPU {}", saved.lever, cpus.first().unwrap_or(&0)),
        },
        Domain::Group(group) => format!("{} of group {group}", saved.lever),
        Domain::Thread(thread) => format!("{} of thread {thread}", saved.lever),
    }
}

#[derive(Debug, Error)]
pub enum RestoreError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Puts back what a daemon that is no longer there left in its journal; how much could not be.
/// With `owners`, does nothing where yet another daemon has written since: that one has
/// done it.
///
/// # Errors
///
/// When a daemon is there, or the journal cannot be read or written.
pub fn restore_left(
    host: &Host,
    path: &Path,
    owners: Option<&[&str]>,
    wait: Duration,
) -> Result<usize, RestoreError> {
    let lock = Lock::take(path, wait)?;
    let restored = restore_locked(&lock, host, path, owners, &mut Lent::default());
    if restored.is_err() {
        // Such as of a file that is no journal.
        lock.discard();
    }
    restored
}

/// Likewise for who has the journal's lock already.
///
/// # Errors
///
/// When the journal cannot be read or written.
pub fn restore_locked(
    _: &Lock,
    host: &Host,
    path: &Path,
    owners: Option<&[&str]>,
    lent: &mut Lent,
) -> Result<usize, RestoreError> {
    let Some(content) = journal::read(path, host)? else {
        return Ok(0);
    };
    let is_another = owners.is_some_and(|owners| !owners.contains(&content.owner.as_str()));
    if is_another || content.entries.is_empty() {
        return Ok(0);
    }
    let left = put_all_back(host, content.entries, lent);
    let count = left.len();
    Journal::leave(path, host, &content.owner, left)?;
    Ok(count)
}
