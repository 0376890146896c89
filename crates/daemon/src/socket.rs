//! The datagrams: `SOCK_SEQPACKET` sockets, whose frames come whole or not at all.
//!
//! The standard library's unix sockets are streams and do not tell a datagram that was cut.

#[cfg(feature = "server")]
pub(crate) mod listener;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, send, socket,
};

use crate::protocol::MAX_FRAME_BYTES;

/// One more than a frame can have tells that there were more.
pub(crate) type Buffer = [u8; MAX_FRAME_BYTES + 1];

/// How often a daemon is tried whose queue of connections is full.
const PAUSE: Duration = Duration::from_millis(1);

fn new_socket(flags: SockFlag) -> io::Result<OwnedFd> {
    Ok(socket(
        AddressFamily::Unix,
        SockType::SeqPacket,
        SockFlag::SOCK_CLOEXEC | flags,
        None,
    )?)
}

/// Connects to a daemon, waiting so long for a place in the queue of one that accepts nobody.
pub(crate) fn connect_to(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    // A socket that may wait would do so for ever, whatever it is told of time.
    let fd = new_socket(SockFlag::SOCK_NONBLOCK)?;
    let address = UnixAddr::new(path)?;
    let started = Instant::now();
    loop {
        match connect(fd.as_raw_fd(), &address) {
            Ok(()) => break,
            Err(Errno::EAGAIN | Errno::EINTR) if started.elapsed() < patience => {
                std::thread::sleep(PAUSE);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    let stream = UnixStream::from(fd);
    stream.set_nonblocking(false)?;
    Ok(stream)
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
    let started = Instant::now();
    let length = match recv(stream.as_raw_fd(), buffer, flags) {
        Err(Errno::EINTR) => {
            wait_on(stream, started)?;
            recv(stream.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT)?
        }
        received => received?,
    };
    Ok(&buffer[..length])
}

/// The rest of a wait that began then: a signal, or a stop and a continue, ends one that has a
/// bound (`signal(7)`), and to begin it anew would make it longer.
fn wait_on(stream: &UnixStream, started: Instant) -> io::Result<()> {
    let bound = stream.read_timeout()?;
    loop {
        let left = bound.map(|bound| bound.saturating_sub(started.elapsed()));
        let left = left.map_or(PollTimeout::NONE, |left| {
            left.try_into().unwrap_or(PollTimeout::MAX)
        });
        let mut ready = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, left) {
            Err(Errno::EINTR) => {}
            told => return Ok(told.map(drop)?),
        }
    }
}
