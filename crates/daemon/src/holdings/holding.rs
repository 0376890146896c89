//! One lever in the daemon's hand: raised, lowered, and put back until it is back.
//!
//! It knows nothing of the others, so that what a lever goes through can be read in one place.

use std::path::PathBuf;
use std::time::Duration;

use bobtail_control::{
    Actuator, Asked, ControlError, Domain, Host, LeverKind, Range, SavedSetting, Unit,
};
use bobtail_policy::Speed;
use thiserror::Error;

use crate::journal::{Journal, JournalError};
use crate::levers::{self, Spot};
use crate::log::Log;
use crate::restore::{Outcome, name, outcome};

use super::raised_time::RaisedTime;

/// A lever nobody claims is closed after so long. Until then it stays in the journal: boosts that
/// follow each other do not write it anew.
const LINGER: Duration = Duration::from_secs(1);
/// Longer than a burst rests, at periods of up to a second.
const BURST_LINGER: Duration = Duration::from_secs(120);
pub(super) const FIRST_RETRY: Duration = Duration::from_millis(100);
pub(super) const LONGEST_RETRY: Duration = Duration::from_secs(10);

#[derive(Debug, Error)]
pub enum HoldError {
    #[error(transparent)]
    Lever(#[from] ControlError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("it could not be put back and is tried again")]
    InTrouble,
    #[error("it could not be raised a moment ago and is tried again")]
    BackingOff,
}

#[derive(Debug)]
pub(super) struct Holding {
    pub(super) kind: LeverKind,
    pub(super) domain: Domain,
    pub(super) spot: Spot,
    /// The user for whom it was.
    pub(super) opened_by: u32,
    pub(super) range: Range,
    pub(super) asked: Asked,
    pub(super) actuator: Box<dyn Actuator>,
    pub(super) is_journaled: bool,
    /// Raises that failed, one after the other.
    pub(super) failures: u32,
    /// What was asked of it last.
    pub(super) value: u32,
    /// What it was set to then, which of a quota without credit is not the same.
    pub(super) stands: u32,
    /// What its files said just before it was put back last, where they can be read.
    pub(super) stood: Vec<(PathBuf, String)>,
    pub(super) state: State,
    pub(super) raised_time: RaisedTime,
}

#[derive(Debug)]
pub(super) enum State {
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
    /// It may be raised and could not be put back: it stays held until it is.
    Trouble {
        retry_at: Duration,
        pause: Duration,
    },
    /// It is back and let go, and not raised before this time, since the last raise failed.
    BackingOff {
        until: Duration,
    },
}

impl Holding {
    /// Puts it back after a raise that failed; who still claims it gets it when it works again.
    pub(super) fn fail(&mut self, error: &HoldError, host: &Host, now: Duration, log: &mut Log) {
        if self.failures == 0 {
            log.line(now, format_args!("{}: {error}", self.name()));
        }
        if matches!(error, HoldError::Lever(error) if error.is_anothers()) {
            // Nothing of it was moved, and what stands there is the other owner's: it is closed at
            // the next tick, and opened with what it says then.
            self.state = State::Idle {
                since: Duration::ZERO,
            };
            return;
        }
        let is_raised = matches!(self.state, State::Raised { .. } | State::Owing { .. });
        if is_raised && self.is_kept_at_base(now) {
            self.failures += 1;
            return;
        }
        if !is_raised || self.put_down(host, now, log).is_err() {
            return;
        }
        self.state = State::BackingOff {
            until: now + (FIRST_RETRY * 2u32.pow(self.failures.min(7))).min(LONGEST_RETRY),
        };
        self.failures += 1;
    }

