//! The levers that the daemon has in its hand, each brought to what is wanted of it.
//!
//! One function, `settle`, makes a lever so; raising, lowering, a client's end, a retry and the
//! daemon's own end all go through it, so that there is no second way for a lever to stay up.

mod closed;
mod holding;
mod raised_time;

use std::collections::BTreeMap;
use std::time::Duration;

use bobtail_control::{Asked, ControlError, Domain, Host, LeverKind, Range, SavedState};

use closed::ClosedAccounts;
pub use holding::HoldError;
use holding::{FIRST_RETRY, Holding, LONGEST_RETRY, State};
pub use raised_time::Raised;

use crate::descriptors;
use crate::journal::Journal;
use crate::levers::{self, Imitated, Spot};
use crate::log::Log;
use crate::restore::{Outcome, name, put_back};

/// How often what was left raised is not put back for want of its lock: some seconds.
const LOCK_TRIES: u32 = 5;

/// Number of a holding.
pub type HoldingId = u32;

/// What an earlier daemon left raised and could not be put back yet.
#[derive(Debug)]
struct Orphan {
    saved: SavedState,
    retry_at: Duration,
    pause: Duration,
    /// How often its lock was another's.
    waited: u32,
}

/// All levers in the daemon's hand.
#[derive(Debug)]
pub struct Holdings {
    host: Host,
    journal: Journal,
    imitated: Option<Imitated>,
    of: BTreeMap<HoldingId, Holding>,
    orphans: Vec<Orphan>,
    /// Not those of threads, which have nobody else's claims and come and go without end.
    closed: ClosedAccounts,
    next: HoldingId,
}

/// What a client may know of a holding.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub kind: LeverKind,
    pub domain: &'a Domain,
    pub range: Range,
    /// Where it stands since it was moved last.
    pub stands: u32,
    pub transition_ns: Option<u64>,
}

impl Holdings {
    /// What the journal already has, somebody else has raised: it is tried again until it is back.
    pub fn new(host: Host, journal: Journal) -> Self {
        let orphan = |saved: &SavedState| Orphan {
            saved: saved.clone(),
            retry_at: Duration::ZERO,
            pause: FIRST_RETRY,
            waited: 0,
        };
        Self {
            orphans: journal.entries().iter().map(orphan).collect(),
            host,
            journal,
            imitated: None,
            of: BTreeMap::new(),
            closed: ClosedAccounts::default(),
            next: 0,
        }
    }

    /// With an imitated frequency to be had, for an experiment.
    pub fn imitating(mut self, imitated: Option<Imitated>) -> Self {
        self.imitated = imitated;
        self
    }

    /// The machine whose levers these are.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The holding of a lever on a spot, if it is open.
    pub fn held(&self, kind: LeverKind, spot: &Spot) -> Option<HoldingId> {
        let held = self.on(kind, spot);
        held.filter(|(_, holding)| !holding.is_of_ended_thread(spot))
            .map(|(id, _)| id)
    }

    fn on(&self, kind: LeverKind, spot: &Spot) -> Option<(HoldingId, &Holding)> {
        let mut all = self.of.iter().map(|(id, holding)| (*id, holding));
        all.find(|(_, holding)| holding.kind == kind && spot.is_in(&holding.domain))
    }

    /// Whether somebody else has changed what a lever goes back to, while it was down.
    fn is_outdated(&self, id: HoldingId) -> bool {
        let holding = self.of.get(&id);
        holding.is_some_and(|holding| {
            let is_idle = matches!(holding.state, State::Idle { .. });
            is_idle
                && holding
                    .actuator
                    .saved()
                    .check_unchanged(&self.host)
                    .is_err()
        })
    }

    /// How many levers are open that this user had opened.
    pub fn opened_by(&self, user: u32) -> usize {
        let of_user = |holding: &&Holding| holding.opened_by == user;
        self.of.values().filter(of_user).count()
    }

