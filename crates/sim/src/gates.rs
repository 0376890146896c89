//! Gates: what else than its own event the continuation of an `await` waits for.
//!
//! In the recording the continuation ran where the last of several things arrived
//! (`Promise.all`), or where something arrived that another request had asked for. Under a change
//! another of them may be the last. So all that the request did between the `await` and its
//! continuation is waited for. That what was not awaited at all (a log line) is waited for as well
//! matters only where the change makes it the slowest.

use std::ops::Range;

use bobtail_trace::record::{Ns, RequestId};

use crate::capture::{Awaited, Log};
use crate::model::EventIx;
use crate::triggers::{Cause, Index};

/// A gate before the steps of a request in a loop event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Awaiting {
    pub event: EventIx,
    pub request: RequestId,
    /// From when on its pieces wait; the first of them where no clock was read.
    pub begin_ns: Option<Ns>,
    /// Events that must be over, beside the gate's own.
    pub others: Vec<EventIx>,
}

/// The events that work for each request.
pub(crate) struct Owned(Vec<(RequestId, EventIx)>);

impl Owned {
    pub(crate) fn of(log: &Log) -> Self {
        let mut all = Vec::new();
        for ix in 0..log.events.len() {
            for piece in log.pieces_of(ix) {
                let own = (piece.request, ix as EventIx);
                if piece.request != 0 && all.last() != Some(&own) {
                    all.push(own);
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Those of a request between two events, without these.
    fn between(&self, request: RequestId, after: EventIx, before: EventIx) -> &[(u32, EventIx)] {
        let from = self.0.partition_point(|own| *own <= (request, after));
        let to = self.0.partition_point(|own| *own < (request, before));
        &self.0[from..to.max(from)]
    }
}

/// The gates of a recording, by event.
pub(crate) fn gates(log: &Log, index: &Index<'_>, causes: &[Cause]) -> Vec<Awaiting> {
    let owned = Owned::of(log);
    let each = log.awaits.iter().flat_map(|one| {
        let parts = log.parts_for(one.request, index.parts(one.loop_event));
        parts.map(move |part| (one, part))
    });
    let mut all: Vec<_> = each
        .filter_map(|(one, part)| gate(one, part, log, index, causes, &owned))
        .collect();
    all.sort_by_key(|one| (one.event, one.request));
    all.dedup_by_key(|one| (one.event, one.request));
    all
}

impl Log {
    /// Of the parts of a loop event those that work for a request; all of it where it is whole.
    fn parts_for(
        &self,
        request: RequestId,
        parts: Range<EventIx>,
    ) -> impl DoubleEndedIterator<Item = EventIx> + '_ {
        let is_whole = parts.len() == 1;
        parts.filter(move |part| {
            let mut pieces = self.pieces_of(*part as usize).iter();
            is_whole || pieces.any(|piece| piece.request == request)
        })
    }
}

/// The gate in one part of the loop event in which what was awaited ran.
fn gate(
    awaited: &Awaited,
    event: EventIx,
    log: &Log,
    index: &Index<'_>,
    causes: &[Cause],
    owned: &Owned,
) -> Option<Awaiting> {
    let first = index.parts(awaited.loop_event).start;
    let parts = index.parts(awaited.registrar);
    // Where the request was at work last, it began to wait.
    let own = log.parts_for(awaited.request, parts.clone()).next_back();
    let registrar = own.or(parts.last())?;
    if registrar >= first {
        return None;
    }
    let mut others: Vec<EventIx> = owned
        .between(awaited.request, registrar, first)
        .iter()
        .map(|own| own.1)
        .collect();
    // What led to the event itself need not be waited for twice.
    let mut at = event;
    while let Cause::Earlier { event: before, .. } = causes[at as usize] {
        at = before;
        if at <= registrar {
            break;
        }
        others.retain(|other| *other != at);
    }
    if at != registrar {
        others.push(registrar);
    }
    (!others.is_empty()).then_some(Awaiting {
        event,
        request: awaited.request,
        begin_ns: awaited.begin_ns,
        others,
    })
}
