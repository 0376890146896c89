//! The daemon's end of a socket: the path where it listens, and who is at the other end.
//!
//! Apart from the client's half, which the probe links and which makes no files.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use bobtail_control::peer_process;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{Backlog, SockFlag, UnixAddr, bind, getsockopt, listen};

use super::new_socket;
use crate::rights::Peer;

/// Listens at a path whose lock the caller holds, so that a socket found there is nobody's.
pub(crate) fn listen_at(path: &Path, mode: u32, group: Option<u32>) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::other("there is a file that is no socket")),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(cause),
    }
    let fd = new_socket(SockFlag::empty())?;
    bind(fd.as_raw_fd(), &UnixAddr::new(path)?)?;
    if let Some(group) = group {
        give_to(path, group)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    listen(&fd, Backlog::new(64)?)?;
    let listener = UnixListener::from(fd);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// To a group that the daemon is in that needs no right.
fn give_to(path: &Path, group: u32) -> io::Result<()> {
    chown(path, None, Some(group)).map_err(|cause| {
        let remedy = match cause.kind() {
            io::ErrorKind::PermissionDenied => ", which needs CAP_CHOWN or a daemon of that group",
            _ => "",
        };
        let what = format!("it is to be of group {group}{remedy}: {cause}");
        io::Error::new(cause.kind(), what)
    })
}

/// Who is at the other end, by the kernel's word.
pub(crate) fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let credentials = getsockopt(stream, PeerCredentials)?;
    Ok(Peer {
        pid: credentials.pid(),
        uid: credentials.uid(),
        gid: credentials.gid(),
    })
}

/// Whether the process that connected has ended; false where the kernel does not tell (before
/// Linux 6.5).
pub(crate) fn is_peer_gone(stream: &UnixStream) -> bool {
    match peer_process(stream.as_fd()) {
        // It can be read from once the process has ended.
        Ok(process) => {
            let mut ended = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
            !matches!(poll(&mut ended, PollTimeout::ZERO), Ok(0))
        }
        Err(cause) => cause.raw_os_error() == Some(Errno::ESRCH as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_lives_is_not_taken_for_gone() {
        let (one, _other) = UnixStream::pair().expect("a pair");
        assert!(!is_peer_gone(&one));
    }
}
