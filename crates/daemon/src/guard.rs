//! The guard: a second process that outlives a killed daemon and puts its levers back.
//!
//! The daemon holds the writing end of the guard's stdin, so the kernel itself tells the guard of
//! the daemon's end, whatever ended it. Nothing else ends the guard: it has a session of its own
//! and no ear for signals that can be ignored.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bobtail_control::Host;
use nix::sys::signal::{SigSet, Signal};

use crate::lock::LockError;
use crate::log;
use crate::restore::{RestoreError, restore_left};

/// What could not be put back is tried again for so long, then left to the next start.
const TRIES: u32 = 100;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A journal without a daemon is looked for so often.
const STAND_PAUSE: Duration = Duration::from_millis(200);

/// Starts the guard of the daemon `owner`, and waits until it is ready.
///
/// # Errors
///
/// When it cannot be started, or ends at once.
pub fn start(root: Option<&Path>, journal: &Path, owner: &str) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg("--journal").arg(journal);
    command.arg("--guard-of").arg(owner);
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ready = [0];
    let stdout = child.stdout.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    stdout.read_exact(&mut ready)?;
    Ok(child)
}

/// The guard itself: sleeps until stdin ends, then puts back what is left.
///
/// # Errors
///
/// When the journal cannot be read or written.
pub fn watch(host: &Host, journal: &Path, owner: &str) -> Result<usize, RestoreError> {
    ignore_signals();
    // Until the daemon has written its first journal, that of the one before counts as its own.
    let before = crate::journal::read(journal, host)?.map(|content| content.owner);
    let owners = [Some(owner.to_owned()), before];
    let owners: Vec<_> = owners.iter().flatten().map(String::as_str).collect();
    // Fails where it has a session of its own already.
    let _ = nix::unistd::setsid();
    let mut stdout = io::stdout();
    drop(stdout.write_all(b"r").and_then(|()| stdout.flush()));
    let mut stdin = io::stdin();
    let mut buffer = [0; 64];
    while !matches!(stdin.read(&mut buffer), Ok(0)) {}
    let mut pause = Duration::from_millis(5);
    for _ in 0..TRIES {
        match restore_left(host, journal, Some(&owners), Duration::ZERO) {
            Ok(0) => return Ok(0),
            // A new daemon puts back before all else; until it says so, this one stays near.
            Ok(_) | Err(RestoreError::Lock(LockError::Taken(_))) => {}
            Err(error) => log::line(format_args!("guard: {error}")),
        }
        if is_taken_over(host, journal, &owners) {
            return Ok(0);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    restore_left(host, journal, Some(&owners), Duration::ZERO)
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
        Ok(None) => true,
        Err(_) => false,
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
