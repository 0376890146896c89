//! Building the model: who waits for whom, from everything that had the loop.

use std::collections::HashMap;

use bobtail_graph::EventKind;
use bobtail_trace::record::{HandleId, LoopKind, Ns, ReadyQuality, RequestId, StringId};

use crate::capture::{Log, Seen, is_answer, is_job};
use crate::components::Components;
use crate::gates::{Awaiting, gates};
use crate::model::{
    Action, Event, EventIx, Gate, Model, NO_CONNECTION, NO_REQUEST, Phase, Request, Trigger, Wait,
};
use crate::pool::{Pool, Recorded, threads_of};
use crate::refusal::Refusal;
use crate::steps::{Point, Steps, Whole};
use crate::times::AsRecorded;
use crate::triggers::{Cause, Index, causes, ready_ns};
use crate::turns::{Turn, phase_of, stand_in_line};
use crate::uses::of_load;

impl Log {
    /// The pieces of a loop event.
    pub(crate) fn pieces_of(&self, ix: usize) -> &[bobtail_graph::EndedPiece] {
        let first = self.events[ix].first_piece as usize;
        let next = self.events.get(ix + 1);
        &self.pieces[first..next.map_or(self.pieces.len(), |seen| seen.first_piece as usize)]
    }

    /// Requests that were answered, those of warm-up included.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// How many jobs its thread had for the pool, for whomever.
    pub fn jobs(&self) -> usize {
        self.events.iter().filter(|seen| is_job(seen)).count()
    }
}

impl Model {
    /// The model of one event loop; `name` looks names of its trace up. Refuses what it cannot
    /// tell.
    pub fn of<'s>(
        log: &Log,
        name: impl Fn(StringId) -> Option<&'s str>,
        components: &mut Components,
    ) -> Result<Self, Refusal> {
        if log.requests.is_empty() || log.events.is_empty() {
            return Err(Refusal::NoRequests);
        }
        Ok(Build::new(log, components, name).model())
    }
}

/// A model being built.
struct Build<'a> {
    log: &'a Log,
    index: Index<'a>,
    causes: Vec<Cause>,
    /// When they stood in line, and when what they waited for was there.
    ready_ns: Vec<Ns>,
    came_ns: Vec<Ns>,
    turns: Vec<Turn>,
    gates: Vec<Awaiting>,
    waits: Vec<Wait>,
    /// Connections on which a read brought several answers, by number.
    connections: HashMap<HandleId, u32>,
    /// Route of each request that was answered.
    routes: HashMap<RequestId, u32>,
}

