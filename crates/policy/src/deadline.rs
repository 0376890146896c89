//! `deadline`: peak speed while a turn of the loop is about to become one of the longest, and in
//! the turn after it. Ours.
//!
//! A turn is what the loop does from one poll to the next. Who comes during a turn waits for its
//! end, and then in the next one for those before him: the longest turns make the slowest requests.
//! Queue Boost asks whether an event is longer than others were, and most of those that are hold
//! nobody up for long. How long the loop has worked without a wait, by which this went at first,
//! says little where it is busy: many short turns without a wait make nobody wait for long. A boost
//! begins when a turn is likely to get to the age that only the longest get to, and at once for a
//! collection, or a queue, that will carry it there. How old that is follows from what Combined
//! would boost of the same loop: it gets by with a part of that, and counts what it spent.

use std::fmt;

use crate::ages::Ages;
use crate::allowance::Allowance;
use crate::arguments::{Arguments, duration_text};
use crate::average::RunningAverage;
use crate::decision::{Decider, Decision, LeverFacts, Reasons};
use crate::error::PolicyError;
use crate::gc_boost::HOLD_MAX_NS;
use crate::hold::Hold;
use crate::pauses::Pauses;
use crate::reading::Reading;
use crate::recent_part::RecentPart;
use crate::shadow::Shadow;
use crate::speed::Speed;

pub(crate) const NAME: &str = "deadline";
/// A loop that did not work for so long was waiting; to poll takes some microseconds.
const WAITED_NS: u64 = 50_000;
/// Or for this part of the time between two looks, where those are far apart.
const WAITED_PART: u64 = 8;
/// Events over which is averaged how long one takes.
const EVENTS: u32 = 256;
/// Of all work, what may be late where Combined boosts nothing: turns that are all alike have one
/// now and then that is not.
const LATE_MIN: f64 = 0.001;
/// And at most, whatever Combined boosts: a turn that is younger than what half of all work is done
/// beyond is late for nobody.
const LATE_MAX: f64 = 0.5;
/// A turn that gets older than hardly any work of late is boosted whatever was spent.
const RAREST: f64 = 1e-4;

/// What may be boosted unless something else is asked for, as a part of what Combined would boost.
const OF_COMBINED: f64 = 0.85;
/// A loop that is busy for so much of the time has the part of Combined's that is set; one that has
/// less to do may have more. What Combined spends there is little, so that a sixth of it saves next
/// to nothing and costs a point of p99 (`bench/runs/2026-11-29-schemes-15`).
const BUSY: f64 = 0.4;
/// So much more it is where the loop has nothing to do: with the default part all of Combined's.
const MORE: f64 = 1.0 / OF_COMBINED - 1.0;
/// How busy it is counts over so much time: a queue is to change nothing of what it may have.
const BUSY_WINDOW_NS: f64 = 5e9;

/// Which collections are boosted that carry no turn to the deadline, and what waits for them.
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

/// Boost turns that are about to become long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadline {
    /// What may be boosted of a busy loop, as a part of what Combined would boost.
    pub of_combined: f64,
    /// A turn is boosted when it gets to the deadline at least so probably.
    pub chance: f64,
    /// Which collections are boosted besides.
    pub collections: Collections,
    /// How long a boost lasts at least.
    pub hold_ns: u64,
    /// How often to look.
    pub period_ns: u64,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            of_combined: OF_COMBINED,
            chance: 0.3,
            collections: Collections::Late,
            hold_ns: 0,
            period_ns: 200_000,
        }
    }
}

impl Deadline {
    pub(crate) fn parse(mut arguments: Arguments<'_>) -> Result<Self, PolicyError> {
        let default = Self::default();
        let policy = Self {
            of_combined: arguments.number("of-combined", default.of_combined, 0.01..=1000.0)?,
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
        };
        arguments.finish(NAME)?;
        Ok(policy)
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
            late_turn: None,
            shadow: Shadow::new(lever),
            allowance: Allowance::default(),
            busy: RecentPart::new(BUSY_WINDOW_NS),
            speed: Speed::Base,
        }
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hold, period) = (duration_text(self.hold_ns), duration_text(self.period_ns));
        let Self {
            of_combined,
            chance,
            ..
        } = self;
        let collections = Collections::WORDS[self.collections as usize];
        write!(f, "{NAME}:of-combined={of_combined},chance={chance}")?;
        write!(f, ",collections={collections},hold={hold},period={period}")
    }
}

/// A loop when it was looked at.
#[derive(Debug, Clone, Copy)]
struct Seen {
    now_ns: u64,
    /// How long it had worked until then.
    worked_ns: u64,
    /// How many turns had begun.
    turns: u64,
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
    /// When the turn began that the loop is in.
    since_ns: Option<u64>,
    /// The last turn that was going to miss the deadline.
    late_turn: Option<u64>,
    shadow: Shadow,
    /// What may be boosted yet.
    allowance: Allowance,
    /// The part of the time that the loop works.
    busy: RecentPart,
    /// What it decided last.
    speed: Speed,
}

