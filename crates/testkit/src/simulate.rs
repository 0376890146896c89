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
    /// Whole turns, as libuv takes them, instead of one event at a time.
    pub turns: bool,
    /// One in so many requests is the first on a new connection; 0 for none.
    pub opening_once_in: u64,
    /// Longest pause between two wake-ups for something else; 0 for none.
    pub wake_ns: u64,
    /// One in so many steps compiles and misses inline caches; 0 for none.
    pub compiling_once_in: u64,
    /// One in so many steps loses the processor; 0 for none.
    pub preempted_once_in: u64,
    /// So many requests are answered in warm-up.
    pub warmup: u32,
}

impl Shape {
    /// All that the made-up loop can do. It has none of the `timers` and `immediates` that Node
    /// runs its own in, no messages, no connections of its own and no UDP.
    pub fn whole() -> Self {
        Self {
            turns: true,
            opening_once_in: 5,
            wake_ns: 5_000_000,
            compiling_once_in: 10,
            preempted_once_in: 50,
            warmup: 20,
            ..Self::default()
        }
    }
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
            turns: false,
            opening_once_in: 0,
            wake_ns: 0,
            compiling_once_in: 0,
            preempted_once_in: 0,
            warmup: 0,
        }
    }
}

pub(crate) const FIRST_SOCKET: HandleId = 1;

/// What a request still has to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) connection: HandleId,
    pub(crate) steps_left: u32,
    pub(crate) steps: u32,
    /// It has waited for what another request had started.
    pub(crate) joined: bool,
}

/// What a finished request waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// How often it waited, one wait after the other.
    pub count: u32,
    /// Only for what it had started itself: its path has exactly these waits. Otherwise those of
    /// other requests may come on top, and only they themselves know who waited for whom.
    pub alone: bool,
}

/// A request that waits, since the event in which it began to.
pub(crate) type Waiter = (RequestId, EventId);

/// Operations that are awaited together.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) missing: u32,
    pub(crate) waiters: Vec<Waiter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    Arrival {
        connection: HandleId,
    },
    /// A client connects; its request comes at this time, accepted or not.
    Opening {
        comes_ns: Ns,
    },
    Closing,
    Wake,
    Pool {
        op: OpId,
        run_ns: u64,
        group: u32,
    },
    Timer {
        op: OpId,
        group: u32,
    },
    Immediate {
        op: OpId,
        group: u32,
    },
    Answer {
        socket: HandleId,
        group: u32,
    },
}

