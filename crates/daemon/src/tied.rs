//! A tie to whoever started a process: its own lever is let go when that one's bobtaild ends.

use bobtail_control::gauge::Gauge;
use bobtail_control::{
    Actuator, Applied, ControlError, Host, Lever, Outcome, Restored, SavedState, SelfTest,
};
use bobtail_policy::Speed;

use crate::client::Client;

/// How often a tie is looked at.
const TIE_NS: u64 = 100_000_000;

/// A lever of this process's own that is let go when a daemon ends: the command that started the
/// process is gone then, and nobody is left who wants it.
#[derive(Debug)]
pub struct Tied {
    lever: Box<dyn Actuator>,
    tie: Option<Client>,
    now: Option<Speed>,
}

impl Tied {
    /// Ties a lever to the daemon that this client speaks to.
    pub fn new(lever: Box<dyn Actuator>, tie: Client) -> Self {
        Self {
            lever,
            tie: Some(tie),
            now: None,
        }
    }
}

fn is_broken(tie: &mut Client) -> bool {
    tie.late_answer().is_err()
}

impl Actuator for Tied {
    fn lever(&self) -> &Lever {
        self.lever.lever()
    }

    fn saved(&self) -> &SavedState {
        self.lever.saved()
    }

    /// Looks at the tie where nothing changes, so that a boost costs nothing more.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        if self.now == Some(speed) && self.tie.as_mut().is_some_and(is_broken) {
            self.tie = None;
        }
        if self.tie.is_none() {
            self.lever.undo()?;
            self.now = None;
            return Err(ControlError::Unavailable {
                lever: self.lever.lever().kind,
                why: "the bobtaild of the command that boosts has ended".to_owned(),
            });
        }
        self.now = Some(speed);
        self.lever.apply(speed)
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        self.lever.undo()
    }

    fn put_back(&mut self, host: &Host) -> Restored {
        self.lever.put_back(host)
    }

    fn let_go(&mut self) {
        self.lever.let_go();
    }

    fn self_test(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        self.lever.self_test(gauge)
    }

    fn upkeep_ns(&self) -> Option<u64> {
        Some(self.lever.upkeep_ns().unwrap_or(TIE_NS).min(TIE_NS))
    }

    fn unanswered(&self) -> Option<u32> {
        self.lever.unanswered()
    }

    fn outcome(&mut self) -> Option<Outcome> {
        self.lever.outcome()
    }

    fn owes(&self) -> bool {
        self.lever.owes()
    }
}