impl DeadlineDecider {
    /// Takes a reading in; the age of the turn, if the loop is in one.
    fn learn_age_ns(&mut self, reading: &Reading) -> Option<u64> {
        let now_ns = reading.now_ns;
        let seen = Seen {
            now_ns,
            worked_ns: reading.busy_ns(),
            turns: reading.totals.turns,
        };
        let last = self.last.replace(seen).unwrap_or(seen);
        let passed_ns = now_ns.saturating_sub(last.now_ns);
        let work_ns = seen.worked_ns.saturating_sub(last.worked_ns).min(passed_ns);
        self.busy.add(work_ns, true);
        self.busy.add(passed_ns - work_ns, false);
        self.learn_spent(reading, passed_ns, work_ns);
        let turns = seen.turns.saturating_sub(last.turns);
        let has_waited = self.has_waited(passed_ns, work_ns);
        if has_waited {
            // Nobody was left to serve, so the next turn is not late for the one before.
            self.late_turn = None;
        }
        let ended = self.since_ns.take_if(|_| has_waited || turns > 0);
        if reading.head_ns > 0 && self.since_ns.is_none() {
            // The more of the time it worked, the more of that was without a wait; and of what it
            // worked before, as much belongs to this turn as to each of the others.
            let before_ns = work_ns.saturating_sub(reading.head_ns) as f64;
            let share = work_ns as f64 / passed_ns.max(1) as f64;
            let age_ns =
                reading.head_ns + (before_ns * share / turns.saturating_add(1) as f64) as u64;
            self.since_ns = Some(now_ns.saturating_sub(age_ns));
        }
        let age_ns = self.since_ns.map(|since| now_ns.saturating_sub(since));
        let own_ns = age_ns.unwrap_or(0).min(work_ns);
        self.ages.add(age_ns.unwrap_or(0) - own_ns, own_ns, 1.0);
        let ended_ns = ended.map(|since_ns| last.now_ns.saturating_sub(since_ns));
        self.learn_unseen(work_ns - own_ns, turns, ended_ns);
        age_ns
    }

    /// Counts what was boosted since the last look, and what may be.
    fn learn_spent(&mut self, reading: &Reading, passed_ns: u64, work_ns: u64) {
        let combined_ns = self.shadow.learn(reading, work_ns, self.speed);
        let is_boosted = self.speed == Speed::Peak;
        let boosted_ns = if is_boosted { passed_ns as f64 } else { 0.0 };
        let Some(part) = self.shadow.part() else {
            // Not charged for what it cannot be compared with yet.
            return;
        };
        let (of_combined, share) = (self.of_combined(), self.budget());
        // What the budget has beyond that part, where Combined boosts next to nothing.
        let beyond = share - of_combined * part;
        let work_ns = work_ns as f64;
        let allowed_ns = of_combined * combined_ns + beyond * work_ns;
        self.allowance.spend(work_ns, boosted_ns, allowed_ns, share);
    }

    /// Whether the loop has waited for work since it worked last.
    fn has_waited(&mut self, passed_ns: u64, work_ns: u64) -> bool {
        let waited_ns = passed_ns - work_ns;
        self.waited_ns = match work_ns {
            0 => self.waited_ns.saturating_add(waited_ns),
            _ => waited_ns,
        };
        self.waited_ns > WAITED_NS.max(passed_ns / WAITED_PART)
    }

    /// Learns from the turns that came and went between two looks, of which only their number is
    /// known, and that the first of them was the one of that age.
    fn learn_unseen(&mut self, work_ns: u64, turns: u64, ended_ns: Option<u64>) {
        let each_ns = work_ns / turns.max(1);
        let mut others = turns.max(1);
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

    /// Whether a turn of this age is about to miss the deadline.
    fn is_about_to_miss(&self, age_ns: u64, reading: &Reading) -> bool {
        let queue_ns = f64::from(reading.queue_length) * self.events.get().unwrap_or(0.0);
        let become_ns = age_ns as f64 + self.left_ns(reading) + queue_ns;
        let late_ns = if self.allowance.is_spent() {
            // Where the longest turns are all alike each gets to any deadline.
            self.ages.beyond_ns(RAREST)
        } else {
            self.ages.turning_ns(self.aim(), self.policy.chance)
        };
        become_ns >= late_ns
    }

    /// The share of late work that it aims at: less than may be boosted after more was.
    fn aim(&self) -> f64 {
        (self.budget() * self.allowance.factor()).min(LATE_MAX)
    }

    /// The share of all work that may be boosted.
    fn budget(&self) -> f64 {
        let combined = self.shadow.part().unwrap_or(0.0);
        (self.of_combined() * combined).max(LATE_MIN)
    }

    /// What may be boosted, as a part of what Combined would boost.
    fn of_combined(&self) -> f64 {
        let set = self.policy.of_combined;
        let calm = self.busy.get().map_or(0.0, |busy| 1.0 - busy / BUSY);
        (set * (1.0 + MORE * calm.max(0.0))).min(set.max(1.0))
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
        let age_ns = self.learn_age_ns(reading);
        let turn = Some(totals.turns);
        if self.late_turn != turn
            && age_ns.is_some_and(|age_ns| collects || self.is_about_to_miss(age_ns, reading))
        {
            self.late_turn = turn;
        }
        // Who came during a late turn is served in the next.
        let late_until = self.late_turn.map(|turn| turn.saturating_add(1));
        let is_late = age_ns.is_some() && late_until >= turn;
        let reasons = Reasons::when(is_late, Reasons::LONG_TURN)
            | Reasons::when(collects, Reasons::COLLECTION);
        let decision = self.hold.decide(reading.now_ns, reasons);
        self.speed = decision.speed;
        let next_ns = reading.now_ns.saturating_add(self.policy.period_ns);
        Decision {
            look_again_ns: Some(decision.look_again_ns.map_or(next_ns, |ns| ns.min(next_ns))),
            ..decision
        }
    }
}
