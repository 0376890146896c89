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
use crate::levers;
use crate::log::Log;
use crate::restore::{Outcome, name, put_back};

/// A lever nobody claims is closed after so long. Until then it stays in the journal: boosts that
/// follow each other do not write it anew.
const LINGER: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// Number of a holding; its CPUs' first one is what clients see.
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
    cpus: Vec<u32>,
    range: Range,
    asked: Asked,
    actuator: Box<dyn Actuator>,
    is_journaled: bool,
    /// Raises that failed, one after the other.
    failures: u32,
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
    Raised,
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
    of: BTreeMap<HoldingId, Holding>,
    orphans: Vec<Orphan>,
    next: HoldingId,
}

/// What a client may know of a holding.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub kind: LeverKind,
    pub cpus: &'a [u32],
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
            of: BTreeMap::new(),
            next: 0,
        }
    }

    /// The holding of a lever on a target, opened if need be.
    ///
    /// # Errors
    ///
    /// When the lever cannot be opened.
    pub fn find(
        &mut self,
        kind: LeverKind,
        target: u32,
        asked: Asked,
        now: Duration,
    ) -> Result<HoldingId, ControlError> {
        let same = |(_, holding): &(&HoldingId, &Holding)| {
            holding.kind == kind && holding.cpus.contains(&target)
        };
        if let Some((id, _)) = self.of.iter().find(same) {
            return Ok(*id);
        }
        let actuator = levers::open(&self.host, kind, target, &asked)?;
        let domain = Domain::Cpus(levers::cpus(&*actuator));
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
            cpus: levers::cpus(&*actuator),
            range: actuator.lever().range,
            asked,
            actuator,
            is_journaled: false,
            failures: 0,
            state: State::Idle { since: now },
        };
        self.of.insert(self.next, holding);
        Ok(self.next)
    }

    /// What a holding is; none when it was closed.
    pub fn view(&self, id: HoldingId) -> Option<View<'_>> {
        self.of.get(&id).map(|holding| View {
            kind: holding.kind,
            cpus: &holding.cpus,
            range: holding.range,
        })
    }

    /// Whether another kind of lever is raised on any CPU of this one.
    pub fn is_busy(&self, id: HoldingId) -> bool {
        let Some(holding) = self.of.get(&id) else {
            return false;
        };
        let overlaps = |other: &Holding| other.cpus.iter().any(|cpu| holding.cpus.contains(cpu));
        self.of.iter().any(|(other_id, other)| {
            let is_idle = matches!(other.state, State::Idle { .. });
            *other_id != id && !is_idle && overlaps(other)
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
        let raised = holding.raise(&self.host, &mut self.journal, value);
        match &raised {
            Ok(()) => holding.failures = 0,
            Err(error) => holding.fail(error, &self.host, now, log),
        }
        raised
    }

    /// When `tick` next has something to do.
    pub fn next_tick(&self) -> Option<Duration> {
        let at = |holding: &Holding| match holding.state {
            State::Idle { since } => Some(since + LINGER),
            State::Raised => None,
            State::Trouble { retry_at, .. } => Some(retry_at),
        };
        let orphans = self.orphans.iter().map(|orphan| orphan.retry_at);
        self.of.values().filter_map(at).chain(orphans).min()
    }

    /// Closes what has been idle; which are to be settled again.
    pub fn tick(&mut self, now: Duration, log: &mut Log) -> Vec<HoldingId> {
        let mut due = Vec::new();
        let mut idle = Vec::new();
        for (id, holding) in &self.of {
            match holding.state {
                State::Idle { since } if since + LINGER <= now => idle.push(*id),
                State::Trouble { retry_at, .. } if retry_at <= now => due.push(*id),
                _ => {}
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
            let state = self.of.get_mut(id).map(|holding| &mut holding.state);
            if let Some(State::Trouble { retry_at, .. }) = state {
                *retry_at = now;
            }
            if self.settle(*id, None, now, log).is_ok() {
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
        if !matches!(self.state, State::Raised) || self.lower(host, now, log).is_err() {
            return;
        }
        self.state = State::Trouble {
            retry_at: now + (FIRST_RETRY * 2u32.pow(self.failures.min(7))).min(LONGEST_RETRY),
            pause: FIRST_RETRY,
        };
        self.failures += 1;
    }

    fn raise(&mut self, host: &Host, journal: &mut Journal, value: u32) -> Result<(), HoldError> {
        if matches!(self.state, State::Idle { .. }) {
            if !self.is_as_saved(host) {
                self.open_anew(host)?;
            }
            if !self.is_journaled {
                journal.add(self.actuator.saved())?;
                self.is_journaled = true;
            }
        }
        self.state = State::Raised;
        self.actuator.apply(self.speed(value))?;
        Ok(())
    }

    /// Puts it back; what the actuator cannot do now is tried again from the saved state.
    fn lower(&mut self, host: &Host, now: Duration, log: &mut Log) -> Result<(), HoldError> {
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
        let target = self.cpus.first().copied().unwrap_or_default();
        let actuator = levers::open(host, self.kind, target, &self.asked)?;
        self.cpus = levers::cpus(&*actuator);
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
