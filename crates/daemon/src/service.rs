//! What the daemon does with a frame, a silence or an end: the decisions, without the sockets.
//!
//! Time comes in as a number that only grows, so that tests need no waiting and a step of the
//! wall clock has nothing to act on.

mod finding;
mod refusing;

use std::collections::BTreeMap;
use std::time::Duration;

use bobtail_control::{Domain, Range, Unit};
use bobtail_policy::Speed;

use crate::claims::{Claims, ClientId};
use crate::config::Config;
use crate::holdings::{HoldError, HoldingId, Holdings, Raised};
use crate::levers::Spot;
use crate::log::Log;
use crate::owner::Owner;
use crate::protocol::{Answer, Frame, Offer, Refusal, Request, VERSION, Want};
use crate::rights::{self, Bounds, Peer};
use crate::session::Session;
use refusing::{Refused, refusal_of};

/// The daemon without its sockets.
#[derive(Debug)]
pub struct Service {
    config: Config,
    holdings: Holdings,
    claims: Claims<HoldingId>,
    sessions: BTreeMap<ClientId, Session>,
    next: ClientId,
    /// What is to be said to whom though nobody asked.
    unasked: Vec<(ClientId, Frame)>,
    pub log: Log,
}

/// What to send to a client, and whether its connection ends then.
#[derive(Debug, Default)]
pub struct Reply {
    pub frame: Option<Frame>,
    pub ends: bool,
}

impl Service {
    pub fn new(config: Config, holdings: Holdings) -> Self {
        Self {
            config,
            holdings,
            claims: Claims::default(),
            sessions: BTreeMap::new(),
            next: 0,
            unasked: Vec::new(),
            log: Log::default(),
        }
    }

    /// Takes a new connection, or says why not.
    ///
    /// # Errors
    ///
    /// For whom no rule speaks, and for more connections than allowed.
    pub fn admit(&mut self, peer: Peer, now: Duration) -> Result<ClientId, Refusal> {
        if !rights::may_connect(&self.config, &peer) {
            return Err(Refusal::NotAllowed);
        }
        let of_user = |session: &&Session| session.peer.uid == peer.uid;
        let count = self.sessions.values().filter(of_user).count();
        if self.sessions.len() >= self.config.max_clients
            || count >= self.config.max_clients_per_user
        {
            return Err(Refusal::TooManyClients);
        }
        self.next += 1;
        let owner = Owner::of(self.holdings.host(), &peer);
        let session = Session::new(peer, owner, now);
        self.sessions.insert(self.next, session);
        Ok(self.next)
    }

    /// Who connected is gone already, so that its number may have been another's when it was looked
    /// at: whoever has the connection has no group and no threads of its own.
    pub fn orphan(&mut self, client: ClientId) {
        if let Some(session) = self.sessions.get_mut(&client) {
            session.owner.forget();
        }
    }

