//! Requests from source to sink, and how far back the window must reach for them.
//!
//! A finished request keeps its entry until its place is taken, because events of other requests
//! still name it as the one they waited behind.

use std::collections::VecDeque;

use bobtail_trace::record::{EventId, HandleId, Ns, RequestId, StringId};

use crate::events::Row;
use crate::id_table::{Alive, IdTable};

/// Where a request is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    #[default]
    Open,
    /// Its response ended; the kernel may not have taken all of it.
    Sunk,
    /// Its sink is decided; its loop event goes on.
    Handed,
    /// Handed on, or given up.
    Done,
}

/// One request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Request {
    pub id: RequestId,
    pub name: StringId,
    pub route: StringId,
    pub status: u32,
    pub phase: Phase,
    pub handle: HandleId,
    pub source_ns: Ns,
    /// The loop event that received it.
    pub source_loop: EventId,
    pub ready_ns: Ns,
    /// Where and when the response ended.
    pub sink_event: EventId,
    pub sink_loop: EventId,
    pub sink_ns: Ns,
    /// Writes after that up to the one with its last byte, each counted when nothing was left
    /// unsent; and those seen.
    pub writes_due: u8,
    pub writes: u8,
    /// The last of those.
    pub handover: Option<Handover>,
    /// The kernel had taken the whole response at the handover, or when it ended.
    pub handed_over: bool,
    /// It had not when the connection was closed.
    pub cut_off: bool,
    /// It is among those that are looked at again after a poll.
    pub is_put_off: bool,
    /// The request after it on its connection; 0 none yet.
    pub next_on_handle: RequestId,
    /// Its latest event.
    pub last_own: EventId,
    /// How often history had been lost when it began.
    pub losses: u32,
    pub needs: Needs,
}

/// A write that left nothing unsent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handover {
    pub event: EventId,
    pub loop_event: EventId,
    pub at_ns: Ns,
}

impl Request {
    /// The write that made its sink, where that was in a later loop event than its end.
    pub(crate) fn late_handover(&self) -> Option<Handover> {
        self.handover.filter(|h| h.loop_event != self.sink_loop)
    }
}

/// The oldest rows a request will ask for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    pub event: EventId,
    pub loop_row: Row,
    pub run: Row,
    pub collection: Row,
    pub stretch: Row,
    pub write: Row,
}

impl Alive for Request {
    fn alive(&self) -> bool {
        self.phase != Phase::Done
    }
}

const REQUESTS_YOUNG: usize = 1 << 13;
const REQUESTS_OLD: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Requests {
    pub table: IdTable<Request>,
    /// In order of source, among them some that are done.
    order: VecDeque<RequestId>,
    /// What finished ones need that are not handed on yet, in the order in which they finished.
    held: VecDeque<Needs>,
    /// Of `held` those of which no later one needs older history: the first needs the oldest.
    held_minima: VecDeque<Needs>,
    /// Length of `order` at which those that are done are dropped.
    crowded: usize,
    opened: u64,
    finished: u64,
    straddling: u64,
}

impl Requests {
    pub(crate) fn new() -> Self {
        Self {
            table: IdTable::new(REQUESTS_YOUNG, REQUESTS_OLD),
            order: VecDeque::new(),
            held: VecDeque::new(),
            held_minima: VecDeque::new(),
            crowded: 1024,
            opened: 0,
            finished: 0,
            straddling: 0,
        }
    }

    pub(crate) fn open(&mut self, request: Request) {
        self.opened += 1;
        self.order.push_back(request.id);
        self.table.insert(request.id, request);
        if self.order.len() >= self.crowded {
            let table = &self.table;
            self.order
                .retain(|id| table.get(*id).is_some_and(Alive::alive));
            self.crowded = 1024.max(2 * self.order.len());
        }
    }

    /// Counts a request whose source cannot be placed, because history was lost there.
    pub(crate) fn count_lost(&mut self) {
        self.opened += 1;
    }

    /// Counts a request that arrived in a pause.
    pub(crate) fn count_straddling(&mut self) {
        self.opened += 1;
        self.straddling += 1;
    }

    /// Gives up all that are open, and tells their handles: what they do in a pause is not seen.
    pub(crate) fn close_all(&mut self, mut closed_on: impl FnMut(HandleId)) {
        for index in 0..self.order.len() {
            let id = self.order[index];
            let Some(request) = self.table.get(id).filter(|it| it.alive()) else {
                continue;
            };
            closed_on(request.handle);
            self.close(id, false);
            self.straddling += 1;
        }
        self.order.clear();
    }

