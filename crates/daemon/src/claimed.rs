//! A lever that bobtaild has in its hand, driven like one's own.
//!
//! Nothing is saved here: what the daemon moved it puts back by itself when the connection ends,
//! however this process ends. A decision costs one `send` a domain and waits for nobody.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bobtail_control::gauge::Gauge;
use bobtail_control::{
    Actuator, Applied, ControlError, Domain, Lever, LeverKind, Outcome, Range, SavedState, SelfTest,
};
use bobtail_policy::Speed;

use crate::changes::Changes;
use crate::client::{Client, ClientError};
use crate::protocol::Offer;

/// A daemon that is gone is looked for so often.
const RETRY: Duration = Duration::from_secs(1);
/// And no longer than this each time, since whoever drives waits for it.
const RETRY_PATIENCE: Duration = Duration::from_millis(50);
/// A daemon that does not answer for so long is as good as gone, or for a quarter of its heartbeat
/// timeout where that is more.
const ANSWER_PATIENCE: Duration = Duration::from_millis(250);
/// A quota goes down by itself when its credit ends; so often it is asked whether it did.
const QUOTA_UPKEEP: Duration = Duration::from_millis(50);

/// Levers of one kind that a daemon moves for this process, as one.
#[derive(Debug)]
pub struct Claimed {
    socket: PathBuf,
    /// None while the daemon is gone.
    client: Option<Client>,
    retry_at: Instant,
    kind: LeverKind,
    /// One of each domain.
    targets: Vec<u32>,
    lever: Lever,
    saved: SavedState,
    now: Option<Speed>,
    heartbeat_timeout: Duration,
    /// When the daemon is to hear of this process next.
    beat_at: Instant,
    changes: Changes,
}

impl Claimed {
    /// Asks the daemon at `socket` for a lever on each target: CPUs, or for a lever of a group 0,
    /// or a thread of this process. `patience` bounds the wait for each answer.
    ///
    /// # Errors
    ///
    /// The first target that is refused, or that there is no daemon.
    pub fn open(
        socket: &Path,
        kind: LeverKind,
        targets: &[u32],
        patience: Duration,
    ) -> Result<Self, ClientError> {
        let mut client = Client::connect(socket, patience)?;
        let mut offers: Vec<(u32, Offer)> = vec![];
        for &target in targets {
            let offer = client.offer(kind, target)?;
            if offers.iter().all(|(_, known)| known.domain != offer.domain) {
                offers.push((target, offer));
            }
        }
        let domain = match kind {
            LeverKind::Quota | LeverKind::Burst => Domain::Group(String::new()),
            LeverKind::Uclamp => Domain::Thread(targets.first().map_or(0, |id| *id as i32)),
            _ => Domain::Cpus(offers.iter().map(|(_, offer)| offer.domain).collect()),
        };
        let range = offers.first().map(|(_, offer)| Range {
            unit: offer.unit,
            lowest: offer.lowest,
            highest: offer.highest,
            base: offer.base,
            peak: offer.peak,
        });
        let range = range.ok_or(ClientError::OtherAnswer)?;
        let values = format!("{} to {} {}", range.base, range.peak, range.unit);
        let domains = match offers.len() {
            1 => String::new(),
            count => format!(" in {count} domains"),
        };
        Ok(Self {
            socket: socket.to_owned(),
            heartbeat_timeout: client.heartbeat_timeout(),
            client: Some(client),
            retry_at: Instant::now(),
            kind,
            targets: offers.iter().map(|(target, _)| *target).collect(),
            lever: Lever {
                kind,
                domain: domain.clone(),
                range,
                about: format!("{kind}, {values}{domains}, through bobtaild"),
                transition_ns: longest_ns(&offers),
                is_emulated: kind == LeverKind::Emulated,
            },
            saved: SavedState {
                lever: kind,
                domain,
                settings: vec![],
            },
            now: None,
            beat_at: Instant::now(),
            changes: Changes::new(range.peak < range.base),
        })
    }