    /// Handles one datagram of a client.
    pub fn receive(&mut self, client: ClientId, bytes: &[u8], now: Duration) -> Reply {
        let Some(session) = self.sessions.get_mut(&client) else {
            return Reply::default();
        };
        let refuse = |sequence, (refusal, detail): Refused| Reply {
            frame: Some(Answer::Refused { refusal, detail }.encode(sequence)),
            ends: refusal.ends_connection(),
        };
        let (request, sequence, is_silent) = match Request::decode(bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                let pid = session.peer.pid;
                self.log.line(now, format_args!("pid {pid}: {error}"));
                return refuse(0, (Refusal::BadFrame, 0));
            }
        };
        session.last_heard = now;
        if !session.pay(self.config.requests_per_second, now) {
            return refuse(sequence, (Refusal::Flood, 0));
        }
        if !session.is_welcome && !matches!(request, Request::Hello { .. }) {
            return refuse(sequence, (Refusal::BadFrame, 0));
        }
        match self.answer(client, request, now) {
            Ok(Some(answer)) if !is_silent => Reply {
                frame: Some(answer.encode(sequence)),
                ends: false,
            },
            Ok(_) => Reply::default(),
            Err(refused) => refuse(sequence, refused),
        }
    }

    /// Lets go of all that a client claimed. How its connection ended makes no difference.
    pub fn leave(&mut self, client: ClientId, now: Duration) {
        self.sessions.remove(&client);
        self.let_go(client, now);
    }

    /// Who has been silent for too long; they have left already, and get the frame as a farewell.
    pub fn expire(&mut self, now: Duration) -> Vec<(ClientId, Frame)> {
        let is_due = |(client, _): &(&ClientId, &Session)| {
            self.deadline(**client)
                .is_some_and(|deadline| deadline <= now)
        };
        let due: Vec<_> = self
            .sessions
            .iter()
            .filter(is_due)
            .map(|(id, _)| *id)
            .collect();
        for client in &due {
            if let Some(session) = self.sessions.get(client) {
                let what = if session.is_welcome {
                    "no sign of life, its levers are put back"
                } else {
                    "no HELLO"
                };
                let pid = session.peer.pid;
                self.log.line(now, format_args!("pid {pid}: {what}"));
            }
            self.leave(*client, now);
        }
        let farewell = Answer::Refused {
            refusal: Refusal::Expired,
            detail: 0,
        };
        due.into_iter()
            .map(|client| (client, farewell.encode(0)))
            .collect()
    }

    /// Closes idle levers and tries again those that could not be put back.
    pub fn tick(&mut self, now: Duration) {
        for id in self.holdings.tick(now, &mut self.log) {
            self.settle(id, now);
        }
    }

    /// What clients are to be told though they did not ask: a claim that no longer stands.
    pub fn take_unasked(&mut self) -> Vec<(ClientId, Frame)> {
        std::mem::take(&mut self.unasked)
    }

    /// How long each lever that processes share was above its base, whoever wanted it.
    pub fn raised(&self, now: Duration) -> Vec<Raised> {
        self.holdings.raised(now)
    }

    /// When `expire` or `tick` next has something to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        let sessions = self.sessions.keys().filter_map(|id| self.deadline(*id));
        sessions.chain(self.holdings.next_tick()).min()
    }

    /// Puts everything back; how many levers could not be, and who is to be told of the end.
    pub fn end(&mut self, now: Duration) -> (usize, Frame) {
        self.sessions.clear();
        self.claims = Claims::default();
        let left = self.holdings.end(now, &mut self.log);
        let farewell = Answer::Refused {
            refusal: Refusal::Ending,
            detail: 0,
        };
        (left, farewell.encode(0))
    }

    fn deadline(&self, client: ClientId) -> Option<Duration> {
        let session = self.sessions.get(&client)?;
        // Who has not greeted is not waited for; who claims nothing may be silent.
        let is_due = !session.is_welcome || self.claims.count(client) > 0;
        is_due.then(|| session.last_heard + self.config.heartbeat_timeout)
    }

    fn answer(
        &mut self,
        client: ClientId,
        request: Request,
        now: Duration,
    ) -> Result<Option<Answer>, Refused> {
        // Any request is a sign of life.
        self.end_stray_claims(client, now);
        let answer = match request {
            Request::Hello { oldest, newest } => self.hello(client, oldest, newest)?,
            Request::Ask(want) => self.ask(client, want, now)?,
            Request::Raise { want, speed } => self.raise(client, want, speed, now)?,
            Request::Lower(want) => Answer::Lowered {
                claims: self.end_claims(client, want, None, now),
            },
            Request::LowerAll => Answer::Lowered {
                claims: self.let_go(client, now),
            },
            Request::Beat => return Ok(None),
        };
        Ok(Some(answer))
    }

    fn hello(&mut self, client: ClientId, oldest: u8, newest: u8) -> Result<Answer, Refused> {
        if !(oldest..=newest).contains(&VERSION) {
            return Err((Refusal::Version, 0));
        }
        if let Some(session) = self.sessions.get_mut(&client) {
            session.is_welcome = true;
        }
        Ok(Answer::Welcome {
            heartbeat_timeout_ns: self.config.heartbeat_timeout.as_nanos() as u64,
            max_claims: self.config.max_claims,
        })
    }

    fn ask(&mut self, client: ClientId, want: Want, now: Duration) -> Result<Answer, Refused> {
        let (id, bounds) = self.find(client, want, now)?;
        let Some(view) = self.holdings.view(id) else {
            return Err((Refusal::NoLever, 0));
        };
        let range = view.range;
        let grant = |value| grantable(value, &bounds, &range);
        Ok(Answer::Offered(Offer {
            domain: number_of(view.domain),
            unit: range.unit,
            lowest: grant(range.lowest),
            highest: grant(range.highest),
            base: grant(range.base),
            peak: grant(range.peak),
            transition_ns: view.transition_ns.and_then(|ns| u32::try_from(ns).ok()),
        }))
    }

    fn raise(
        &mut self,
        client: ClientId,
        want: Want,
        speed: Speed,
        now: Duration,
    ) -> Result<Answer, Refused> {
        let (id, bounds) = self.find(client, want, now)?;
        let Some(range) = self.holdings.view(id).map(|view| view.range) else {
            return Err((Refusal::NoLever, 0));
        };
        let Ok(value) = range.value(want.lever, speed) else {
            return Err((Refusal::NoLever, 0));
        };
        let granted = grantable(value, &bounds, &range);
        if self.holdings.is_busy(id) {
            return Err((Refusal::DomainBusy, 0));
        }
        // Of a process that is in another group by now, what it claimed of the one before.
        self.end_claims(client, want, Some(id), now);
        let before = self.claims.put(id, client, want.target, granted);
        if before.is_none() && self.claims.count(client) > self.config.max_claims {
            self.claims.remove(id, client, want.target);
            return Err((Refusal::TooManyClaims, 0));
        }
        let effective = self.claims.highest(id);
        if let Err(error) = self.holdings.settle(id, effective, now, &mut self.log) {
            self.claims.remove(id, client, want.target);
            self.give_up_if_idle(id, &error);
            return Err(refusal_of(&error));
        }
        // Not the highest claim: a quota without credit stays where it was.
        let stands = self.holdings.view(id).map(|view| view.stands);
        Ok(Answer::Granted {
            granted,
            effective: stands.unwrap_or(granted),
        })
    }

    /// Ends what a client claims by this lever and target, but on the holding that is kept; how
    /// many. Of nobody else's anything is looked for, and nothing is opened for it.
    fn end_claims(
        &mut self,
        client: ClientId,
        want: Want,
        kept: Option<HoldingId>,
        now: Duration,
    ) -> u32 {
        let mut ended = 0;
        for id in self.claims.claimed(client, want.target) {
            let kind = self.holdings.view(id).map(|view| view.kind);
            // What is closed is nobody's any more.
            let is_meant = kind.is_none_or(|kind| kind == want.lever);
            if is_meant && Some(id) != kept && self.claims.remove(id, client, want.target) {
                self.settle(id, now);
                ended += u32::from(kind.is_some());
            }
        }
        ended
    }

    /// Groups and threads are given to the process that connected: whoever has its connection now
    /// keeps nothing of them by beating.
    fn end_stray_claims(&mut self, client: ClientId, now: Duration) {
        let Some(session) = self.sessions.get(&client) else {
            return;
        };
        let own = |(want, spot): (&Want, &Spot)| spot.is_own().then_some(*want);
        let wants: Vec<_> = session.spots.iter().filter_map(own).collect();
        let host = self.holdings.host();
        let is_there = |want: &Want| session.owner.check(host, want.lever).is_ok();
        if wants.first().is_none_or(is_there) {
            return;
        }
        for want in wants {
            self.end_claims(client, want, None, now);
        }
    }

    fn let_go(&mut self, client: ClientId, now: Duration) -> u32 {
        let (count, holdings) = self.claims.remove_client(client);
        for id in holdings {
            self.settle(id, now);
        }
        count
    }

    fn settle(&mut self, id: HoldingId, now: Duration) {
        let wanted = self.claims.highest(id);
        // A lever that stays up is in the log and tried again.
        if let Err(error) = self.holdings.settle(id, wanted, now, &mut self.log) {
            self.give_up_if_idle(id, &error);
        }
    }

    /// A lever that could not be raised and is not tried again is closed: who claims it would
    /// believe to have it for ever.
    fn give_up_if_idle(&mut self, id: HoldingId, error: &HoldError) {
        if !self.holdings.is_idle(id) {
            return;
        }
        let (refusal, detail) = refusal_of(error);
        for client in self.claims.remove_holding(id) {
            let frame = Answer::Refused { refusal, detail }.encode(0);
            self.unasked.push((client, frame));
        }
    }
}

/// What clients see of a domain: those with the same number move together.
fn number_of(domain: &Domain) -> u32 {
    match domain {
        Domain::Cpus(cpus) => cpus.first().copied().unwrap_or_default(),
        Domain::Thread(thread) => thread.unsigned_abs(),
        Domain::Group(_) => 0,
    }
}

/// What is granted of a value: never less than what the lever was at before, since a claim that
/// slows what others run on is none. A lever without frequencies has two values: who may not have
/// its peak gets its base.
fn grantable(value: u32, bounds: &Bounds, range: &Range) -> u32 {
    let value = bounds.clamp(value, range.base, range.highest);
    match range.unit {
        Unit::Khz => value,
        _ if value >= range.peak => range.peak,
        _ => range.base,
    }
}
