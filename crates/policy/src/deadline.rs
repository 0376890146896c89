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

/// Which collections are boosted that carry no backlog to the deadline, and what waits for them.
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
            collections: Collections::All,
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

/// A loop when it was looked at.
#[derive(Debug, Clone, Copy)]
struct Seen {
    now_ns: u64,
    /// How long it had worked until then.
    worked_ns: u64,
    /// How many events had ended.
    events: u64,
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
    /// What it saw last.
    last: Option<Seen>,
    /// For how long the loop has waited for work, as far as that is known.
    waited_ns: u64,
    /// Since when there is a backlog.
    since_ns: Option<u64>,
    /// That backlog was going to miss the deadline.
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
        let seen = Seen {
            now_ns,
            worked_ns: reading.busy_ns(),
            events: reading.totals.events,
        };
        let last = self.last.replace(seen).unwrap_or(seen);
        let passed_ns = now_ns.saturating_sub(last.now_ns);
        let work_ns = seen.worked_ns.saturating_sub(last.worked_ns).min(passed_ns);
        let waited_ns = passed_ns - work_ns;
        self.waited_ns = match work_ns {
            0 => self.waited_ns.saturating_add(waited_ns),
            _ => waited_ns,
        };
        let mut ended = None;
        if self.waited_ns > WAITED_NS.max(passed_ns / WAITED_PART) {
            // What the loop works on now is another backlog, and not late for the one before.
            ended = self.since_ns.take();
            self.is_late = false;
        }
        if reading.head_ns > 0 && self.since_ns.is_none() {
            // The more of the time it worked, the more of that was without a wait.
            let before_ns = work_ns.saturating_sub(reading.head_ns);
            let share = work_ns as f64 / passed_ns.max(1) as f64;
            let age_ns = reading.head_ns + (before_ns as f64 * share) as u64;
            self.since_ns = Some(now_ns.saturating_sub(age_ns));
        }
        let age_ns = self.since_ns.map(|since| now_ns.saturating_sub(since));
        let own_ns = age_ns.unwrap_or(0).min(work_ns);
        self.ages.add(age_ns.unwrap_or(0) - own_ns, own_ns, 1.0);
        let events = seen.events.saturating_sub(last.events);
        let ended_ns = ended.map(|since_ns: u64| last.now_ns.saturating_sub(since_ns));
        self.learn_unseen(work_ns - own_ns, events, ended_ns);
        age_ns
    }

    /// Learns from what came and went between two looks, of which only the number of events is
    /// known, and that the first of them ended the backlog that there was, of that age.
    fn learn_unseen(&mut self, work_ns: u64, events: u64, ended_ns: Option<u64>) {
        let each_ns = work_ns / events.max(1);
        let mut others = events.max(1);
        if let Some(age_ns) = ended_ns {
            self.ages.add(age_ns, each_ns, 1.0);
            others -= 1;
        }
        self.ages.add(0, each_ns, others as f64);
    }

    /// How long the collection under way takes from now on, at most.
    fn left_ns(&self, reading: &Reading) -> f64 {
        reading.collection.map_or(0.0, |now| {
            // Before enough of a kind were seen, each may be the longest.
            let longest_ns = self.pauses.longest_ns(now.kind).unwrap_or(f64::INFINITY);
            let gone_ns = reading.now_ns.saturating_sub(now.begin_ns);
            (longest_ns - gone_ns as f64).max(0.0)
        })
    }

    /// Whether a backlog of this age is about to miss the deadline.
    fn is_about_to_miss(&self, age_ns: u64, reading: &Reading) -> bool {
        let queue_ns = f64::from(reading.queue_length) * self.events.get().unwrap_or(0.0);
        let become_ns = age_ns as f64 + self.left_ns(reading) + queue_ns;
        let Deadline { share, chance, .. } = self.policy;
        become_ns >= self.ages.turning_ns(share, chance)
    }
}

impl Decider for DeadlineDecider {
    fn decide(&mut self, reading: &Reading) -> Decision {
        self.pauses.learn(reading);
        let totals = &reading.totals;
        self.events.update(totals.events_ns, totals.events);
        let collects = self.policy.collections == Collections::All
            && reading
                .collection
                .is_some_and(|now| self.pauses.lasts(now.kind, self.lever_ns));
        // It is not over before the loop has caught up, also with what came during a collection.
        self.is_late = self.learn_age_ns(reading).is_some_and(|age_ns| {
            self.is_late || collects || self.is_about_to_miss(age_ns, reading)
        });
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