    /// The holding of a lever on a spot, opened for this user if need be.
    ///
    /// # Errors
    ///
    /// When the lever cannot be opened.
    pub fn find(
        &mut self,
        kind: LeverKind,
        spot: &Spot,
        (asked, user): (Asked, u32),
        now: Duration,
        log: &mut Log,
    ) -> Result<HoldingId, ControlError> {
        if let Some(id) = self.held(kind, spot) {
            if !self.is_outdated(id) {
                return Ok(id);
            }
            // Opened anew before anybody looks at what it moves, and between which values.
            self.close(id, now, log);
        }
        // One of a thread that has ended, whose number is another's now: the journal goes by those.
        if let Some(id) = self.on(kind, spot).map(|(id, _)| id) {
            self.put_down_and_close(id, now, log);
        }
        let actuator = levers::open(&self.host, kind, spot, &asked, self.imitated.as_ref())?;
        // Its own files are open by now.
        descriptors::check_room().map_err(|cause| ControlError::Call {
            lever: kind,
            call: "dup",
            cause,
        })?;
        let domain = actuator.lever().domain.clone();
        if self
            .orphans
            .iter()
            .any(|orphan| overlap(&orphan.saved.domain, &domain))
        {
            // Opened now, it would take what was left raised for its base.
            return Err(ControlError::Unavailable {
                lever: kind,
                why: "what was left raised there is not back yet".to_owned(),
            });
        }
        self.next += 1;
        let holding = Holding {
            kind,
            raised_time: self.closed.reopen(kind, &domain, now),
            domain,
            spot: spot.clone(),
            opened_by: user,
            range: actuator.lever().range,
            asked,
            actuator,
            is_journaled: false,
            failures: 0,
            value: 0,
            stands: 0,
            stood: Vec::new(),
            state: State::Idle { since: now },
        };
        self.of.insert(self.next, holding);
        Ok(self.next)
    }

    /// How long each lever that processes share was above its base.
    pub fn raised(&self, now: Duration) -> Vec<Raised> {
        let held = self
            .of
            .values()
            .map(|one| (one.kind, &one.domain, &one.raised_time));
        held.chain(self.closed.iter())
            .filter(|(_, domain, _)| is_shared(domain))
            .map(|(kind, domain, time)| time.told(kind, domain, now))
            .collect()
    }

