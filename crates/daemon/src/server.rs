//! The daemon's loop: sockets, signals, the guard and the clock around `Service`.
//!
//! One thread and one epoll: decisions are taken one after the other, so that two clients can
//! never move one lever at the same time. What clients sent is read before anyone is declared
//! silent, so that a daemon that was stopped for a while does not punish those who were not.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bobtail_control::Host;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use thiserror::Error;

use crate::begun::Begun;
use crate::claims::ClientId;
use crate::config::Config;
use crate::descriptors;
use crate::folders::Folders;
use crate::guard::{self, Guard};
use crate::holdings::{Holdings, Raised};
use crate::journal::{self, Journal, JournalError};
use crate::lent::{Lender, Lent};
use crate::levers::Imitated;
use crate::lock::{Lock, LockError};
use crate::log;
use crate::protocol::{Answer, MAX_FRAME_BYTES, Refusal};
use crate::proving::prove;
use crate::restore::{put_all_back, wait_for_locks};
use crate::service::Service;
use crate::socket;
use crate::socket::listener;

/// Numbers of epoll; those of clients follow.
const LISTENER: u64 = 0;
const SIGNALS: u64 = 1;
const GUARD: u64 = 2;
const STDIN: u64 = 3;
const CLIENTS: u64 = 4;
/// Requests of one client, and new connections, that are served before the others have a turn.
const TURN: usize = 16;
/// At the end, what could not be put back is tried again for so long; then the guard goes on.
const END_TRIES: u32 = 20;
const END_PAUSE: Duration = Duration::from_millis(50);
const GUARD_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("folder {}: {cause}", path.display())]
    Folder { path: PathBuf, cause: io::Error },
    #[error("socket {}: {cause}", path.display())]
    Socket { path: PathBuf, cause: io::Error },
    #[error("the guard cannot be started: {0}")]
    Guard(io::Error),
    #[error("{0}")]
    System(#[from] Errno),
}

/// The running daemon.
pub struct Server {
    config: Config,
    root: Option<PathBuf>,
    owner: String,
    host: Host,
    service: Service,
    epoll: Epoll,
    listener: UnixListener,
    signals: SignalFd,
    guard: Option<Guard>,
    /// To whoever is the guard.
    lender: Lender,
    guard_retry_at: Option<Duration>,
    /// When the guard before was followed by this one.
    guard_followed_at: Option<Duration>,
    clients: BTreeMap<ClientId, UnixStream>,
    /// Answers whoever writes to stdin.
    answer: Option<fn(Vec<Raised>)>,
    started: Instant,
    _locks: Vec<Lock>,
}

impl Server {
    /// Makes the folders that are missing, takes the locks, starts the guard, puts back what an
    /// earlier daemon left, tests the levers that it may give, unless they are those of a tree of
    /// files, and listens.
    ///
    /// # Errors
    ///
    /// When another daemon is there, or the journal or socket cannot be had.
    pub fn start(config: Config, root: Option<PathBuf>) -> Result<Self, ServerError> {
        let is_tree = root.is_some();
        let prepare = |host: &Host, journal: &mut Journal, config: &mut Config| {
            if !is_tree {
                prove(host, journal, config);
            }
        };
        let folders = Folders::of([&config.journal, &config.socket])
            .map_err(|(path, cause)| ServerError::Folder { path, cause })?;
        let (server, ()) = Self::start_with(config, root, None, prepare)?;
        folders.keep();
        Ok(server)
    }

