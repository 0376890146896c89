//! `deadline`: peak speed while the loop is about to miss a deadline that it has learnt, and from
//! then on until it has caught up. Ours.
//!
//! A backlog is a time in which the loop works without once waiting for work; its age is how long
//! some request may have waited already. Queue Boost asks whether an event is longer than others
//! were, and most of those that are hold nobody up for long. This asks how old the backlog will
//! become: the boost begins when that is likely to be beyond the age that only the oldest backlogs
//! get to, and at once for a collection, or a queue, that will carry it there.

use std::fmt;

use crate::ages::Ages;
use crate::arguments::{Arguments, duration_text};
use crate::average::RunningAverage;
use crate::decision::{Decider, Decision, LeverFacts, Reasons};
use crate::error::PolicyError;
use crate::gc_boost::HOLD_MAX_NS;
use crate::hold::Hold;
use crate::pauses::Pauses;
use crate::reading::Reading;

pub(crate) const NAME: &str = "deadline";
/// A loop that did not work for so long was waiting; to ask the kernel takes some microseconds.
const WAITED_NS: u64 = 50_000;
/// Or for this part of the time between two looks, where those are far apart.
const WAITED_PART: u64 = 8;
/// Events over which is averaged how long one takes.
const EVENTS: u32 = 256;

/// Which collections are boosted that carry no backlog to the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collections {
    /// None.
    Late,
    /// Those that last longer than the lever takes, as GC-Boost has it.
    All,
}

impl Collections {
    const WORDS: [&str; 2] = ["late", "all"];
}

/// Boost backlogs that are about to become old.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadline {
    /// The deadline is the age of backlogs beyond which this share of all work is done.
    pub share: f64,
    /// A backlog is boosted when it gets to the deadline at least so probably.
    pub chance: f64,
    /// Whether others are boosted, too.
    pub collections: Collections,
    /// How long a boost lasts at least.
    pub hold_ns: u64,
    /// How often to look.
    pub period_ns: u64,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            share: 0.17,
            chance: 0.5,
            collections: Collections::Late,
            hold_ns: 0,
            period_ns: 200_000,
        }
    }
}

impl Deadline {
    pub(crate) fn parse(mut arguments: Arguments<'_>) -> Result<Self, PolicyError> {
        let policy = Self::settings(&mut arguments, &Self::default())?;
        arguments.finish(NAME)?;
        Ok(policy)
    }

    /// Its settings, as given or by default.
    pub(crate) fn settings(
        arguments: &mut Arguments<'_>,
        default: &Self,
    ) -> Result<Self, PolicyError> {
        Ok(Self {
            share: arguments.number("share", default.share, 0.001..=0.999)?,
            chance: arguments.number("chance", default.chance, 0.01..=1.0)?,
            collections: match arguments.word(
                "collections",
                default.collections as usize,
                &Collections::WORDS,
            )? {
                0 => Collections::Late,
                _ => Collections::All,
            },
            hold_ns: arguments.duration_ns("hold", default.hold_ns, 0..=HOLD_MAX_NS)?,
            period_ns: arguments.duration_ns("period", default.period_ns, 1_000..=100_000_000)?,
        })
    }

    /// Begins to decide for one loop.
    pub fn start(&self, lever: &LeverFacts) -> DeadlineDecider {
        DeadlineDecider {
            policy: *self,
            lever_ns: lever.latency_ns as f64,
            hold: Hold::new(self.hold_ns),
            pauses: Pauses::new(),
            ages: Ages::new(),
            events: RunningAverage::new(EVENTS),
            last: None,
            waited_ns: 0,
            since_ns: None,
            is_late: false,
        }
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hold, period) = (duration_text(self.hold_ns), duration_text(self.period_ns));
        let Self { share, chance, .. } = self;
        let collections = Collections::WORDS[self.collections as usize];
        write!(f, "{NAME}:share={share},chance={chance}")?;
        write!(f, ",collections={collections},hold={hold},period={period}")
    }
}

