//! The replay: the event loop runs again, with every time as the scenario has it.
//!
//! One thread, one turn after the other: all that is ready, then immediates, closed handles, and
//! timers. An event begins when the loop gets to it and what it waits for is there; how long the
//! loop takes from one to the next is as recorded too. So without a change everything falls into
//! its recorded place, and the only thing that can move is the order.

use bobtail_trace::record::Ns;

use crate::agenda::{Agenda, Due};
use crate::components::Components;
use crate::foresight::Foresight;
use crate::ledger::Ledger;
use crate::model::{Action, EventIx, Model, NO_GATE, Phase, Trigger};
use crate::pace::Pace;
use crate::pool::Line;
use crate::scenario::{Scenario, scaled};
use crate::turns::in_order;

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Of the requests after warm-up, in the order of [`Model::recorded_ns`].
    pub latencies_ns: Vec<u64>,
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

/// Runs the loop of `model` under `scenario`.
pub fn replay(model: &Model, scenario: &Scenario, components: &Components) -> Replayed {
    Run::new(model, scenario, components, false).run()
}

/// The same, and tells which event ran when.
pub fn replay_told(model: &Model, scenario: &Scenario, components: &Components) -> Replayed {
    Run::new(model, scenario, components, true).run()
}

/// Has run elsewhere.
const RAN: u32 = u32::MAX;
const NEVER: Ns = Ns::MAX;

struct Run<'a> {
    model: &'a Model,
    /// Of steps.
    duration_ns: Vec<u64>,
    /// Of events: between ready and begin on a loop that is free.
    lead_ns: Vec<u64>,
    /// Of events: between release and ready; of what comes from outside the time at which it does.
    delay_ns: Vec<u64>,
    agenda: Agenda,
    pool: Line,
    /// Of gates: what each still waits for.
    missing: Vec<u32>,
    /// Gates that opened when their own event was over.
    opened: Vec<u32>,
    readied_ns: Vec<Ns>,
    sinks_ns: Vec<Ns>,
    now: Ns,
    /// When the last event began.
    began_ns: Ns,
    pool_use: f64,
    loop_use: f64,
    told: Option<Vec<Ran>>,
    /// Where a policy drives a lever.
    pace: Option<Box<Pace>>,
    /// Of steps, under a policy: what of them no speed changes.
    fixed_ns: Vec<u64>,
}

impl<'a> Run<'a> {
    fn new(model: &'a Model, scenario: &Scenario, components: &Components, is_told: bool) -> Self {
        let routes = scenario.by_route(components);
        let resources = scenario.by_resource(components);
        let steps = model.steps.iter();
        let duration_ns: Vec<u64> = steps
            .map(|step| {
                let factors = &routes[step.route as usize];
                let classes = step.work_ns.iter().zip(factors);
                classes
                    .map(|(&work_ns, &factor)| scaled(work_ns, factor))
                    .sum()
            })
            .collect();
        let lead_ns = model
            .events
            .iter()
            .map(|one| one.lead_ns - one.lead_gc_ns + scaled(one.lead_gc_ns, scenario.work.gc));
        let delay_ns = model.events.iter().map(|one| {
            let factor = scenario.of_wait(&one.wait, &resources);
            match one.trigger {
                Trigger::Released { delay_ns } => scaled(delay_ns, factor),
                Trigger::Job { job } => scaled(model.pool.jobs[job as usize].run_ns, factor),
                Trigger::Arrival {
                    at_ns, since_ns, ..
                } => scaled(at_ns - since_ns, factor),
            }
        });
        let lead_ns: Vec<u64> = lead_ns.collect();
        let delay_ns: Vec<u64> = delay_ns.collect();
        let threads = scenario.pool.unwrap_or(model.pool.threads);
        let uses = Uses::of(model, scenario, &duration_ns, &lead_ns, &delay_ns, threads);
        let mut run = Self {
            model,
            duration_ns,
            lead_ns,
            delay_ns,
            agenda: Agenda::default(),
            pool: Line::new(threads),
            missing: model.gates.iter().map(|gate| gate.missing).collect(),
            opened: Vec::new(),
            readied_ns: vec![NEVER; model.events.len()],
            sinks_ns: vec![NEVER; model.requests.len()],
            now: 0,
            began_ns: 0,
            pool_use: uses.pool,
            loop_use: uses.of_loop,
            told: is_told.then(Vec::new),
            pace: None,
            fixed_ns: Vec::new(),
        };
        run.plan_arrivals(scenario);
        if let Some(drive) = &scenario.drive {
            let fixed = model.steps.iter();
            run.fixed_ns = fixed
                .map(|step| scaled(step.work_ns[4], routes[step.route as usize][4]))
                .collect();
            let base = || {
                let base = Scenario {
                    drive: None,
                    ..scenario.clone()
                };
                Run::new(model, &base, components, false).all_latencies()
            };
            let came_ns = |request: u32| {
                let one = &model.requests[request as usize];
                let in_line_ns = run.delay_ns[one.source as usize];
                in_line_ns.saturating_add_signed(-one.before_ns)
            };
            let foresight = Foresight::of(&drive.scheme, model, base, came_ns);
            run.pace = Some(Box::new(Pace::new(drive, foresight, model.span_ns.0)));
        }
        run
    }

