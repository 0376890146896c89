//! Numbers descriptors, and finds out what they are and what to call them.
//!
//! A handle is one incarnation of a descriptor: it is numbered when the descriptor is accepted,
//! connected or first used, and dropped when it is closed, so a reused number never aliases.

use std::ffi::c_int;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;

use bobtail_trace::encode;
use bobtail_trace::layout::live;
use bobtail_trace::record::HandleKind;

use crate::clock::monotonic_ns;
use crate::fd_table::{Entry, Kind};
use crate::loop_state::LoopState;

/// Keeps errno as the wrapped function left it.
pub struct KeepErrno(c_int);

impl KeepErrno {
    pub fn new() -> Self {
        // SAFETY: glibc's thread-local errno.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: as in `new`.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// A name being written, cut at its room. No allocation.
pub struct Name {
    bytes: [u8; 160],
    length: usize,
}

impl Name {
    pub fn new() -> Self {
        Self {
            bytes: [0; 160],
            length: 0,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.bytes.len() - self.length);
        self.bytes[self.length..self.length + count].copy_from_slice(&bytes[..count]);
        self.length += count;
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// A socket address, as far as it has a name.
#[derive(Clone, Copy)]
pub struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

type GetName = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;

impl Address {
    /// # Safety
    /// `at` points to `length` bytes of an address.
    pub unsafe fn copy(at: *const libc::sockaddr, length: libc::socklen_t) -> Self {
        let mut address = Self::none();
        address.length = length.min(size_of::<libc::sockaddr_storage>() as libc::socklen_t);
        let to = (&raw mut address.storage).cast::<u8>();
        // SAFETY: by the caller; the storage has room.
        unsafe { std::ptr::copy_nonoverlapping(at.cast(), to, address.length as usize) };
        address
    }

    fn none() -> Self {
        Self {
            // SAFETY: all zeros is a valid address of family AF_UNSPEC.
            storage: unsafe { std::mem::zeroed() },
            length: 0,
        }
    }

    fn of(fd: c_int, get: GetName) -> Self {
        let mut address = Self::none();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: the storage has `length` bytes.
        let result = unsafe { get(fd, (&raw mut address.storage).cast(), &mut length) };
        if result == 0 {
            address.length = length;
        }
        address
    }

    /// The address of this end.
    pub fn local(fd: c_int) -> Self {
        Self::of(fd, libc::getsockname)
    }

    /// The address of the other end.
    pub fn peer(fd: c_int) -> Self {
        Self::of(fd, libc::getpeername)
    }

    fn inet(&self) -> Option<SocketAddr> {
        let at = &raw const self.storage;
        match c_int::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says which type it is; the storage has room for it.
                let inet = unsafe { &*at.cast::<libc::sockaddr_in>() };
                let ip = Ipv4Addr::from(u32::from_be(inet.sin_addr.s_addr));
                Some((ip, u16::from_be(inet.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let inet = unsafe { &*at.cast::<libc::sockaddr_in6>() };
                let ip = Ipv6Addr::from(inet.sin6_addr.s6_addr);
                let ip = ip
                    .to_ipv4_mapped()
                    .map_or(ip.into(), std::net::IpAddr::from);
                Some((ip, u16::from_be(inet.sin6_port)).into())
            }
            _ => None,
        }
    }

    pub fn port(&self) -> u16 {
        self.inet().map_or(0, |inet| inet.port())
    }

    /// Path of a unix socket; empty when it has none.
    pub fn path(&self) -> &[u8] {
        if c_int::from(self.storage.ss_family) != libc::AF_UNIX || self.length <= 2 {
            return &[];
        }
        let at = (&raw const self.storage).cast::<u8>();
        // SAFETY: `length` bytes of the storage are the address; the path follows the family.
        let path = unsafe { std::slice::from_raw_parts(at.add(2), self.length as usize - 2) };
        let path = path.strip_prefix(&[0]).unwrap_or(path);
        &path[..path
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(path.len())]
    }

    /// `127.0.0.1:80` or `unix:/path`.
    pub fn write(&self, name: &mut Name) {
        match self.inet() {
            // Name cannot fail.
            Some(inet) => {
                let _ = write!(name, "{inet}");
            }
            None if self.path().is_empty() => name.push(b"unnamed"),
            None => {
                name.push(b"unix:");
                name.push(self.path());
            }
        }
    }
}

fn socket_option(fd: c_int, option: c_int) -> Option<c_int> {
    let (mut value, mut length) = (0, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: an int option into an int.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &mut length,
        )
    };
    (result == 0).then_some(value)
}

/// Asks the kernel what a descriptor is.
pub fn classify(fd: c_int) -> Kind {
    let Some(kind) = socket_option(fd, libc::SO_TYPE) else {
        // SAFETY: zeros are a valid `stat`, and it is only read when fstat filled it.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: valid out pointer.
        let known = unsafe { libc::fstat(fd, &mut stat) } == 0;
        let format = stat.st_mode & libc::S_IFMT;
        let readable = format == libc::S_IFIFO || format == libc::S_IFCHR;
        return if known && readable {
            Kind::Pipe
        } else {
            Kind::Ignored
        };
    };
    let accepts = socket_option(fd, libc::SO_ACCEPTCONN) == Some(1);
    match (socket_option(fd, libc::SO_DOMAIN), kind) {
        (Some(libc::AF_INET | libc::AF_INET6), libc::SOCK_STREAM) if accepts => Kind::TcpListener,
        (Some(libc::AF_INET | libc::AF_INET6), libc::SOCK_STREAM) => Kind::Tcp,
        (Some(libc::AF_INET | libc::AF_INET6), libc::SOCK_DGRAM) => Kind::Udp,
        (Some(libc::AF_UNIX), libc::SOCK_STREAM) if accepts => Kind::UnixListener,
        (Some(libc::AF_UNIX), libc::SOCK_STREAM) => Kind::UnixStream,
        _ => Kind::Ignored,
    }
}

/// Lets the kernel stamp what the socket (and what it accepts) receives.
pub fn stamp(fd: c_int, entry: &Entry) {
    if matches!(entry.kind(), Kind::Tcp | Kind::TcpListener | Kind::Udp) {
        let on: c_int = 1;
        // SAFETY: an int option from an int.
        let result = unsafe {
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPNS,
                (&raw const on).cast(),
                size_of::<c_int>() as libc::socklen_t,
            )
        };
        entry.stamped.store(u8::from(result == 0), Relaxed);
    }
}

/// The handle number of a descriptor that this loop uses; 0 for what is not recorded.
#[inline]
pub fn handle_of(state: &mut LoopState, fd: c_int, entry: &Entry) -> u32 {
    if entry.owner.load(Relaxed) == state.owner() {
        return entry.handle.load(Relaxed);
    }
    discover(state, fd, entry)
}

/// A descriptor is seen for the first time: passed by a cluster's primary, or older than the
/// recording.
#[cold]
#[inline(never)]
fn discover(state: &mut LoopState, fd: c_int, entry: &Entry) -> u32 {
    let _errno = KeepErrno::new();
    let kind = match entry.kind() {
        Kind::Unknown => classify(fd),
        kind => kind,
    };
    entry.set_kind(kind);
    entry.owner.store(state.owner(), Relaxed);
    let mut name = Name::new();
    let kind = match kind {
        Kind::Ignored | Kind::Unknown | Kind::Wakeup => return 0,
        Kind::TcpListener | Kind::UnixListener => {
            stamp(fd, entry);
            return open_listener(state, fd, entry);
        }
        Kind::Tcp => {
            stamp(fd, entry);
            let port = Address::local(fd).port();
            let passed = entry.passed.load(Relaxed) != 0;
            if passed && !state.ports.contains(&port) && state.ports.len() < state.ports.capacity()
            {
                // Others may come in a pause, unseen.
                state.ports.push(port);
            }
            if passed || state.ports.contains(&port) {
                let _ = write!(name, "server :{port}");
                HandleKind::ServerConnection
            } else {
                Address::peer(fd).write(&mut name);
                HandleKind::ClientConnection
            }
        }
        Kind::UnixStream => name_unix(fd, &mut name),
        Kind::Udp => {
            stamp(fd, entry);
            let _ = write!(name, "udp :{}", Address::local(fd).port());
            HandleKind::Udp
        }
        Kind::Pipe => {
            name.push(b"pipe");
            HandleKind::Pipe
        }
    };
    let name = state.intern(&[name.bytes()]);
    open(state, entry, kind, name)
}

/// The end that accepted has the listener's path, the end that connected has none.
fn name_unix(fd: c_int, name: &mut Name) -> HandleKind {
    let (local, peer) = (Address::local(fd), Address::peer(fd));
    if !local.path().is_empty() {
        name.push(b"server ");
        local.write(name);
        HandleKind::UnixServerConnection
    } else if !peer.path().is_empty() {
        peer.write(name);
        HandleKind::UnixClientConnection
    } else {
        name.push(b"pipe");
        HandleKind::Pipe
    }
}

/// Gives a listener its number, and the name its connections will have.
pub fn open_listener(state: &mut LoopState, fd: c_int, entry: &Entry) -> u32 {
    let local = Address::local(fd);
    let mut name = Name::new();
    name.push(b"server ");
    if entry.kind() == Kind::TcpListener {
        let port = local.port();
        let _ = write!(name, ":{port}");
        if !state.ports.contains(&port) {
            state.ports.push(port);
        }
    } else {
        local.write(&mut name);
    }
    let name = state.intern(&[name.bytes()]);
    entry.name.store(name, Relaxed);
    open(state, entry, HandleKind::Listener, name)
}

/// Gives a descriptor a number and writes HANDLE_OPEN.
pub fn open(state: &mut LoopState, entry: &Entry, kind: HandleKind, name: u32) -> u32 {
    let handle = state.writer.live.next(live::HANDLE);
    let is_client = matches!(
        kind,
        HandleKind::ClientConnection | HandleKind::UnixClientConnection
    );
    entry.handle.store(handle, Relaxed);
    let is_server = matches!(
        kind,
        HandleKind::ServerConnection | HandleKind::UnixServerConnection
    );
    entry.is_client.store(u8::from(is_client), Relaxed);
    entry.is_server.store(u8::from(is_server), Relaxed);
    entry.owner.store(state.owner(), Relaxed);
    let at_ns = state.writer.relative(monotonic_ns());
    state
        .writer
        .put(|out, last_ns| encode::handle_open(out, last_ns, at_ns, handle, kind, name));
    handle
}

/// A descriptor is about to be closed, on any thread.
#[inline]
pub fn closing(state: Option<&mut LoopState>, fd: c_int, entry: &Entry) {
    if let Some(state) = state {
        if entry.batch.load(Relaxed) == state.batch {
            let left = state.shared.queue_length.load(Relaxed).saturating_sub(1);
            state.shared.queue_length.store(left, Relaxed);
        }
        if state.dispatched == fd {
            state.dispatched = -1;
        }
        let handle = entry.handle.load(Relaxed);
        if handle != 0 && entry.owner.load(Relaxed) == state.owner() {
            let at_ns = state.writer.relative(monotonic_ns());
            state
                .writer
                .put(|out, last_ns| encode::handle_close(out, last_ns, at_ns, handle));
        }
    }
    entry.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn text(address: Address) -> String {
        let mut name = Name::new();
        address.write(&mut name);
        String::from_utf8_lossy(name.bytes()).into_owned()
    }

    #[test]
    fn knows_what_descriptors_are() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let (unix, _other) = UnixStream::pair().expect("pairs");
        let file = std::fs::File::open("/proc/self/exe").expect("opens");
        assert_eq!(classify(listener.as_raw_fd()), Kind::TcpListener);
        assert_eq!(classify(stream.as_raw_fd()), Kind::Tcp);
        assert_eq!(classify(udp.as_raw_fd()), Kind::Udp);
        assert_eq!(classify(unix.as_raw_fd()), Kind::UnixStream);
        assert_eq!(classify(file.as_raw_fd()), Kind::Ignored);
        assert_eq!(classify(-1), Kind::Ignored);
    }

    #[test]
    fn names_inet_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = listener.local_addr().expect("bound");
        let stream = TcpStream::connect(address).expect("connects");
        assert_eq!(text(Address::peer(stream.as_raw_fd())), address.to_string());
        assert_eq!(Address::local(listener.as_raw_fd()).port(), address.port());
    }

    #[test]
    fn tells_the_ends_of_a_unix_connection() {
        let path = std::env::temp_dir().join(format!("probe-{}.sock", std::process::id()));
        let listener = UnixListener::bind(&path).expect("binds");
        let client = UnixStream::connect(&path).expect("connects");
        let (server, _) = listener.accept().expect("accepts");
        std::fs::remove_file(&path).expect("is there");
        let mut name = Name::new();
        assert_eq!(
            name_unix(server.as_raw_fd(), &mut name),
            HandleKind::UnixServerConnection
        );
        assert!(
            name.bytes().starts_with(b"server unix:/"),
            "{:?}",
            name.bytes()
        );
        let mut name = Name::new();
        assert_eq!(
            name_unix(client.as_raw_fd(), &mut name),
            HandleKind::UnixClientConnection
        );
        assert!(name.bytes().starts_with(b"unix:/"), "{:?}", name.bytes());
        let (one, _other) = UnixStream::pair().expect("pairs");
        assert_eq!(
            name_unix(one.as_raw_fd(), &mut Name::new()),
            HandleKind::Pipe
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        let mut name = Name::new();
        name.push(&[b'x'; 500]);
        assert_eq!(name.bytes().len(), 160);
    }
}
