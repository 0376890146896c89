//! What the made-up requests of a simulation do: work, wait for something, work on, respond.

use bobtail_trace::record::{
    CodePlace, GcCause, HandleId, HandleKind, LoopKind, MarkKind, MicroKind, NotRunningCause, Ns,
    OpId, Record, RequestId, StringId,
};

use crate::simulate::{FIRST_SOCKET, Group, Happening, Job, Simulation, Waiter, Waits};

const ROUTES: [&str; 4] = ["GET /a", "GET /b", "POST /c", "GET /d/:id"];

impl Simulation {
    /// A connection comes to be, and its request is read when it is there, accepted or not.
    pub(crate) fn accept(&mut self, comes_ns: Ns) {
        self.pass(20_000);
        self.handle += 1;
        let connection = self.handle;
        self.open(connection, HandleKind::ServerConnection, 0);
        self.plan(comes_ns, Happening::Arrival { connection });
    }

    /// The loop is told of something that no request waits for.
    pub(crate) fn wake(&mut self, ready_ns: Ns) {
        self.pass(30_000);
        let next_ns = ready_ns + 1 + self.random.below(self.shape.wake_ns);
        self.plan(next_ns, Happening::Wake);
    }

    pub(crate) fn arrive(&mut self, connection: HandleId) {
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
                joined: false,
            },
        );
        self.step(request);
    }

    /// The operations of a group that this event belongs to: the last one wakes who waits.
    pub(crate) fn complete(&mut self, group: u32) {
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
        if let Some(job) = self.jobs.get_mut(&waiter.0) {
            job.joined = true;
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
            unsent: 0,
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
            unsent: 0,
        });
        let waits = Waits {
            count: job.steps,
            alone: !job.joined,
        };
        self.waits.insert(request, waits);
        if self.waits.len() > 100_000 {
            self.waits.pop_first();
        }
        self.come_again(handle);
        if self.shape.warmup > 0 {
            self.shape.warmup -= 1;
            self.end_warmup();
        }
        self.work();
    }

    fn end_warmup(&mut self) {
        if self.shape.warmup == 0 {
            self.records.push_back(Record::Mark {
                kind: MarkKind::WarmupEnd,
                at_ns: self.now,
                text: 0,
            });
        }
    }

    /// The client asks again after a pause, on this connection or on another.
    fn come_again(&mut self, handle: HandleId) {
        let next_ns = self.now + 10_000 + self.random.below(self.shape.pause_ns + 1);
        let every = self.shape.opening_once_in;
        if every == 0 || !self.random.once_in(every) {
            return self.plan(next_ns, Happening::Arrival { connection: handle });
        }
        self.records.push_back(Record::HandleClose {
            handle,
            at_ns: self.now,
        });
        self.plan(self.now, Happening::Closing);
        let comes_ns = next_ns + self.random.below(200_000);
        self.plan(next_ns, Happening::Opening { comes_ns });
    }

    fn work(&mut self) {
        let begin_ns = self.now;
        self.pass(self.shape.work_ns);
        let every = self.shape.compiling_once_in;
        if every > 0 && self.random.once_in(every) {
            let span_ns = self.now - begin_ns;
            let jit_ns = self.random.below(span_ns / 2 + 1);
            self.records.push_back(Record::Work {
                end_ns: self.now,
                span_ns,
                jit_ns,
                ic_ns: self.random.below(span_ns - jit_ns + 1),
            });
        }
        let every = self.shape.preempted_once_in;
        if every > 0 && self.random.once_in(every) {
            let duration_ns = self.random.between(10_000, 1_000_000);
            self.now += duration_ns;
            self.records.push_back(Record::NotRunning {
                at_ns: self.now,
                end_ns: self.now,
                duration_ns,
                cause: NotRunningCause::Preempted,
            });
        }
        let every = self.shape.collection_once_in;
        if every > 0 && self.random.once_in(every) {
            let begin_ns = self.now;
            self.pass(3_000_000);
            let kind = [1, 4, 8][self.random.below(3) as usize];
            self.records.push_back(Record::Gc {
                kind,
                cause: GcCause::Heap,
                caller: CodePlace::default(),
                begin_ns,
                end_ns: self.now,
            });
        }
    }
}