impl<'a> Build<'a> {
    fn new<'s>(
        log: &'a Log,
        components: &mut Components,
        name: impl Fn(StringId) -> Option<&'s str>,
    ) -> Self {
        let index = Index::new(&log.events);
        let sources: HashMap<RequestId, Ns> = log
            .requests
            .iter()
            .map(|one| (one.id, one.source_ready_ns))
            .collect();
        let causes = causes(log, &index, |id| sources.get(&id).copied());
        let each = log.events.iter().zip(&causes);
        let mut ready_ns: Vec<Ns> = each.map(|(seen, cause)| ready_ns(seen, cause)).collect();
        let came_ns = ready_ns.clone();
        let turns = stand_in_line(&log.events, &causes, &mut ready_ns);
        let gates = gates(log, &index, &causes);
        let mut numbers: HashMap<StringId, u32> = HashMap::new();
        let routes = log.requests.iter().map(|one| {
            let number = || {
                components
                    .routes
                    .number(name(one.route).unwrap_or_default())
            };
            (one.id, *numbers.entry(one.route).or_insert_with(number))
        });
        let routes = routes.collect();
        let mut numbers: HashMap<(StringId, LoopKind), u32> = HashMap::new();
        let waits = log.events.iter().map(|seen| {
            let (resource, kind) = (seen.ended.resource, seen.ended.kind);
            let word = match name(resource) {
                _ if seen.ended.on_server => "client",
                Some(text) if !text.is_empty() => text,
                _ => EventKind::Loop(kind).word(),
            };
            let number = || components.resources.number(word);
            Wait {
                resource: *numbers.entry((resource, kind)).or_insert_with(number),
                is_timer: matches!(kind, LoopKind::Timer | LoopKind::Timers),
            }
        });
        let waits = waits.collect();
        Self {
            log,
            index,
            causes,
            ready_ns,
            came_ns,
            turns,
            gates,
            waits,
            connections: shared_connections(log),
            routes,
        }
    }

    fn model(&self) -> Model {
        let (requests, numbers) = self.requests();
        let (pool, jobs) = self.pool();
        let mut points = self.points(&numbers);
        points.sort_by_key(|point| (point.event, point.at_ns));
        let mut steps = Steps::new();
        let mut events: Vec<Event> = Vec::with_capacity(self.log.events.len());
        let (mut point, mut gate) = (0, 0);
        for (ix, job) in jobs.into_iter().enumerate() {
            let of_event = |one: &Point| one.event == ix as EventIx;
            let points_end = point
                + points[point..]
                    .iter()
                    .take_while(|one| of_event(one))
                    .count();
            let of_event = |one: &Awaiting| one.event == ix as EventIx;
            let gates_end = gate
                + self.gates[gate..]
                    .iter()
                    .take_while(|one| of_event(one))
                    .count();
            events.push(self.event(ix, job, steps.all.len() as u32));
            let whole = Whole {
                begin_ns: self.log.events[ix].ended.begin_ns,
                pieces: self.log.pieces_of(ix),
                points: &points[point..points_end],
                gates: &self.gates[gate..gates_end],
                first_gate: gate as u32,
                log: self.log,
            };
            steps.add(&whole, |id| numbers.get(&id).copied().unwrap_or(NO_REQUEST));
            (point, gate) = (points_end, gates_end);
        }
        let gates = self.gates.iter().map(|one| Gate {
            event: one.event,
            missing: 1 + one.others.len() as u32,
        });
        let lead = |woken: bool| {
            let all = events.iter();
            let all = all.filter(|one| one.woken == woken && !one.joins);
            median(all.map(|one| one.lead_ns - one.lead_gc_ns).collect())
        };
        let polls = |woken: bool| {
            let all = self.turns.iter().filter(|one| one.has_polled);
            let all = all.filter(|one| one.woken == woken);
            median(all.map(|one| one.poll_ns).collect())
        };
        Model {
            poll_busy_ns: polls(false),
            poll_woken_ns: polls(true),
            gates: gates.collect(),
            lead_busy_ns: lead(false),
            lead_woken_ns: lead(true),
            span_events: self.span_events(),
            span_ns: self.span_ns(),
            connections: self.connections.len(),
            is_of_load: of_load(&events, &steps.all),
            as_recorded: AsRecorded::default(),
            steps: steps.all,
            work_ns: steps.work_ns,
            events,
            requests,
            pool,
        }
    }

    fn event(&self, ix: usize, job: Option<u32>, first_step: u32) -> Event {
        let seen: &Seen = &self.log.events[ix];
        let ready_ns = self.ready_ns[ix];
        let came_ns = self.came_ns(ix);
        let lead_ns = seen
            .ended
            .begin_ns
            .saturating_sub(ready_ns.max(seen.free_ns));
        let trigger = match (self.causes[ix], job) {
            (Cause::Earlier { .. }, Some(job)) => Trigger::Job { job },
            (Cause::Earlier { at_ns, .. }, None) => Trigger::Released {
                delay_ns: ready_ns.saturating_sub(at_ns),
            },
            (
                Cause::Outside {
                    since_ns,
                    is_load,
                    after,
                },
                _,
            ) => Trigger::Arrival {
                at_ns: came_ns,
                since_ns: since_ns.unwrap_or(came_ns).min(came_ns),
                is_load,
                is_released: after.is_some(),
            },
        };
        let phase = match phase_of(seen.ended.kind) {
            // It did not come out of a turn, as far as is known.
            Phase::Check | Phase::Close if !matches!(trigger, Trigger::Released { .. }) => {
                Phase::Poll
            }
            phase => phase,
        };
        Event {
            trigger,
            phase,
            takes_jobs: seen.takes_jobs,
            taken_before_ns: match seen.takes_jobs {
                true => self.end_ns(ix).saturating_sub(seen.taken_ns),
                false => seen.ended.begin_ns.saturating_sub(seen.taken_ns),
            },
            is_job: is_job(seen),
            woken: ready_ns > seen.free_ns,
            wait: self.waits[ix],
            lead_ns,
            lead_gc_ns: seen.lead_gc_ns.min(lead_ns),
            lead_gc_kind: self
                .log
                .kind_of(seen.ended.begin_ns - lead_ns, seen.ended.begin_ns)
                .filter(|_| seen.lead_gc_ns > 0),
            connection: match trigger {
                Trigger::Released { .. } if is_answer(&seen.ended) => {
                    let number = self.connections.get(&seen.ended.handle);
                    number.copied().unwrap_or(NO_CONNECTION)
                }
                _ => NO_CONNECTION,
            },
            joins: seen.joins,
            turn: seen.turn,
            turn_woken: self.turns[seen.turn as usize].woken,
            poll_ns: self.turns[seen.turn as usize].poll_ns,
            first_step,
        }
    }

    /// When what an event tells came, if that is from outside; else when it stood in line.
    fn came_ns(&self, ix: usize) -> Ns {
        let ready_ns = self.ready_ns[ix];
        match self.causes[ix] {
            // Who was listened to late for another reason than its connection stays late.
            Cause::Outside {
                after: Some((_, at_ns)),
                ..
            } if at_ns == ready_ns => self.came_ns[ix],
            _ => ready_ns,
        }
    }

    /// Those of which the source is known, and their numbers.
    fn requests(&self) -> (Vec<Request>, HashMap<RequestId, u32>) {
        let mut numbers = HashMap::with_capacity(self.log.requests.len());
        let each = self.log.requests.iter().filter_map(|one| {
            let source = self.index.containing(one.source)?;
            let told_ns = self.came_ns(source as usize);
            numbers.insert(one.id, numbers.len() as u32);
            Some(Request {
                source,
                before_ns: told_ns as i64 - one.source_ready_ns as i64,
                arrival_ns: one.source_ready_ns,
                latency_ns: one.sink_ns.saturating_sub(one.source_ready_ns),
                route: self.routes.get(&one.id).copied().unwrap_or(0),
                counts: one.counts,
                inferred: one.inferred,
                waits_for_client: one.client_ns > 0,
            })
        });
        (each.collect(), numbers)
    }

    /// All moments in events on which something depends.
    fn points(&self, numbers: &HashMap<RequestId, u32>) -> Vec<Point> {
        let mut points = Vec::new();
        for (ix, cause) in self.causes.iter().enumerate() {
            let released = match *cause {
                Cause::Earlier { event, at_ns } => Some((event, at_ns)),
                Cause::Outside { after, .. } => after,
            };
            if let Some((event, at_ns)) = released {
                let action = Action::Release(ix as EventIx);
                points.push(Point {
                    event,
                    at_ns,
                    action,
                });
            }
        }
        for one in &self.log.requests {
            let place = self.index.place(one.sink, one.sink_ns);
            if let (Some(&number), Some((event, at_ns))) = (numbers.get(&one.id), place) {
                let action = Action::Sink(number);
                points.push(Point {
                    event,
                    at_ns,
                    action,
                });
            }
        }
        for (number, gate) in self.gates.iter().enumerate() {
            for &event in &gate.others {
                let action = Action::Join(number as u32);
                let at_ns = self.own_end_ns(event, gate.request);
                points.push(Point {
                    event,
                    at_ns,
                    action,
                });
            }
        }
        points
    }

    /// When the loop was done with an event, and with what it did after it.
    fn end_ns(&self, ix: usize) -> Ns {
        let last = self.log.pieces_of(ix).last();
        last.map_or(self.log.events[ix].ended.end_ns, |piece| piece.end_ns)
    }

    /// When an event did the last thing for a request.
    fn own_end_ns(&self, event: EventIx, request: RequestId) -> Ns {
        let pieces = self.log.pieces_of(event as usize);
        let own = pieces.iter().rev().find(|piece| piece.request == request);
        own.map_or_else(|| self.end_ns(event as usize), |piece| piece.end_ns)
    }

    /// The pool, and for each event its job.
    fn pool(&self) -> (Pool, Vec<Option<u32>>) {
        // The loop may learn of a job later than it ended, and stands it in line then: that is when
        // a replay has it end. How many threads there were, only the ends themselves tell.
        let job = |ready_ns: Ns, run_ns: u64, at_ns: Ns| {
            let start_ns = ready_ns.saturating_sub(run_ns).max(at_ns).min(ready_ns);
            Recorded {
                submit_ns: at_ns.min(start_ns),
                start_ns,
                run_ns: ready_ns - start_ns,
            }
        };
        let mut ended: Vec<Recorded> = Vec::new();
        let mut jobs: Vec<(Recorded, usize)> = Vec::new();
        for (ix, seen) in self.log.events.iter().enumerate() {
            let run_ns = seen.ended.run_ns;
            if let Cause::Earlier { at_ns, .. } = self.causes[ix]
                && seen.ended.kind == LoopKind::Pool
                && run_ns > 0
            {
                jobs.push((job(self.ready_ns[ix], run_ns, at_ns), ix));
                if let Some(ready_ns) = seen.ended.ready_ns
                    && seen.ended.ready_quality == ReadyQuality::Exact
                {
                    ended.push(job(ready_ns, run_ns, at_ns));
                }
            }
        }
        jobs.sort_by_key(|(one, ix)| (one.submit_ns, *ix));
        let recorded: Vec<Recorded> = jobs.iter().map(|(one, _)| *one).collect();
        let mut of_event = vec![None; self.log.events.len()];
        for (number, (_, ix)) in jobs.iter().enumerate() {
            of_event[*ix] = Some(number as u32);
        }
        ended.sort_by_key(|one| one.submit_ns);
        (Pool::of(threads_of(&ended), &recorded), of_event)
    }

    fn span_events(&self) -> (usize, usize) {
        let (from_ns, to_ns) = self.span_ns();
        let before = |time_ns| {
            let events = &self.log.events;
            events.partition_point(|seen| seen.ended.begin_ns < time_ns)
        };
        (before(from_ns), before(to_ns))
    }

    fn span_ns(&self) -> (Ns, Ns) {
        // A loop that only answered in warm-up has a time of its own all the same.
        let any_counts = self.log.requests.iter().any(|one| one.counts);
        let counted = self.log.requests.iter();
        let counted = counted.filter(|one| one.counts || !any_counts);
        let spans = counted.map(|one| (one.source_ready_ns, one.sink_ns));
        spans
            .reduce(|(from, to), (source, sink)| (from.min(source), to.max(sink)))
            .unwrap_or((0, 0))
    }
}

fn shared_connections(log: &Log) -> HashMap<HandleId, u32> {
    let mut connections = HashMap::new();
    for seen in log.events.iter().filter(|seen| seen.joins) {
        let number = connections.len() as u32;
        connections.entry(seen.ended.handle).or_insert(number);
    }
    connections
}

/// The upper one of two; 0 of none.
pub(crate) fn median(mut all: Vec<u64>) -> u64 {
    if all.is_empty() {
        return 0;
    }
    let middle = all.len() / 2;
    *all.select_nth_unstable(middle).1
}
