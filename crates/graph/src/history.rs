//! The history: the bounded past of one event loop, as every later step reads it.
//!
//! Recording into it, walking it and measuring intervals in it are separate concepts in separate
//! files; this one only holds the parts together and keeps their bounds in step.

use std::collections::BTreeMap;

use bobtail_trace::record::{EventId, Ns, OpId, RequestId};

use crate::collections::{Collections, collections};
use crate::events::{Event, LoopEvent, Row};
use crate::handles::Handles;
use crate::locations::Locations;
use crate::operations::{Operations, operations};
use crate::requests::{Needs, Requests};
use crate::ring::Ring;
use crate::runs::Runs;
use crate::stretches::Stretches;

const INITIAL_ROWS: usize = 1 << 14;
/// Jobs of the pool under way of which it is known; the probe follows no more.
const JOBS_MAX: usize = 1 << 14;
/// A job that takes longer than this is no longer waited for to tell who had the pool: a read of a
/// pipe that nobody writes to would hold back all that waited since.
const JOB_FOLLOWED_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct History {
    pub events: Ring<Event>,
    pub loop_events: Ring<LoopEvent>,
    pub runs: Runs,
    pub collections: Collections,
    pub stretches: Stretches,
    pub handles: Handles,
    pub operations: Operations,
    pub requests: Requests,
    pub locations: Locations,
    /// Jobs that the pool was given and that have not come back, and when they were given.
    pub jobs: BTreeMap<OpId, Ns>,
    /// Time of the latest record.
    pub now: Ns,
    /// How often a part of the history was lost.
    pub losses: u32,
    /// Recording went on then, after a pause.
    pub resumed_ns: Ns,
}

impl History {
    /// `bound` is the number of events remembered at the most.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            events: Ring::new(1, INITIAL_ROWS, bound),
            loop_events: Ring::new(1, INITIAL_ROWS / 2, bound / 2),
            runs: Runs::new(INITIAL_ROWS, bound),
            collections: collections(INITIAL_ROWS / 16, bound / 4),
            stretches: Stretches::new(INITIAL_ROWS / 4, bound / 2),
            handles: Handles::new(INITIAL_ROWS / 2, bound / 2),
            operations: operations(),
            requests: Requests::new(),
            locations: Locations::default(),
            jobs: BTreeMap::new(),
            now: 0,
            losses: 0,
            resumed_ns: 0,
        }
    }

    /// Rows for which there is room, by container.
    pub(crate) fn capacities(&self) -> [(&'static str, usize); 9] {
        [
            ("events", self.events.capacity()),
            ("loop events", self.loop_events.capacity()),
            ("runs", self.runs.ring.capacity()),
            ("collections", self.collections.capacity()),
            ("stretches", self.stretches.ring.capacity()),
            ("writes", self.handles.writes.capacity()),
            ("handles", self.handles.table.capacity()),
            ("operations", self.operations.capacity()),
            ("requests", self.requests.capacity()),
        ]
    }

    pub(crate) fn event(&self, id: EventId) -> Option<&Event> {
        self.events.get(id)
    }

    /// The loop event that an event is or runs in.
    pub(crate) fn loop_of(&self, event: &Event) -> Option<&LoopEvent> {
        self.loop_events.get(event.loop_row)
    }

    /// The loop event with this event number.
    pub(crate) fn loop_event(&self, id: EventId) -> Option<&LoopEvent> {
        self.loop_of(self.event(id)?).filter(|l| l.event == id)
    }

    pub(crate) fn request_of(&self, id: EventId) -> RequestId {
        self.event(id).map_or(0, |e| e.request)
    }

    /// When an event began, if a clock was read for it.
    pub(crate) fn begin_ns(&self, id: EventId) -> Option<Ns> {
        let run = self.runs.ring.get(self.event(id)?.first_run)?;
        (run.event == id).then_some(run.start_ns)
    }

    /// When the run ended in which an event executed last.
    pub(crate) fn end_ns(&self, id: EventId) -> Option<Ns> {
        let row = self.event(id)?.last_run;
        self.runs.ring.get(row)?;
        Some(self.runs.end_ns(row, self.now))
    }

    /// The pool was given a job. Those that never come back (history was lost) are forgotten.
    pub(crate) fn give_job(&mut self, op: OpId) {
        self.jobs.insert(op, self.now);
        if self.jobs.len() > JOBS_MAX {
            self.jobs.pop_first();
        }
    }

    /// Whether a job that was given before this one is not back yet and is still waited for.
    pub(crate) fn awaits_job_before(&mut self, op: OpId) -> bool {
        while let Some(oldest) = self.jobs.first_entry() {
            if self.now.saturating_sub(*oldest.get()) <= JOB_FOLLOWED_NS {
                return *oldest.key() < op;
            }
            oldest.remove();
        }
        false
    }

    /// What must be kept to explain a request that was ready at that time.
    pub(crate) fn needs(&self, event: EventId, loop_row: Row, ready_ns: Ns) -> Needs {
        let run = self.runs.at(ready_ns);
        let waiting_behind = self.runs.ring.get(run).map_or(event, |r| r.event);
        let behind = self.event(waiting_behind);
        Needs {
            event: if behind.is_some() {
                waiting_behind
            } else {
                event
            },
            loop_row: behind.map_or(loop_row, |e| e.loop_row),
            run,
            collection: self.collections.partition_point(|c| c.end_ns <= ready_ns),
            stretch: self.stretches.needed_from(ready_ns),
            write: self.handles.writes.next(),
        }
    }

    /// Keeps what the oldest open request needs and no more.
    pub(crate) fn keep_for_oldest(&mut self) {
        let needs = self.requests.oldest_needs();
        self.events.need_from(needs.map(|n| n.event));
        self.loop_events.need_from(needs.map(|n| n.loop_row));
        self.runs.ring.need_from(needs.map(|n| n.run));
        self.collections.need_from(needs.map(|n| n.collection));
        self.stretches.ring.need_from(needs.map(|n| n.stretch));
        self.handles.writes.need_from(needs.map(|n| n.write));
    }

    /// Gives up the oldest open request when a ring is at its bound because of it.
    pub(crate) fn relieve(&mut self) {
        let starved = self.events.starved()
            || self.loop_events.starved()
            || self.runs.ring.starved()
            || self.collections.starved()
            || self.stretches.ring.starved()
            || self.handles.writes.starved();
        if starved {
            self.requests.let_go_of_oldest();
            self.keep_for_oldest();
        }
    }

    /// Follows the events of a request from its latest back to the latest one before `event`.
    pub(crate) fn latest_own_before(&self, last_own: EventId, event: EventId) -> EventId {
        let mut own = last_own;
        while own >= event && own != 0 {
            let previous = self.event(own).map_or(0, |e| e.previous_own);
            own = if previous < own { previous } else { 0 };
        }
        own
    }
}
