//! The locks of levers that the daemon shares with its guard.
//!
//! A lock (flock) is gone with its process. Were it the daemon's alone, whoever came between its
//! death and the guard would take what is still raised for what was before. It belongs to an open
//! file, though, not to a process: the guard has duplicates, through the socket that is its stdin.
//! Letting go of it by one lets go of it for both, so that what the daemon lowers is free at once.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;

use bobtail_control::{Domain, LeverKind, SavedState, lock, receive_with_files};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use serde::{Deserialize, Serialize};

/// Fewer than one message may bring (253, `SCM_MAX_FD`).
const FILES_MAX: usize = 200;
/// A domain of all CPUs of the largest machine, or the longest path of a group.
const BYTES_MAX: usize = 64 * 1024;
/// That nothing is left to be put back.
const GO_HOME: &[u8] = b".";

/// What a daemon says to its guard of a lever, named as in the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    /// The files that come along are this lever's locks, beside those that came before.
    Lend(LeverKind, Domain),
    /// The guard needs none of it any more.
    Forget(LeverKind, Domain),
}

/// The daemon's end. All clones speak to the same guard.
#[derive(Debug, Clone, Default)]
pub struct Lender(Rc<RefCell<Line>>);

#[derive(Debug, Default)]
struct Line {
    guard: Option<Rc<OwnedFd>>,
    /// A guard does not have all that it should.
    is_behind: bool,
}

impl Lender {
    /// Lends to this guard from now on.
    pub fn speak_to(&self, guard: Rc<OwnedFd>) {
        let mut line = self.0.borrow_mut();
        line.guard = Some(guard);
        line.is_behind = true;
    }

    /// Whether a guard must be lent all anew; it counts as done by the asking.
    pub fn is_behind(&self) -> bool {
        std::mem::take(&mut self.0.borrow_mut().is_behind)
    }

    /// Shares the locks of a lever, which may be taken later. Without a guard, or with one that
    /// does not listen, the lever has the daemon's alone until that is made good: a lock must not
    /// keep the daemon from its work.
    pub fn lend(&self, saved: &SavedState, locks: &[BorrowedFd<'_>]) {
        if locks.is_empty() {
            return;
        }
        // What it had of this one may be of files that are gone.
        self.forget(saved.lever, &saved.domain);
        let word = Word::Lend(saved.lever, saved.domain.clone());
        for files in locks.chunks(FILES_MAX) {
            self.say(&word, files);
        }
    }

    /// Has the guard close what it has of a lever.
    pub fn forget(&self, lever: LeverKind, domain: &Domain) {
        self.say(&Word::Forget(lever, domain.clone()), &[]);
    }

    fn say(&self, word: &Word, files: &[BorrowedFd<'_>]) {
        let mut line = self.0.borrow_mut();
        let Some(guard) = &line.guard else {
            return;
        };
        // Nothing in it can fail to be text.
        let text = serde_json::to_vec(word).unwrap_or_default();
        let files: Vec<RawFd> = files.iter().map(|file| file.as_raw_fd()).collect();
        match send(guard, &text, &files) {
            Ok(()) => {}
            // It has ended; the next one is lent all.
            Err(Errno::EPIPE | Errno::ECONNRESET) => line.guard = None,
            Err(_) => line.is_behind = true,
        }
    }
}

/// Tells a guard that nothing is left to be put back.
pub fn send_home(guard: &OwnedFd) -> nix::Result<()> {
    send(guard, GO_HOME, &[])
}

fn send(guard: &OwnedFd, text: &[u8], files: &[RawFd]) -> nix::Result<()> {
    let rights = [ControlMessage::ScmRights(files)];
    let rights: &[ControlMessage<'_>] = if files.is_empty() { &[] } else { &rights };
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(
        guard.as_raw_fd(),
        &[IoSlice::new(text)],
        rights,
        flags,
        None,
    )?;
    Ok(())
}

/// The guard's end: what it was lent.
#[derive(Debug, Default)]
pub struct Lent(Vec<(LeverKind, Domain, Vec<File>)>);

/// What a daemon said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Nothing more for now.
    Nothing,
    GoHome,
    /// There is no daemon any more.
    End,
}

/// Whose a lever is that was left in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Its lock is this guard's.
    Own,
    /// The daemon had let go of it, so that it was back; whoever has it now is its owner.
    Anothers,
    /// Nothing of it was lent.
    Unknown,
}

impl Lent {
    /// Takes all that was said by now.
    pub fn listen(&mut self, daemon: impl AsFd) -> Said {
        let mut buffer = vec![0; BYTES_MAX];
        loop {
            let mut files = Vec::new();
            let received = receive_with_files(daemon.as_fd(), &mut buffer, &mut files);
            let text = match received {
                Ok(0) => return Said::End,
                Ok(length) => &buffer[..length],
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Said::Nothing,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                // A pipe, of who starts one by hand: all that it may say is to go home.
                Err(cause) if cause.raw_os_error() == Some(Errno::ENOTSOCK as i32) => {
                    return match nix::unistd::read(&daemon, &mut buffer) {
                        Ok(1..) => Said::GoHome,
                        Err(Errno::EINTR | Errno::EAGAIN) => Said::Nothing,
                        _ => Said::End,
                    };
                }
                Err(_) => return Said::End,
            };
            if text == GO_HOME {
                return Said::GoHome;
            }
            match serde_json::from_slice(text) {
                Ok(Word::Lend(lever, domain)) => self.0.push((lever, domain, files)),
                Ok(Word::Forget(lever, domain)) => self.forget(lever, &domain),
                // Of a daemon that is not of this version: it has no locks of this guard then.
                Err(_) => {}
            }
        }
    }

    /// Makes sure that a lever is this guard's: it is if its daemon held it to the end, or nobody
    /// has it.
    pub fn hold(&self, saved: &SavedState) -> Whose {
        let of = |(lever, domain, _): &&(LeverKind, Domain, _)| {
            *lever == saved.lever && *domain == saved.domain
        };
        let mut files = self.0.iter().filter(of).flat_map(|(_, _, files)| files);
        let Some(first) = files.next() else {
            return Whose::Unknown;
        };
        // A lock that cannot be asked for is no other owner's.
        let is_anothers = |file: &File| matches!(lock(file), Ok(false));
        match std::iter::once(first).chain(files).any(is_anothers) {
            true => Whose::Anothers,
            false => Whose::Own,
        }
    }

    /// Lets go of a lever, unless the daemon has it too.
    pub fn forget(&mut self, lever: LeverKind, domain: &Domain) {
        self.0
            .retain(|(other, of, _)| *other != lever || of != domain);
    }
}
