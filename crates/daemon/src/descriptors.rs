//! How many files the daemon may have open, and that some are always left.
//!
//! Each lever and each client has descriptors. A shell or a service manager gives 1024 unless told
//! otherwise, which a machine of many clocks is beyond; and with none left a lever could not be put
//! back, since that opens its files.

use std::io;
use std::os::fd::AsFd;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Kept free for putting back, for the journal, and for a guard that follows another.
const KEPT: usize = 16;

/// Takes as many as this process may have.
///
/// # Errors
///
/// The kernel's refusal, with which one goes on: fewer levers can be had.
pub fn raise_limit() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}

/// That enough are left for what must not fail.
///
/// # Errors
///
/// The kernel's refusal to give them: EMFILE of the process, ENFILE of the machine.
pub fn check_room() -> io::Result<()> {
    let stderr = io::stderr();
    let mut kept = Vec::with_capacity(KEPT);
    for _ in 0..KEPT {
        kept.push(stderr.as_fd().try_clone_to_owned()?);
    }
    Ok(())
}
