//! The guard: a second process that outlives a killed daemon and puts its levers back.
//!
//! The daemon holds the other end of the guard's stdin, a socket, so the kernel itself tells the
//! guard of the daemon's end, whatever ended it; and the locks of its levers are the guard's too.
//! Nothing else ends the guard: it has a session of its own and no ear for signals that can be
//! ignored.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bobtail_control::Host;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

use crate::lent;
use crate::lock::{Lock, LockError};
use crate::log;
use crate::remembered::Remembered;
use crate::restore::{RestoreError, restore_left, restore_locked};

/// What could not be put back is tried again for so long, then left to the next start.
const TRIED_FOR: Duration = Duration::from_secs(180);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A new daemon that puts back waits for the locks that this guard has until it has taken over.
const TAKEN_PAUSE: Duration = Duration::from_millis(5);
/// A journal without a daemon is looked for so often.
const STAND_PAUSE: Duration = Duration::from_millis(200);

/// A guard says that it watches within some ms; one that hangs must not hang the daemon too, which
/// serves nobody meanwhile.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// A guard, as its daemon has it.
#[derive(Debug)]
pub struct Guard {
    pub child: Child,
    /// To its stdin, which ends with the last of these.
    pub line: Rc<OwnedFd>,
}

/// Starts the guard of the daemon `owner`, and waits until it is ready.
///
/// # Errors
///
/// When it cannot be started, or ends at once.
pub fn start(root: Option<&Path>, journal: &Path, owner: &str) -> io::Result<Guard> {
    let (line, stdin) = socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_CLOEXEC,
    )?;
    let mut command = Command::new("/proc/self/exe");
    command.arg("--journal").arg(journal);
    command.arg("--guard-of").arg(owner);
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    let mut child = command
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::piped())
        .spawn()?;
    // Its copy of the guard's end; the socket would not end for the guard otherwise.
    drop(command);
    if let Err(cause) = wait_until_ready(&mut child, READY_WITHIN) {
        // It would stay a zombie, one for each try, until its parent ends.
        drop(child.kill());
        drop(child.wait());
        return Err(cause);
    }
    let line = Rc::new(line);
    Ok(Guard { child, line })
}

/// Waits for the byte that a guard says once it watches.
fn wait_until_ready(child: &mut Child, patience: Duration) -> io::Result<()> {
    let stdout = child.stdout.as_mut().ok_or(ErrorKind::BrokenPipe)?;
    let began = Instant::now();
    loop {
        let left = patience.saturating_sub(began.elapsed());
        let left = left.try_into().unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)], left) {
            Ok(0) => {
                let what = format!("it does not watch within {} ms", patience.as_millis());
                return Err(io::Error::new(ErrorKind::TimedOut, what));
            }
            Ok(_) => return stdout.read_exact(&mut [0]),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Tells a guard that nothing is left to be put back, so that it goes home though the journal, and
/// the folder that it was in, may be gone when it looks.
pub fn dismiss(guard: &Guard) {
    // One that has ended already needs no telling.
    let _ = lent::send_home(&guard.line);
}

/// The guard itself: sleeps until stdin ends, then puts back what is left.
///
/// # Errors
///
/// When the journal cannot be read or written.
pub fn watch(host: &Host, journal: &Path, owner: &str) -> Result<usize, RestoreError> {
    ignore_signals();
    let mut remembered = Remembered::of(host, journal, owner)?;
    // Fails where it has a session of its own already.
    let _ = nix::unistd::setsid();
    let mut stdout = io::stdout();
    drop(stdout.write_all(b"r").and_then(|()| stdout.flush()));
    if remembered.watch_until_stdin_ends(host) {
        return Ok(0);
    }
    let mut pause = Duration::from_millis(5);
    let began = Instant::now();
    while began.elapsed() < TRIED_FOR {
        let mut longest = LONGEST_PAUSE;
        match put_back_left(host, journal, &mut remembered) {
            Ok(0) => return Ok(0),
            // A new daemon puts back before all else; until it says so, this one stays near.
            Err(RestoreError::Lock(LockError::Taken(_))) => longest = TAKEN_PAUSE,
            Ok(_) => {}
            Err(error) => log::line(format_args!("guard: {error}")),
        }
        if is_taken_over(host, journal, &remembered.owners()) {
            return Ok(0);
        }
        std::thread::sleep(pause.min(longest));
        pause = (pause * 2).min(longest);
    }
    put_back_left(host, journal, &mut remembered)
}

/// Puts back what the journal says, or what it said when it was last there.
fn put_back_left(
    host: &Host,
    journal: &Path,
    remembered: &mut Remembered,
) -> Result<usize, RestoreError> {
    let lock = match Lock::take(journal, Duration::ZERO) {
        // The lock of a daemon that lives would be in the folder that is gone.
        Err(LockError::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
            return Ok(remembered.put_back(host));
        }
        lock => lock?,
    };
    if crate::journal::read(journal, host)?.is_none() {
        return Ok(remembered.put_back(host));
    }
    let mut lent = std::mem::take(&mut remembered.lent);
    let restored = restore_locked(&lock, host, journal, Some(&remembered.owners()), &mut lent);
    remembered.lent = lent;
    restored
}

/// A guard that stays: puts back whatever any daemon leaves in that journal, until it is ended.
/// For where a guard of the daemon's own would die with it, as in a container.
pub fn stand(host: &Host, journal: &Path) -> ! {
    let mut pause = STAND_PAUSE;
    loop {
        let left = restore_left(host, journal, None, Duration::ZERO);
        pause = match left {
            Ok(0) | Err(RestoreError::Lock(LockError::Taken(_))) => STAND_PAUSE,
            Ok(_) => (pause * 2).min(LONGEST_PAUSE),
            Err(error) => {
                log::line(format_args!("guard: {error}"));
                (pause * 2).min(LONGEST_PAUSE)
            }
        };
        std::thread::sleep(pause);
    }
}

/// Whether a daemon has written the journal since this guard's own.
fn is_taken_over(host: &Host, journal: &Path, owners: &[&str]) -> bool {
    match crate::journal::read(journal, host) {
        Ok(Some(content)) => !owners.contains(&content.owner.as_str()),
        // One that is gone has nobody's word that anything was put back.
        Ok(None) | Err(_) => false,
    }
}

fn ignore_signals() {
    let signals = SigSet::from_iter([
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGPIPE,
    ]);
    // Only a number that is no signal makes it fail.
    let _ = signals.thread_block();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ended children of this process that nobody has waited for.
    fn zombies() -> usize {
        let own = format!(") Z {} ", std::process::id());
        let entries = std::fs::read_dir("/proc").expect("processes");
        let stats = entries
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok());
        stats.filter(|stat| stat.contains(&own)).count()
    }

    #[test]
    fn a_guard_that_ends_before_it_is_ready_is_waited_for() {
        // Started again, this test's program knows no such arguments, and ends.
        let error = start(None, Path::new("/nowhere/journal.json"), "nobody").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(zombies(), 0);
    }

    #[test]
    fn a_guard_that_says_nothing_is_not_waited_for_longer_than_it_may_take() {
        let mut command = Command::new("sleep");
        let command = command.arg("60").stdout(Stdio::piped());
        let mut child = command.spawn().expect("sleep");
        let began = Instant::now();
        let waited = wait_until_ready(&mut child, Duration::from_millis(50));
        assert!(began.elapsed() < Duration::from_secs(30));
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert_eq!(waited.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
