//! Who may write a journal or listen on a socket: one process at a time.
//!
//! A lock of the kernel (flock) instead of a file with a pid in it: it is gone with its owner,
//! however that ended, and cannot be mistaken for another process of the same number.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;

/// How often a lock is tried while waiting.
const PAUSE: Duration = Duration::from_millis(5);

/// A lock that is held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    file: Flock<File>,
    path: PathBuf,
    /// Nobody had made the file before.
    is_new: bool,
}

#[derive(Debug, Error)]
pub enum LockError {
    #[error("{}: another bobtaild has it", .0.display())]
    Taken(PathBuf),
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
}

impl Lock {
    /// Takes the lock that guards `path`, waiting at most so long for another to let go.
    ///
    /// # Errors
    ///
    /// [`LockError::Taken`] when another process still has it, else why there can be none.
    pub fn take(path: &Path, wait: Duration) -> Result<Self, LockError> {
        let path = path_of(path);
        let io = |cause| LockError::Io {
            path: path.clone(),
            cause,
        };
        let started = Instant::now();
        loop {
            let (file, is_new) = open(&path).map_err(io)?;
            match Self::hold(&path, file, is_new) {
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) => continue,
                Err(Errno::EWOULDBLOCK) if started.elapsed() >= wait => {
                    return Err(LockError::Taken(path));
                }
                Err(Errno::EWOULDBLOCK | Errno::EINTR) => {}
                Err(errno) => return Err(io(errno.into())),
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// None where its owner has discarded the file since it was opened: whoever comes next would
    /// lock another one.
    fn hold(path: &Path, file: File, is_new: bool) -> Result<Option<Self>, Errno> {
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        let file = file.map_err(|(_, errno)| errno)?;
        let path = path.to_owned();
        Ok(is_at(&path, &file).then_some(Self { file, path, is_new }))
    }

    /// Lets go of a lock that was of no use, and leaves no file behind that was not there before.
    /// Who has opened that file meanwhile has not locked it, and sees that it is gone when it has.
    pub fn discard(self) {
        if self.is_new && is_at(&self.path, &self.file) {
            // One that cannot be removed is in nobody's way.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Opens a lock's file, and whether it was made by that.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    let options = options.write(true).mode(0o600);
    let options = options.custom_flags(nix::libc::O_NOFOLLOW);
    loop {
        match options.clone().create_new(true).open(path) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, true)),
        }
        match options.open(path) {
            // Discarded meanwhile.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            found => return Ok((found?, false)),
        }
    }
}

/// Whether the file is still the one of this name.
pub(crate) fn is_at(path: &Path, file: &File) -> bool {
    let number = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let named = std::fs::symlink_metadata(path).map(number);
    matches!((named, file.metadata().map(number)), (Ok(named), Ok(held)) if named == held)
}

/// The file that is locked for `path`.
pub fn path_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    const NO_WAIT: Duration = Duration::ZERO;

    /// What is locked, in a folder of its own.
    fn place() -> (Folder, PathBuf) {
        let folder = Folder::new();
        let journal = folder.0.join("journal.json");
        (folder, journal)
    }

    #[test]
    fn only_a_file_that_was_not_there_goes_with_its_lock() {
        let (_folder, journal) = place();
        let file = path_of(&journal);
        Lock::take(&journal, NO_WAIT).expect("made").discard();
        assert!(!file.exists());
        drop(Lock::take(&journal, NO_WAIT).expect("made"));
        Lock::take(&journal, NO_WAIT).expect("found").discard();
        assert!(file.exists(), "somebody had it before");
    }

    #[test]
    fn who_waited_for_a_lock_that_was_discarded_has_one_that_others_see() {
        let (_folder, journal) = place();
        let first = Lock::take(&journal, NO_WAIT).expect("free");
        let of = journal.clone();
        let waiting = std::thread::spawn(move || Lock::take(&of, Duration::from_secs(60)));
        // It has the file open by then, of which this shows nothing.
        std::thread::sleep(Duration::from_millis(50));
        first.discard();
        let _second = waiting.join().expect("no panic").expect("a lock");
        let third = Lock::take(&journal, NO_WAIT);
        assert!(matches!(third, Err(LockError::Taken(_))), "{third:?}");
    }

    #[test]
    fn a_lock_on_a_file_that_was_discarded_is_none() {
        let (_folder, journal) = place();
        let first = Lock::take(&journal, NO_WAIT).expect("free");
        let file = path_of(&journal);
        let opened = || open(&file).expect("opened").0;
        let (early, late) = (opened(), opened());
        first.discard();
        assert!(Lock::hold(&file, early, false).expect("free").is_none());
        let _second = Lock::take(&journal, NO_WAIT).expect("another file");
        assert!(Lock::hold(&file, late, false).expect("free").is_none());
    }
}
