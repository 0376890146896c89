//! Recording what passes the connections: requests, responses, bytes.

use bobtail_trace::record::{EventId, HandleId, HandleKind, LoopKind, Ns, RequestId, StringId};

use crate::ownership;
use crate::recorder::Recorder;
use crate::requests::{Phase, Request};
use crate::runs::RunKind;

impl Recorder {
    pub(crate) fn open_handle(
        &mut self,
        id: HandleId,
        kind: HandleKind,
        at_ns: Ns,
        name: StringId,
    ) {
        self.tick(at_ns);
        if id != 0 {
            let entry = self.history.handles.entry(id);
            (entry.kind, entry.name) = (Some(kind), name);
        }
    }

    pub(crate) fn close_handle(&mut self, id: HandleId, at_ns: Ns) {
        self.tick(at_ns);
        let Some(handle) = self.history.handles.table.get_mut(id) else {
            return;
        };
        handle.closed = true;
        let (open_requests, leaving) = (handle.open_requests, handle.leaving);
        handle.open_requests = 0;
        if leaving > 0 {
            self.cut_off(id);
        }
        if open_requests > 0 {
            self.history.requests.close_on(id);
            self.history.keep_for_oldest();
        }
    }

    pub(crate) fn write(&mut self, handle: HandleId, at_ns: Ns, bytes: u64, unsent: u64) {
        let at_ns = self.tick(at_ns);
        if handle == 0 || (bytes == 0 && unsent == 0 && self.begins_write_on(handle)) {
            return;
        }
        let request = self.history.request_of(self.current);
        self.history
            .handles
            .write(handle, self.current, request, at_ns);
        self.depart(handle, at_ns, unsent);
    }

    /// The open event goes on with a write to `handle` that found no room before, and has written
    /// nothing yet. Where the bytes of several buffers were all taken and the last buffer is empty,
    /// libuv goes on with that one (`uv__write_req_update`): nothing leaves, and by then a later
    /// response may have ended that is still kept back in JavaScript.
    fn begins_write_on(&self, handle: HandleId) -> bool {
        let known = self.history.handles.table.get(handle);
        let open = self.history.loop_events.get(self.open_row);
        open.zip(known).is_some_and(|(open, known)| {
            self.is_open()
                && open.kind == LoopKind::Poll
                && open.handle == handle
                && open.last_write == known.last_write
        })
    }

    pub(crate) fn source(&mut self, id: RequestId, at_ns: Ns, name: StringId) {
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
        if ready_ns < self.history.resumed_ns {
            self.history.requests.count_straddling();
            return;
        }
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
        self.settle_before_next(received.handle);
        self.history.requests.open(request);
        if let Some(handle) = self.history.handles.table.get_mut(received.handle) {
            let last = std::mem::replace(&mut handle.request, id);
            handle.first = self.history.requests.line_up(id, last, handle.first);
            handle.open_requests += 1;
        }
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

    pub(crate) fn sink(&mut self, id: RequestId, at_ns: Ns, route: StringId, status: u32) {
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
        request.sink_loop = self.open_event;
        let connection = request.handle;
        self.await_departure(id, connection);
    }
}
