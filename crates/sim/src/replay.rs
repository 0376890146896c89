//! The replay: the event loop runs again, with every time as the scenario has it.
//!
//! One thread, one turn after the other: all that is ready, then immediates, closed handles, and
//! timers. An event begins when the loop gets to it and what it waits for is there; how long the
//! loop takes from one to the next is as recorded too. So without a change everything falls into
//! its recorded place, and the only thing that can move is the order.

mod at_base;
mod driven;
mod reads;
mod shed;
mod together;

use std::collections::VecDeque;
use std::sync::Arc;

use bobtail_trace::record::Ns;

use crate::agenda::{Agenda, Due, sooner};
use crate::ahead::{Ahead, Aim};
use crate::components::Components;
use crate::gear::Gear;
use crate::ledger::Ledger;
use crate::model::{Action, EventIx, Model, NO_CONNECTION, NO_GATE, Phase, Trigger};
use crate::pool::Line;
use crate::scenario::Scenario;
use crate::shedding::Closed;
use crate::times::Times;
use crate::turns::in_order;
use crate::uses::Uses;
pub(crate) use at_base::{AtBase, at_base_speed};
use driven::Driven;
use shed::Sifted;
pub(crate) use together::replay_ahead;
pub use together::replay_all;

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Of the requests after warm-up, in the order of [`Model::recorded_ns`].
    pub latencies_ns: Vec<u64>,
    /// Which of these were turned away, whose latency is none; nothing where nobody was.
    pub turned_away: Vec<bool>,
    /// When.
    pub closed: Vec<Closed>,
    /// Work for the loop by the time in which it came: from 1 on the loop never catches up.
    pub loop_use: f64,
    /// The same of the threads of the pool.
    pub pool_use: f64,
    /// Speeds and boosts under a policy; nothing without one.
    pub ledger: Ledger,
    /// Events in the order in which they ran, where it was asked for.
    pub ran: Vec<Ran>,
}

/// A run of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// By its place in the recording.
    pub event: u32,
    pub ready_ns: Ns,
    pub begin_ns: Ns,
    pub end_ns: Ns,
}

/// All loops of a recording, replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct AllReplayed {
    /// In the order of the models.
    pub loops: Vec<Replayed>,
    /// What the scheme aimed at, where it looks ahead.
    pub aim: Option<Aim>,
}

/// Runs the loop of `model` under `scenario`.
pub fn replay(model: &Model, scenario: &Scenario, components: &Components) -> Replayed {
    replay_one(model, scenario, components, false)
}

/// The same, and tells which event ran when.
pub fn replay_told(model: &Model, scenario: &Scenario, components: &Components) -> Replayed {
    replay_one(model, scenario, components, true)
}

fn replay_one(
    model: &Model,
    scenario: &Scenario,
    components: &Components,
    is_told: bool,
) -> Replayed {
    let ahead = Ahead::of(std::slice::from_ref(model), scenario, components);
    let mut run = Run::new(model, scenario, components);
    run.drive(scenario, components, Gear::own(), &ahead, 0);
    run.told = is_told.then(Vec::new);
    run.finish()
}

/// The latency of a request that was never answered.
pub(crate) const UNANSWERED: u64 = u64::MAX;
/// Has run elsewhere.
const RAN: u32 = u32::MAX;
const NEVER: Ns = Ns::MAX;

struct Run<'a> {
    model: &'a Model,
    times: Times,
    agenda: Agenda,
    pool: Line,
    /// Of gates: what each still waits for.
    missing: Vec<u32>,
    /// Gates that opened when their own event was over.
    opened: VecDeque<u32>,
    /// What a read brings; one row for all reads.
    answers: Vec<Due>,
    readied_ns: Vec<Ns>,
    sinks_ns: Vec<Ns>,
    now: Ns,
    /// When the last event began.
    began_ns: Ns,
    uses: Uses,
    told: Option<Vec<Ran>>,
    /// From when to when the loop slept, where that is asked for.
    slept: Option<Vec<(Ns, Ns)>>,
    /// Where a policy drives a lever.
    driven: Option<Box<Driven>>,
    /// Where requests are turned away.
    sifted: Option<Box<Sifted>>,
}

impl<'a> Run<'a> {
    fn new(model: &'a Model, scenario: &Scenario, components: &Components) -> Self {
        let times = Times::of(model, scenario, components);
        let threads = scenario.pool.unwrap_or(model.pool.threads);
        let uses = Uses::of(&times.demand, model, scenario.rate, threads);
        let mut run = Self {
            model,
            agenda: Agenda::new(Arc::clone(&times.planned), model.connections),
            times,
            pool: Line::new(threads),
            missing: model.gates.iter().map(|gate| gate.missing).collect(),
            opened: VecDeque::new(),
            answers: Vec::new(),
            readied_ns: vec![NEVER; model.events.len()],
            sinks_ns: vec![NEVER; model.requests.len()],
            now: 0,
            began_ns: 0,
            uses,
            told: None,
            slept: None,
            driven: None,
            sifted: None,
        };
        run.sift(scenario, components);
        run
    }

