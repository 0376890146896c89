//! Looks at the sensed loops, lets a policy decide, and moves a lever: the act flow at work.
//!
//! A thread of its own, because a decision must also come while the loop is stuck in one event,
//! which is what Queue Boost is about; and because levers are system calls, which the loop shall
//! not make. The loop only wakes it: when V8 begins or ends a collection, and when it goes to work
//! after the driver has gone to sleep.

use std::collections::VecDeque;

use bobtail_control::{Actuator, ControlError, Outcome, Range};
use bobtail_policy::{
    ASLEEP_NS, Decider, Decision, Idle, LeverFacts, Look, Looks, Policy, Reading, Reasons, Speed,
    Used,
};

use crate::act::counters::{Counts, Told};
use crate::act::sensed_loops;
use crate::act::senses;
use crate::act::waking;
use crate::clock::{monotonic_ns, thread_cpu_ns};

/// A loop that has been in one event for so long hangs: whatever its policy wants, it gets base
/// speed until it turns again. Nobody is served by its boost, and the driver, which is a thread of
/// its own, tells a bobtaild that the process lives.
const HUNG_NS: u64 = 10_000_000_000;
/// A lever that refused is not asked again before.
const REFUSED_NS: u64 = 100_000_000;
/// How often a lever that can only be asked is looked at for its answer: a bobtaild gives one
/// within 200 µs where the machine is not crowded, and within some ms where it is.
const ANSWER_NS: u64 = 1_000_000;

const REASONS: [Reasons; 4] = [
    Reasons::COLLECTION,
    Reasons::QUEUE_LENGTH,
    Reasons::HEAD,
    Reasons::LONG_TURN,
];

/// A policy with a lever in its hand.
pub struct Driver {
    policy: Policy,
    facts: LeverFacts,
    actuator: Box<dyn Actuator>,
    range: Range,
    /// By number of the loop: what decides for it.
    deciders: Vec<(usize, Box<dyn Decider>)>,
    speed: Option<Speed>,
    idle: Idle,
    counts: Counts,
    /// Why the lever was lost last.
    why_lost: Option<String>,
    /// Where it tells what it did.
    told: Option<Told>,
    looks: Looks,
    /// When the lever is to hear of its owner, though nothing changes.
    upkeep_at_ns: u64,
    /// Not asked before, since it refused.
    ask_at_ns: u64,
    /// The number of the change that was asked for last, of a lever that can only be asked.
    change: Option<u32>,
    /// Why the speed that is asked for now is.
    reasons: Reasons,
    /// Boosts that were asked for and not answered, in order.
    pending: VecDeque<Pending>,
}

/// A boost that may never have been.
#[derive(Debug, Clone, Copy)]
struct Pending {
    change: u32,
    reasons: Reasons,
    began_ns: u64,
    ended_ns: Option<u64>,
}

/// What follows from a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// When to look again.
    pub look_ns: u64,
    /// No loop has had work for a while.
    pub is_idle: bool,
}

impl Driver {
    pub fn new(
        policy: Policy,
        facts: LeverFacts,
        actuator: Box<dyn Actuator>,
        told: Option<Told>,
        looks: Looks,
    ) -> Self {
        let range = actuator.lever().range;
        Self {
            policy,
            facts,
            actuator,
            range,
            deciders: Vec::new(),
            speed: None,
            idle: Idle::default(),
            counts: Counts::default(),
            why_lost: None,
            told,
            looks,
            upkeep_at_ns: 0,
            ask_at_ns: 0,
            change: None,
            reasons: Reasons::default(),
            pending: VecDeque::new(),
        }
    }

    /// Decides by the readings of all loops, each with its number, and moves the lever. The
    /// fastest speed that a loop wants wins: they share the lever.
    ///
    /// # Errors
    /// The lever refused; it is asked again after a while.
    pub fn look(
        &mut self,
        now_ns: u64,
        readings: &[(usize, Reading)],
    ) -> Result<Next, ControlError> {
        let next = self.look_uncounted(now_ns, readings);
        if let Some(told) = &mut self.told {
            told.tell(&self.counts, self.why_lost.as_deref(), now_ns);
        }
        next
    }

