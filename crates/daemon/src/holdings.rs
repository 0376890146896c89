//! The levers that the daemon has in its hand, each brought to what is wanted of it.
//!
//! One function, `settle`, makes a lever so; raising, lowering, a client's end, a retry and the
//! daemon's own end all go through it, so that there is no second way for a lever to stay up.

use std::collections::BTreeMap;
use std::time::Duration;

use bobtail_control::{
    Actuator, Asked, ControlError, Domain, Host, LeverKind, Range, SavedSetting, SavedState, Unit,
};
use bobtail_policy::Speed;
use thiserror::Error;

use crate::journal::{Journal, JournalError};
use crate::levers::{self, Imitated, Spot};
use crate::log::Log;
use crate::restore::{Outcome, name, put_back};

/// A lever nobody claims is closed after so long. Until then it stays in the journal: boosts that
/// follow each other do not write it anew.
const LINGER: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// Number of a holding.
pub type HoldingId = u32;

#[derive(Debug, Error)]
pub enum HoldError {
    #[error(transparent)]
    Lever(#[from] ControlError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("it could not be put back and is tried again")]
    InTrouble,
}

#[derive(Debug)]
struct Holding {
    kind: LeverKind,
    domain: Domain,
    spot: Spot,
    range: Range,
    asked: Asked,
    actuator: Box<dyn Actuator>,
    is_journaled: bool,
    /// Raises that failed, one after the other.
    failures: u32,
    /// What was asked of it last.
    value: u32,
    state: State,
}

/// What an earlier daemon left raised and could not be put back yet.
#[derive(Debug)]
struct Orphan {
    saved: SavedState,
    retry_at: Duration,
    pause: Duration,
}

#[derive(Debug)]
enum State {
    Idle {
        since: Duration,
    },
    /// Its account is looked at then, if it keeps one.
    Raised {
        upkeep_at: Option<Duration>,
    },
    /// Nobody wants it, and it is kept at base until what it took is given back.
    Owing {
        upkeep_at: Duration,
    },
    /// It may be raised and could not be put back.
    Trouble {
        retry_at: Duration,
        pause: Duration,
    },
}

/// All levers in the daemon's hand.
#[derive(Debug)]
pub struct Holdings {
    host: Host,
    journal: Journal,
    imitated: Option<Imitated>,
    of: BTreeMap<HoldingId, Holding>,
    orphans: Vec<Orphan>,
    next: HoldingId,
}

/// What a client may know of a holding.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub kind: LeverKind,
    pub domain: &'a Domain,
    pub range: Range,
}

impl Holdings {
    /// What the journal already has, somebody else has raised: it is tried again until it is back.
    pub fn new(host: Host, journal: Journal) -> Self {
        let orphan = |saved: &SavedState| Orphan {
            saved: saved.clone(),
            retry_at: Duration::ZERO,
            pause: FIRST_RETRY,
        };
        Self {
            orphans: journal.entries().iter().map(orphan).collect(),
            host,
            journal,
            imitated: None,
            of: BTreeMap::new(),
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

    /// The holding of a lever on a spot, opened if need be.
    ///
    /// # Errors
    ///
    /// When the lever cannot be opened.
    pub fn find(
        &mut self,
        kind: LeverKind,
        spot: &Spot,
        asked: Asked,
        now: Duration,
    ) -> Result<HoldingId, ControlError> {
        let same = |(_, holding): &(&HoldingId, &Holding)| {
            holding.kind == kind && spot.is_in(&holding.domain)
        };
        if let Some((id, _)) = self.of.iter().find(same) {
            return Ok(*id);
        }
        let actuator = levers::open(&self.host, kind, spot, &asked, self.imitated.as_ref())?;
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
            domain,
            spot: spot.clone(),
            range: actuator.lever().range,
            asked,
            actuator,
            is_journaled: false,
            failures: 0,
            value: 0,
            state: State::Idle { since: now },
        };
        self.of.insert(self.next, holding);
        Ok(self.next)
    }

    /// What a holding is; none when it was closed.
    pub fn view(&self, id: HoldingId) -> Option<View<'_>> {
        self.of.get(&id).map(|holding| View {
            kind: holding.kind,
            domain: &holding.domain,
            range: holding.range,
        })
    }

