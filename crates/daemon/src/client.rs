//! A client's half: asks bobtaild for levers, in one system call where no answer is wanted.
//!
//! Blocking with a bound instead of asynchronous: an answer takes some ten microseconds, and a
//! daemon that gives none within the bound is as good as gone. Dropping the client lowers all.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobtail_control::LeverKind;
use bobtail_policy::Speed;
use nix::errno::Errno;
use thiserror::Error;

use crate::protocol::{
    Answer, FrameError, MAX_FRAME_BYTES, Offer, Refusal, Request, VERSION, Want,
};
use crate::socket::{self, Buffer};

/// Why the daemon did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error("cannot connect to {}: {}", path.display(), plain(cause))]
    Connect { path: PathBuf, cause: io::Error },
    #[error("bobtaild: {}", plain(.0))]
    Io(#[from] io::Error),
    #[error("bobtaild refuses: {refusal}{}", errno(*detail))]
    Refused { refusal: Refusal, detail: u32 },
    /// A claim that stood until now; nobody asked.
    #[error("bobtaild lets go: {refusal}{}", errno(*detail))]
    LetGo { refusal: Refusal, detail: u32 },
    #[error("bobtaild sends what is no answer: {0}")]
    Frame(#[from] FrameError),
    #[error("bobtaild answers something else")]
    OtherAnswer,
    #[error("bobtaild has closed the connection")]
    Ended,
    #[error("bobtaild does not answer within {} ms", .0.as_millis())]
    NoAnswer(Duration),
}

fn errno(detail: u32) -> String {
    match detail {
        0 => String::new(),
        errno if errno == nix::libc::EBUSY as u32 => {
            " (another process holds it, such as a second bobtail)".to_owned()
        }
        errno => format!(" ({})", Errno::from_raw(errno as i32).desc()),
    }
}

/// The system's message without the number of the error.
fn plain(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(errno) => Errno::from_raw(errno).desc().to_owned(),
        None => cause.to_string(),
    }
}

/// Whether the other end of a connection is closed, as a call on this end tells it.
fn is_closed(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// What came of a request that was not waited for.
#[derive(Debug)]
pub struct LateAnswer {
    /// Of the request; 0 where nobody asked.
    pub sequence: u32,
    /// Where the lever stands, or why not there.
    pub stands: Result<u32, ClientError>,
}

impl ClientError {
    /// Whether the connection goes on.
    pub fn is_of_one_claim(&self) -> bool {
        let (Self::Refused { refusal, .. } | Self::LetGo { refusal, .. }) = self else {
            return false;
        };
        !refusal.ends_connection()
    }
}

/// A connection to bobtaild. All it claimed is let go when it is dropped or its process ends.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    sequence: u32,
    patience: Duration,
    /// Came unasked while an answer was waited for.
    unasked: Option<(Refusal, u32)>,
    heartbeat_timeout: Duration,
}

impl Client {
    /// Connects and greets; neither of these nor any later call waits longer than `patience`.
    ///
    /// # Errors
    ///
    /// When there is no daemon, or it does not take this process.
    pub fn connect(path: &Path, patience: Duration) -> Result<Self, ClientError> {
        let patience = patience.max(Duration::from_millis(1));
        let stream = socket::connect_to(path, patience).map_err(|cause| match cause.kind() {
            io::ErrorKind::WouldBlock => ClientError::NoAnswer(patience),
            _ => ClientError::Connect {
                path: path.to_owned(),
                cause,
            },
        })?;
        stream.set_read_timeout(Some(patience))?;
        let mut client = Self {
            stream,
            sequence: 0,
            patience,
            unasked: None,
            heartbeat_timeout: Duration::ZERO,
        };
        let hello = Request::Hello {
            oldest: VERSION,
            newest: VERSION,
        };
        match client.ask_for(hello)? {
            Answer::Welcome {
                heartbeat_timeout_ns,
                ..
            } => client.heartbeat_timeout = Duration::from_nanos(heartbeat_timeout_ns),
            _ => return Err(ClientError::OtherAnswer),
        }
        Ok(client)
    }

    /// A client that claims something must be heard of in this time, by any request.
    pub fn heartbeat_timeout(&self) -> Duration {
        self.heartbeat_timeout
    }

