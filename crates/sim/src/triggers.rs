//! Triggers: what made each loop event ready, as far as the record tells.
//!
//! The operation names its registrar; where there is none, the walks tell what a request waited
//! for since when; else the last write to the connection asked for it. What none of these explains
//! came from outside, at its own time.

use std::ops::Range;

use bobtail_trace::record::{EventId, LoopKind, Ns, RequestId};

use crate::capture::{Hopped, Log, Seen};
use crate::model::{EventIx, Phase};
use crate::turns::phase_of;

/// What made an event ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Something outside, which comes with the load or does not.
    Outside {
        since_ns: Option<Ns>,
        is_load: bool,
        /// The event that accepted its connection, at this moment in it: nobody listens before.
        after: Option<(EventIx, Ns)>,
    },
    /// An earlier event, at this moment in it.
    Earlier { event: EventIx, at_ns: Ns },
}

/// Loop events by the numbers of the events in them.
pub(crate) struct Index<'a> {
    events: &'a [Seen],
}

impl<'a> Index<'a> {
    pub(crate) fn new(events: &'a [Seen]) -> Self {
        Self { events }
    }

    /// The loop event that an event is or runs in: numbers are given out in the order of begins.
    /// The last part, where it is a read with several answers.
    pub(crate) fn containing(&self, id: EventId) -> Option<EventIx> {
        let after = self.events.partition_point(|seen| seen.ended.event <= id);
        after.checked_sub(1).map(|ix| ix as EventIx)
    }

    /// All parts of it.
    pub(crate) fn parts(&self, id: EventId) -> Range<EventIx> {
        let Some(last) = self.containing(id) else {
            return 0..0;
        };
        let joined = self.events[..=last as usize].iter().rev();
        let joined = joined.take_while(|seen| seen.joins).count();
        last - joined as EventIx..last + 1
    }

    /// The loop event in which `owner` did something at that time, or the last one before it.
    pub(crate) fn place(&self, owner: EventId, at_ns: Ns) -> Option<(EventIx, Ns)> {
        let within = |ix: &EventIx| {
            let ended = &self.events[*ix as usize].ended;
            (ended.begin_ns..=ended.end_ns).contains(&at_ns)
        };
        if let Some(ix) = self.parts(owner).find(within) {
            return Some((ix, at_ns));
        }
        let after = self
            .events
            .partition_point(|seen| seen.ended.begin_ns <= at_ns);
        let ix = after.checked_sub(1)?;
        Some((ix as EventIx, at_ns.min(self.events[ix].ended.end_ns)))
    }
}

/// The cause of each event. `source_ready_ns` tells when a request came.
pub(crate) fn causes(
    log: &Log,
    index: &Index<'_>,
    source_ready_ns: impl Fn(RequestId) -> Option<Ns>,
) -> Vec<Cause> {
    let hops = best_hops(log, index);
    let mut hops = hops.into_iter().peekable();
    // The first of those of its kind that the loop ran one after the other in a turn.
    let mut first = 0;
    let each = log.events.iter().enumerate().map(|(ix, seen)| {
        let before = ix.checked_sub(1).map(|ix| &log.events[ix]);
        let is_alike = |one: &Seen| one.ended.kind == seen.ended.kind && one.turn == seen.turn;
        let ix = ix as EventIx;
        if !before.is_some_and(is_alike) {
            first = ix;
        }
        let hop = hops.next_if(|(event, _)| *event == ix).map(|(_, hop)| hop);
        let found = earlier(seen, hop.as_ref()).and_then(|(by, at_ns)| index.place(by, at_ns));
        match found.filter(|(event, at_ns)| *event < ix && may_cause(seen, *at_ns)) {
            Some((event, at_ns)) => Cause::Earlier { event, at_ns },
            None => unexplained(log, index, ix, first, &source_ready_ns),
        }
    });
    each.collect()
}