    /// Likewise, with something to be done before it listens, and a frequency to imitate.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn start_with<T>(
        mut config: Config,
        root: Option<PathBuf>,
        imitated: Option<Imitated>,
        prepare: impl FnOnce(&Host, &mut Journal, &mut Config) -> T,
    ) -> Result<(Self, T), ServerError> {
        if let Err(cause) = descriptors::raise_limit() {
            log::line(format_args!("no more files may be open: {cause}"));
        }
        let host = root.as_deref().map_or_else(Host::default, Host::below);
        let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
        signals.thread_block()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let signals = SignalFd::with_flags(&signals, flags)?;
        let mut begun = Begun::take(&host, &config)?;
        let owner = owner();
        let lender = Lender::default();
        let mut journal = begin_journal(&mut begun, &config, root.as_deref(), &owner, &lender)?;
        let prepared = prepare(&host, &mut journal, &mut config);
        let listener = listener::listen_at(&config.socket, config.socket_mode, config.socket_group)
            .map_err(|cause| ServerError::Socket {
                path: config.socket.clone(),
                cause,
            })?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, readable(LISTENER))?;
        epoll.add(&signals, readable(SIGNALS))?;
        let (guard, locks) = begun.keep();
        let mut server = Self {
            service: Service::new(
                config.clone(),
                Holdings::new(host.clone(), journal).imitating(imitated),
            ),
            host,
            config,
            root,
            owner,
            epoll,
            listener,
            signals,
            guard: None,
            lender,
            guard_retry_at: None,
            guard_followed_at: None,
            clients: BTreeMap::new(),
            answer: None,
            started: Instant::now(),
            _locks: locks,
        };
        if let Some(guard) = guard {
            server.adopt(guard)?;
        }
        log::line(format_args!(
            "listens at {}",
            server.config.socket.display()
        ));
        Ok((server, prepared))
    }

    /// Ends it when stdin does: with whoever started it, however that ends. Who writes something
    /// there is given to `answer` how long each lever was up.
    ///
    /// # Errors
    ///
    /// When stdin is nothing to wait for.
    pub fn tie_to_stdin(&mut self, answer: fn(Vec<Raised>)) -> Result<(), ServerError> {
        self.answer = Some(answer);
        Ok(self.epoll.add(io::stdin(), readable(STDIN))?)
    }

    /// The machine whose levers these are.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The guard's process.
    pub fn guard_id(&self) -> Option<u32> {
        self.guard.as_ref().map(|guard| guard.child.id())
    }

    /// Serves until a signal asks for the end, then puts everything back; how many levers could
    /// not be.
    ///
    /// # Errors
    ///
    /// When the kernel refuses to wait.
    pub fn run(mut self) -> Result<usize, ServerError> {
        let mut events = vec![EpollEvent::empty(); self.config.max_clients + 5];
        loop {
            // What was sent before this moment is among the events, however long this process
            // may be stopped from here on: silence is judged by it and not by the time after.
            let heard_until = self.now();
            let count = match self.epoll.wait(&mut events, self.timeout()) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(errno) => {
                    self.end();
                    return Err(errno.into());
                }
            };
            for event in &events[..count] {
                match event.data() {
                    LISTENER => self.accept(),
                    SIGNALS => {
                        if let Ok(Some(signal)) = self.signals.read_signal() {
                            let number = signal.ssi_signo;
                            log::line(format_args!("ends by signal {number}"));
                            return Ok(self.end());
                        }
                    }
                    GUARD => self.bury_guard(),
                    STDIN => {
                        let mut buffer = [0; 64];
                        if !matches!(nix::unistd::read(io::stdin(), &mut buffer), Ok(1..)) {
                            log::line("ends with the command that started it");
                            return Ok(self.end());
                        }
                        if let Some(answer) = self.answer {
                            answer(self.service.raised(self.now()));
                        }
                    }
                    number => self.read(number - CLIENTS),
                }
            }
            for (client, farewell) in self.service.expire(heard_until) {
                self.part(client, Some(farewell.bytes()));
            }
            let now = self.now();
            self.service.tick(now);
            self.say_unasked();
            if self.guard_retry_at.is_some_and(|at| at <= now) {
                self.start_guard();
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn timeout(&self) -> EpollTimeout {
        let deadlines = [self.service.next_deadline(), self.guard_retry_at];
        let Some(deadline) = deadlines.into_iter().flatten().min() else {
            return EpollTimeout::NONE;
        };
        let wait = deadline.saturating_sub(self.now());
        // Whole milliseconds, rounded up: waking early would only wait again.
        let ms = wait.as_nanos().div_ceil(1_000_000);
        EpollTimeout::from(u16::try_from(ms).unwrap_or(u16::MAX))
    }

    fn accept(&mut self) {
        for _ in 0..TURN {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return,
                Err(cause) => {
                    let now = self.now();
                    self.service.log.line(now, format_args!("accept: {cause}"));
                    // Out of descriptors: the connection stays in the queue and would spin.
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            };
            self.admit(stream);
        }
    }

    fn admit(&mut self, stream: UnixStream) {
        let now = self.now();
        let peer = match listener::peer(&stream) {
            Ok(peer) => peer,
            Err(cause) => {
                self.service.log.line(now, format_args!("peer: {cause}"));
                return;
            }
        };
        // The others' levers must be put back whoever comes.
        let admitted = match descriptors::check_room() {
            Ok(()) => self.service.admit(peer, now),
            Err(_) => Err(Refusal::TooManyClients),
        };
        match admitted {
            Ok(client) => {
                // After its number was looked at.
                if listener::is_peer_gone(&stream) {
                    self.service.orphan(client);
                }
                if self.epoll.add(&stream, readable(CLIENTS + client)).is_ok() {
                    self.clients.insert(client, stream);
                } else {
                    self.service.leave(client, now);
                }
            }
            Err(refusal) => {
                let who = format_args!("pid {} of user {}: {refusal}", peer.pid, peer.uid);
                self.service.log.line(now, who);
                let farewell = Answer::Refused { refusal, detail: 0 }.encode(0);
                // Whether it hears so is its own affair.
                drop(socket::send_frame(&stream, farewell.bytes()));
            }
        }
    }

    fn read(&mut self, client: ClientId) {
        for _ in 0..TURN {
            let mut buffer = [0; MAX_FRAME_BYTES + 1];
            let Some(stream) = self.clients.get(&client) else {
                return;
            };
            let bytes = match socket::receive_frame(stream, &mut buffer, false) {
                Ok([]) => return self.part(client, None),
                Ok(bytes) => bytes,
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.part(client, None),
            };
            let now = self.started.elapsed();
            let reply = self.service.receive(client, bytes, now);
            let frame = reply.frame.as_ref().map(|frame| frame.bytes());
            if reply.ends {
                return self.part(client, frame);
            }
            if frame.is_some_and(|frame| socket::send_frame(stream, frame).is_err()) {
                return self.part(client, None);
            }
        }
    }

    fn say_unasked(&mut self) {
        for (client, frame) in self.service.take_unasked() {
            let stream = self.clients.get(&client);
            if stream.is_some_and(|stream| socket::send_frame(stream, frame.bytes()).is_err()) {
                self.part(client, None);
            }
        }
    }

    /// Ends a connection, with a last word where there is one.
    fn part(&mut self, client: ClientId, farewell: Option<&[u8]>) {
        if let (Some(stream), Some(farewell)) = (self.clients.remove(&client), farewell) {
            // Whether it hears so is its own affair.
            drop(socket::send_frame(&stream, farewell));
        }
        self.service.leave(client, self.now());
    }

    /// Puts everything back, and stops listening; how many levers could not be.
    pub fn end(mut self) -> usize {
        let (mut left, farewell) = self.service.end(self.now());
        for stream in self.clients.values() {
            drop(socket::send_frame(stream, farewell.bytes()));
        }
        for _ in 0..END_TRIES {
            if left == 0 {
                break;
            }
            std::thread::sleep(END_PAUSE);
            left = self.service.end(self.now()).0;
        }
        if let (0, Some(guard)) = (left, &self.guard) {
            guard::dismiss(guard);
        }
        if let Err(cause) = std::fs::remove_file(&self.config.socket) {
            log::line(format_args!("{}: {cause}", self.config.socket.display()));
        }
        left
    }

    fn adopt(&mut self, guard: Guard) -> Result<(), Errno> {
        self.lender.speak_to(guard.line.clone());
        if let Some(stdout) = &guard.child.stdout {
            self.epoll.add(stdout, readable(GUARD))?;
        }
        self.guard = Some(guard);
        Ok(())
    }

    /// The guard's stdout says something only by ending.
    fn bury_guard(&mut self) {
        if let Some(Guard { mut child, .. }) = self.guard.take() {
            log::line("the guard has ended; starting another");
            // It may have closed stdout and live; one that lives on would never be waited for.
            drop(child.kill());
            drop(child.wait());
        }
        // One after the other at once would be all that this process does.
        let earliest = self.guard_followed_at.map(|at| at + GUARD_PAUSE);
        match earliest.filter(|at| *at > self.now()) {
            Some(at) => self.guard_retry_at = Some(at),
            None => self.start_guard(),
        }
    }

    fn start_guard(&mut self) {
        self.guard_retry_at = None;
        self.guard_followed_at = Some(self.now());
        let started = guard::start(self.root.as_deref(), &self.config.journal, &self.owner);
        let adopted = started.and_then(|guard| Ok(self.adopt(guard)?));
        if let Err(cause) = adopted {
            log::line(format_args!("the guard cannot be started: {cause}"));
            self.guard_retry_at = Some(self.now() + GUARD_PAUSE);
        }
    }
}

/// Starts the guard, puts back what an earlier daemon left, and begins a journal over that one's.
fn begin_journal(
    begun: &mut Begun,
    config: &Config,
    root: Option<&Path>,
    owner: &str,
    lender: &Lender,
) -> Result<Journal, ServerError> {
    let left = journal::read(&config.journal, begun.host())?;
    let guard = guard::start(root, &config.journal, owner).map_err(ServerError::Guard)?;
    lender.speak_to(guard.line.clone());
    let left = left.map_or_else(Vec::new, |content| content.entries);
    begun.guarded_by(guard, !left.is_empty());
    let host = begun.host();
    let not_back = put_all_back(host, left.clone(), &mut Lent::default());
    let journal = Journal::begin(&config.journal, host, owner, not_back)?.lending(lender.clone());
    wait_for_locks(host, &left);
    Ok(journal)
}

fn readable(number: u64) -> EpollEvent {
    EpollEvent::new(EpollFlags::EPOLLIN, number)
}

/// A name that no other daemon has; a pid comes again.
fn owner() -> String {
    let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    format!("{}-{}", std::process::id(), uuid.trim())
}