    /// Of all requests, those of warm-up too.
    fn all_latencies(mut self) -> Vec<u64> {
        let mut batch: Vec<Due> = Vec::new();
        while self.turn(&mut batch) {}
        (0..self.model.requests.len())
            .map(|request| self.latency_ns(request))
            .collect()
    }

    fn latency_ns(&self, request: usize) -> u64 {
        let known = &self.model.requests[request];
        let in_line_ns = self.readied_ns[known.source as usize];
        let came_ns = in_line_ns.saturating_add_signed(-known.before_ns);
        let sink_ns = self.sinks_ns[request];
        debug_assert!(sink_ns != NEVER, "an answer never came");
        sink_ns.saturating_sub(came_ns)
    }

    fn plan_arrivals(&mut self, scenario: &Scenario) {
        let origin_ns = self.model.span_ns.0;
        let with_load = |at_ns: Ns| {
            // What came before the first request is no load.
            let after_ns = at_ns.saturating_sub(origin_ns);
            at_ns - after_ns + scaled(after_ns, 1.0 / scenario.rate)
        };
        let mut arrivals = Vec::new();
        let mut timers = Vec::new();
        let mut done = Vec::new();
        for (ix, event) in self.model.events.iter().enumerate() {
            let Trigger::Arrival {
                since_ns,
                is_load,
                is_released,
                ..
            } = event.trigger
            else {
                continue;
            };
            let since_ns = if is_load {
                with_load(since_ns)
            } else {
                since_ns
            };
            self.delay_ns[ix] += since_ns;
            let due = (self.delay_ns[ix], ix as EventIx);
            match event.phase {
                _ if is_released => {}
                Phase::Poll if event.is_job => done.push(due),
                Phase::Timers => timers.push(due),
                _ => arrivals.push(due),
            }
        }
        self.agenda = Agenda::new(arrivals);
        done.into_iter().for_each(|due| self.agenda.be_done(due));
        timers
            .into_iter()
            .for_each(|due| self.agenda.set_timer(due));
    }

    fn run(mut self) -> Replayed {
        let mut batch: Vec<Due> = Vec::new();
        while self.turn(&mut batch) {}
        let requests = self.model.requests.iter().enumerate();
        let counted = requests.filter(|(_, request)| request.counts);
        let latencies: Vec<u64> = counted.map(|(at, _)| self.latency_ns(at)).collect();
        let ledger = self.pace.take().map(|pace| pace.finish());
        Replayed {
            latencies_ns: latencies,
            loop_use: self.loop_use,
            pool_use: self.pool_use,
            ledger: ledger.unwrap_or_default(),
            ran: self.told.unwrap_or_default(),
        }
    }

