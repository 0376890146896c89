//! Who asked on a socket, as far as the writes to it tell.

use bobtail_trace::record::{EventId, HandleKind, Ns, RequestId};

use crate::events::LoopEvent;
use crate::handles::WRITES_SEARCHED;
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
/// two answers, and nothing tells which one this is. Nor is anybody alone among more writes than
/// are searched.
pub(crate) fn sole_writer(
    history: &History,
    within: &LoopEvent,
    request: RequestId,
) -> Option<EventId> {
    let loop_event = |event| Some(history.loop_of(history.event(event)?)?.event);
    let mut writes = history.handles.back_from(within.last_write);
    let last = writes.next().filter(|w| w.request == request)?;
    let asked_in = loop_event(last.event);
    let mut searched = 1;
    let alone = writes
        .take_while(|w| w.event >= within.previous_on_handle)
        .inspect(|_| searched += 1)
        .all(|w| w.request == request && loop_event(w.event) == asked_in);
    (alone && searched < WRITES_SEARCHED).then_some(last.event)
}

/// A question that somebody asked on a socket on which the one who waits did not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub event: EventId,
    /// 0: nobody's, work in the background.
    pub request: RequestId,
    /// No other question was open there, so the answer is to this one.
    pub sure: bool,
}

/// The last write since `floor`, by anyone, when `waiting` has not written since then. `None` as
/// well when a question that `waiting` asked earlier was still open at `floor`: it waits for that
/// one. An earlier one that was answered in part may have more of its answer to come.
pub(crate) fn foreign_writer(
    history: &History,
    within: &LoopEvent,
    waiting: RequestId,
    floor: EventId,
    source: EventId,
) -> Option<Asked> {
    let last = *history.handles.back_from(within.last_write).next()?;
    if last.event < floor {
        return None;
    }
    let earlier = last_write_of(history, within, waiting, source);
    if let Some(asked) = earlier
        && !was_answered(history, within, asked, floor)
    {
        return None;
    }
    let sure = earlier.is_none() && sole_writer(history, within, last.request).is_some();
    Some(Asked {
        event: last.event,
        request: last.request,
        sure,
    })
}

/// How far back the events on one handle are searched.
const EVENTS_SEARCHED: usize = 4096;

/// Whether there was an event on the handle after `asked`, up to `floor`.
fn was_answered(history: &History, within: &LoopEvent, asked: EventId, floor: EventId) -> bool {
    let before = |id: &EventId| Some(history.loop_event(*id)?.previous_on_handle);
    std::iter::successors(Some(within.previous_on_handle), before)
        .take(EVENTS_SEARCHED)
        .find(|&event| event <= floor)
        .is_some_and(|event| event > asked)
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
