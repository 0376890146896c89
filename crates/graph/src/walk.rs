//! The walk: from the sink back to the source, always to the event that was waited for last.
//!
//! A registrar alone would skip the I/O of `Promise.all`; the enabling loop event alone would
//! follow a shared socket into other requests. So a micro event goes back to the later of both,
//! and a registrar that lies before the loop event becomes a *floor*: nothing before it was waited
//! for, so it replaces every predecessor that would lie before it. Floors nest, because another
//! request's work on the path may have waited in its turn.

use bobtail_trace::record::{EventId, LoopKind, MicroKind, Ns};

use crate::events::{Event, LoopEvent};
use crate::history::History;
use crate::path::{EventKind, Hop, PathEvent, RequestPath};
use crate::requests::Request;
use crate::writers::{Last, Since, foreign_writer, is_server, last_write_of, since, sole_writer};

/// A registration that a later event of the path waited since.
#[derive(Debug, Clone, Copy)]
struct Floor {
    event: EventId,
    inferred: bool,
    /// The micro event that waited, when it waited for a socket of an agent.
    agent: EventId,
    /// When the response ended that waited to be handed over.
    ended_ns: Option<Ns>,
}

/// Working memory of walks.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    floors: Vec<Floor>,
    /// Where the search for the latest own event goes on.
    last_own: EventId,
}

/// Where a hop leads.
#[derive(Debug, Clone, Copy)]
struct Back {
    event: EventId,
    hop: Hop,
    shared: bool,
    inferred: bool,
    agent: EventId,
}

impl Walk {
    /// Fills `events`, `inferred_hops` and `truncated` of the path.
    pub(crate) fn run(&mut self, history: &History, request: &Request, path: &mut RequestPath) {
        self.floors.clear();
        self.last_own = request.last_own;
        let mut at = path.sink_event;
        if request.late_handover().is_some() {
            self.floors.push(Floor {
                event: request.sink_event,
                inferred: false,
                agent: 0,
                ended_ns: Some(request.sink_ns),
            });
        }
        loop {
            let Some(event) = history.event(at).filter(|_| at >= request.source_loop) else {
                path.truncated = true;
                break;
            };
            if at == request.source_loop {
                path.events.push(PathEvent {
                    event: at,
                    kind: event.kind,
                    hop: Hop::Source,
                    shared: false,
                    inferred: false,
                    agent: 0,
                });
                break;
            }
            // Only in a damaged trace does an event not come after what caused it.
            let back = self
                .back(history, request, at, event)
                .filter(|back| back.event < at);
            let Some(back) = back else {
                path.truncated = true;
                break;
            };
            path.inferred_hops += u32::from(back.inferred);
            path.events.push(PathEvent {
                event: at,
                kind: event.kind,
                hop: back.hop,
                shared: back.shared,
                inferred: back.inferred,
                agent: back.agent,
            });
            at = back.event;
        }
        path.events.reverse();
    }

    fn back(
        &mut self,
        history: &History,
        request: &Request,
        at: EventId,
        event: &Event,
    ) -> Option<Back> {
        let within = history.loop_of(event)?;
        match event.kind {
            EventKind::Micro(kind) => Some(self.before_micro(history, request, at, event, kind)),
            EventKind::Loop(_) if event.registrar != 0 => {
                Some(self.before_operation(history, request, event.registrar, within))
            }
            EventKind::Loop(_) if within.handle != 0 && within.kind != LoopKind::Accept => {
                Some(self.before_read(history, request, within))
            }
            EventKind::Loop(_) => Some(self.since_floor_or_latest(history, request, within)),
        }
    }

    /// A predecessor that is not before the innermost floor, or that floor.
    fn settle(&mut self, candidate: EventId) -> (EventId, Option<Floor>) {
        match self.floors.last() {
            Some(&floor) if candidate <= floor.event => {
                self.floors.pop();
                (floor.event, Some(floor))
            }
            _ => (candidate, None),
        }
    }

    /// What was waited for since then, if that is later than what is known already.
    fn raise_floor(&mut self, floor: Floor) {
        match self.floors.last_mut() {
            Some(last) if last.event > floor.event => {}
            Some(last) if last.event == floor.event => last.agent = last.agent.max(floor.agent),
            _ => self.floors.push(floor),
        }
    }

    /// R1: the later of the registrar and the loop event.
    fn before_micro(
        &mut self,
        history: &History,
        request: &Request,
        at: EventId,
        event: &Event,
        kind: MicroKind,
    ) -> Back {
        let within = history
            .loop_of(event)
            .map_or(request.source_loop, |l| l.event);
        let inferred = event.registrar == 0;
        let registrar = if inferred {
            self.latest_own(history, request, at)
        } else {
            event.registrar
        };
        let mut candidate = registrar;
        if registrar < within {
            candidate = within;
            if registrar >= request.source_loop && within != request.source_loop {
                let agent = if kind == MicroKind::Agent { at } else { 0 };
                self.raise_floor(Floor {
                    event: registrar,
                    inferred,
                    agent,
                    ended_ns: None,
                });
            }
        }
        let (event, floor) = self.settle(candidate.max(request.source_loop));
        let inferred = (inferred && registrar >= within) || floor.is_some_and(|f| f.inferred);
        Back {
            event,
            hop: Hop::Inside,
            shared: false,
            inferred,
            agent: 0,
        }
    }

