//! Recording: each record becomes rows of the history.
//!
//! The only place that knows the state of the stream (which event executes, which loop event is
//! open). It decides nothing about paths, so a fact is written down the same whoever asks later.

use bobtail_trace::record::{
    CodePlace, EventId, HandleId, LoopKind, LossKind, MarkKind, MicroKind, Ns, OpId, Ready, Record,
    RequestId, StringId,
};

use crate::events::{Event, LoopEvent, Row};
use crate::history::History;
use crate::operations::Operation;
use crate::ownership;
use crate::path::EventKind;
use crate::runs::{Run, RunKind};

/// Writes the history of one event loop.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub history: History,
    /// Requests whose response ended or was written in the loop event that is open.
    pub touched: Vec<RequestId>,
    /// Those whose response ended without a write, and polls since then.
    pub put_off: Vec<(RequestId, u8)>,
    /// Those whose sink is decided.
    pub gone: Vec<RequestId>,
    /// Nobody will walk: gaps between event numbers mean nothing.
    latencies_only: bool,
    /// The event that executes; 0 outside events.
    pub current: EventId,
    /// The loop event that is open, and its row; 0 when none is.
    pub open_event: EventId,
    pub open_row: Row,
}

impl Recorder {
    pub(crate) fn new(history: History, latencies_only: bool) -> Self {
        Self {
            history,
            touched: Vec::new(),
            put_off: Vec::new(),
            gone: Vec::new(),
            latencies_only,
            current: 0,
            open_event: 0,
            open_row: 0,
        }
    }

    /// Whether a loop event is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open_event != 0
    }

    /// When the open loop event ends, if this record ends it.
    pub(crate) fn end_by(&self, record: &Record) -> Option<Ns> {
        match *record {
            Record::LoopBegin { begin_ns: ns, .. }
            | Record::LoopEnd { end_ns: ns }
            | Record::Poll { enter_ns: ns, .. } => Some(ns),
            Record::Loss { kind, events, .. } if breaks_stream(kind, events) => {
                Some(self.history.now)
            }
            _ => None,
        }
    }

    /// Ends the open loop event, and tells its row.
    pub(crate) fn end_loop_event(&mut self, end_ns: Ns) -> Option<Row> {
        let end_ns = self.tick(end_ns);
        let ended = (self.open_event != 0).then_some(self.open_row);
        if let Some(row) = ended.and_then(|row| self.history.loop_events.get_mut(row)) {
            row.end_ns = end_ns;
        }
        (self.current, self.open_event, self.open_row) = (0, 0, 0);
        ended
    }

    /// Writes a record down; if it ends the open loop event, that was told before.
    #[inline]
    pub(crate) fn record(&mut self, record: Record) {
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
                self.begin_loop_event(event, kind, begin_ns, ready, handle, op, run_ns);
            }
            Record::LoopEnd { end_ns } => self.start_run(end_ns, RunKind::Between),
            Record::Poll {
                enter_ns, leave_ns, ..
            } => {
                self.settle_put_off();
                self.start_run(enter_ns, RunKind::Poll);
                self.start_run(leave_ns, RunKind::Between);
            }
            Record::Gc { .. } | Record::Work { .. } | Record::NotRunning { .. } => {
                self.interruption(record);
            }
            other => self.fact(other),
        }
    }

    /// What happens during an event, and between them.
    fn fact(&mut self, record: Record) {
        match record {
            Record::Register {
                op,
                kind,
                at_ns,
                resource,
                due_ns,
            } => {
                self.register(op, kind, at_ns, resource, due_ns);
            }
            Record::Write {
                handle,
                at_ns,
                bytes,
                unsent,
            } => self.write(handle, at_ns, bytes, unsent),
            Record::HandleOpen {
                handle,
                kind,
                at_ns,
                name,
            } => {
                self.open_handle(handle, kind, at_ns, name);
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
            }
            Record::Location { at_ns, place } => self.sample(at_ns, place),
            Record::Loss { kind, events, .. } => self.loss(kind, events),
            Record::Mark { kind, at_ns, .. } => self.mark(kind, at_ns),
            _ => {}
        }
    }

    /// Time never runs backwards, whatever a damaged trace says.
    pub(crate) fn tick(&mut self, time_ns: Ns) -> Ns {
        self.history.now = self.history.now.max(time_ns);
        self.history.now
    }

    /// A run in which nothing is executed.
    fn start_run(&mut self, start_ns: Ns, kind: RunKind) {
        let start_ns = self.tick(start_ns);
        if !self.latencies_only {
            self.history.stretches.begin_idle(start_ns);
        }
        self.history.runs.start(Run {
            start_ns,
            kind,
            ..Run::default()
        });
    }

    pub(crate) fn start_event_run(
        &mut self,
        start_ns: Ns,
        event: EventId,
        request: RequestId,
    ) -> Row {
        let start_ns = self.tick(start_ns);
        if event == 0 {
            self.start_run(start_ns, RunKind::Between);
            return self.history.runs.last();
        }
        if !self.latencies_only {
            self.history.stretches.end_idle(start_ns);
        }
        let kind = RunKind::Event;
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
            self.history.losses += u32::from(!self.latencies_only);
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
        if kind == LoopKind::Pool {
            self.history.jobs.remove(&op);
        }
        let owner = ownership::of_operation(&self.history, op);
        if let Some(operation) = self.history.operations.get_mut(op) {
            operation.request = owner;
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

    fn sample(&mut self, at_ns: Ns, place: CodePlace) {
        self.tick(at_ns);
        let history = &mut self.history;
        let location = history.locations.number(place);
        let row = history.runs.last();
        if let Some(run) = history.runs.ring.get_mut(row) {
            run.sample(location, &history.locations);
        }
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
        if kind == LoopKind::Pool {
            self.history.give_job(op);
        }
    }

    fn mark(&mut self, kind: MarkKind, at_ns: Ns) {
        match kind {
            MarkKind::Paused => {
                self.end_loop_event(at_ns);
                self.start_run(at_ns, RunKind::Lost);
                self.history.jobs.clear();
                let History {
                    requests, handles, ..
                } = &mut self.history;
                requests.close_all(|handle| {
                    if let Some(handle) = handles.table.get_mut(handle) {
                        (handle.open_requests, handle.leaving) = (0, 0);
                    }
                });
            }
            MarkKind::Resumed => {
                self.start_run(at_ns, RunKind::Between);
                self.history.resumed_ns = self.history.now;
            }
            MarkKind::Listening | MarkKind::WarmupEnd => {}
        }
    }

    fn loss(&mut self, kind: LossKind, events: u32) {
        if breaks_stream(kind, events) {
            // They may have come back in what was lost.
            self.history.jobs.clear();
            self.start_run(self.history.now, RunKind::Lost);
        }
        if breaks_stream(kind, events) || kind == LossKind::RecordLength {
            self.history.losses += 1;
        }
    }
}

/// Whether a loss may have taken the end of the open event with it; others only took a detail.
fn breaks_stream(kind: LossKind, events: u32) -> bool {
    match kind {
        LossKind::NoChunk | LossKind::DiskFull | LossKind::Overwritten | LossKind::Damaged => true,
        LossKind::Strings
        | LossKind::PoolTable
        | LossKind::HandleTable
        | LossKind::RecordLength
        | LossKind::ReadyMissing
        | LossKind::Switches
        | LossKind::Interjections => events > 0,
    }
}
