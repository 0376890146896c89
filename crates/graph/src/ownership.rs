//! Which request an event works for, decided as the event begins.
//!
//! Only what the record tells is used: the registrar, the operation, the connection. Guessing by
//! time would blame bystanders, so an event without evidence belongs to nobody (0).

use bobtail_trace::record::{EventId, HandleId, HandleKind, LoopKind, OpId, RequestId};

use crate::history::History;
use crate::requests::Phase;

/// Of a micro event: the request of its registrar, else of the loop event in which it runs.
#[inline]
pub(crate) fn of_micro(history: &History, registrar: EventId, loop_event: EventId) -> RequestId {
    match history.event(registrar) {
        Some(event) if registrar != 0 => event.request,
        _ => history.request_of(loop_event),
    }
}

/// Of a loop event on a shared handle: on a server connection the request that is being received
/// or answered there, on any other the one that wrote last.
pub(crate) fn of_handle(history: &History, kind: LoopKind, id: HandleId) -> RequestId {
    let Some(handle) = history.handles.table.get(id) else {
        return 0;
    };
    match handle.kind {
        _ if kind == LoopKind::Accept => 0,
        Some(HandleKind::Listener) => 0,
        Some(HandleKind::ServerConnection | HandleKind::UnixServerConnection) => {
            open_request(history, handle.request)
        }
        _ if handle.request != 0 => open_request(history, handle.request),
        _ => handle
            .last_write
            .and_then(|w| history.handles.writes.get(w))
            .map_or(0, |w| w.request),
    }
}

/// Of a loop event with an operation: the request that registered it. What fires again and again
/// (an interval) works for it until it is answered; then for nobody, or the request that happened
/// to start a service's interval would be charged with it for ever.
pub(crate) fn of_operation(history: &History, op: OpId) -> RequestId {
    match history.operations.get(op) {
        Some(operation) if operation.fired => open_request(history, operation.request),
        Some(operation) => operation.request,
        None => 0,
    }
}

/// The request itself while it has no sink, else nobody.
fn open_request(history: &History, id: RequestId) -> RequestId {
    match history.requests.table.get(id) {
        Some(request) if request.phase == Phase::Open => id,
        _ => 0,
    }
}

/// Makes `event` one of the request's own and its latest.
#[inline]
pub(crate) fn claim(history: &mut History, event: EventId, request: RequestId) {
    let Some(entry) = history.requests.table.get_mut(request) else {
        return;
    };
    let previous = std::mem::replace(&mut entry.last_own, event);
    let Some(row) = history.events.get_mut(event) else {
        return;
    };
    row.request = request;
    row.previous_own = if previous < event { previous } else { 0 };
}

/// Takes `event` from the request it was thought to work for, because it received a new one.
pub(crate) fn release(history: &mut History, event: EventId) {
    let Some(row) = history.events.get(event) else {
        return;
    };
    let (before, previous) = (row.request, row.previous_own);
    if let Some(entry) = history.requests.table.get_mut(before)
        && entry.last_own == event
    {
        entry.last_own = previous;
    }
}