    /// Ends its life; its entry stays for those who name it.
    pub(crate) fn close(&mut self, id: RequestId, finished: bool) {
        if let Some(request) = self.table.get_mut(id)
            && request.phase != Phase::Done
        {
            request.phase = Phase::Done;
            self.finished += u64::from(finished);
        }
    }

    /// The oldest request still open.
    pub(crate) fn oldest(&mut self) -> Option<&Request> {
        while let Some(&id) = self.order.front() {
            if self.table.get(id).is_some_and(Alive::alive) {
                return self.table.get(id);
            }
            self.order.pop_front();
        }
        None
    }

    /// What must be kept for the oldest one, be it open or held.
    pub(crate) fn oldest_needs(&mut self) -> Option<Needs> {
        let open = self.oldest().map(|request| request.needs);
        let held = self.held_minima.front().copied();
        open.into_iter().chain(held).min_by_key(|needs| needs.event)
    }

    /// A finished request is not handed on yet.
    pub(crate) fn hold(&mut self, needs: Needs) {
        self.held.push_back(needs);
        let is_newer = |last: &Needs| last.event > needs.event;
        while self.held_minima.back().is_some_and(is_newer) {
            self.held_minima.pop_back();
        }
        self.held_minima.push_back(needs);
    }

    /// The first of those that are held is handed on; false when there is none.
    pub(crate) fn release_first(&mut self) -> bool {
        let Some(first) = self.held.pop_front() else {
            return false;
        };
        // What equals it and was held later is still in the list.
        if self
            .held_minima
            .front()
            .is_some_and(|it| it.event == first.event)
        {
            self.held_minima.pop_front();
        }
        true
    }

    /// How many are held.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Stops keeping history for the oldest one: it will come out truncated. One that is finished
    /// and held goes first, for it lacks nothing but whom it waited for.
    pub(crate) fn let_go_of_oldest(&mut self) {
        if !self.release_first() {
            self.order.pop_front();
        }
    }

    /// Requests on a handle that are still open, up to now.
    pub(crate) fn close_on(&mut self, handle: HandleId) {
        for index in 0..self.order.len() {
            let id = self.order[index];
            if self
                .table
                .get(id)
                .is_some_and(|r| r.handle == handle && r.phase == Phase::Open)
            {
                self.close(id, false);
            }
        }
    }

    /// This request if it has no sink yet, else the next one after it on its connection; 0 none.
    pub(crate) fn waiting_from(&self, mut id: RequestId) -> RequestId {
        while let Some(request) = self.table.get(id) {
            if matches!(request.phase, Phase::Open | Phase::Sunk) {
                return id;
            }
            id = request.next_on_handle;
        }
        0
    }

    /// The next one after it that has no sink yet; those between are taken out of the line.
    pub(crate) fn next_waiting(&mut self, id: RequestId) -> RequestId {
        let after = self.table.get(id).map_or(0, |r| r.next_on_handle);
        let next = self.waiting_from(after);
        // The last one stays in line, or the one that comes next would not be found.
        if next != 0
            && let Some(request) = self.table.get_mut(id)
        {
            request.next_on_handle = next;
        }
        next
    }

    /// Puts a request in line on its connection; gives the first one of the line.
    pub(crate) fn line_up(
        &mut self,
        id: RequestId,
        last: RequestId,
        first: RequestId,
    ) -> RequestId {
        match self.table.get_mut(last) {
            // Only a damaged trace has numbers that do not rise.
            Some(before) if last < id => before.next_on_handle = id,
            _ => return id,
        }
        match self.waiting_from(first) {
            0 => id,
            waiting => waiting,
        }
    }

    /// Entries for which there is room, those in order of source included.
    pub(crate) fn capacity(&self) -> usize {
        self.table.capacity() + self.order.capacity()
    }

    /// Requests of which no sink was seen, so far; without those that a pause took.
    pub(crate) fn without_sink(&self) -> u64 {
        self.opened - self.finished - self.straddling
    }

    /// Requests that were under way when recording paused or went on.
    pub(crate) fn straddling(&self) -> u64 {
        self.straddling
    }

    /// The best name there is for what a request asked for; 0 unknown.
    pub(crate) fn route(&self, id: RequestId) -> StringId {
        self.table
            .get(id)
            .map_or(0, |r| if r.route != 0 { r.route } else { r.name })
    }
}
