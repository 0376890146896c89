//! Who had the loop thread: the pieces of an interval by event, collection and poll.
//!
//! A collection is charged to itself and not to the event it interrupted: no change of that event
//! would have made it shorter. So is the time in which the thread did not run.

use bobtail_trace::record::{CodePlace, Ns, RequestId};

use crate::history::History;
use crate::locations::agree;
use crate::path::{Culprit, CulpritKind};
use crate::runs::{Run, RunKind};
use crate::stretch::Kind;

/// Stands for runs that are forgotten.
const LOST: Run = Run {
    start_ns: 0,
    event: 0,
    request: 0,
    location: 0,
    votes: 0,
    kind: RunKind::Lost,
};

/// Adds the culprits of `[from, to)` to `culprits`, from which those of this segment start at
/// `first`. Time before the oldest known run is charged to `Lost`.
pub(crate) fn blame(
    history: &History,
    from: Ns,
    to: Ns,
    first: usize,
    culprits: &mut Vec<Culprit>,
) {
    let mut reached = from;
    for (_, run, start, end) in history.runs.pieces(from, to, history.now) {
        if start > reached {
            blame_run(history, &LOST, reached, start, first, culprits);
        }
        blame_run(history, run, start, end, first, culprits);
        reached = end;
    }
    if to > reached {
        blame_run(history, &LOST, reached, to, first, culprits);
    }
}

/// The same for a piece that lies in one run.
pub(crate) fn blame_run(
    history: &History,
    run: &Run,
    start: Ns,
    end: Ns,
    first: usize,
    culprits: &mut Vec<Culprit>,
) {
    let route = history.requests.route(run.request);
    let interrupted_ns = blame_interruptions(history, run, start, end, first, culprits);
    let duration_ns = end - start - interrupted_ns;
    let kind = kind_of(history, run);
    let (event, request) = (run.event, run.request);
    let location = history.locations.get(run.location);
    add(
        culprits,
        first,
        Culprit {
            kind,
            event,
            request,
            route,
            location,
            collection: 0,
            resource: 0,
            duration_ns,
        },
    );
}

/// What had the loop in a run, interruptions aside.
pub(crate) fn kind_of(history: &History, run: &Run) -> CulpritKind {
    match run.kind {
        RunKind::Poll => CulpritKind::Poll,
        RunKind::Between => CulpritKind::Between,
        RunKind::Lost => CulpritKind::Lost,
        RunKind::Event => match history.event(run.event) {
            Some(event) => CulpritKind::Event(event.kind),
            None => CulpritKind::Lost,
        },
    }
}

/// Only what interrupted a piece, as for work on the path itself; returns how long it did.
pub(crate) fn blame_interruptions(
    history: &History,
    run: &Run,
    start: Ns,
    end: Ns,
    first: usize,
    culprits: &mut Vec<Culprit>,
) -> u64 {
    let mut interrupted_ns = 0;
    for (stretch, from, to) in history.stretches.each(start, end) {
        let (kind, collection, location) = match stretch {
            Kind::Collection { row } => {
                let whole = history.collections.get(row).copied().unwrap_or_default();
                (whole.as_culprit(), row, whole.caller)
            }
            Kind::NotRunning(cause) => (CulpritKind::NotRunning(cause), 0, CodePlace::default()),
            Kind::Idle | Kind::Engine { .. } => continue,
        };
        interrupted_ns += to - from;
        let culprit = Culprit {
            kind,
            event: run.event,
            request: run.request,
            route: history.requests.route(run.request),
            location,
            collection,
            resource: 0,
            duration_ns: to - from,
        };
        add(culprits, first, culprit);
    }
    interrupted_ns
}

/// Whether a run inside a loop event of the path belongs to another request.
pub(crate) fn is_foreign(run: &Run, request: RequestId) -> bool {
    run.request != 0 && run.request != request
}

/// Runs of one event that follow each other make one culprit, and so do parts of a collection.
fn add(culprits: &mut Vec<Culprit>, first: usize, culprit: Culprit) {
    if culprit.duration_ns == 0 {
        return;
    }
    let merges = |c: &&mut Culprit| {
        c.event == culprit.event
            && c.kind == culprit.kind
            && c.request == culprit.request
            && !matches!(c.kind, CulpritKind::NotRunning(_) | CulpritKind::Poll)
            && c.collection == culprit.collection
            && (c.location.file == 0
                || culprit.location.file == 0
                || agree(c.location, culprit.location))
    };
    let recent = culprits.len().saturating_sub(4).max(first);
    match culprits[recent..].iter_mut().rev().find(merges) {
        Some(same) => {
            same.duration_ns += culprit.duration_ns;
            if same.location.file == 0 {
                same.location = culprit.location;
            }
        }
        None => culprits.push(culprit),
    }
}