    /// What may be asked of a lever; also opens it, so that the first raise is as fast as others.
    ///
    /// # Errors
    ///
    /// Among others when this process may not move it, or the host does not have it.
    pub fn offer(&mut self, lever: LeverKind, target: u32) -> Result<Offer, ClientError> {
        match self.ask_for(Request::Ask(Want { lever, target }))? {
            Answer::Offered(offer) => Ok(offer),
            _ => Err(ClientError::OtherAnswer),
        }
    }

    /// Claims a speed: what was granted after clamping, and where the lever stands now, in the
    /// unit of the offer. The lever has moved when this returns.
    ///
    /// # Errors
    ///
    /// When it could not be raised; the claim does not stand then.
    pub fn raise(
        &mut self,
        lever: LeverKind,
        target: u32,
        speed: Speed,
    ) -> Result<(u32, u32), ClientError> {
        let want = Want { lever, target };
        match self.ask_for(Request::Raise { want, speed })? {
            Answer::Granted { granted, effective } => Ok((granted, effective)),
            _ => Err(ClientError::OtherAnswer),
        }
    }

    /// Claims a speed without waiting: one system call. What came of it shows in
    /// [`Client::late_answer`] under the number that this gives.
    ///
    /// # Errors
    ///
    /// When the daemon is gone, or does not keep up.
    pub fn raise_soon(
        &mut self,
        lever: LeverKind,
        target: u32,
        speed: Speed,
    ) -> Result<u32, ClientError> {
        let want = Want { lever, target };
        self.send(Request::Raise { want, speed }, false)?;
        Ok(self.sequence)
    }

    /// Ends a claim; whether there was one.
    ///
    /// # Errors
    ///
    /// When the daemon is gone: the claim is, too.
    pub fn lower(&mut self, lever: LeverKind, target: u32) -> Result<bool, ClientError> {
        match self.ask_for(Request::Lower(Want { lever, target }))? {
            Answer::Lowered { claims } => Ok(claims > 0),
            _ => Err(ClientError::OtherAnswer),
        }
    }

    /// Ends a claim without waiting.
    ///
    /// # Errors
    ///
    /// As [`Client::raise_soon`].
    pub fn lower_soon(&mut self, lever: LeverKind, target: u32) -> Result<(), ClientError> {
        self.send(Request::Lower(Want { lever, target }), true)
    }

    /// Ends all claims; how many there were.
    ///
    /// # Errors
    ///
    /// When the daemon is gone: the claims are, too.
    pub fn lower_all(&mut self) -> Result<u32, ClientError> {
        match self.ask_for(Request::LowerAll)? {
            Answer::Lowered { claims } => Ok(claims),
            _ => Err(ClientError::OtherAnswer),
        }
    }

    /// Says that this process is alive; to be said from the thread whose hanging shall matter.
    ///
    /// # Errors
    ///
    /// As [`Client::raise_soon`].
    pub fn beat(&mut self) -> Result<(), ClientError> {
        self.send(Request::Beat, true)
    }