    /// One turn of the loop; false when nothing will come any more.
    fn turn(&mut self, batch: &mut Vec<Due>) -> bool {
        if let Some(pace) = &mut self.pace {
            pace.poll_enter();
        }
        let timer_ns = self.agenda.next_timer_ns();
        let next_ns = self.agenda.next_ns();
        let ready_ns = next_ns.into_iter().chain(timer_ns).min();
        if self.agenda.is_idle() && ready_ns.is_none_or(|ready_ns| ready_ns > self.now) {
            let Some(ready_ns) = ready_ns else {
                return false;
            };
            if let Some(pace) = &mut self.pace {
                pace.sleep(ready_ns);
            }
            if next_ns == Some(ready_ns) {
                self.poll(ready_ns, batch);
            } else if let Some(due) = self.agenda.take_timer(ready_ns) {
                self.answered_with(ready_ns, &[]);
                self.execute(due);
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
        while let Some(due) = self.agenda.take_timer(self.now) {
            self.execute(due);
        }
        true
    }

    /// Runs what is ready by then, or until the kernel has told so. Jobs of the pool come all
    /// together, those too that were done while what was before them in line ran.
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
        if let Some(done) = self.agenda.take_done(polled_ns) {
            let place = batch.partition_point(|due| *due < done);
            batch.insert(place, done);
        }
        in_order(batch, &self.model.events);
        self.answered_with(ready_ns, batch);
        for due in batch.drain(..) {
            self.execute(due);
            let known = &self.model.events[due.1 as usize];
            if known.is_job {
                let taken_ns = self.began_ns.saturating_sub(known.taken_before_ns);
                let mut more: Vec<Due> =
                    std::iter::from_fn(|| self.agenda.take_done(taken_ns)).collect();
                in_order(&mut more, &self.model.events);
                more.into_iter().for_each(|due| self.execute(due));
            }
        }
    }

    fn execute(&mut self, (ready_ns, event): Due) {
        let ix = event as usize;
        let known = &self.model.events[ix];
        self.readied_ns[ix] = ready_ns;
        let woken = ready_ns > self.now;
        let lead_ns = match (woken == known.woken, woken) {
            (true, _) => self.lead_ns[ix],
            (false, true) => self.model.lead_woken_ns,
            (false, false) => self.model.lead_busy_ns,
        };
        self.now = self.now.max(ready_ns);
        self.lead(event, lead_ns, woken);
        self.began_ns = self.now;
        let begin_ns = self.now;
        for step in self.model.steps_of(event) {
            let gate = self.model.steps[step].gate;
            if gate == NO_GATE || self.missing[gate as usize] == 0 {
                self.step(step);
            }
        }
        while let Some(gate) = self.opened.pop() {
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
    }

    /// The kernel answered with these.
    fn answered_with(&mut self, ready_ns: Ns, batch: &[Due]) {
        let Some(pace) = &mut self.pace else { return };
        let events = &self.model.events;
        let is_job = |due: &&Due| matches!(events[due.1 as usize].trigger, Trigger::Job { .. });
        let jobs = batch.iter().filter(is_job).count();
        pace.pass(self.now.max(ready_ns));
        pace.poll_leave((batch.len() - jobs + jobs.min(1)) as u32);
    }

    /// The loop's way to a callback.
    fn lead(&mut self, event: EventIx, lead_ns: u64, woken: bool) {
        let Some(pace) = &mut self.pace else {
            self.now += lead_ns;
            return;
        };
        let known = &self.model.events[event as usize];
        pace.pass(self.now);
        let gc_ns = known
            .lead_gc_kind
            .map_or(0, |_| known.lead_gc_ns)
            .min(lead_ns);
        if let Some(kind) = known.lead_gc_kind.filter(|_| gc_ns > 0) {
            pace.collect(kind);
            pace.work(gc_ns);
            pace.collected();
        }
        if woken {
            // The kernel wakes the thread no faster.
            pace.pass(pace.at_ns() + lead_ns - gc_ns);
        } else {
            pace.work(lead_ns - gc_ns);
        }
        if known.phase == Phase::Poll {
            pace.dispatch(matches!(known.trigger, Trigger::Job { .. }));
        }
        self.now = pace.at_ns();
    }

    /// Under a policy.
    fn paced(&mut self, step: usize) {
        let Some(pace) = &mut self.pace else { return };
        let fixed_ns = self.fixed_ns[step];
        pace.work(self.duration_ns[step] - fixed_ns);
        pace.pass(pace.at_ns() + fixed_ns);
        match self.model.steps[step].action {
            Action::Collect(kind) => pace.collect(kind),
            Action::Collected => pace.collected(),
            Action::Sink(request) => pace.answered(request),
            _ => {}
        }
        self.now = pace.at_ns();
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
        if self.pace.is_some() {
            self.paced(step);
        } else {
            self.now += self.duration_ns[step];
        }
        match self.model.steps[step].action {
            Action::None | Action::Collect(_) | Action::Collected => {}
            Action::Release(event) => self.release(event),
            Action::Gate(gate) => self.missing[gate as usize] -= 1,
            Action::Join(gate) => {
                let missing = &mut self.missing[gate as usize];
                *missing -= 1;
                if *missing == 0 {
                    self.opened.push(gate);
                }
            }
            Action::Sink(request) => self.sinks_ns[request as usize] = self.now,
        }
    }

    fn release(&mut self, event: EventIx) {
        let ix = event as usize;
        let known = &self.model.events[ix];
        let ready_ns = match known.trigger {
            Trigger::Job { job } => {
                let lead_ns = self.model.pool.jobs[job as usize].lead_ns;
                let free_ns = self.pool.free_ns().max(self.now);
                let start_ns = free_ns.saturating_add_signed(lead_ns).max(self.now);
                let end_ns = start_ns + self.delay_ns[ix];
                self.pool.take(end_ns);
                end_ns
            }
            Trigger::Released { .. } => self.now + self.delay_ns[ix],
            Trigger::Arrival { .. } => self.delay_ns[ix].max(self.now),
        };
        match known.phase {
            Phase::Poll if known.is_job => self.agenda.be_done((ready_ns, event)),
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

/// How much of their time the loop and the pool would need.
struct Uses {
    of_loop: f64,
    pool: f64,
}

impl Uses {
    /// Of what was recorded between the first arrival and the last response, by the time that it
    /// takes under this load.
    fn of(
        model: &Model,
        scenario: &Scenario,
        duration_ns: &[u64],
        lead_ns: &[u64],
        delay_ns: &[u64],
        threads: u32,
    ) -> Self {
        let span_ns = (model.span_ns.1 - model.span_ns.0).max(1) as f64 / scenario.rate;
        let (mut loop_ns, mut pool_ns) = (0, 0);
        for ix in model.span_events.0..model.span_events.1 {
            let event = &model.events[ix];
            loop_ns += if event.woken { 0 } else { lead_ns[ix] };
            loop_ns += duration_ns[model.steps_of(ix as EventIx)]
                .iter()
                .sum::<u64>();
            if let Trigger::Job { .. } = event.trigger {
                pool_ns += delay_ns[ix];
            }
        }
        Self {
            of_loop: loop_ns as f64 / span_ns,
            pool: pool_ns as f64 / span_ns / f64::from(threads.max(1)),
        }
    }
}