/// The event that caused it, and when it did.
fn earlier(seen: &Seen, hop: Option<&Hopped>) -> Option<(EventId, Ns)> {
    let ended = &seen.ended;
    if is_from_client(seen) {
        return None;
    }
    if ended.registered.is_some() {
        return ended.registered;
    }
    if let Some(hop) = hop {
        return Some((hop.from, hop.register_ns));
    }
    ended.written.filter(|_| !ended.on_server)
}

/// What the kernel had told already, nothing later brought about: of two requests that ask on one
/// connection, one may ask while the answer to the other waits for its turn.
fn may_cause(seen: &Seen, at_ns: Ns) -> bool {
    seen.ended.kind != LoopKind::Read || seen.answers != 0 || at_ns <= seen.polled_ns
}

/// A client sends when it likes; that it takes more is an answer to a write.
fn is_from_client(seen: &Seen) -> bool {
    let kind = seen.ended.kind;
    kind == LoopKind::Accept || (seen.ended.on_server && kind == LoopKind::Read)
}

fn unexplained(
    log: &Log,
    index: &Index<'_>,
    ix: EventIx,
    first: EventIx,
    source_ready_ns: &impl Fn(RequestId) -> Option<Ns>,
) -> Cause {
    let seen = &log.events[ix as usize];
    let is_load = seen.ended.kind == LoopKind::Accept || seen.ended.on_server;
    if is_load {
        let request = log
            .pieces
            .get(seen.first_piece as usize)
            .map_or(0, |one| one.request);
        let accepted = seen.accepted_ns.and_then(|at_ns| index.place(0, at_ns));
        return Cause::Outside {
            since_ns: source_ready_ns(request),
            is_load,
            after: accepted.filter(|(event, _)| *event < ix),
        };
    }
    let was_seen = seen.ended.ready_ns.is_some() || seen.polled_ns > seen.free_ns;
    // Of those that it ran in one go none brought the next, which would have run a turn later.
    let before = match is_of_turn(seen.ended.kind) {
        true => first.checked_sub(1),
        false => ix.checked_sub(1),
    };
    match before {
        // The turn of the loop itself brought it.
        Some(event) if is_of_turn(seen.ended.kind) || !was_seen => Cause::Earlier {
            event,
            at_ns: log.events[event as usize].ended.end_ns,
        },
        _ => Cause::Outside {
            since_ns: None,
            is_load,
            after: None,
        },
    }
}

/// The loop runs it in its own part of a turn, and asks nobody whether it is ready.
fn is_of_turn(kind: LoopKind) -> bool {
    matches!(phase_of(kind), Phase::Check | Phase::Close)
}

/// When an event was ready: by its record, or by what its kind and the poll tell.
pub(crate) fn ready_ns(seen: &Seen, cause: &Cause) -> Ns {
    let ended = &seen.ended;
    let told = match (ended.ready_ns, cause) {
        (Some(ready_ns), _) => ready_ns,
        // The loop does not sleep while some are waiting, so it only looked. It does if all of them
        // are `unref`ed, which no record tells.
        (None, Cause::Earlier { at_ns, .. })
            if seen.polled_ns <= seen.free_ns || is_of_turn(ended.kind) =>
        {
            *at_ns
        }
        (None, _) if seen.polled_ns > seen.free_ns => seen.polled_ns,
        (None, _) => ended.begin_ns,
    };
    told.min(ended.begin_ns)
}

/// For each event that a request waited for the best account of since when: an observed one
/// before a deduced one, then the earliest, since who came later waited for another's work.
fn best_hops(log: &Log, index: &Index<'_>) -> Vec<(EventIx, Hopped)> {
    let of = |hop: &Hopped| {
        let mut parts = index.parts(hop.event);
        let event = parts.find(|ix| log.events[*ix as usize].is_for(hop.request))?;
        may_cause(&log.events[event as usize], hop.register_ns).then_some((event, *hop))
    };
    let mut hops: Vec<(EventIx, Hopped)> = log.hops.iter().filter_map(of).collect();
    hops.sort_by_key(|(event, hop)| (*event, hop.inferred, hop.register_ns, hop.from));
    hops.dedup_by_key(|(event, _)| *event);
    hops
}
