//! A view of the events around a finished request, for showing them.
//!
//! Lent only while the request is handed on: afterwards the rows may be overwritten.

use std::collections::BTreeMap;

use bobtail_trace::record::{CodePlace, EventId, Ns, ReadyQuality, RequestId, StringId};

use crate::collections::Collection;
use crate::history::History;
use crate::path::{CulpritKind, EventKind, RequestPath, Resource, SegmentKind};
use crate::queue::kind_of;
use crate::resource::resource_of;
use crate::stretch::Kind;

/// Events listed at the most; those on the path come first, then own ones, then culprits.
pub const EVENTS_LISTED: usize = 5000;

/// What is known about an event. Times are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFacts {
    pub event: EventId,
    pub kind: EventKind,
    /// 0 unknown.
    pub registrar: EventId,
    /// The loop event it is or runs in; 0 unknown.
    pub loop_event: EventId,
    /// 0 none.
    pub request: RequestId,
    pub route: StringId,
    pub register_ns: Option<Ns>,
    pub ready_ns: Option<Ns>,
    pub ready_quality: Option<ReadyQuality>,
    pub begin_ns: Option<Ns>,
    pub end_ns: Option<Ns>,
    /// Without a file where it is unknown.
    pub location: CodePlace,
    pub resource: Resource,
    pub on_path: bool,
}

/// What had the loop thread at a moment, interruptions aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    pub kind: CulpritKind,
    /// Route of the request the event works for, or its name while that is not known; 0 unknown.
    pub route: StringId,
    /// What it was executing; file 0 unknown.
    pub location: CodePlace,
}

/// What had the loop at a moment; `None` where it is forgotten.
pub(crate) fn running_at(history: &History, time_ns: Ns) -> Option<Running> {
    let run = history.runs.ring.get(history.runs.at(time_ns))?;
    (run.start_ns <= time_ns).then(|| Running {
        kind: kind_of(history, run),
        route: history.requests.route(run.request),
        location: history.locations.get(run.location),
    })
}

/// See the module.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    pub(crate) history: &'a History,
    last_own: EventId,
}

impl<'a> Window<'a> {
    pub(crate) fn new(history: &'a History, last_own: EventId) -> Self {
        Self { history, last_own }
    }

    /// The events on the path, those of the request, and those that had the loop meanwhile, by
    /// number.
    pub fn events(&self, path: &RequestPath) -> Vec<EventFacts> {
        let mut wanted = BTreeMap::new();
        for step in &path.events {
            wanted.insert(step.event, true);
        }
        let mut own = self.last_own;
        while own != 0 && wanted.len() < EVENTS_LISTED {
            wanted.entry(own).or_insert(false);
            own = self.history.latest_own_before(own, own);
        }
        for culprit in path.culprits.iter().filter(|c| c.event != 0) {
            if wanted.len() >= EVENTS_LISTED {
                break;
            }
            wanted.entry(culprit.event).or_insert(false);
        }
        wanted
            .into_iter()
            .filter_map(|(id, on)| self.facts(path, id, on))
            .collect()
    }

    /// The collection with this number, whole, while it is remembered.
    pub fn collection(&self, number: u32) -> Option<Collection> {
        self.history.collections.get(number).copied()
    }

    /// What is known about an event, while it is remembered, as seen from a request.
    pub fn event(&self, path: &RequestPath, id: EventId) -> Option<EventFacts> {
        self.facts(path, id, false)
    }

    /// How long the collection with this number held up a request: its time in `queue` and `exec`
    /// segments. Over all collections that is the `gc` of the request's work.
    pub fn delay_ns(&self, path: &RequestPath, number: u32) -> u64 {
        let Some(whole) = self.collection(number) else {
            return 0;
        };
        let counted = |kind| matches!(kind, SegmentKind::Queue | SegmentKind::Exec);
        let segments = path.segments.iter().filter(|s| counted(s.kind));
        let parts = segments.map(|segment| {
            let from_ns = segment.start_ns.max(whole.begin_ns);
            let to_ns = (segment.start_ns + segment.duration_ns).min(whole.end_ns);
            let within = self.history.stretches.each(from_ns, to_ns.max(from_ns));
            let of_it = |kind| matches!(kind, Kind::Collection { row } if row == number);
            let pieces = within.filter(|(kind, ..)| of_it(*kind));
            pieces.map(|(_, from, to)| to - from).sum::<u64>()
        });
        parts.sum()
    }

    pub(crate) fn facts(
        &self,
        path: &RequestPath,
        id: EventId,
        on_path: bool,
    ) -> Option<EventFacts> {
        let history = self.history;
        let event = history.event(id)?;
        let within = history.loop_of(event);
        let own_row = within.filter(|_| matches!(event.kind, EventKind::Loop(_)));
        let run = history.runs.ring.get(event.first_run);
        Some(EventFacts {
            event: id,
            kind: event.kind,
            registrar: event.registrar,
            loop_event: within.map_or(0, |l| l.event),
            request: event.request,
            route: history.requests.route(event.request),
            register_ns: own_row
                .filter(|_| event.registrar != 0)
                .map(|l| l.register_ns),
            ready_ns: own_row.and_then(|l| l.ready_ns),
            ready_quality: own_row.and_then(|l| l.ready_ns.map(|_| l.quality)),
            begin_ns: history.begin_ns(id),
            end_ns: match own_row {
                Some(l) => (l.end_ns != 0).then_some(l.end_ns),
                None => history.begin_ns(id).and_then(|_| history.end_ns(id)),
            },
            location: history
                .locations
                .get(run.filter(|r| r.event == id).map_or(0, |r| r.location)),
            resource: own_row.map_or(Resource::Unnamed, |l| resource_of(history, path, l)),
            on_path,
        })
    }
}
