//! The pace: how fast the loop's thread runs while a policy drives a lever.
//!
//! The policy is the one that runs live, so it may know no more here than its sensor tells there:
//! the same queue, the same head, the same sums, looked at when the same things happen.

use bobtail_policy::{
    ASLEEP_NS, Collection, CollectionKind, Decider, Decision, IDLE_NS, Idle, LeverFacts, Look,
    LoopTotals, Reading, Reasons, Speed,
};
use bobtail_trace::record::Ns;

use crate::domain::Known;
use crate::follower::{Follower, Sees};
use crate::gear::Gear;
use crate::glance::Glances;
use crate::ledger::{Boost, Ledger};
use crate::model::NO_REQUEST;
use crate::scheme::{Drive, Scheme};

/// A turn of the loop in which nothing was dispatched and that was shorter ran no callback.
const TURN_NS: u64 = 2_000;
const NEVER: Ns = Ns::MAX;
/// No speed is more than so many times base (the highest that can be asked for is 10 GHz).
const RATIO_MAX: u64 = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Pace {
    decider: Box<dyn Decider>,
    /// Of a scheme that cannot run live.
    follower: Option<Box<dyn Follower>>,
    /// The request for which the thread works.
    request: u32,
    drive: Drive,
    gear: Gear,
    /// Asked for last.
    asked: Speed,
    look_ns: Ns,
    /// What looks cost, where that is bounded.
    glances: Option<Glances>,
    /// Until then everything happened.
    at_ns: Ns,
    /// At least until then the thread runs at base and nobody looks, as nearly always under a
    /// policy that decides by looks; 0 where that is not so.
    coasts_ns: Ns,
    is_asleep: bool,
    /// As far as who looks knows.
    idle: Idle,
    /// What the sensor shows.
    collection: Option<Collection>,
    queue_length: u32,
    head_ns: Option<Ns>,
    is_dispatched: bool,
    /// What this answer of the kernel tells of the pool has begun.
    is_of_pool: bool,
    totals: LoopTotals,
    ledger: Ledger,
}

impl Pace {
    /// At base speed; energy counts from `from_ns` on.
    pub(crate) fn new(
        drive: &Drive,
        gear: Gear,
        follower: Option<Box<dyn Follower>>,
        from_ns: Ns,
    ) -> Self {
        let facts = LeverFacts {
            latency_ns: drive.lever.latency_ns,
        };
        let mut pace = Self {
            decider: drive.scheme.start(&facts),
            follower,
            request: NO_REQUEST,
            drive: drive.clone(),
            gear,
            asked: Speed::Base,
            look_ns: NEVER,
            glances: Glances::of(drive),
            at_ns: 0,
            coasts_ns: 0,
            is_asleep: true,
            idle: Idle::default(),
            collection: None,
            queue_length: 0,
            head_ns: None,
            is_dispatched: false,
            is_of_pool: false,
            totals: LoopTotals::default(),
            ledger: Ledger::new(from_ns),
        };
        if let Scheme::Policy(bobtail_policy::Policy::Static(fixed)) = &drive.scheme {
            // It has stood there since the service started.
            pace.gear.ask(0, drive.lever.ratio(fixed.speed));
            pace.look();
        }
        pace
    }

    /// A request will come then.
    pub(crate) fn expect(&mut self, request: u32, at_ns: Ns) {
        if let Some(follower) = &mut self.follower {
            follower.expect(request, at_ns);
        }
    }

    /// What is done from now on is done for this request.
    pub(crate) fn go_on_for(&mut self, request: u32) {
        self.request = request;
    }

    /// Does so much work of the thread.
    #[inline]
    pub(crate) fn work(&mut self, work_ns: u64) {
        let end_ns = self.at_ns + work_ns;
        if end_ns <= self.coasts_ns {
            self.ledger.run(self.at_ns, end_ns, 1.0);
            self.at_ns = end_ns;
        } else {
            self.work_watched(work_ns);
        }
    }

    #[cold]
    fn work_watched(&mut self, work_ns: u64) {
        let mut left_ns = work_ns as f64;
        // Since when at the same speed: what is rounded must not depend on who looked meanwhile.
        let (mut from_ns, mut ratio) = (self.at_ns, 1.0);
        loop {
            let done_ns = (self.at_ns - from_ns) as f64 * ratio;
            let known = self.known((left_ns - done_ns) as u64 / RATIO_MAX);
            if known.ratio != ratio {
                left_ns -= done_ns;
                (from_ns, ratio) = (self.at_ns, known.ratio);
            }
            let end_ns = from_ns + (left_ns / ratio).ceil() as u64;
            let next_ns = self.next_ns().min(known.until_ns).max(self.at_ns);
            if end_ns <= next_ns {
                let before_ns = (self.at_ns - from_ns) as f64 * ratio;
                self.run(left_ns - before_ns, end_ns, ratio);
                return self.coast();
            }
            self.run((next_ns - self.at_ns) as f64 * ratio, next_ns, ratio);
            self.happen();
        }
    }

