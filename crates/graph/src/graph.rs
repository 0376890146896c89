//! Records in, finished requests out.
//!
//! The graph is never built as a whole: a request is walked and tiled as soon as the loop event
//! with its sink has ended, and what no open request needs is overwritten. So memory does not
//! depend on the length of the trace.

use std::collections::BTreeSet;

use bobtail_trace::record::{
    EventId, HandleId, LoopKind, LossKind, MicroKind, Ns, OpId, Ready, ReadyQuality, Record,
    RequestId, StringId,
};

use crate::events::{Event, LoopEvent, Row};
use crate::history::History;
use crate::operations::Operation;
use crate::ownership;
use crate::path::{EventKind, RequestPath};
use crate::requests::{Phase, Request};
use crate::runs::{Run, RunKind};
use crate::tiling;
use crate::walk::Walk;
use crate::window::Window;

/// Which requests get their critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Walks {
    /// None: only latencies, several times faster.
    None,
    /// Every one.
    All,
    /// These.
    Only(BTreeSet<RequestId>),
}

/// What a graph does beyond the minimum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub walks: Walks,
    /// Culprits are listed for requests of at least this latency (a queue of thousands behind
    /// thousands would cost a square otherwise).
    pub culprits_from_ns: u64,
    /// Events remembered at the most (rounded up to a power of two); a request that needs older
    /// ones comes out truncated.
    pub max_events: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            walks: Walks::All,
            culprits_from_ns: 0,
            max_events: 1 << 20,
        }
    }
}

/// The event dependency graph of one event loop, as far back as open requests need it.
#[derive(Debug)]
pub struct Graph {
    options: Options,
    history: History,
    /// The event that executes; 0 outside events.
    current: EventId,
    /// The loop event that is open, and its row; 0 when none is.
    open_event: EventId,
    open_row: Row,
    /// Requests whose sink was seen in the open loop event.
    sunk: Vec<RequestId>,
    path: RequestPath,
    walk: Walk,
}

impl Graph {
    /// An empty graph.
    pub fn new(options: Options) -> Self {
        let history = History::new(options.max_events);
        Self {
            options,
            history,
            current: 0,
            open_event: 0,
            open_row: 0,
            sunk: Vec::new(),
            path: RequestPath::new(),
            walk: Walk::default(),
        }
    }

    /// Takes the next record of the trace; calls `finished` for each request that this completes.
    /// The path is only lent: its buffers are used again for the next one.
    pub fn push<F>(&mut self, record: Record, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        if self.options.walks == Walks::None && only_for_walks(&record) {
            return;
        }
        match record {
            Record::Micro {
                event,
                kind,
                registrar,
                begin_ns,
            } => {
                self.micro(event, kind, registrar, begin_ns);
            }
            Record::Resume { event, at_ns } => self.resume(event, at_ns),
            Record::LoopBegin {
                event,
                kind,
                begin_ns,
                ready,
                handle,
                op,
                run_ns,
            } => {
                self.end_loop_event(begin_ns, finished);
                self.begin_loop_event(event, kind, begin_ns, ready, handle, op, run_ns);
            }
            Record::LoopEnd { end_ns } => {
                self.end_loop_event(end_ns, finished);
                self.start_run(end_ns, RunKind::Between);
            }
            Record::Poll {
                enter_ns, leave_ns, ..
            } => {
                self.end_loop_event(enter_ns, finished);
                self.start_run(enter_ns, RunKind::Poll);
                self.tick(leave_ns);
                self.start_run(leave_ns, RunKind::Between);
            }
            Record::Register {
                op,
                kind,
                at_ns,
                resource,
                due_ns,
            } => {
                self.register(op, kind, at_ns, resource, due_ns);
            }
            Record::Write { handle, at_ns, .. } => self.write(handle, at_ns),
            Record::HandleOpen {
                handle,
                kind,
                at_ns,
                name,
            } => {
                self.tick(at_ns);
                if handle != 0 {
                    let entry = self.history.handles.entry(handle);
                    (entry.kind, entry.name) = (Some(kind), name);
                }
            }
            Record::HandleClose { handle, at_ns } => self.close_handle(handle, at_ns),
            Record::Source {
                request,
                at_ns,
                name,
            } => self.source(request, at_ns, name),
            Record::Sink {
                request,
                at_ns,
                route,
                status,
            } => {
                self.sink(request, at_ns, route, status);
                if self.open_event == 0 {
                    self.finish_sunk(finished);
                }
            }
            Record::Gc {
                kind,
                begin_ns,
                end_ns,
            } => {
                self.tick(end_ns);
                self.history.collections.push(kind, begin_ns, end_ns);
            }
            Record::Location { at_ns, name } => {
                self.tick(at_ns);
                let row = self.history.runs.last();
                if let Some(run) = self.history.runs.ring.get_mut(row) {
                    run.sample(name);
                }
            }
            Record::Mark { at_ns, .. } => {
                self.tick(at_ns);
            }
            Record::Loss { kind, events, .. } => self.loss(kind, events, finished),
        }
    }