    pub(super) fn raise(
        &mut self,
        host: &Host,
        journal: &mut Journal,
        value: u32,
        now: Duration,
    ) -> Result<(), HoldError> {
        if matches!(self.state, State::Idle { .. }) {
            if self.actuator.saved().check_unchanged(host).is_err() {
                self.open_anew(host)?;
            }
            let raised = self.raise_opened(journal, value, now);
            let is_changed =
                |error: &HoldError| matches!(error, HoldError::Lever(ControlError::Changed { .. }));
            if !raised.as_ref().is_err_and(is_changed) {
                return raised;
            }
            // Another owner let go between the look and the lock: what stands now is the base.
            self.state = State::Idle { since: now };
            self.open_anew(host)?;
        }
        self.raise_opened(journal, value, now)
    }

    fn raise_opened(
        &mut self,
        journal: &mut Journal,
        value: u32,
        now: Duration,
    ) -> Result<(), HoldError> {
        let is_saved = self.is_journaled || self.actuator.saved().settings.is_empty();
        if matches!(self.state, State::Idle { .. }) && !is_saved {
            journal.add(self.actuator.saved())?;
            self.is_journaled = true;
            journal.lend(&*self.actuator);
        }
        let upkeep = self.actuator.upkeep_ns().map(Duration::from_nanos);
        self.state = State::Raised {
            upkeep_at: upkeep.map(|upkeep| now + upkeep),
        };
        self.value = value;
        self.stands = self.actuator.apply(self.speed(value))?.value;
        self.raised_time.set(self.range.is_raised(self.stands), now);
        Ok(())
    }

    /// Puts it back, or at base as long as it owes what it took.
    pub(super) fn lower(
        &mut self,
        host: &Host,
        now: Duration,
        log: &mut Log,
    ) -> Result<(), HoldError> {
        self.raised_time.set(false, now);
        if !self.is_back() && self.is_kept_at_base(now) {
            return Ok(());
        }
        self.put_down(host, now, log)
    }

    /// Keeps it at base as long as it owes what it took; false where it is to be put back.
    fn is_kept_at_base(&mut self, now: Duration) -> bool {
        let Some(upkeep_ns) = self.actuator.upkeep_ns() else {
            return false;
        };
        if self.actuator.apply(Speed::Base).is_err() || !self.actuator.owes() {
            return false;
        }
        let upkeep_at = now + Duration::from_nanos(upkeep_ns);
        self.state = State::Owing { upkeep_at };
        true
    }

    /// Puts it back; what the actuator cannot do now is tried again, and stays held until then.
    pub(super) fn put_down(
        &mut self,
        host: &Host,
        now: Duration,
        log: &mut Log,
    ) -> Result<(), HoldError> {
        // Nothing is to be written where it is back: another owner may have it by now.
        match self.state {
            State::Idle { .. } => return Ok(()),
            State::BackingOff { .. } => {
                self.state = State::Idle { since: now };
                return Ok(());
            }
            _ => {}
        }
        self.raised_time.set(false, now);
        self.stood = self.readings(host);
        self.state = State::Trouble {
            retry_at: now,
            pause: FIRST_RETRY,
        };
        self.retry(host, now, log)
    }

    /// When something is to be done about it though nobody asks.
    pub(super) fn due_at(&self) -> Option<Duration> {
        match self.state {
            State::Idle { since } => self.linger().map(|linger| since + linger),
            State::Raised { upkeep_at } => upkeep_at,
            State::Owing { upkeep_at } => Some(upkeep_at),
            State::Trouble { retry_at, .. } => Some(retry_at),
            State::BackingOff { until } => Some(until),
        }
    }

    /// Whether it is as it was before, and not held.
    pub(super) fn is_back(&self) -> bool {
        matches!(self.state, State::Idle { .. } | State::BackingOff { .. })
    }

    /// How long it stays open while nobody claims it; none for one that is dear to open. Numbers of
    /// threads are used again, so that a lever of one goes with its claims.
    fn linger(&self) -> Option<Duration> {
        match (self.kind, &self.domain) {
            (LeverKind::Emulated, _) => None,
            (_, Domain::Thread(_)) => Some(Duration::ZERO),
            // It knows itself when it may be raised again.
            (LeverKind::Burst, _) => Some(BURST_LINGER),
            _ => Some(LINGER),
        }
    }