    /// The speed, for a thread that decides nothing of itself for so long.
    fn known(&mut self, undecided_ns: u64) -> Known {
        let next_ns = self.next_ns();
        let at_ns = self.at_ns;
        let decides_ns = || {
            next_ns
                .min(at_ns.saturating_add(undecided_ns))
                .max(at_ns + 1)
        };
        self.gear.known(at_ns, decides_ns)
    }

    fn run(&mut self, done_ns: f64, until_ns: Ns, ratio: f64) {
        self.ledger.run(self.at_ns, until_ns, ratio);
        if let Some(follower) = &mut self.follower {
            follower.work(self.request, done_ns, until_ns - self.at_ns);
        }
        self.at_ns = until_ns;
    }

    /// Finds until when nothing can change.
    fn coast(&mut self) {
        let is_at_base = self.follower.is_none() && self.gear.is_own_at_base();
        self.coasts_ns = if is_at_base { self.look_ns } else { 0 };
    }

    /// Lets time pass in which the thread does nothing that a speed would change.
    #[inline]
    pub(crate) fn pass(&mut self, until_ns: Ns) {
        if until_ns <= self.coasts_ns {
            self.ledger.pass(self.at_ns, until_ns, 1.0);
            self.at_ns = self.at_ns.max(until_ns);
        } else {
            self.pass_watched(until_ns);
        }
    }

    #[cold]
    fn pass_watched(&mut self, until_ns: Ns) {
        while self.at_ns < until_ns {
            let known = self.known(until_ns - self.at_ns);
            let next_ns = self.next_ns().min(known.until_ns);
            let next_ns = next_ns.clamp(self.at_ns, until_ns);
            self.ledger.pass(self.at_ns, next_ns, known.ratio);
            self.at_ns = next_ns;
            if next_ns < until_ns {
                self.happen();
            }
        }
        self.coast();
    }

    /// The same while the loop sleeps: who looks then finds nothing, and soon looks no more.
    pub(crate) fn sleep(&mut self, until_ns: Ns) {
        if self.glances.is_some() {
            // Decides when it looks, and whether it is woken, as the live driver does.
            self.pass(until_ns);
            return;
        }
        let asleep_ns = self.at_ns.saturating_add(IDLE_NS);
        self.pass(until_ns.min(asleep_ns));
        if until_ns <= asleep_ns {
            return;
        }
        while self.asked != Speed::Base && self.look_ns < until_ns {
            self.pass(self.look_ns);
            self.happen();
        }
        self.is_asleep = true;
        // What is kept of coasting ends sooner, which only makes it be asked again.
        self.look_ns = NEVER;
        self.pass(until_ns);
    }

    /// The loop asks the kernel: nothing runs and nothing waits.
    pub(crate) fn poll_enter(&mut self) {
        self.end_event();
        (self.head_ns, self.queue_length) = (None, 0);
        if self.sees(Sees::Work) {
            self.look();
        }
    }

    /// It has an answer.
    pub(crate) fn poll_leave(&mut self, ready: u32) {
        (self.is_dispatched, self.is_of_pool) = (false, false);
        self.head_ns = Some(self.at_ns);
        self.queue_length = ready;
        self.totals.turns += 1;
        if ready > 0 {
            self.totals.polls += 1;
            self.totals.queue_lengths += u64::from(ready);
        }
        let is_woken = std::mem::take(&mut self.is_asleep);
        if self.sees(Sees::Work) {
            self.look();
        } else if is_woken {
            // Who looks is there a moment later and sees what runs; at once it would see nothing,
            // and go back to sleep.
            let wakes_ns = self.glances.as_ref().map_or(1, |_| self.drive.look_ns);
            self.look_ns = self.look_ns.min(self.at_ns + wakes_ns);
            self.coast();
        }
    }

    fn sees(&self, what: Sees) -> bool {
        let follower = self.follower.as_ref();
        follower.is_some_and(|one| one.sees() >= what)
    }