    fn came_ns(&self, request: usize) -> Ns {
        let known = &self.model.requests[request];
        let ready_ns = self.readied_ns[known.source as usize];
        let told_ns = self.told_ns(known.source, ready_ns);
        told_ns.saturating_add_signed(-known.before_ns)
    }

    /// When what an event tells came, if that is from outside; else when it was ready.
    fn told_ns(&self, event: EventIx, ready_ns: Ns) -> Ns {
        match self.model.events[event as usize].trigger {
            // Whoever listened to it when: it may have come before its connection was accepted.
            Trigger::Arrival { .. } => self.times.delay_ns[event as usize],
            Trigger::Released { .. } | Trigger::Job { .. } => ready_ns,
        }
    }

    /// [`UNANSWERED`] of one whose answer never came, which no recording should bring about.
    fn latency_ns(&self, request: usize) -> u64 {
        match self.sinks_ns[request] {
            NEVER => UNANSWERED,
            sink_ns => sink_ns.saturating_sub(self.came_ns(request)),
        }
    }

    fn finish(mut self) -> Replayed {
        let mut batch: Vec<Due> = Vec::new();
        while self.turn(&mut batch) {}
        let requests = self.model.requests.iter().enumerate();
        let counted = requests.filter(|(_, request)| request.counts);
        let latencies: Vec<u64> = counted.map(|(at, _)| self.latency_ns(at)).collect();
        let driven = self.driven.take();
        let sifted = self.sifted.take().map(|one| one.finish(self.model));
        let away = sifted.unwrap_or_default();
        Replayed {
            latencies_ns: latencies,
            turned_away: away.turned_away,
            closed: away.closed,
            loop_use: driven.as_ref().map_or_else(
                || self.uses.without(away.spared_ns),
                |driven| self.uses.share(driven.busy_ns),
            ),
            pool_use: self.uses.pool_without(away.spared_pool_ns),
            ledger: driven.map(|one| one.pace.finish()).unwrap_or_default(),
            ran: self.told.unwrap_or_default(),
        }
    }

    /// One turn of the loop; false when nothing will come any more.
    fn turn(&mut self, batch: &mut Vec<Due>) -> bool {
        if let Some(driven) = &mut self.driven {
            driven.pace.poll_enter();
        }
        let timer_ns = self.agenda.next_timer_ns();
        let next_ns = self.agenda.next_ns();
        let ready_ns = sooner(next_ns, timer_ns);
        let mut woken_ns = 0;
        if self.agenda.is_idle() && ready_ns.is_none_or(|ready_ns| ready_ns > self.now) {
            let Some(ready_ns) = ready_ns else {
                return false;
            };
            if let Some(driven) = &mut self.driven {
                driven.pace.sleep(ready_ns);
            }
            if let Some(slept) = &mut self.slept {
                slept.push((self.now, ready_ns));
            }
            if next_ns == Some(ready_ns) {
                self.poll(ready_ns, batch);
            } else {
                woken_ns = ready_ns;
                self.answered_with(ready_ns, &[]);
            }
        } else {
            self.poll(self.now, batch);
        }
        for event in std::mem::take(&mut self.agenda.immediates) {
            self.execute((self.readied_ns[event as usize], event));
        }
        for event in std::mem::take(&mut self.agenda.closing) {
            self.execute((self.readied_ns[event as usize], event));
        }
        // What is due when the first of a long one ends waits for the next turn.
        let due_ns = self.now.max(woken_ns);
        while let Some(due) = self.agenda.take_timer(due_ns) {
            self.execute(due);
        }
        true
    }

    /// Runs what is ready by then, or until the kernel has told so. Jobs of the pool come all
    /// together, those too that were done while what was before them in line ran; a wake-up for
    /// something else brings what is done by then, too.
    fn poll(&mut self, ready_ns: Ns, batch: &mut Vec<Due>) {
        let first = self.agenda.first();
        let Some((_, first)) = first.filter(|due| due.0 <= ready_ns) else {
            self.answered_with(ready_ns, &[]);
            return;
        };
        let known = &self.model.events[first as usize];
        let woken = ready_ns > self.now;
        let poll_ns = match (known.turn_woken == woken, woken) {
            (true, _) => known.poll_ns,
            (false, true) => self.model.poll_woken_ns,
            (false, false) => self.model.poll_busy_ns,
        };
        let polled_ns = ready_ns + poll_ns;
        batch.extend(std::iter::from_fn(|| self.agenda.take(polled_ns)));
        if self.model.connections > 0 {
            self.once_by_connection(batch);
        }
        if let Some(done) = self.agenda.take_done(polled_ns) {
            let place = batch.partition_point(|due| *due < done);
            batch.insert(place, done);
        }
        in_order(batch, &self.model.events);
        self.answered_with(ready_ns, batch);
        for due in batch.drain(..) {
            let known = &self.model.events[due.1 as usize];
            if known.connection != NO_CONNECTION {
                self.read(due, polled_ns);
                continue;
            }
            self.execute(due);
            let taken_ns = match (known.is_job, known.takes_jobs) {
                (_, true) => (self.now.saturating_sub(known.taken_before_ns)).max(self.began_ns),
                (true, false) => self.began_ns.saturating_sub(known.taken_before_ns),
                (false, false) => continue,
            };
            let mut more: Vec<Due> =
                std::iter::from_fn(|| self.agenda.take_done(taken_ns)).collect();
            in_order(&mut more, &self.model.events);
            more.into_iter().for_each(|due| self.execute(due));
        }
    }