/// `deadline` at work.
#[derive(Debug, Clone)]
pub struct DeadlineDecider {
    policy: Deadline,
    /// How long the lever takes.
    lever_ns: f64,
    hold: Hold,
    pauses: Pauses,
    ages: Ages,
    /// How long an event takes.
    events: RunningAverage,
    /// When it looked last, and how long the loop had worked until then.
    last: Option<(u64, u64)>,
    /// For how long the loop has waited for work, as far as that is known.
    waited_ns: u64,
    /// Since when there is a backlog.
    since_ns: Option<u64>,
    /// It was going to miss the deadline.
    is_late: bool,
}

impl DeadlineDecider {
    /// Another deadline from now on.
    pub(crate) fn set_share(&mut self, share: f64) {
        self.policy.share = share;
    }

    /// The age of the backlog that there was when it looked last; 0 for none.
    pub(crate) fn age_ns(&self, now_ns: u64) -> u64 {
        self.since_ns
            .map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }

    /// Takes a reading in; the age of the backlog, if there is one.
    fn learn_age_ns(&mut self, reading: &Reading) -> Option<u64> {
        let now_ns = reading.now_ns;
        let worked_ns = reading.totals.events_ns.saturating_add(reading.head_ns);
        let (last_ns, last_worked_ns) = self.last.unwrap_or((now_ns, worked_ns));
        self.last = Some((now_ns, worked_ns));
        let passed_ns = now_ns.saturating_sub(last_ns);
        let work_ns = worked_ns.saturating_sub(last_worked_ns).min(passed_ns);
        let waited_ns = passed_ns - work_ns;
        self.waited_ns = match work_ns {
            0 => self.waited_ns.saturating_add(waited_ns),
            _ => waited_ns,
        };
        if self.waited_ns > WAITED_NS.max(passed_ns / WAITED_PART) {
            self.since_ns = None;
        }
        if reading.head_ns > 0 {
            let began_ns = now_ns.saturating_sub(work_ns.max(reading.head_ns));
            self.since_ns.get_or_insert(began_ns);
        }
        let age_ns = now_ns.saturating_sub(self.since_ns?);
        self.ages.add(age_ns, work_ns);
        Some(age_ns)
    }

    /// How old the backlog will be at least when the collection under way is over, and then what
    /// the kernel has told already.
    fn to_become_ns(&self, age_ns: u64, reading: &Reading) -> f64 {
        let left_ns = reading.collection.map_or(0.0, |now| {
            // Before enough of a kind were seen, each may be the longest.
            let longest_ns = self.pauses.longest_ns(now.kind).unwrap_or(f64::INFINITY);
            let gone_ns = reading.now_ns.saturating_sub(now.begin_ns);
            (longest_ns - gone_ns as f64).max(0.0)
        });
        let queue_ns = f64::from(reading.queue_length) * self.events.get().unwrap_or(0.0);
        age_ns as f64 + left_ns + queue_ns
    }
}

impl Decider for DeadlineDecider {
    fn decide(&mut self, reading: &Reading) -> Decision {
        self.pauses.learn(reading);
        let totals = &reading.totals;
        self.events.update(totals.events_ns, totals.events);
        let Deadline { share, chance, .. } = self.policy;
        self.is_late = match self.learn_age_ns(reading) {
            // It is not over before the loop has caught up.
            Some(age_ns) if !self.is_late => {
                self.to_become_ns(age_ns, reading) >= self.ages.turning_ns(share, chance)
            }
            Some(_) => true,
            None => false,
        };
        let collects = self.policy.collections == Collections::All
            && reading
                .collection
                .is_some_and(|now| self.pauses.lasts(now.kind, self.lever_ns));
        let reasons = Reasons::when(self.is_late, Reasons::BACKLOG)
            | Reasons::when(collects, Reasons::COLLECTION);
        let decision = self.hold.decide(reading.now_ns, reasons);
        let next_ns = reading.now_ns.saturating_add(self.policy.period_ns);
        Decision {
            look_again_ns: Some(decision.look_again_ns.map_or(next_ns, |ns| ns.min(next_ns))),
            ..decision
        }
    }
}
