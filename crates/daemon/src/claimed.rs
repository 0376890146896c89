//! A lever that bobtaild has in its hand, driven like one's own; and a tie to whoever started one.
//!
//! Nothing is saved here: what the daemon moved it puts back by itself when the connection ends,
//! however this process ends. A decision costs one `send` a domain and waits for nobody.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bobtail_control::gauge::Gauge;
use bobtail_control::{
    Actuator, Applied, ControlError, Domain, Host, Lever, LeverKind, Range, Restored, SavedState,
    SelfTest,
};
use bobtail_policy::Speed;

use crate::client::{Client, ClientError};
use crate::protocol::Offer;

/// A daemon that is gone is looked for so often.
const RETRY: Duration = Duration::from_secs(1);
/// And no longer than this each time, since whoever drives waits for it.
const RETRY_PATIENCE: Duration = Duration::from_millis(50);
/// How often a tie is looked at.
const TIE_NS: u64 = 100_000_000;
/// A daemon has moved a lever, or refused to, within 200 µs where the machine is not crowded.
const ANSWER_NS: u64 = 1_000_000;

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
    /// Claims that it has not answered.
    unanswered: usize,
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
            unanswered: 0,
        })
    }

    fn client(&mut self) -> Result<&mut Client, ClientError> {
        if self.client.is_none() {
            if Instant::now() < self.retry_at {
                return Err(ClientError::Ended);
            }
            self.retry_at = Instant::now() + RETRY;
            self.now = None;
            self.client = Some(Client::connect(&self.socket, RETRY_PATIENCE)?);
        }
        self.client.as_mut().ok_or(ClientError::Ended)
    }

    fn claim(&mut self, speed: Speed) -> Result<bool, ClientError> {
        let (kind, is_changed) = (self.kind, self.now != Some(speed));
        let (beat_at, count) = (self.beat_at, self.targets.len());
        // A daemon that is gone and comes back knows of none.
        let mut unanswered = self.client.as_ref().map_or(0, |_| self.unanswered);
        let targets = std::mem::take(&mut self.targets);
        let claimed = self.client().and_then(|client| {
            let mut refused = None;
            // One a domain may have come.
            while let Some(answer) = client.late_answer()? {
                match answer {
                    Ok(()) => unanswered = unanswered.saturating_sub(1),
                    Err(refusal) if !refusal.is_of_one_claim() => return Err(refusal),
                    Err(refusal) => {
                        if matches!(refusal, ClientError::Refused { .. }) {
                            unanswered = unanswered.saturating_sub(1);
                        }
                        refused = Some(refusal);
                    }
                }
            }
            // Also after a refusal: other domains stand where they were asked to, and are let go by
            // who is not heard of.
            if is_changed {
                let mut targets = targets.iter();
                targets.try_for_each(|target| client.raise_soon(kind, *target, speed))?;
                unanswered += count;
            } else if Instant::now() >= beat_at {
                client.beat()?;
            } else {
                return refused.map_or(Ok(false), Err);
            }
            refused.map_or(Ok(true), Err)
        });
        self.targets = targets;
        self.unanswered = unanswered;
        match &claimed {
            Ok(is_heard) => {
                self.now = Some(speed);
                if *is_heard {
                    self.beat_at = Instant::now() + self.heartbeat_timeout / 4;
                }
            }
            Err(error) if error.is_of_one_claim() => self.now = None,
            // Whatever it is: what it may still hold for this process, the connection's end undoes.
            Err(_) => {
                self.client = None;
                self.now = None;
            }
        }
        claimed.map(|_| is_changed)
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

    /// One `send` for each domain, or a sign of life where nothing changes and one is due. A
    /// refusal shows at the next call, which sends what it is for all the same.
    fn apply(&mut self, speed: Speed) -> Result<Applied, ControlError> {
        let value = self.lever.range.value(self.kind, speed)?;
        match self.claim(speed) {
            Ok(is_changed) => Ok(Applied { value, is_changed }),
            Err(error) => {
                let (lever, why) = (self.kind, error.to_string());
                Err(match error {
                    ClientError::Refused { .. } if error.is_of_one_claim() => {
                        ControlError::NotMoved { lever, why }
                    }
                    _ => ControlError::Unavailable { lever, why },
                })
            }
        }
    }

    fn undo(&mut self) -> Result<(), ControlError> {
        // The end of the connection ends all claims, also where the daemon is gone already.
        self.client = None;
        self.now = None;
        Ok(())
    }

    /// The daemon tested it before it gave it to anybody ([`crate::proving`]), but for the levers
    /// of a group or a thread: a client has no rights to look.
    fn self_test(&mut self, _: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        Ok(SelfTest::default())
    }

    fn upkeep_ns(&self) -> Option<u64> {
        Some((self.heartbeat_timeout / 4).as_nanos() as u64)
    }

    fn answer_ns(&self) -> Option<u64> {
        (self.unanswered > 0).then_some(ANSWER_NS)
    }
}

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

    fn answer_ns(&self) -> Option<u64> {
        self.lever.answer_ns()
    }

    fn owes(&self) -> bool {
        self.lever.owes()
    }
}