    /// Whether another kind of lever is raised on what this one moves.
    pub fn is_busy(&self, id: HoldingId) -> bool {
        let Some(holding) = self.of.get(&id) else {
            return false;
        };
        self.of.iter().any(|(other_id, other)| {
            let is_idle = matches!(other.state, State::Idle { .. });
            *other_id != id && !is_idle && overlap(&other.domain, &holding.domain)
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
            holding.retry(&self.host, now, log)?;
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

    fn retry_orphans(&mut self, now: Duration, log: &mut Log) {
        let mut index = 0;
        while let Some(orphan) = self.orphans.get_mut(index) {
            if orphan.retry_at > now || !orphan.is_back(&self.host, now) {
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
        for id in &ids {
            let host = &self.host;
            let put_down = self.of.get_mut(id).map(|holding| match holding.state {
                State::Trouble { .. } => holding.retry(host, now, log),
                _ => holding.put_down(host, now, log),
            });
            if put_down.is_some_and(|outcome| outcome.is_ok()) {
                self.close(*id, now, log);
            }
        }
        for orphan in &mut self.orphans {
            orphan.retry_at = now;
        }
        self.retry_orphans(now, log);
        self.of.len() + self.orphans.len()
    }

    fn close(&mut self, id: HoldingId, now: Duration, log: &mut Log) {
        let Some(holding) = self.of.remove(&id) else {
            return;
        };
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
    fn is_back(&mut self, host: &Host, now: Duration) -> bool {
        self.retry_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_RETRY);
        matches!(put_back(host, &self.saved), Outcome::Back(_))
    }
}

fn overlap(one: &Domain, other: &Domain) -> bool {
    match (one, other) {
        (Domain::Cpus(one), Domain::Cpus(other)) => one.iter().any(|cpu| other.contains(cpu)),
        _ => one == other,
    }
}

impl Holding {
    /// Puts it back after a raise that failed; who still claims it gets it when it works again.
    fn fail(&mut self, error: &HoldError, host: &Host, now: Duration, log: &mut Log) {
        if self.failures == 0 {
            log.line(now, format_args!("{}: {error}", self.name()));
        }
        if matches!(error, HoldError::Lever(ControlError::Held { .. })) {
            // Nothing of it was moved, and what stands there is the other owner's: it is closed at
            // the next tick, and opened with what it says then.
            self.state = State::Idle {
                since: Duration::ZERO,
            };
            return;
        }
        let is_raised = matches!(self.state, State::Raised { .. } | State::Owing { .. });
        if !is_raised || self.put_down(host, now, log).is_err() {
            return;
        }
        self.state = State::Trouble {
            retry_at: now + (FIRST_RETRY * 2u32.pow(self.failures.min(7))).min(LONGEST_RETRY),
            pause: FIRST_RETRY,
        };
        self.failures += 1;
    }

    fn raise(
        &mut self,
        host: &Host,
        journal: &mut Journal,
        value: u32,
        now: Duration,
    ) -> Result<(), HoldError> {
        if matches!(self.state, State::Idle { .. }) {
            if !self.is_as_saved(host) {
                self.open_anew(host)?;
            }
            if !self.is_journaled && !self.actuator.saved().settings.is_empty() {
                journal.add(self.actuator.saved())?;
                self.is_journaled = true;
            }
        }
        let upkeep = self.actuator.upkeep_ns().map(Duration::from_nanos);
        self.state = State::Raised {
            upkeep_at: upkeep.map(|upkeep| now + upkeep),
        };
        self.value = value;
        self.actuator.apply(self.speed(value))?;
        Ok(())
    }

    /// Puts it back, or at base as long as it owes what it took.
    fn lower(&mut self, host: &Host, now: Duration, log: &mut Log) -> Result<(), HoldError> {
        let is_held = !matches!(self.state, State::Idle { .. });
        if let (true, Some(upkeep_ns)) = (is_held, self.actuator.upkeep_ns()) {
            let is_kept = self.actuator.apply(Speed::Base).is_ok() && self.actuator.owes();
            if is_kept {
                let upkeep_at = now + Duration::from_nanos(upkeep_ns);
                self.state = State::Owing { upkeep_at };
                return Ok(());
            }
        }
        self.put_down(host, now, log)
    }

    /// Puts it back; what the actuator cannot do now is tried again from the saved state.
    fn put_down(&mut self, host: &Host, now: Duration, log: &mut Log) -> Result<(), HoldError> {
        if matches!(self.state, State::Idle { .. }) {
            return Ok(());
        }
        // What the actuator could not do is found out, and told, by the saved state.
        drop(self.actuator.undo());
        self.state = State::Trouble {
            retry_at: now,
            pause: FIRST_RETRY,
        };
        self.retry(host, now, log)
    }

    /// When something is to be done about it though nobody asks.
    fn due_at(&self) -> Option<Duration> {
        match self.state {
            State::Idle { since } => self.linger().map(|linger| since + linger),
            State::Raised { upkeep_at } => upkeep_at,
            State::Owing { upkeep_at } => Some(upkeep_at),
            State::Trouble { retry_at, .. } => Some(retry_at),
        }
    }

    /// How long it stays open while nobody claims it; none for one that is dear to open. Numbers of
    /// threads are used again, so that a lever of one goes with its claims.
    fn linger(&self) -> Option<Duration> {
        match (self.kind, &self.domain) {
            (LeverKind::Emulated, _) => None,
            (_, Domain::Thread(_)) => Some(Duration::ZERO),
            _ => Some(LINGER),
        }
    }

    fn retry(&mut self, host: &Host, now: Duration, log: &mut Log) -> Result<(), HoldError> {
        let State::Trouble { pause, .. } = self.state else {
            return Ok(());
        };
        let is_first = pause == FIRST_RETRY;
        let outcome = put_back(host, self.actuator.saved());
        if let Outcome::Back(_) = outcome {
            if !is_first {
                log.line(now, format_args!("put back {}", self.name()));
            }
            self.state = State::Idle { since: now };
            return Ok(());
        }
        if is_first {
            let name = self.name();
            match &outcome {
                Outcome::Refused(error) => {
                    log.line(
                        now,
                        format_args!("cannot put back {name}, trying on: {error}"),
                    );
                }
                _ => log.line(now, format_args!("{name} is gone, waiting for it")),
            }
        }
        self.state = State::Trouble {
            retry_at: now + pause,
            pause: (pause * 2).min(LONGEST_RETRY),
        };
        Err(HoldError::InTrouble)
    }

    /// Whether nobody else has changed what the journal would put back.
    fn is_as_saved(&self, host: &Host) -> bool {
        self.actuator
            .saved()
            .settings
            .iter()
            .all(|setting| match setting {
                SavedSetting::File { place, value } => {
                    host.read(place).is_ok_and(|found| found == *value)
                }
                _ => true,
            })
    }

    /// Opens the lever again, with what it says now as what it goes back to.
    fn open_anew(&mut self, host: &Host) -> Result<(), ControlError> {
        let actuator = levers::open(host, self.kind, &self.spot, &self.asked, None)?;
        self.domain = actuator.lever().domain.clone();
        self.range = actuator.lever().range;
        self.actuator = actuator;
        self.is_journaled = false;
        Ok(())
    }

    fn speed(&self, value: u32) -> Speed {
        match self.range.unit {
            Unit::Khz => Speed::Khz(value),
            _ if value >= self.range.peak => Speed::Peak,
            _ => Speed::Base,
        }
    }

    fn name(&self) -> String {
        name(self.actuator.saved())
    }
}