    /// What a holding is; none when it was closed.
    pub fn view(&self, id: HoldingId) -> Option<View<'_>> {
        self.of.get(&id).map(|holding| View {
            kind: holding.kind,
            domain: &holding.domain,
            range: holding.range,
            stands: holding.stands,
            transition_ns: holding.actuator.lever().transition_ns,
        })
    }

    /// Whether a lever is as it was before: who still claims it does not have it.
    pub fn is_idle(&self, id: HoldingId) -> bool {
        let holding = self.of.get(&id);
        holding.is_none_or(|holding| matches!(holding.state, State::Idle { .. }))
    }

    /// Whether another kind of lever is raised on what this one moves.
    pub fn is_busy(&self, id: HoldingId) -> bool {
        let Some(holding) = self.of.get(&id) else {
            return false;
        };
        self.of.iter().any(|(other_id, other)| {
            *other_id != id && !other.is_back() && overlap(&other.domain, &holding.domain)
        })
    }

    /// Brings a lever to `wanted`, or back where it was for none.
    ///
    /// # Errors
    ///
    /// When it could not be raised: it is back where it was then, or tried again until it is.
    pub fn settle(
        &mut self,
        id: HoldingId,
        wanted: Option<u32>,
        now: Duration,
        log: &mut Log,
    ) -> Result<(), HoldError> {
        let Some(holding) = self.of.get_mut(&id) else {
            return Ok(());
        };
        if let State::Trouble { retry_at, .. } = holding.state {
            if retry_at > now {
                return Err(HoldError::InTrouble);
            }
            let retried = holding.retry(&self.host, now, log);
            if retried.is_err() && holding.is_journaled {
                // A file that was gone is another one by now, with a lock of its own.
                self.journal.lend(&*holding.actuator);
            }
            retried?;
        }
        if let (State::BackingOff { until }, Some(_)) = (&holding.state, wanted) {
            if *until > now {
                return Err(HoldError::BackingOff);
            }
            holding.state = State::Idle { since: now };
        }
        let Some(value) = wanted else {
            return holding.lower(&self.host, now, log);
        };
        let raised = holding.raise(&self.host, &mut self.journal, value, now);
        match &raised {
            Ok(()) => holding.failures = 0,
            Err(error) => holding.fail(error, &self.host, now, log),
        }
        raised
    }

    /// When `tick` next has something to do.
    pub fn next_tick(&self) -> Option<Duration> {
        let orphans = self.orphans.iter().map(|orphan| orphan.retry_at);
        let holdings = self.of.values().filter_map(Holding::due_at);
        holdings.chain(orphans).min()
    }

    /// Closes what has been idle; which are to be settled again.
    pub fn tick(&mut self, now: Duration, log: &mut Log) -> Vec<HoldingId> {
        self.lend_again();
        let mut due = Vec::new();
        let mut idle = Vec::new();
        for (id, holding) in &self.of {
            if holding.due_at().is_none_or(|at| at > now) {
                continue;
            }
            match holding.state {
                State::Idle { .. } => idle.push(*id),
                _ => due.push(*id),
            }
        }
        for id in idle {
            self.close(id, now, log);
        }
        self.retry_orphans(now, log);
        due
    }

    /// A guard that follows another has no locks yet.
    fn lend_again(&self) {
        if self.journal.is_guard_behind() {
            let journaled = self.of.values().filter(|holding| holding.is_journaled);
            journaled.for_each(|holding| self.journal.lend(&*holding.actuator));
        }
    }

    fn retry_orphans(&mut self, now: Duration, log: &mut Log) {
        let mut index = 0;
        while let Some(orphan) = self.orphans.get_mut(index) {
            if orphan.retry_at > now || !orphan.is_back(&self.host, now, log) {
                index += 1;
                continue;
            }
            let saved = self.orphans.swap_remove(index).saved;
            log.line(now, format_args!("put back {}", name(&saved)));
            if let Err(error) = self.journal.remove(saved.lever, &saved.domain) {
                log.line(now, error);
            }
        }
    }

    /// Puts everything back, once; how many levers could not be.
    pub fn end(&mut self, now: Duration, log: &mut Log) -> usize {
        let ids: Vec<_> = self.of.keys().copied().collect();
        for id in ids {
            self.put_down_and_close(id, now, log);
        }
        for orphan in &mut self.orphans {
            orphan.retry_at = now;
        }
        self.retry_orphans(now, log);
        self.of.len() + self.orphans.len()
    }

    /// Closes a lever if it can be put back.
    fn put_down_and_close(&mut self, id: HoldingId, now: Duration, log: &mut Log) {
        let host = &self.host;
        let put_down = self.of.get_mut(&id).map(|holding| match holding.state {
            State::Trouble { .. } => holding.retry(host, now, log),
            _ => holding.put_down(host, now, log),
        });
        if put_down.is_some_and(|outcome| outcome.is_ok()) {
            self.close(id, now, log);
        }
    }

    fn close(&mut self, id: HoldingId, now: Duration, log: &mut Log) {
        let Some(mut holding) = self.of.remove(&id) else {
            return;
        };
        if is_shared(&holding.domain) {
            holding.raised_time.set(false, now);
            let Holding {
                kind,
                ref domain,
                raised_time,
                ..
            } = holding;
            self.closed.keep(kind, domain.clone(), raised_time);
        }
        if !holding.is_journaled {
            return;
        }
        let saved = holding.actuator.saved();
        if let Err(error) = self.journal.remove(saved.lever, &saved.domain) {
            log.line(now, error);
        }
    }
}

impl Orphan {
    fn is_back(&mut self, host: &Host, now: Duration, log: &mut Log) -> bool {
        self.retry_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_RETRY);
        // Written anyway after a while: anybody who may read the files can lock them.
        let lock = self.saved.hold(host, Duration::ZERO);
        if lock.is_none() && self.waited < LOCK_TRIES {
            self.waited += 1;
            return false;
        }
        let Outcome::Back(differing) = put_back(host, &self.saved) else {
            return false;
        };
        differing.iter().for_each(|error| log.line(now, error));
        true
    }
}

/// Whether two processes may claim the same one.
fn is_shared(domain: &Domain) -> bool {
    !matches!(domain, Domain::Thread(_))
}

fn overlap(one: &Domain, other: &Domain) -> bool {
    match (one, other) {
        (Domain::Cpus(one), Domain::Cpus(other)) => one.iter().any(|cpu| other.contains(cpu)),
        _ => one == other,
    }
}
