//! A small event loop that serves made-up requests and records what it does.
//!
//! Property tests need traces nobody drew by hand: long, interleaved, with connections, pool jobs,
//! timers and sockets shared by requests. Drawing random records would give nonsense that no loop
//! can do, so this runs a loop in virtual time; what it records is consistent by construction, and
//! how long each request waited, and how often, is known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use bobtail_trace::record::{
    EventId, HandleId, HandleKind, LoopKind, MicroKind, Ns, OpId, Ready, ReadyQuality, Record,
    RequestId, StringId,
};

use crate::draw::{ORIGIN_NS, Table};
use crate::random::Random;

/// What the server is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Keep-alive connections to the server.
    pub connections: u32,
    /// Longest pause between a response and the next request on its connection.
    pub pause_ns: u64,
    /// Most operations a request waits for one after the other.
    pub steps: u32,
    /// Longest work between two of them.
    pub work_ns: u64,
    /// Sockets to another service, shared by all requests.
    pub sockets: u32,
    /// Promise reactions and ticks beside each step.
    pub chatter: u32,
    /// One in so many steps is hit by a collection; 0 for none.
    pub collection_once_in: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            connections: 8,
            pause_ns: 3_000_000,
            steps: 5,
            work_ns: 200_000,
            sockets: 2,
            chatter: 2,
            collection_once_in: 20,
        }
    }
}

const ROUTES: [&str; 4] = ["GET /a", "GET /b", "POST /c", "GET /d/:id"];
const FIRST_SOCKET: HandleId = 1;

/// What a request still has to do.
#[derive(Debug, Clone, Copy)]
struct Job {
    connection: HandleId,
    steps_left: u32,
    steps: u32,
}

/// A request that waits, since the event in which it began to.
type Waiter = (RequestId, EventId);

/// Operations that are awaited together.
#[derive(Debug, Default)]
struct Group {
    missing: u32,
    waiters: Vec<Waiter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Arrival { connection: HandleId },
    Pool { op: OpId, run_ns: u64, group: u32 },
    Timer { op: OpId, group: u32 },
    Immediate { op: OpId, group: u32 },
    Answer { socket: HandleId, group: u32 },
}

/// An endless trace.
#[derive(Debug)]
pub struct Simulation {
    random: Random,
    shape: Shape,
    strings: Table,
    records: VecDeque<Record>,
    agenda: BinaryHeap<Reverse<(Ns, u32, Happening)>>,
    agenda_count: u32,
    jobs: BTreeMap<RequestId, Job>,
    groups: BTreeMap<u32, Group>,
    /// Operations awaited one after the other by finished requests, for tests to compare with.
    waits: BTreeMap<RequestId, u32>,
    now: Ns,
    event: EventId,
    current: EventId,
    /// The request for which a clock was read last.
    context: RequestId,
    op: OpId,
    request: RequestId,
    group: u32,
}

impl Simulation {
    /// The trace of this seed.
    pub fn new(seed: u64, shape: Shape) -> Self {
        let mut simulation = Self {
            random: Random::new(seed),
            shape,
            strings: Table::new(),
            records: VecDeque::new(),
            agenda: BinaryHeap::new(),
            agenda_count: 0,
            jobs: BTreeMap::new(),
            groups: BTreeMap::new(),
            waits: BTreeMap::new(),
            now: ORIGIN_NS,
            event: 0,
            current: 0,
            context: 0,
            op: 0,
            request: 0,
            group: 0,
        };
        simulation.open_handles();
        simulation
    }

    /// The string table so far.
    pub fn strings(&self) -> &[String] {
        &self.strings.texts
    }

    /// How many waits a finished request had one after the other.
    pub fn waits(&self, request: RequestId) -> Option<u32> {
        self.waits.get(&request).copied()
    }

    fn open_handles(&mut self) {
        let sockets = self.shape.sockets;
        for handle in FIRST_SOCKET..FIRST_SOCKET + sockets + self.shape.connections {
            let (kind, name) = if handle < FIRST_SOCKET + sockets {
                (HandleKind::ClientConnection, self.strings.id("db:5432"))
            } else {
                let at = self.now + self.random.below(self.shape.pause_ns + 1);
                self.plan(at, Happening::Arrival { connection: handle });
                (HandleKind::ServerConnection, 0)
            };
            let at_ns = self.now;
            self.records.push_back(Record::HandleOpen {
                handle,
                kind,
                at_ns,
                name,
            });
        }
    }