    /// What has arrived that was not waited for: that a claim was granted, was not
    /// ([`ClientError::Refused`]), or stands no longer ([`ClientError::LetGo`]).
    ///
    /// # Errors
    ///
    /// When the daemon is gone.
    pub fn late_answer(&mut self) -> Result<Option<LateAnswer>, ClientError> {
        if let Some((refusal, detail)) = self.unasked.take() {
            let stands = Err(ClientError::LetGo { refusal, detail });
            let sequence = 0;
            return Ok(Some(LateAnswer { sequence, stands }));
        }
        let (answer, sequence) = match self.receive(false) {
            Ok(received) => received,
            Err(ClientError::Io(cause)) if cause.kind() == io::ErrorKind::WouldBlock => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let stands = match answer {
            Answer::Granted { effective, .. } => Ok(effective),
            Answer::Refused { refusal, detail } if sequence == 0 => {
                Err(ClientError::LetGo { refusal, detail })
            }
            Answer::Refused { refusal, detail } => Err(ClientError::Refused { refusal, detail }),
            _ => Err(ClientError::OtherAnswer),
        };
        Ok(Some(LateAnswer { sequence, stands }))
    }

    fn send(&mut self, request: Request, is_silent: bool) -> Result<(), ClientError> {
        // 0 is the daemon's own, for what nobody asked.
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
        let frame = request.encode(self.sequence, is_silent);
        socket::send_frame(&self.stream, frame.bytes()).map_err(|cause| match is_closed(&cause) {
            true => self.last_word(),
            false => cause.into(),
        })
    }

    /// Why a daemon has closed the connection, where it said so: what it sent before can be read.
    fn last_word(&self) -> ClientError {
        loop {
            match self.receive_once(false) {
                Ok((Answer::Refused { refusal, detail }, _)) if refusal.ends_connection() => {
                    return ClientError::Refused { refusal, detail };
                }
                // Of earlier requests; or what the call before has told already.
                Ok(_) => {}
                Err(ClientError::Io(cause)) if is_closed(&cause) => {}
                Err(_) => return ClientError::Ended,
            }
        }
    }

    fn ask_for(&mut self, request: Request) -> Result<Answer, ClientError> {
        self.send(request, false)?;
        loop {
            let (answer, sequence) = self.receive(true).map_err(|error| match error {
                ClientError::Io(cause) if cause.kind() == io::ErrorKind::WouldBlock => {
                    ClientError::NoAnswer(self.patience)
                }
                other => other,
            })?;
            if let Answer::Refused { refusal, detail } = answer
                && sequence == 0
                && !refusal.ends_connection()
            {
                self.unasked = Some((refusal, detail));
                continue;
            }
            let refused = match answer {
                Answer::Refused { refusal, detail } => {
                    Err(ClientError::Refused { refusal, detail })
                }
                other => Ok(other),
            };
            // What is about an earlier request was not waited for and is of no use now.
            if sequence == self.sequence || sequence == 0 {
                return refused;
            }
        }
    }

    fn receive(&mut self, can_wait: bool) -> Result<(Answer, u32), ClientError> {
        match self.receive_once(can_wait) {
            // It left requests unread, which the kernel tells before what it sent.
            Err(ClientError::Io(cause)) if is_closed(&cause) => self.receive_once(false),
            received => received,
        }
    }

    fn receive_once(&self, can_wait: bool) -> Result<(Answer, u32), ClientError> {
        let mut buffer: Buffer = [0; MAX_FRAME_BYTES + 1];
        let bytes = socket::receive_frame(&self.stream, &mut buffer, can_wait)?;
        if bytes.is_empty() {
            return Err(ClientError::Ended);
        }
        Ok(Answer::decode(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

    use super::*;
    use crate::protocol::Frame;
    use crate::socket::send_frame;

    fn connected() -> (Client, UnixStream) {
        let flags = SockFlag::SOCK_CLOEXEC;
        let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags);
        let (stream, daemon) = pair.expect("a pair");
        let client = Client {
            stream: stream.into(),
            sequence: 0,
            patience: Duration::from_secs(60),
            unasked: None,
            heartbeat_timeout: Duration::ZERO,
        };
        (client, daemon.into())
    }

    /// A client whose daemon has said this and closed, over a frame that it had not read or none.
    fn hung_up_on(said: &[Frame], has_unread: bool) -> Client {
        let (mut client, daemon) = connected();
        if has_unread {
            client.beat().expect("sent");
        }
        for frame in said {
            send_frame(&daemon, frame.bytes()).expect("sent");
        }
        client
    }

    #[test]
    fn who_is_hung_up_on_is_told_so_and_why_where_that_was_said() {
        let refused = |refusal| Answer::Refused { refusal, detail: 0 }.encode(0);
        let earlier = Answer::Lowered { claims: 1 }.encode(9);
        let closed = "bobtaild has closed the connection";
        let full = format!("bobtaild refuses: {}", Refusal::TooManyClients);
        for has_unread in [false, true] {
            for (said, expected) in [
                (vec![], closed),
                (vec![earlier, refused(Refusal::NoLever)], closed),
                (vec![earlier, refused(Refusal::TooManyClients)], &full),
            ] {
                let told = hung_up_on(&said, has_unread).lower_all().unwrap_err();
                assert_eq!(told.to_string(), expected, "{has_unread}");
            }
        }
    }

    #[test]
    fn what_was_said_before_the_end_is_read_also_by_who_does_not_ask() {
        for has_unread in [false, true] {
            let refusal = Refusal::Ending;
            let farewell = Answer::Refused { refusal, detail: 0 }.encode(0);
            let mut client = hung_up_on(&[farewell], has_unread);
            let told = client.late_answer().expect("read").expect("a word");
            let told = told.stands.unwrap_err().to_string();
            assert_eq!(told, format!("bobtaild lets go: {refusal}"));
            let told = client.late_answer().unwrap_err().to_string();
            assert_eq!(told, "bobtaild has closed the connection");
        }
    }
}