    /// R2: the registrar of a one-shot operation is exact, even if it is another request's.
    fn before_operation(
        &mut self,
        history: &History,
        request: &Request,
        registrar: EventId,
        within: &LoopEvent,
    ) -> Back {
        if registrar < request.source_loop {
            let mut back = self.since_floor_or_latest(history, request, within);
            back.shared = true;
            return back;
        }
        let (event, floor) = self.settle(registrar);
        let armed_again = history
            .loop_event(registrar)
            .is_some_and(|l| l.op == within.op);
        let since = if event != registrar {
            since(history, event, within)
        } else if armed_again {
            Since::sure(history.end_ns(registrar).unwrap_or(within.register_ns))
        } else {
            Since::sure(within.register_ns)
        };
        let shared = within.registrar_request != request.id;
        wait(event, since, shared, false, floor)
    }

    /// The connection takes bytes again: what waited are those that the last write left.
    fn before_drain(&mut self, history: &History, request: &Request, within: &LoopEvent) -> Back {
        let left = history.handles.back_from(within.last_write).next();
        let Some(&left) = left.filter(|w| w.event >= request.source_loop) else {
            return self.since_floor_or_latest(history, request, within);
        };
        let shared = left.request != 0 && left.request != request.id;
        let (event, floor) = self.settle(left.event);
        let since = match floor {
            Some(Floor { ended_ns: None, .. }) if event != left.event => {
                since(history, event, within)
            }
            _ => Since::sure(left.at_ns),
        };
        let ended_ns = floor.and_then(|f| f.ended_ns).unwrap_or(0);
        let floor = floor.map(|f| Floor {
            ended_ns: None,
            ..f
        });
        let since = Since {
            at_ns: since.at_ns.max(ended_ns),
            ..since
        };
        wait(event, since, shared, false, floor)
    }

    /// R3: reads. Nobody registers them; who wrote says who waits.
    fn before_read(&mut self, history: &History, request: &Request, within: &LoopEvent) -> Back {
        if within.handle == request.handle && within.kind == LoopKind::Poll {
            return self.before_drain(history, request, within);
        }
        if within.handle == request.handle {
            let candidate = within.previous_on_handle;
            if candidate < request.source_loop {
                return self.since_floor_or_latest(history, request, within);
            }
            let (event, floor) = self.settle(candidate);
            let since = since(history, event, within);
            return wait(event, since, false, false, floor);
        }
        if is_server(history, within) {
            let mut back = self.since_floor_or_latest(history, request, within);
            back.shared = true;
            return back;
        }
        if let Some(&floor) = self.floors.last() {
            return self.before_awaited_read(history, request, within, floor.event);
        }
        match sole_writer(history, within, request.id) {
            Some(event) if event >= request.source_loop => {
                let since = since(history, event, within);
                wait(event, since, false, false, None)
            }
            _ => self.since_floor_or_latest(history, request, within),
        }
    }

    /// R3 with a floor: who waited since it asked on this socket, or someone else did and the
    /// answer ended the wait (a batch, a lock, a background loop). Then the other's question is
    /// followed and the floor stays, until what the other did reaches back to it.
    fn before_awaited_read(
        &mut self,
        history: &History,
        request: &Request,
        within: &LoopEvent,
        floor: EventId,
    ) -> Back {
        let waiting = history.request_of(floor);
        let own = last_write_of(history, within, waiting, floor);
        let foreign = match own {
            Last::Write(_) => None,
            _ => foreign_writer(history, within, waiting, floor, request.source_loop),
        };
        let (candidate, shared, inferred) = match (own.event(), foreign) {
            (None, Some(asked)) => (asked.event, asked.request != request.id, !asked.sure),
            (own, _) => {
                let last = last_write_of(history, within, request.id, request.source_loop);
                let shared = waiting != request.id || last.event().is_none();
                (own.unwrap_or(0), shared, false)
            }
        };
        let (event, floor) = self.settle(candidate);
        let since = since(history, event, within);
        wait(event, since, shared, inferred, floor)
    }

    /// R4, R5: what was waited for since the floor; without one, the latest own event is assumed.
    fn since_floor_or_latest(
        &mut self,
        history: &History,
        request: &Request,
        within: &LoopEvent,
    ) -> Back {
        if let Some(floor) = self.floors.pop() {
            let since = since(history, floor.event, within);
            let by = history.request_of(within.event);
            let shared = floor.ended_ns.is_some() && by != 0 && by != request.id;
            return wait(floor.event, since, shared, false, Some(floor));
        }
        let event = self.latest_own(history, request, within.event);
        let since = since(history, event, within);
        wait(event, since, false, true, None)
    }

    /// The latest event of the request before `event`; its source where there is none. Only asked
    /// for ever earlier events, so the search never starts again.
    fn latest_own(&mut self, history: &History, request: &Request, event: EventId) -> EventId {
        self.last_own = history.latest_own_before(self.last_own, event);
        self.last_own.max(request.source_loop)
    }
}

fn wait(event: EventId, since: Since, shared: bool, inferred: bool, floor: Option<Floor>) -> Back {
    let ended_ns = floor.and_then(|f| f.ended_ns);
    let sure = ended_ns.is_some() || since.sure;
    let inferred = inferred || !sure || floor.is_some_and(|f| f.inferred);
    let agent = floor.map_or(0, |f| f.agent);
    let register_ns = ended_ns.unwrap_or(since.at_ns);
    Back {
        event,
        hop: Hop::Wait { register_ns },
        shared,
        inferred,
        agent,
    }
}