    fn execute(&mut self, due: Due) {
        self.run(due, false);
    }

    /// The loop's way to an event that begins a callback.
    fn lead_of(&self, (ready_ns, event): Due) -> u64 {
        let known = &self.model.events[event as usize];
        let woken = ready_ns > self.now;
        let usual_ns = match (woken == known.woken && !known.joins, woken) {
            (true, _) => return self.times.lead_ns[event as usize],
            (false, true) => self.model.lead_woken_ns,
            (false, false) => self.model.lead_busy_ns,
        };
        usual_ns + self.collected_before(event)
    }

    /// What is collected on the way to an event, which is done however the loop comes there.
    fn collected_before(&self, event: EventIx) -> u64 {
        let known = &self.model.events[event as usize];
        self.times.lead_ns[event as usize].saturating_sub(known.lead_ns - known.lead_gc_ns)
    }

    /// Runs an event, in a callback of its own or in that of the one before it.
    fn run(&mut self, (ready_ns, event): Due, joins: bool) {
        let ix = event as usize;
        self.readied_ns[ix] = ready_ns;
        let woken = ready_ns > self.now && !joins;
        let lead_ns = if joins {
            self.collected_before(event)
        } else {
            self.lead_of((ready_ns, event))
        };
        self.now = self.now.max(ready_ns);
        let lead_ns = self.sifted_lead_ns(event, lead_ns);
        self.lead(event, lead_ns, woken, joins);
        self.began_ns = self.now;
        let begin_ns = self.now;
        for step in self.model.steps_of(event) {
            let gate = self.model.steps[step].gate;
            if gate == NO_GATE || self.missing[gate as usize] == 0 {
                self.step(step);
            }
        }
        // As reactions of promises run: who waited first goes on first.
        while let Some(gate) = self.opened.pop_front() {
            self.run_opened(gate);
        }
        if let Some(told) = &mut self.told {
            told.push(Ran {
                event,
                ready_ns,
                begin_ns,
                end_ns: self.now,
            });
        }
        self.open_again();
    }

    /// Steps whose own event was over before what they waited for.
    fn run_opened(&mut self, gate: u32) {
        self.missing[gate as usize] = RAN;
        let event = self.model.gates[gate as usize].event;
        for step in self.model.steps_of(event) {
            if self.model.steps[step].gate == gate {
                self.step(step);
            }
        }
    }

    #[inline]
    fn step(&mut self, step: usize) {
        if self.sifted.is_some() {
            self.sift_step(step);
        }
        if self.driven.is_some() {
            self.paced(step);
        } else {
            self.now += self.times.duration_ns[step];
        }
        match self.model.steps[step].action {
            Action::None | Action::Collect(_) | Action::Collected => {}
            Action::Release(event) => self.release(event),
            Action::Gate(gate) => self.missing[gate as usize] -= 1,
            Action::Join(gate) => {
                let missing = &mut self.missing[gate as usize];
                *missing -= 1;
                if *missing == 0 {
                    self.opened.push_back(gate);
                }
            }
            Action::Sink(request) => self.sinks_ns[request as usize] = self.now,
        }
    }

    fn release(&mut self, event: EventIx) {
        let ix = event as usize;
        let known = &self.model.events[ix];
        let ready_ns = match known.trigger {
            Trigger::Job { .. } if self.is_spared(self.times.delay_ns[ix]) => self.now,
            Trigger::Job { job } => {
                let lead_ns = self.model.pool.jobs[job as usize].lead_ns;
                let free_ns = self.pool.free_ns().max(self.now);
                let start_ns = free_ns.saturating_add_signed(lead_ns).max(self.now);
                let end_ns = start_ns + self.times.delay_ns[ix];
                self.pool.take(end_ns);
                end_ns
            }
            Trigger::Released { .. } => self.now + self.times.delay_ns[ix],
            Trigger::Arrival { .. } => self.times.delay_ns[ix].max(self.now),
        };
        self.expect(event, ready_ns);
        match known.phase {
            Phase::Poll if known.is_job => self.agenda.be_done((ready_ns, event)),
            Phase::Poll if known.connection != NO_CONNECTION => {
                self.agenda
                    .wait_for_answer((ready_ns, event), known.connection);
            }
            Phase::Poll => self.agenda.wait((ready_ns, event)),
            Phase::Timers => self.agenda.set_timer((ready_ns, event)),
            Phase::Check => {
                self.readied_ns[ix] = self.now;
                self.agenda.immediates.push(event);
            }
            Phase::Close => {
                self.readied_ns[ix] = self.now;
                self.agenda.closing.push(event);
            }
        }
    }
}
