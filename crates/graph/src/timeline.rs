//! What the loop thread did in an interval around a finished request, whoever it did it for.
//!
//! The path tells what one request waited for; to see why, one looks at the loop, the collector
//! and the pool at that time. Like the rest of the window it is lent while the request is handed
//! on, and reaches as far back as the history does.

use bobtail_trace::record::{
    CodePlace, EventId, LoopKind, NotRunningCause, Ns, RequestId, StringId,
};

use crate::collections::Collection;
use crate::events::LoopEvent;
use crate::path::{EventKind, RequestPath, Resource};
use crate::resource::resource_of;
use crate::runs::{Run, RunKind};
use crate::stretch::Kind;
use crate::window::Window;

/// What the loop thread is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// It runs this kind of callback.
    Event(EventKind),
    /// It is in the kernel.
    Poll,
    /// It is between two callbacks.
    Between,
    /// History was lost here.
    Lost,
}

/// A time in which the loop thread did one thing. Times are absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopRun {
    pub begin_ns: Ns,
    pub end_ns: Ns,
    pub doing: Doing,
    /// 0 for anything but a callback, as the rest.
    pub event: EventId,
    /// The request it worked for.
    pub request: RequestId,
    pub route: StringId,
    /// Without a file where it is unknown.
    pub location: CodePlace,
}

/// What took the thread from the code that it was executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// A collection.
    Collection(Collection),
    /// So much compilation and so many inline-cache misses, somewhere in it.
    Engine { jit_ns: u64, ic_ns: u64 },
    /// The thread could have run, but did not.
    NotRunning(NotRunningCause),
}

/// A loop event with what it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopEventTimes {
    pub event: EventId,
    pub kind: LoopKind,
    pub request: RequestId,
    pub route: StringId,
    /// Only where it is known who registered it.
    pub register_ns: Option<Ns>,
    pub ready_ns: Option<Ns>,
    pub begin_ns: Ns,
    /// Duration of a pool job on its thread, ending at ready; 0 for other kinds.
    pub run_ns: u64,
    pub resource: Resource,
}

impl<'a> Window<'a> {
    /// What the loop thread did in an interval, in order, without gaps as far as it is remembered.
    pub fn runs(&self, from_ns: Ns, to_ns: Ns) -> impl Iterator<Item = LoopRun> + use<'a> {
        let window = *self;
        let pieces = self
            .history
            .runs
            .pieces(from_ns, to_ns, self.history.now.min(to_ns));
        pieces.map(move |(_, run, begin_ns, end_ns)| window.run(run, begin_ns, end_ns))
    }

    /// What interrupted it there, in order; parts of one interruption may follow each other.
    pub fn interruptions(
        &self,
        from_ns: Ns,
        to_ns: Ns,
    ) -> impl Iterator<Item = (Interruption, Ns, Ns)> + use<'a> {
        let history = self.history;
        let each = history.stretches.each(from_ns, to_ns);
        each.filter_map(move |(kind, begin_ns, end_ns)| {
            let interruption = match kind {
                Kind::Idle => return None,
                Kind::Engine { jit_ns, ic_ns, .. } => Interruption::Engine {
                    jit_ns: jit_ns.into(),
                    ic_ns: ic_ns.into(),
                },
                Kind::Collection { row } => Interruption::Collection(
                    history.collections.get(row).copied().unwrap_or_default(),
                ),
                Kind::NotRunning(cause) => Interruption::NotRunning(cause),
            };
            Some((interruption, begin_ns, end_ns))
        })
    }

    /// The loop events that began in an interval, in order.
    pub fn loop_events(
        &self,
        path: &'a RequestPath,
        from_ns: Ns,
        to_ns: Ns,
    ) -> impl Iterator<Item = LoopEventTimes> + use<'a> {
        let window = *self;
        let rows = &self.history.loop_events;
        let first = rows.partition_point(|event| event.begin_ns < from_ns);
        (0..)
            .map_while(move |i: u32| rows.get(first.wrapping_add(i)))
            .take_while(move |event| event.begin_ns < to_ns)
            .map(move |event| window.times(path, event))
    }

    fn run(&self, run: &Run, begin_ns: Ns, end_ns: Ns) -> LoopRun {
        let kind = self.history.event(run.event).map(|event| event.kind);
        let doing = match (run.kind, kind) {
            (RunKind::Event, Some(kind)) => Doing::Event(kind),
            (RunKind::Poll, _) => Doing::Poll,
            (RunKind::Between, _) => Doing::Between,
            (RunKind::Lost, _) | (RunKind::Event, None) => Doing::Lost,
        };
        LoopRun {
            begin_ns,
            end_ns,
            doing,
            event: run.event,
            request: run.request,
            route: self.history.requests.route(run.request),
            location: self.history.locations.get(run.location),
        }
    }

    fn times(&self, path: &RequestPath, row: &LoopEvent) -> LoopEventTimes {
        let event = self.history.event(row.event);
        let request = event.map_or(0, |event| event.request);
        LoopEventTimes {
            event: row.event,
            kind: row.kind,
            request,
            route: self.history.requests.route(request),
            register_ns: event
                .filter(|event| event.registrar != 0)
                .map(|_| row.register_ns),
            ready_ns: row.ready_ns,
            begin_ns: row.begin_ns,
            run_ns: row.run_ns,
            resource: resource_of(self.history, path, row),
        }
    }
}