    fn plan(&mut self, at: Ns, what: Happening) {
        self.agenda_count += 1;
        self.agenda.push(Reverse((at, self.agenda_count, what)));
    }

    /// One loop event, with the poll before it when there is nothing to do.
    fn turn(&mut self) {
        let Some(Reverse((ready_ns, _, what))) = self.agenda.pop() else {
            return;
        };
        if ready_ns > self.now {
            let enter_ns = self.now;
            self.now = ready_ns;
            self.records.push_back(Record::Poll {
                enter_ns,
                leave_ns: ready_ns,
                ready_count: 1,
            });
        }
        self.pass(2_000);
        self.context = 0;
        self.begin(ready_ns, what);
        match what {
            Happening::Arrival { connection } => self.arrive(connection),
            Happening::Pool { group, .. }
            | Happening::Timer { group, .. }
            | Happening::Immediate { group, .. }
            | Happening::Answer { group, .. } => self.complete(group),
        }
        self.pass(1_000);
        self.records.push_back(Record::LoopEnd { end_ns: self.now });
    }

    fn begin(&mut self, ready_ns: Ns, what: Happening) {
        let (kind, handle, op, run_ns) = match what {
            Happening::Arrival { connection } => (LoopKind::Read, connection, 0, 0),
            Happening::Answer { socket, .. } => (LoopKind::Read, socket, 0, 0),
            Happening::Pool { op, run_ns, .. } => (LoopKind::Pool, 0, op, run_ns),
            Happening::Timer { op, .. } => (LoopKind::Timer, 0, op, 0),
            Happening::Immediate { op, .. } => (LoopKind::Immediate, 0, op, 0),
        };
        let known = !matches!(kind, LoopKind::Immediate);
        let ready = known.then_some(Ready {
            at_ns: ready_ns,
            quality: ReadyQuality::Exact,
        });
        self.event += 1;
        self.current = self.event;
        self.records.push_back(Record::LoopBegin {
            event: self.event,
            kind,
            begin_ns: self.now,
            ready,
            handle,
            op,
            run_ns,
        });
    }

    fn arrive(&mut self, connection: HandleId) {
        self.work();
        self.request += 1;
        let request = self.request;
        let route = ROUTES[self.random.below(ROUTES.len() as u64) as usize];
        let name = self.strings.id(route);
        self.records.push_back(Record::Source {
            request,
            at_ns: self.now,
            name,
        });
        self.context = request;
        let steps = self.random.between(0, self.shape.steps.into()) as u32;
        self.jobs.insert(
            request,
            Job {
                connection,
                steps_left: steps,
                steps,
            },
        );
        self.step(request);
    }

    /// The operations of a group that this event belongs to: the last one wakes who waits.
    fn complete(&mut self, group: u32) {
        let Some(awaited) = self.groups.get_mut(&group) else {
            return;
        };
        awaited.missing -= 1;
        if awaited.missing > 0 {
            return;
        }
        let waiters = self
            .groups
            .remove(&group)
            .map(|g| g.waiters)
            .unwrap_or_default();
        for (request, since) in waiters {
            self.micro(MicroKind::Promise, since, request);
            self.step(request);
        }
    }

    /// Like the real writer, reads a clock only where the request changes.
    fn micro(&mut self, kind: MicroKind, registrar: EventId, request: RequestId) {
        self.event += 1;
        self.current = self.event;
        let timed = self.context != request;
        self.context = request;
        let begin_ns = timed.then_some(self.now);
        self.records.push_back(Record::Micro {
            event: self.event,
            kind,
            registrar,
            begin_ns,
        });
    }

    /// A request works for a while, then waits for something or is done.
    fn step(&mut self, request: RequestId) {
        self.work();
        for _ in 0..self.shape.chatter {
            let kind = [MicroKind::Tick, MicroKind::Promise][self.random.below(2) as usize];
            self.micro(kind, self.current, request);
        }
        self.work();
        let Some(job) = self.jobs.get_mut(&request) else {
            return;
        };
        if job.steps_left == 0 {
            return self.respond(request);
        }
        job.steps_left -= 1;
        let since = self.current;
        let shared = self.groups.keys().next_back().copied();
        match (self.random.below(6), shared) {
            (0, Some(group)) => self.join(group, (request, since)),
            (1, _) => self.wait_for((request, since), &[Self::pool, Self::pool, Self::timer]),
            (2, _) => self.wait_for((request, since), &[Self::timer]),
            (3, _) => self.wait_for((request, since), &[Self::immediate]),
            (4, _) if self.shape.sockets > 0 => self.wait_for((request, since), &[Self::ask]),
            _ => self.wait_for((request, since), &[Self::pool]),
        }
        self.work();
    }

