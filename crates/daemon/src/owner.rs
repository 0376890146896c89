//! The process of a client, so that no later one of the same number is taken for it.
//!
//! The kernel tells the number of who connected; by the time that it is used the process may be
//! gone, and its number that of another, of the same user too. So what tells them apart, when it
//! started, is noted at the connection and looked at before anything that is the client's own is
//! moved.

use bobtail_control::threads::start_of;
use bobtail_control::{ControlError, Host, LeverKind, Place};

use crate::rights::Peer;
use crate::status;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub pid: i32,
    pub uid: u32,
    /// In ticks since boot; none for one that is gone, or is not to be seen from here.
    started: Option<u64>,
}

impl Owner {
    /// The process that has the peer's number now, which is when it connects.
    pub fn of(host: &Host, peer: &Peer) -> Self {
        Self {
            pid: peer.pid,
            uid: peer.uid,
            started: start_of(host, peer.pid).ok(),
        }
    }

    /// Nobody: what is a client's own it does not have any more.
    pub fn forget(&mut self) {
        self.started = None;
    }

    /// That the process is still there and acts as the same user. What was read of it before is
    /// its own then, since a number that was another's does not become this one's again.
    ///
    /// # Errors
    ///
    /// [`ControlError::Unavailable`] when it is gone or another user's by now.
    pub fn check(&self, host: &Host, kind: LeverKind) -> Result<(), ControlError> {
        let Self { pid, uid, started } = *self;
        let unavailable = |why| Err(ControlError::Unavailable { lever: kind, why });
        let status = host.read_if_there(&Place::proc(format!("{pid}/status")))?;
        let status = status.unwrap_or_default();
        if has_ended(&status) {
            return unavailable(format!("process {pid} has ended"));
        }
        if effective_user(&status) != Some(uid) {
            return unavailable(format!("process {pid} does not act as user {uid}"));
        }
        match (started, start_of(host, pid)) {
            (Some(started), Ok(found)) if started == found => Ok(()),
            _ => unavailable(format!("process {pid} is not the one that connected")),
        }
    }
}

/// Whether nobody has taken notice of its end so far. A process whose first thread has ended goes
/// on with the others.
fn has_ended(status: &str) -> bool {
    let is_zombie = status::field(status, "State").is_some_and(|state| state.starts_with('Z'));
    is_zombie && status::threads(status) == 1
}

/// The second number of `Uid:`, after the real one: what the kernel told of the peer is that.
fn effective_user(status: &str) -> Option<u32> {
    let users = status::field(status, "Uid")?;
    users.split_whitespace().nth(1)?.parse().ok()
}