    fn look_uncounted(
        &mut self,
        now_ns: u64,
        readings: &[(usize, Reading)],
    ) -> Result<Next, ControlError> {
        self.counts.looks += 1;
        self.deciders
            .retain(|(index, _)| readings.iter().any(|(known, _)| known == index));
        let mut speed = None;
        let mut reasons = Reasons::default();
        let mut look_ns = now_ns.saturating_add(ASLEEP_NS);
        for (index, reading) in readings {
            let decision = self.decide(*index, reading);
            if reading.head_ns < HUNG_NS {
                speed = faster(speed, decision.speed);
                reasons = reasons | decision.reasons;
            }
            look_ns = look_ns.min(decision.look_again_ns.unwrap_or(u64::MAX));
        }
        let speed = speed.unwrap_or(Speed::Base);
        let is_working = readings
            .iter()
            .any(|(_, reading)| reading.head_ns > 0 || reading.collection.is_some());
        let is_idle = self
            .idle
            .is_idle(now_ns, is_working || speed == Speed::Peak);
        self.set(now_ns, speed, reasons)?;
        // An answer is looked for in time: what is refused is asked for again soon.
        if self.actuator.unanswered().is_some() {
            look_ns = look_ns.min(self.upkeep_at_ns);
        }
        Ok(Next { look_ns, is_idle })
    }

    fn decide(&mut self, index: usize, reading: &Reading) -> Decision {
        let known = self.deciders.iter().position(|(known, _)| *known == index);
        let at = known.unwrap_or_else(|| {
            self.deciders.push((index, self.policy.start(&self.facts)));
            self.deciders.len() - 1
        });
        self.deciders[at].1.decide(reading)
    }

    fn set(&mut self, now_ns: u64, speed: Speed, reasons: Reasons) -> Result<(), ControlError> {
        let is_changed = self.speed != Some(speed);
        let is_due = is_changed && now_ns >= self.ask_at_ns || now_ns >= self.upkeep_at_ns;
        if !is_due {
            return Ok(());
        }
        let upkeep_ns = self.actuator.upkeep_ns().unwrap_or(u64::MAX);
        self.upkeep_at_ns = now_ns.saturating_add(upkeep_ns);
        let applied = match self.actuator.apply(speed) {
            Ok(applied) => applied,
            Err(error) => {
                self.counts.refused += 1;
                self.pending.clear();
                self.lose(now_ns, error.to_string());
                return Err(error);
            }
        };
        while let Some(outcome) = self.actuator.outcome() {
            self.settle(now_ns, outcome, is_changed)?;
        }
        if is_changed {
            self.begin(now_ns, speed, reasons, self.range.is_raised(applied.value));
        }
        match self.actuator.unanswered() {
            Some(_) => {
                self.upkeep_at_ns = self.upkeep_at_ns.min(now_ns.saturating_add(ANSWER_NS));
            }
            None if self.change.is_none() => self.find(now_ns),
            None => {}
        }
        Ok(())
    }

    /// Another speed was set, or asked for.
    fn begin(&mut self, now_ns: u64, speed: Speed, reasons: Reasons, is_raised: bool) {
        self.end_boost(now_ns);
        self.change = self.actuator.unanswered();
        self.reasons = reasons;
        self.speed = Some(speed);
        match self.change {
            Some(change) if is_raised => self.pending.push_back(Pending {
                change,
                reasons,
                began_ns: now_ns,
                ended_ns: None,
            }),
            None if is_raised => self.count(reasons, now_ns, None),
            // A lever may have nothing to give: a quota without credit stays where it was.
            _ => self.counts.refused += u64::from(self.wants_raise()),
        }
    }

    /// Takes in what came of a change that was asked for.
    fn settle(
        &mut self,
        now_ns: u64,
        outcome: Outcome,
        is_changed: bool,
    ) -> Result<(), ControlError> {
        self.counts.refused += u64::from(outcome.refused);
        let asked = self
            .pending
            .iter()
            .position(|boost| boost.change == outcome.change);
        let asked = asked.and_then(|at| self.pending.remove(at));
        let is_of_now = self.change == Some(outcome.change) && !is_changed;
        let value = match outcome.stands {
            Ok(value) => value,
            Err(why) if is_of_now => {
                let lever = self.actuator.lever().kind;
                self.lose(now_ns, why.clone());
                return Err(ControlError::Unavailable { lever, why });
            }
            Err(_) => return Ok(()),
        };
        self.find(now_ns);
        let is_raised = self.range.is_raised(value);
        let is_boosted = self.counts.boosted_since_ns != 0;
        match asked {
            Some(boost) if is_raised => self.count(boost.reasons, boost.began_ns, boost.ended_ns),
            Some(_) => self.counts.refused += 1,
            // What stands is asked for again and again: a quota goes down by itself, and up.
            None if is_of_now && is_boosted && !is_raised => {
                self.end_boost(now_ns);
                self.counts.refused += 1;
            }
            None if is_of_now && !is_boosted && is_raised && self.wants_raise() => {
                self.count(self.reasons, now_ns, None);
            }
            None => {}
        }
        Ok(())
    }