    fn join(&mut self, group: u32, waiter: Waiter) {
        if let Some(shared) = self.groups.get_mut(&group) {
            shared.waiters.push(waiter);
        }
    }

    fn wait_for(&mut self, waiter: Waiter, operations: &[fn(&mut Self, u32)]) {
        self.group += 1;
        let group = self.group;
        let missing = operations.len() as u32;
        self.groups.insert(
            group,
            Group {
                missing,
                waiters: vec![waiter],
            },
        );
        operations.iter().for_each(|start| start(self, group));
    }

    fn register(&mut self, kind: LoopKind, resource: StringId, due_ns: Option<Ns>) -> OpId {
        self.op += 1;
        let (op, at_ns) = (self.op, self.now);
        self.records.push_back(Record::Register {
            op,
            kind,
            at_ns,
            resource,
            due_ns,
        });
        self.pass(1_000);
        op
    }

    fn pool(&mut self, group: u32) {
        let resource = self.strings.id("fs.readFile");
        let op = self.register(LoopKind::Pool, resource, None);
        let run_ns = self.random.between(10_000, 2_000_000);
        let wait_ns = self.random.below(1_000_000);
        self.plan(
            self.now + wait_ns + run_ns,
            Happening::Pool { op, run_ns, group },
        );
    }

    fn timer(&mut self, group: u32) {
        let due_ns = self.now + self.random.between(1, 5) * 1_000_000;
        let op = self.register(LoopKind::Timer, 0, Some(due_ns));
        self.plan(due_ns, Happening::Timer { op, group });
    }

    fn immediate(&mut self, group: u32) {
        let op = self.register(LoopKind::Immediate, 0, None);
        self.plan(self.now, Happening::Immediate { op, group });
    }

    fn ask(&mut self, group: u32) {
        let socket = FIRST_SOCKET + self.random.below(self.shape.sockets.into()) as HandleId;
        self.records.push_back(Record::Write {
            handle: socket,
            at_ns: self.now,
            bytes: 100,
        });
        let answered = self.now + self.random.between(100_000, 4_000_000);
        self.plan(answered, Happening::Answer { socket, group });
    }

    fn respond(&mut self, request: RequestId) {
        let Some(job) = self.jobs.remove(&request) else {
            return;
        };
        let at_ns = self.now;
        self.records.push_back(Record::Sink {
            request,
            at_ns,
            route: 0,
            status: 200,
        });
        self.pass(5_000);
        let handle = job.connection;
        self.records.push_back(Record::Write {
            handle,
            at_ns: self.now,
            bytes: 1000,
        });
        self.waits.insert(request, job.steps);
        if self.waits.len() > 100_000 {
            self.waits.pop_first();
        }
        let next = self.now + 10_000 + self.random.below(self.shape.pause_ns + 1);
        self.plan(next, Happening::Arrival { connection: handle });
        self.work();
    }

    fn work(&mut self) {
        self.pass(self.shape.work_ns);
        let every = self.shape.collection_once_in;
        if every > 0 && self.random.once_in(every) {
            let begin_ns = self.now;
            self.pass(3_000_000);
            let kind = [1, 4, 8][self.random.below(3) as usize];
            self.records.push_back(Record::Gc {
                kind,
                begin_ns,
                end_ns: self.now,
            });
        }
    }

    fn pass(&mut self, most_ns: u64) {
        self.now += self.random.below(most_ns + 1);
    }
}

impl Iterator for Simulation {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.records.is_empty() {
            if self.agenda.is_empty() {
                return None;
            }
            self.turn();
        }
        self.records.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_trace_and_events_are_numbered_without_gap() {
        let take =
            |seed| -> Vec<_> { Simulation::new(seed, Shape::default()).take(5000).collect() };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        let numbers = take(1).into_iter().filter_map(|record| match record {
            Record::LoopBegin { event, .. } | Record::Micro { event, .. } => Some(event),
            _ => None,
        });
        assert!(numbers.zip(1..).all(|(event, expected)| event == expected));
    }
}
