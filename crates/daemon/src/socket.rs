//! The datagrams: `SOCK_SEQPACKET` sockets, whose frames come whole or not at all.
//!
//! The standard library's unix sockets are streams and do not tell a datagram that was cut.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, UnixAddr, bind, connect, getsockopt,
    listen, recv, send, socket,
};

use crate::protocol::MAX_FRAME_BYTES;
use crate::rights::Peer;

/// One more than a frame can have tells that there were more.
pub(crate) type Buffer = [u8; MAX_FRAME_BYTES + 1];

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    Ok(socket(
        AddressFamily::Unix,
        SockType::SeqPacket,
        flags,
        None,
    )?)
}

/// Listens at a path whose lock the caller holds, so that a socket found there is nobody's.
pub(crate) fn listen_at(path: &Path, mode: u32, group: Option<u32>) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::other("there is a file that is no socket")),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(cause),
    }
    let fd = new_socket()?;
    bind(fd.as_raw_fd(), &UnixAddr::new(path)?)?;
    chown(path, None, group)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    listen(&fd, Backlog::new(64)?)?;
    let listener = UnixListener::from(fd);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects to a daemon.
pub(crate) fn connect_to(path: &Path) -> io::Result<UnixStream> {
    let fd = new_socket()?;
    connect(fd.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(UnixStream::from(fd))
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

/// Sends one frame, never waiting: who does not read cannot be served.
pub(crate) fn send_frame(stream: &UnixStream, bytes: &[u8]) -> io::Result<()> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    send(stream.as_raw_fd(), bytes, flags)?;
    Ok(())
}

/// Receives one datagram as far as it fits; empty at the end of the connection.
pub(crate) fn receive_frame<'a>(
    stream: &UnixStream,
    buffer: &'a mut Buffer,
    can_wait: bool,
) -> io::Result<&'a [u8]> {
    let flags = if can_wait {
        MsgFlags::empty()
    } else {
        MsgFlags::MSG_DONTWAIT
    };
    let length = recv(stream.as_raw_fd(), buffer, flags)?;
    Ok(&buffer[..length])
}