/// An endless trace.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) random: Random,
    pub(crate) shape: Shape,
    pub(crate) strings: Table,
    pub(crate) records: VecDeque<Record>,
    pub(crate) agenda: BinaryHeap<Reverse<(Ns, u32, Happening)>>,
    pub(crate) agenda_count: u32,
    pub(crate) jobs: BTreeMap<RequestId, Job>,
    pub(crate) groups: BTreeMap<u32, Group>,
    /// Of finished requests, for tests to compare with.
    pub(crate) waits: BTreeMap<RequestId, Waits>,
    pub(crate) now: Ns,
    pub(crate) event: EventId,
    pub(crate) current: EventId,
    /// The request for which a clock was read last.
    pub(crate) context: RequestId,
    pub(crate) op: OpId,
    pub(crate) request: RequestId,
    pub(crate) group: u32,
    /// The last that there was; the listener is the first after the connections.
    pub(crate) handle: HandleId,
    pub(crate) listener: HandleId,
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
            handle: 0,
            listener: 0,
        };
        simulation.open_handles();
        simulation
    }

    /// The string table so far.
    pub fn strings(&self) -> &[String] {
        &self.strings.texts
    }

    /// What a finished request waited for.
    pub fn waits(&self, request: RequestId) -> Option<Waits> {
        self.waits.get(&request).copied()
    }

    fn open_handles(&mut self) {
        let sockets = self.shape.sockets;
        self.handle = FIRST_SOCKET + sockets + self.shape.connections;
        self.listener = self.handle;
        for handle in FIRST_SOCKET..FIRST_SOCKET + sockets + self.shape.connections {
            let (kind, name) = if handle < FIRST_SOCKET + sockets {
                (HandleKind::ClientConnection, self.strings.id("db:5432"))
            } else {
                let at = self.now + self.random.below(self.shape.pause_ns + 1);
                self.plan(at, Happening::Arrival { connection: handle });
                (HandleKind::ServerConnection, 0)
            };
            self.open(handle, kind, name);
        }
        if self.shape.opening_once_in > 0 {
            self.open(self.listener, HandleKind::Listener, 0);
        }
        if self.shape.wake_ns > 0 {
            let at = self.now + 1 + self.random.below(self.shape.wake_ns);
            self.plan(at, Happening::Wake);
        }
    }

    pub(crate) fn open(&mut self, handle: HandleId, kind: HandleKind, name: StringId) {
        let at_ns = self.now;
        self.records.push_back(Record::HandleOpen {
            handle,
            kind,
            at_ns,
            name,
        });
    }

    pub(crate) fn plan(&mut self, at: Ns, what: Happening) {
        self.agenda_count += 1;
        self.agenda.push(Reverse((at, self.agenda_count, what)));
    }

    /// One loop event, with the poll before it when there is nothing to do.
    fn single(&mut self) {
        let Some(Reverse((ready_ns, _, what))) = self.agenda.pop() else {
            return;
        };
        if ready_ns > self.now {
            let enter_ns = self.now;
            self.now = ready_ns;
            self.poll(enter_ns, 1);
        }
        self.pass(2_000);
        self.run(ready_ns, what);
    }

    pub(crate) fn poll(&mut self, enter_ns: Ns, ready_count: u32) {
        self.records.push_back(Record::Poll {
            enter_ns,
            leave_ns: self.now,
            ready_count,
        });
    }

    /// One loop event.
    pub(crate) fn run(&mut self, ready_ns: Ns, what: Happening) {
        self.context = 0;
        self.begin(ready_ns, what);
        match what {
            Happening::Arrival { connection } => self.arrive(connection),
            Happening::Opening { comes_ns } => self.accept(comes_ns),
            Happening::Closing => self.pass(10_000),
            Happening::Wake => self.wake(ready_ns),
            Happening::Pool { group, .. }
            | Happening::Timer { group, .. }
            | Happening::Immediate { group, .. }
            | Happening::Answer { group, .. } => self.complete(group),
        }
        self.end();
    }

    pub(crate) fn end(&mut self) {
        self.pass(1_000);
        self.records.push_back(Record::LoopEnd { end_ns: self.now });
    }

    pub(crate) fn begin(&mut self, ready_ns: Ns, what: Happening) {
        let (kind, handle, op, run_ns) = match what {
            Happening::Arrival { connection } => (LoopKind::Read, connection, 0, 0),
            Happening::Answer { socket, .. } => (LoopKind::Read, socket, 0, 0),
            Happening::Opening { .. } => (LoopKind::Accept, self.listener, 0, 0),
            Happening::Closing => (LoopKind::Close, 0, 0, 0),
            Happening::Wake => (LoopKind::Async, 0, 0, 0),
            Happening::Pool { op, run_ns, .. } => (LoopKind::Pool, 0, op, run_ns),
            Happening::Timer { op, .. } => (LoopKind::Timer, 0, op, 0),
            Happening::Immediate { op, .. } => (LoopKind::Immediate, 0, op, 0),
        };
        let known = !matches!(kind, LoopKind::Immediate | LoopKind::Close);
        // No stamp tells when a client connected.
        let quality = match kind {
            LoopKind::Accept => ReadyQuality::UpperBound,
            _ => ReadyQuality::Exact,
        };
        let ready = known.then_some(Ready {
            at_ns: ready_ns,
            quality,
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

    /// Like the real writer, reads a clock only where the request changes.
    pub(crate) fn micro(&mut self, kind: MicroKind, registrar: EventId, request: RequestId) {
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

    pub(crate) fn pass(&mut self, most_ns: u64) {
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
            match self.shape.turns {
                true => self.turn(),
                false => self.single(),
            }
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