    /// An event that the kernel told begins. Jobs of the pool that are done come as one.
    pub(crate) fn dispatch(&mut self, is_of_pool: bool) {
        if is_of_pool && std::mem::replace(&mut self.is_of_pool, true) {
            return;
        }
        if self.is_dispatched {
            self.end_event();
        }
        self.is_dispatched = true;
        self.queue_length = self.queue_length.saturating_sub(1);
        self.head_ns = Some(self.at_ns);
        if self.sees(Sees::Events) {
            self.look();
        }
    }

    fn end_event(&mut self) {
        let Some(begin_ns) = self.head_ns else {
            return;
        };
        let ran_ns = self.at_ns.saturating_sub(begin_ns);
        if self.is_dispatched || ran_ns >= TURN_NS {
            self.totals.events += 1;
            self.totals.events_ns += ran_ns;
        }
    }

    /// A collection begins. Not a step of incremental marking to who decides: V8 calls back for its
    /// start alone, and its log, by which a recording has the steps, is not read live.
    pub(crate) fn collect(&mut self, kind: CollectionKind) {
        if kind == CollectionKind::IncrementalMarking {
            return;
        }
        let begin_ns = self.at_ns;
        self.collection = Some(Collection { kind, begin_ns });
        self.look();
    }

    /// It is over.
    pub(crate) fn collected(&mut self) {
        if self.collection.take().is_some() {
            self.look();
        }
    }

    /// A request is answered.
    pub(crate) fn answered(&mut self, request: u32) {
        self.ledger.respond();
        if let Some(follower) = &mut self.follower
            && follower.answer(request, self.at_ns)
        {
            self.look();
        }
    }

    /// Until when everything happened.
    pub(crate) fn at_ns(&self) -> Ns {
        self.at_ns
    }

    /// What it came to at the end.
    pub(crate) fn finish(mut self) -> Ledger {
        self.ledger.close(self.at_ns);
        self.gear.let_go(self.at_ns);
        self.ledger
    }

    fn next_ns(&self) -> Ns {
        let coming = self.follower.as_ref().map_or(NEVER, |one| one.next_ns());
        self.look_ns.min(coming)
    }

    fn happen(&mut self) {
        let now = self.at_ns;
        let comes = self.follower.as_mut().is_some_and(|one| one.come(now));
        if comes || self.look_ns <= now {
            self.look();
        }
    }

    /// What the sensor shows now.
    fn reading(&self) -> Reading {
        let now = self.at_ns;
        Reading {
            now_ns: now,
            collection: self.collection,
            queue_length: self.queue_length,
            head_ns: self
                .head_ns
                .map_or(0, |begin_ns| now.saturating_sub(begin_ns)),
            totals: self.totals,
        }
    }

    fn look(&mut self) {
        let now = self.at_ns;
        let reading = self.reading();
        let decision = match &mut self.follower {
            Some(follower) => follower.decide(now, self.head_ns.is_some()),
            None => self.decider.decide(&reading),
        };
        let Decision {
            speed,
            reasons,
            look_again_ns,
        } = decision;
        if speed != self.asked {
            self.ask(now, speed, reasons);
        }
        let paid_ns = self.glance(&reading, look_again_ns);
        // A look at once again would be for ever.
        self.look_ns = look_again_ns.map_or(NEVER, |ns| ns.max(paid_ns).max(now + 1));
        self.coast();
    }

    /// Counts a look; until when there shall be no other but for a collection, or for work where
    /// who decides is asleep.
    fn glance(&mut self, reading: &Reading, again_ns: Option<Ns>) -> Ns {
        let Some(glances) = &mut self.glances else {
            return 0;
        };
        let now_ns = self.at_ns;
        let is_boosted = self.asked == Speed::Peak;
        let is_working = reading.head_ns > 0 || reading.collection.is_some() || is_boosted;
        let look = Look {
            now_ns,
            again_ns: again_ns.unwrap_or(now_ns.saturating_add(ASLEEP_NS)),
            is_idle: self.idle.is_idle(now_ns, is_working),
            is_boosted,
        };
        let pause = glances.pause(look, reading.busy_ns());
        self.is_asleep = pause.is_wakeable;
        pause.until_ns
    }

    fn ask(&mut self, now: Ns, speed: Speed, reasons: Reasons) {
        self.asked = speed;
        if speed == Speed::Base {
            self.ledger.end_boost(now);
        } else if speed == Speed::Peak || !reasons.is_empty() {
            self.ledger.begin_boost(Boost {
                from_ns: now,
                to_ns: now,
                reasons,
            });
        }
        let lever = &self.drive.lever;
        let effective_ns = now.saturating_add(lever.latency_ns);
        self.gear.ask(effective_ns, lever.ratio(speed));
    }
}
