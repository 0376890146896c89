//! Departures: when the kernel had taken the last byte of a response.
//!
//! The end of a response is only a call; its bytes may leave much later, when a slow client has
//! read or when an earlier response on the connection is out. No record says whose bytes a write
//! takes, but HTTP/1.1 writes responses in the order of their requests, and a known number of times
//! after the end, so writes are counted. Who wrote would tell more, but is not known where micro
//! events are left out of the account, and latencies must not depend on that.

use bobtail_trace::record::{HandleId, HandleKind, Ns, RequestId};

use crate::handles::Handle;
use crate::recorder::Recorder;
use crate::requests::{Handover, Phase, Request};

/// A write may be put off to the next turn of the loop (HTTP/2, TLS). When it has not come after so
/// many polls, there was nothing left to write when the response ended.
const POLLS_PUT_OFF: u8 = 2;

impl Recorder {
    /// A write to a connection: `unsent` bytes still wait in the process.
    pub(crate) fn depart(&mut self, id: HandleId, at_ns: Ns, unsent: u64) {
        let handle = self.history.handles.entry(id);
        handle.is_unsent = unsent != 0;
        // HTTP/1.1 only answers; TLS and HTTP/2 have things to say before.
        handle.is_layered |= is_server(handle) && handle.request == 0;
        let (is_layered, leaving) = (handle.is_layered, handle.leaving);
        if unsent != 0 || leaving == 0 {
            return;
        }
        let handover = Handover {
            event: self.current,
            loop_event: self.open_event,
            at_ns,
        };
        let mut next = self.first_waiting(id);
        while let Some(request) = self.history.requests.table.get_mut(next) {
            let ended = request.phase == Phase::Sunk;
            let is_its = ended && (is_layered || request.writes < request.writes_due);
            if is_its {
                request.writes = request.writes.saturating_add(1);
                request.handover = Some(handover);
                self.touched.push(next);
            }
            if !is_layered && (is_its || !ended) {
                break;
            }
            next = self.history.requests.next_waiting(next);
        }
    }

    /// The response to a request ended just now.
    pub(crate) fn await_departure(&mut self, id: RequestId, connection: HandleId) {
        let is_first = self.first_waiting(connection) == id;
        if let Some(handle) = self.history.handles.table.get_mut(connection) {
            handle.open_requests = handle.open_requests.saturating_sub(1);
            handle.leaving += 1;
            // What JavaScript still keeps, the end at least, goes out when that is taken.
            let follows = is_first && handle.is_unsent && !handle.is_layered;
            if let Some(request) = self.history.requests.table.get_mut(id) {
                request.writes_due = 1 + u8::from(follows);
            }
        }
        self.touched.push(id);
    }

    /// At the end of a loop event: which of the responses that ended or were written in it are out.
    pub(crate) fn settle_departures(&mut self) {
        for index in 0..self.touched.len() {
            let id = self.touched[index];
            let Some(&request) = self.history.requests.table.get(id) else {
                continue;
            };
            let handle = self.history.handles.table.get(request.handle);
            let handle = handle.copied().unwrap_or_default();
            let is_whole = request.writes >= request.writes_due && !handle.is_layered;
            match request.handover {
                _ if !is_server(&handle) => self.leave(id, true),
                Some(_) if is_whole || !handle.is_unsent => self.leave(id, true),
                None if handle.closed => self.leave(id, false),
                None if !handle.is_unsent => self.put_off(id),
                // It goes on when the client has read.
                _ => {}
            }
        }
        self.touched.clear();
    }

    /// The loop polled: what was only put off would have been written by now.
    pub(crate) fn settle_put_off(&mut self) {
        for (id, polls) in std::mem::take(&mut self.put_off) {
            if !self.has_nothing_left(id) {
                if let Some(request) = self.history.requests.table.get_mut(id) {
                    request.is_put_off = false;
                }
                continue;
            }
            if polls + 1 >= POLLS_PUT_OFF {
                self.leave(id, true);
            } else {
                self.put_off.push((id, polls + 1));
            }
        }
    }