    fn connect(&mut self) -> Result<&mut Client, ClientError> {
        if self.client.is_none() {
            if Instant::now() < self.retry_at {
                return Err(ClientError::Ended);
            }
            self.retry_at = Instant::now() + RETRY;
            self.client = Some(Client::connect(&self.socket, RETRY_PATIENCE)?);
        }
        self.client.as_mut().ok_or(ClientError::Ended)
    }

    /// Whatever went wrong: what the daemon may still hold, the connection's end undoes.
    fn disconnect(&mut self) {
        self.client = None;
        self.now = None;
        self.changes.forget();
    }

    fn claim(&mut self, speed: Speed) -> Result<bool, ClientError> {
        self.take_answers()?;
        let now = Instant::now();
        let patience = ANSWER_PATIENCE.max(self.heartbeat_timeout / 4);
        if self.changes.waited(now) > patience {
            return Err(ClientError::NoAnswer(patience));
        }
        if self.changes.is_refused() {
            // When it is asked for again is the owner's to say, once told.
            if self.now.take() == Some(speed) {
                return Ok(false);
            }
        }
        let is_changed = self.now != Some(speed);
        if is_changed {
            self.changes.begin();
        } else if now < self.beat_at {
            return Ok(false);
        }
        // What stands is asked for again as a sign of life: a daemon that hangs shows by that, and
        // so does a lever that went down by itself, as a quota does, or a clock that was refused.
        let count = self.targets.len() as u32;
        let client = self.client.as_mut().ok_or(ClientError::Ended)?;
        let mut first = None;
        for target in &self.targets {
            let sequence = client.raise_soon(self.kind, *target, speed)?;
            first.get_or_insert(sequence);
        }
        self.changes.ask(first.unwrap_or_default(), count, now);
        self.now = Some(speed);
        self.beat_at = now + self.upkeep();
        Ok(is_changed)
    }

    fn upkeep(&self) -> Duration {
        let beat = self.heartbeat_timeout / 4;
        match self.kind {
            LeverKind::Quota => beat.min(QUOTA_UPKEEP),
            _ => beat,
        }
    }

    /// All that came since: one a clock may have.
    fn take_answers(&mut self) -> Result<(), ClientError> {
        while let Some(answer) = self.connect()?.late_answer()? {
            match answer.stands {
                Err(error) if !error.is_of_one_claim() => return Err(error),
                _ => self.changes.answer(answer),
            }
        }
        Ok(())
    }
}

/// The longest transition of these; none if it is not known of one.
fn longest_ns(offers: &[(u32, Offer)]) -> Option<u64> {
    let mut all = offers.iter().map(|(_, offer)| offer.transition_ns);
    all.try_fold(0, |longest, ns| Some(u64::from(ns?).max(longest)))
}

impl Actuator for Claimed {
    fn lever(&self) -> &Lever {
        &self.lever
    }

    /// Empty: the daemon puts back what it moved.
    fn saved(&self) -> &SavedState {
        &self.saved
    }

    /// One `send` for each domain, also as a sign of life where nothing changes and one is due.
    /// What came of it is told by `outcome` after a later call.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let value = self.lever.range.value(self.kind, speed)?;
        match self.claim(speed) {
            Ok(is_changed) => Ok(Applied { value, is_changed }),
            Err(error) => {
                self.disconnect();
                let (lever, why) = (self.kind, error.to_string());
                Err(ControlError::Unavailable { lever, why })
            }
        }
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        // The end of the connection ends all claims, also where the daemon is gone already.
        self.disconnect();
        Ok(())
    }

    /// The daemon tested it before it gave it to anybody ([`crate::proving`]), but for the levers
    /// of a group or a thread: a client has no rights to look.
    fn self_test(&mut self, _: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        Ok(SelfTest::default())
    }

    fn upkeep_ns(&self) -> Option<u64> {
        Some(self.upkeep().as_nanos() as u64)
    }

    fn unanswered(&self) -> Option<u32> {
        self.changes.unanswered()
    }

    fn outcome(&mut self) -> Option<Outcome> {
        self.changes.outcome()
    }
}
