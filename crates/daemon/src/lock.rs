//! Who may write a journal or listen on a socket: one process at a time.
//!
//! A lock of the kernel (flock) instead of a file with a pid in it: it is gone with its owner,
//! however that ended, and cannot be mistaken for another process of the same number.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;

/// How often a lock is tried while waiting.
const PAUSE: Duration = Duration::from_millis(5);

/// A lock that is held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is held, not read")] Flock<File>);

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
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(&path)
            .map_err(io)?;
        let started = Instant::now();
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(Self(lock)),
                Err((_, Errno::EWOULDBLOCK)) if started.elapsed() >= wait => {
                    return Err(LockError::Taken(path));
                }
                Err((back, Errno::EWOULDBLOCK | Errno::EINTR)) => file = back,
                Err((_, errno)) => return Err(io(errno.into())),
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The file that is locked for `path`.
pub fn path_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}
