//! The daemon's end of a socket: the path where it listens, and who is at the other end.
//!
//! Apart from the client's half, which the probe links and which makes no files.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

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
    chown(path, None, group)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    listen(&fd, Backlog::new(64)?)?;
    let listener = UnixListener::from(fd);
    listener.set_nonblocking(true)?;
    Ok(listener)
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