    pub(super) fn retry(
        &mut self,
        host: &Host,
        now: Duration,
        log: &mut Log,
    ) -> Result<(), HoldError> {
        let State::Trouble { pause, .. } = self.state else {
            return Ok(());
        };
        let is_first = pause == FIRST_RETRY;
        let outcome = outcome(self.actuator.put_back(host), &self.domain);
        let name = self.name();
        let trouble = match &outcome {
            Outcome::Back(differing) => match differing.iter().find(|error| self.is_own(error)) {
                Some(error) => format!("cannot put back {name}, trying on: {error}"),
                None => {
                    for error in differing {
                        log.line(now, format_args!("put back {name}, but {error}"));
                    }
                    if !is_first && differing.is_empty() {
                        log.line(now, format_args!("put back {name}"));
                    }
                    self.actuator.let_go();
                    self.state = State::Idle { since: now };
                    return Ok(());
                }
            },
            Outcome::Refused(error) => format!("cannot put back {name}, trying on: {error}"),
            Outcome::Gone => format!("{name} is gone, waiting for it"),
        };
        if is_first {
            log.line(now, trouble);
        }
        self.state = State::Trouble {
            retry_at: now + pause,
            pause: (pause * 2).min(LONGEST_RETRY),
        };
        Err(HoldError::InTrouble)
    }

    /// Whether it is of a thread whose number another one has by now.
    pub(super) fn is_of_ended_thread(&self, other: &Spot) -> bool {
        matches!(other, Spot::Thread { .. }) && self.spot != *other
    }

    fn readings(&self, host: &Host) -> Vec<(PathBuf, String)> {
        let settings = &self.actuator.saved().settings;
        let reading = |setting: &SavedSetting| match setting {
            SavedSetting::File { place, .. } => {
                Some((host.path(place).ok()?, host.read(place).ok()?))
            }
            _ => None,
        };
        settings.iter().filter_map(reading).collect()
    }

    /// Whether a setting that was put back still reads as this daemon set it. Another reading is
    /// somebody else's limit, which is not this one's to fight; of frequencies only those count
    /// that are set here, since the kernel may hold a bound down before and after.
    fn is_own(&self, error: &ControlError) -> bool {
        let ControlError::Ignored { path, reads, .. } = error else {
            return false;
        };
        let range = &self.range;
        let set = [self.value, range.base, range.peak, range.lowest];
        let is_set = match (range.unit, reads.parse()) {
            (Unit::Khz, Ok(khz)) => set.contains(&khz),
            _ => true,
        };
        // What was set a moment before it was put back may not have shown by then.
        let same = |(stood, text): &(PathBuf, String)| {
            stood == path && (text == reads || reads == &self.value.to_string())
        };
        is_set && self.stood.iter().any(same)
    }

    /// Opens the lever again, with what it says now as what it goes back to. One that moves other
    /// CPUs by now is not raised: whether its clients may move those, and nobody else does, was
    /// asked of the ones before, and the journal goes by them.
    fn open_anew(&mut self, host: &Host) -> Result<(), ControlError> {
        let actuator = levers::open(host, self.kind, &self.spot, &self.asked, None)?;
        if actuator.lever().domain != self.domain {
            return Err(ControlError::Unavailable {
                lever: self.kind,
                why: format!("it is {} by now; ask for it again", name(actuator.saved())),
            });
        }
        self.range = actuator.lever().range;
        self.actuator = actuator;
        self.is_journaled = false;
        Ok(())
    }

    fn speed(&self, value: u32) -> Speed {
        match self.range.unit {
            // What it was at may be more by now than when the claim was granted.
            Unit::Khz => Speed::Khz(value.max(self.range.base)),
            _ if value >= self.range.peak => Speed::Peak,
            _ => Speed::Base,
        }
    }

    fn name(&self) -> String {
        name(self.actuator.saved())
    }
}