    /// The connection brings its next request: an ended response had nothing left to write.
    pub(crate) fn settle_before_next(&mut self, connection: HandleId) {
        let first = self.first_waiting(connection);
        let is_layered = |h: &Handle| h.is_layered;
        let handle = self.history.handles.table.get(connection);
        let here = |r: &Request| r.sink_loop == self.open_event;
        let request = self.history.requests.table.get(first);
        if handle.is_some_and(is_layered) || request.is_none_or(here) {
            return;
        }
        if self.has_nothing_left(first) {
            self.leave(first, true);
        }
    }

    /// The connection is closed: what has not left never will.
    pub(crate) fn cut_off(&mut self, connection: HandleId) {
        let mut next = self.first_waiting(connection);
        let mut had_nothing_left = self.has_nothing_left(next);
        while next != 0 {
            let after = self.history.requests.next_waiting(next);
            self.leave(next, std::mem::take(&mut had_nothing_left));
            next = after;
        }
    }

    /// The trace ends: so do all responses that did.
    pub(crate) fn cut_off_all(&mut self) {
        let ended = |r: &&Request| r.phase == Phase::Sunk;
        let all = self.history.requests.table.values();
        let mut ids: Vec<_> = all.filter(ended).map(|r| r.id).collect();
        ids.sort_unstable();
        let ids: Vec<_> = ids
            .into_iter()
            .map(|id| (id, self.has_nothing_left(id)))
            .collect();
        ids.into_iter()
            .for_each(|(id, had_nothing_left)| self.leave(id, had_nothing_left));
    }

    /// Ended, first in line, and neither written since nor kept back.
    fn has_nothing_left(&mut self, id: RequestId) -> bool {
        let Some(&request) = self.history.requests.table.get(id) else {
            return false;
        };
        let is_first = self.first_waiting(request.handle) == id;
        let Some(handle) = self.history.handles.table.get(request.handle) else {
            return false;
        };
        request.phase == Phase::Sunk
            && request.handover.is_none()
            && !handle.is_unsent
            && (is_first || handle.is_layered)
    }

    fn put_off(&mut self, id: RequestId) {
        if let Some(request) = self.history.requests.table.get_mut(id)
            && !std::mem::replace(&mut request.is_put_off, true)
        {
            self.put_off.push((id, 0));
        }
    }

    /// Decides the sink of a response that ended; an open one is not touched.
    fn leave(&mut self, id: RequestId, had_nothing_left: bool) {
        let Some(request) = self.history.requests.table.get_mut(id) else {
            return;
        };
        if request.phase != Phase::Sunk {
            return;
        }
        let connection = request.handle;
        let handle = self.history.handles.table.get_mut(connection);
        let is_unsent = handle.as_ref().is_some_and(|h| h.is_unsent);
        let is_layered = handle.as_ref().is_some_and(|h| h.is_layered);
        let is_whole = request.writes >= request.writes_due && !is_layered;
        if !is_whole && is_unsent {
            request.handover = None;
        }
        request.phase = Phase::Handed;
        request.handed_over = request.handover.is_some() || had_nothing_left;
        let is_closed = handle.as_ref().is_some_and(|h| h.closed);
        request.cut_off = is_closed && !request.handed_over;
        if let Some(handle) = handle {
            handle.leaving = handle.leaving.saturating_sub(1);
        }
        self.gone.push(id);
        // Who waited behind it is next, and may have had nothing left either.
        let next = self.first_waiting(connection);
        if self.has_nothing_left(next) {
            self.put_off(next);
        }
    }

    /// The oldest request of a connection that has no sink yet; 0 none.
    fn first_waiting(&mut self, connection: HandleId) -> RequestId {
        let Some(handle) = self.history.handles.table.get_mut(connection) else {
            return 0;
        };
        handle.first = self.history.requests.waiting_from(handle.first);
        handle.first
    }
}

fn is_server(handle: &Handle) -> bool {
    matches!(
        handle.kind,
        Some(HandleKind::ServerConnection | HandleKind::UnixServerConnection)
    )
}
