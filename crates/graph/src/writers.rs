//! Who asked on a socket, as far as the writes to it tell.

use bobtail_trace::record::{EventId, HandleKind, Ns, RequestId};

use crate::events::LoopEvent;
use crate::history::History;

/// When `event` began to wait for `within`: its last write to that handle, else its end.
pub(crate) fn register_ns(history: &History, event: EventId, within: &LoopEvent) -> Ns {
    let written = history
        .handles
        .back_from(within.last_write)
        .take_while(|w| w.event >= event)
        .find(|w| w.event == event);
    let at = match written {
        Some(write) => write.at_ns,
        None => history.end_ns(event).unwrap_or(within.begin_ns),
    };
    at.min(within.begin_ns)
}

/// The event of the last write of a request to the handle, not before `floor`.
pub(crate) fn last_write_of(
    history: &History,
    within: &LoopEvent,
    request: RequestId,
    floor: EventId,
) -> Option<EventId> {
    history
        .handles
        .back_from(within.last_write)
        .take_while(|w| w.event >= floor)
        .find(|w| w.request == request && request != 0)
        .map(|w| w.event)
}

/// The event of the last write, when all writes since the previous event on the handle are of
/// this request and of one loop event. Two questions asked at two moments on one socket would have
/// two answers, and nothing tells which one this is.
pub(crate) fn sole_writer(
    history: &History,
    within: &LoopEvent,
    request: RequestId,
) -> Option<EventId> {
    let loop_event = |event| Some(history.loop_of(history.event(event)?)?.event);
    let mut writes = history.handles.back_from(within.last_write);
    let last = writes.next().filter(|w| w.request == request)?;
    let asked_in = loop_event(last.event);
    let alone = writes
        .take_while(|w| w.event >= within.previous_on_handle)
        .all(|w| w.request == request && loop_event(w.event) == asked_in);
    alone.then_some(last.event)
}

pub(crate) fn is_server(history: &History, within: &LoopEvent) -> bool {
    let kind = history
        .handles
        .table
        .get(within.handle)
        .and_then(|h| h.kind);
    matches!(
        kind,
        Some(HandleKind::ServerConnection | HandleKind::UnixServerConnection)
    )
}
