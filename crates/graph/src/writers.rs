//! Who asked on a socket, as far as the writes to it tell.

use bobtail_trace::record::{EventId, HandleKind, Ns, RequestId};

use crate::events::LoopEvent;
use crate::handles::{WRITES_SEARCHED, Write};
use crate::history::History;

/// When a wait began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since {
    pub at_ns: Ns,
    /// Nothing that could tell otherwise was left out of the search.
    pub sure: bool,
}

impl Since {
    /// By a record of it.
    pub(crate) fn sure(at_ns: Ns) -> Self {
        Self { at_ns, sure: true }
    }
}

/// When `event` began to wait for `within`: its last write to that handle, else its end.
pub(crate) fn since(history: &History, event: EventId, within: &LoopEvent) -> Since {
    let written = last_write(history, within, event, |w| w.event == event);
    let (at_ns, sure) = match written {
        Last::Write(write) => (write.at_ns, true),
        none => {
            let end_ns = history.end_ns(event).unwrap_or(within.begin_ns);
            (end_ns, matches!(none, Last::None))
        }
    };
    Since {
        at_ns: at_ns.min(within.begin_ns),
        sure,
    }
}

/// The last of the writes to a handle that are meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Last<'a> {
    Write(&'a Write),
    None,
    /// None among as many as are searched; there may be one before them.
    NotFound,
}

impl Last<'_> {
    /// Its event.
    pub(crate) fn event(self) -> Option<EventId> {
        match self {
            Self::Write(write) => Some(write.event),
            Self::None | Self::NotFound => None,
        }
    }
}

/// The last write that is `meant` to the handle of `within`, not before `floor`.
fn last_write<'a>(
    history: &'a History,
    within: &LoopEvent,
    floor: EventId,
    meant: impl Fn(&Write) -> bool,
) -> Last<'a> {
    let mut searched = 0;
    for write in history.handles.back_from(within.last_write) {
        if write.event < floor {
            return Last::None;
        }
        if meant(write) {
            return Last::Write(write);
        }
        searched += 1;
    }
    if searched < WRITES_SEARCHED {
        Last::None
    } else {
        Last::NotFound
    }
}

/// The last write of a request to the handle, not before `floor`.
pub(crate) fn last_write_of<'a>(
    history: &'a History,
    within: &LoopEvent,
    request: RequestId,
    floor: EventId,
) -> Last<'a> {
    match request {
        0 => Last::None,
        _ => last_write(history, within, floor, |w| w.request == request),
    }
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
    if let Some(asked) = earlier.event()
        && was_answered(history, within, asked, floor) == Some(false)
    {
        return None;
    }
    let sure =
        matches!(earlier, Last::None) && sole_writer(history, within, last.request).is_some();
    Some(Asked {
        event: last.event,
        request: last.request,
        sure,
    })
}

/// How far back the events on one handle are searched.
const EVENTS_SEARCHED: usize = 4096;

/// Whether there was an event on the handle after `asked`, up to `floor`; `None` where more came
/// since than are searched. Never sure for the caller, who marks what follows as inferred.
fn was_answered(
    history: &History,
    within: &LoopEvent,
    asked: EventId,
    floor: EventId,
) -> Option<bool> {
    let before = |id: &EventId| Some(history.loop_event(*id)?.previous_on_handle);
    let mut searched = 0;
    for event in std::iter::successors(Some(within.previous_on_handle), before) {
        if event <= floor {
            return Some(event > asked);
        }
        searched += 1;
        if searched == EVENTS_SEARCHED {
            return None;
        }
    }
    Some(false)
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