    /// Whether what is asked for now is above base.
    fn wants_raise(&self) -> bool {
        let kind = self.actuator.lever().kind;
        let wanted = self
            .speed
            .and_then(|speed| self.range.value(kind, speed).ok());
        wanted.is_some_and(|value| self.range.is_raised(value))
    }

    /// A boost that was one.
    fn count(&mut self, reasons: Reasons, began_ns: u64, ended_ns: Option<u64>) {
        self.counts.boosts += 1;
        for (reason, count) in REASONS.into_iter().zip(&mut self.counts.by_reason) {
            *count += u64::from(reasons.contains(reason));
        }
        match ended_ns {
            Some(ended_ns) => self.counts.boosted_ns += ended_ns.saturating_sub(began_ns),
            None => self.counts.boosted_since_ns = began_ns,
        }
    }

    fn end_boost(&mut self, now_ns: u64) {
        if let Some(boost) = self.pending.back_mut() {
            boost.ended_ns.get_or_insert(now_ns);
        }
        self.counts.boosted_ns = self.counts.boosted_until_ns(now_ns);
        self.counts.boosted_since_ns = 0;
    }

    /// The lever is in hand.
    fn find(&mut self, now_ns: u64) {
        self.counts.lost_ns = self.counts.lost_until_ns(now_ns);
        self.counts.lost_since_ns = 0;
    }

    /// The lever is out of hand from now on, or still is, and is asked again after a while. The
    /// first reason is what matters; where it stands now is its own affair, and no boost.
    fn lose(&mut self, now_ns: u64, why: String) {
        self.end_boost(now_ns);
        let pause_ns = REFUSED_NS.min(self.actuator.upkeep_ns().unwrap_or(u64::MAX));
        self.ask_at_ns = now_ns.saturating_add(pause_ns);
        self.upkeep_at_ns = self.ask_at_ns;
        self.speed = None;
        if self.counts.lost_since_ns == 0 {
            self.counts.lost_since_ns = now_ns;
            self.why_lost = Some(why);
        }
    }

    /// Until the process ends.
    pub fn run(mut self) {
        waking::begin();
        let mut readings = Vec::with_capacity(8);
        loop {
            let seen = waking::seen();
            readings.clear();
            let loops = sensed_loops();
            readings.extend(
                loops
                    .iter()
                    .map(|shared| (shared.index, senses::read(shared))),
            );
            drop(loops);
            let now_ns = monotonic_ns();
            // What the lever refused is counted, and asked for again at the next look.
            let next = self.look(now_ns, &readings).unwrap_or(Next {
                look_ns: now_ns + ASLEEP_NS,
                is_idle: false,
            });
            let look = Look {
                now_ns,
                again_ns: next.look_ns,
                is_idle: next.is_idle,
                is_boosted: self.speed == Some(Speed::Peak),
            };
            let used = Used {
                own_ns: thread_cpu_ns(),
                looks: self.counts.looks,
                loops_ns: readings.iter().map(|(_, reading)| reading.busy_ns()).sum(),
            };
            // Told with the next look.
            self.counts.looking_ns = used.own_ns;
            let pause = self.looks.pause(look, used);
            let at_most_ns = pause.until_ns.saturating_sub(monotonic_ns()).max(1);
            waking::sleep(seen, at_most_ns, pause.is_wakeable);
        }
    }
}

/// The faster of two speeds; a frequency is slower than the peak and faster than the base.
fn faster(one: Option<Speed>, other: Speed) -> Option<Speed> {
    let rank = |speed| match speed {
        Speed::Peak => u32::MAX,
        Speed::Khz(khz) => khz,
        _ => 0,
    };
    match one {
        Some(one) if rank(one) >= rank(other) => Some(one),
        _ => Some(other),
    }
}

#[cfg(test)]
mod tests;