    /// Ends the trace: hands on requests whose sink was the last thing seen.
    pub fn finish<F>(&mut self, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        let now = self.history.now;
        self.end_loop_event(now, finished);
    }

    /// Requests of which no sink was seen, so far.
    pub fn unfinished(&self) -> u64 {
        self.history.requests.without_sink()
    }

    /// The walk reads no clock record twice and none before another: time never runs backwards.
    fn tick(&mut self, time_ns: Ns) -> Ns {
        self.history.now = self.history.now.max(time_ns);
        self.history.now
    }

    fn start_run(&mut self, start_ns: Ns, kind: RunKind) {
        let start_ns = self.tick(start_ns);
        self.history.runs.start(Run {
            start_ns,
            kind,
            ..Run::default()
        });
    }

    fn start_event_run(&mut self, start_ns: Ns, event: EventId, request: RequestId) -> Row {
        let start_ns = self.tick(start_ns);
        let kind = if event == 0 {
            RunKind::Between
        } else {
            RunKind::Event
        };
        self.history.runs.start(Run {
            start_ns,
            event,
            request,
            kind,
            ..Run::default()
        })
    }

    /// Numbers are given out without gaps; a gap is lost history.
    fn append(&mut self, id: EventId, event: Event) {
        if id != self.history.events.next() {
            self.history.losses += u32::from(self.options.walks != Walks::None);
            self.history.events.restart(id);
        }
        self.history.events.push(event);
    }

    #[inline]
    fn micro(&mut self, id: EventId, kind: MicroKind, registrar: EventId, begin: Option<Ns>) {
        let registrar = if registrar < id { registrar } else { 0 };
        let request = ownership::of_micro(&self.history, registrar, self.open_event);
        let run = match begin {
            Some(begin_ns) => self.start_event_run(begin_ns, id, request),
            None => self.history.runs.last(),
        };
        let event = Event {
            kind: EventKind::Micro(kind),
            registrar,
            loop_row: self.open_row,
            request,
            previous_own: 0,
            first_run: run,
            last_run: run,
        };
        self.append(id, event);
        ownership::claim(&mut self.history, id, request);
        self.current = id;
    }

    fn resume(&mut self, id: EventId, at_ns: Option<Ns>) {
        self.current = id;
        if let Some(at_ns) = at_ns {
            let request = self.history.request_of(id);
            self.start_event_run(at_ns, id, request);
        }
        let run = self.history.runs.last();
        if let Some(event) = self.history.events.get_mut(id) {
            event.last_run = run;
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one record")]
    fn begin_loop_event(
        &mut self,
        id: EventId,
        kind: LoopKind,
        begin_ns: Ns,
        ready: Option<Ready>,
        handle: HandleId,
        op: OpId,
        run_ns: u64,
    ) {
        let begin_ns = self.tick(begin_ns);
        self.history.relieve();
        let mut row = LoopEvent {
            event: id,
            kind,
            begin_ns,
            handle,
            op,
            run_ns,
            ..LoopEvent::default()
        };
        if let Some(ready) = ready {
            (row.ready_ns, row.quality) = (Some(ready.at_ns.min(begin_ns)), ready.quality);
        }
        let mut request = ownership::of_handle(&self.history, kind, handle);
        let mut registrar = 0;
        if let Some(operation) = self.history.operations.get_mut(op) {
            (registrar, request) = (operation.registrar, operation.request);
            row.register_ns = operation.at_ns;
            row.resource = operation.resource;
            row.registrar_request = operation.request;
            if row.ready_ns.is_none() {
                row.ready_ns = operation.due_ns.map(|due| due.min(begin_ns));
            }
            // Fired again, it was armed again by this firing.
            operation.fired = true;
            operation.due_ns = None;
            (operation.registrar, operation.at_ns) = (id, begin_ns);
        }
        if let Some(known) = self.history.handles.table.get_mut(handle) {
            row.previous_on_handle = std::mem::replace(&mut known.last_event, id);
            row.last_write = known.last_write;
        } else if handle != 0 {
            self.history.handles.entry(handle).last_event = id;
        }
        let run = self.start_event_run(begin_ns, id, request);
        let loop_row = self.history.loop_events.push(row);
        let event = Event {
            kind: EventKind::Loop(kind),
            registrar: if registrar < id { registrar } else { 0 },
            loop_row,
            request,
            previous_own: 0,
            first_run: run,
            last_run: run,
        };
        self.append(id, event);
        ownership::claim(&mut self.history, id, request);
        (self.current, self.open_event, self.open_row) = (id, id, loop_row);
    }

    fn end_loop_event<F>(&mut self, end_ns: Ns, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        let end_ns = self.tick(end_ns);
        if self.open_event != 0 {
            if let Some(row) = self.history.loop_events.get_mut(self.open_row) {
                row.end_ns = end_ns;
            }
            (self.open_event, self.open_row) = (0, 0);
        }
        self.current = 0;
        self.finish_sunk(finished);
    }

    fn register(
        &mut self,
        op: OpId,
        kind: LoopKind,
        at_ns: Ns,
        resource: StringId,
        due_ns: Option<Ns>,
    ) {
        let at_ns = self.tick(at_ns);
        if op == 0 {
            return;
        }
        let request = self.history.request_of(self.current);
        let registrar = self.current;
        let operation = Operation {
            kind,
            registrar,
            request,
            at_ns,
            resource,
            due_ns,
            fired: false,
        };
        self.history.operations.insert(op, operation);
    }

    fn write(&mut self, handle: HandleId, at_ns: Ns) {
        let at_ns = self.tick(at_ns);
        if handle == 0 {
            return;
        }
        let request = self.history.request_of(self.current);
        self.history
            .handles
            .write(handle, self.current, request, at_ns);
        for &id in &self.sunk {
            if let Some(sunk) = self.history.requests.table.get_mut(id)
                && sunk.handle == handle
                && !sunk.written
            {
                (sunk.written, sunk.sink_ns) = (true, at_ns);
            }
        }
    }

    fn close_handle(&mut self, id: HandleId, at_ns: Ns) {
        self.tick(at_ns);
        let Some(handle) = self.history.handles.table.get_mut(id) else {
            return;
        };
        handle.closed = true;
        if std::mem::take(&mut handle.open_requests) > 0 {
            self.history.requests.close_on(id);
            self.history.keep_for_oldest();
        }
    }

    fn source(&mut self, id: RequestId, at_ns: Ns, name: StringId) {
        let at_ns = self.tick(at_ns);
        let received = self.history.loop_events.get(self.open_row).copied();
        let Some(received) = received.filter(|_| id != 0 && self.open_event != 0) else {
            self.history.requests.count_lost();
            return;
        };
        let event = if self.current == 0 {
            self.open_event
        } else {
            self.current
        };
        let ready_ns = received.ready_ns.unwrap_or(received.begin_ns);
        let request = Request {
            id,
            name,
            handle: received.handle,
            source_ns: at_ns,
            source_loop: received.event,
            ready_ns,
            losses: self.history.losses,
            needs: self.history.needs(received.event, self.open_row, ready_ns),
            ..Request::default()
        };
        if let Some(handle) = self.history.handles.table.get_mut(received.handle) {
            handle.request = id;
            handle.open_requests += 1;
        }
        self.history.requests.open(request);
        self.history.keep_for_oldest();
        self.take_over(event, id, at_ns);
    }

    /// From here on the event works for the request it received. What it did before was for this
    /// request as well, unless it had received another one before (pipelining).
    fn take_over(&mut self, event: EventId, id: RequestId, at_ns: Ns) {
        ownership::release(&mut self.history, event);
        ownership::claim(&mut self.history, event, id);
        let row = self.history.runs.last();
        let Some(run) = self.history.runs.ring.get_mut(row) else {
            return;
        };
        if run.request == 0 && run.kind == RunKind::Event {
            run.request = id;
            return;
        }
        let row = self.start_event_run(at_ns, event, id);
        if let Some(received) = self.history.events.get_mut(event) {
            received.last_run = row;
        }
    }

    fn sink(&mut self, id: RequestId, at_ns: Ns, route: StringId, status: u32) {
        let at_ns = self.tick(at_ns);
        let event = self.current;
        let Some(request) = self.history.requests.table.get_mut(id) else {
            return;
        };
        if request.phase != Phase::Open {
            return;
        }
        request.phase = Phase::Sunk;
        request.route = if route == 0 { request.name } else { route };
        request.status = status;
        (request.sink_event, request.sink_ns) = (event, at_ns);
        let handle = request.handle;
        if let Some(handle) = self.history.handles.table.get_mut(handle) {
            handle.open_requests = handle.open_requests.saturating_sub(1);
        }
        self.sunk.push(id);
    }

    fn finish_sunk<F>(&mut self, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        if self.sunk.is_empty() {
            return;
        }
        for index in 0..self.sunk.len() {
            let id = self.sunk[index];
            let Some(&request) = self.history.requests.table.get(id) else {
                continue;
            };
            self.history.requests.close(id, true);
            self.explain(&request);
            finished(&self.path, Window::new(&self.history, request.last_own));
        }
        self.sunk.clear();
        self.history.keep_for_oldest();
    }

    fn explain(&mut self, request: &Request) {
        let walked = match &self.options.walks {
            Walks::None => false,
            Walks::All => true,
            Walks::Only(ids) => ids.contains(&request.id),
        };
        let path = &mut self.path;
        tiling::start(path, &self.history, request);
        path.walked = walked;
        if !walked {
            return;
        }
        self.walk.run(&self.history, request, path);
        let culprits = path.latency_ns >= self.options.culprits_from_ns;
        tiling::tile(path, &self.history, request, culprits);
    }

    fn loss<F>(&mut self, kind: LossKind, events: u32, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        let detail_only = matches!(
            kind,
            LossKind::Strings
                | LossKind::PoolTable
                | LossKind::HandleTable
                | LossKind::ReadyMissing
        );
        if detail_only && events == 0 {
            return;
        }
        self.history.losses += 1;
        if kind != LossKind::RecordLength || events > 0 {
            let now = self.history.now;
            self.end_loop_event(now, finished);
            self.start_run(now, RunKind::Lost);
        }
    }
}

/// Records that tell nothing about latencies.
fn only_for_walks(record: &Record) -> bool {
    matches!(
        record,
        Record::Micro { .. }
            | Record::Resume { .. }
            | Record::Register { .. }
            | Record::Gc { .. }
            | Record::Location { .. }
    )
}

/// Quality of a source's ready time, `None` when only its begin is known.
pub(crate) fn source_quality(received: &LoopEvent) -> Option<ReadyQuality> {
    received.ready_ns.map(|_| received.quality)
}
