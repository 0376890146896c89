//! Capturing: from the records of one event loop to everything that had it.
//!
//! The graph hands out one finished request at a time and forgets; a replay needs all of them at
//! once, and the callbacks that nobody waited for too. So this is the one place that holds a whole
//! recording in memory, as rows of plain numbers.

use std::collections::HashMap;

use bobtail_graph::{
    Ended, EndedPiece, EventKind, Graph, Hop, Options, RequestPath, SegmentKind, Walks, Window,
};
use bobtail_policy::CollectionKind;
use bobtail_trace::record::{
    EventId, HandleId, LoopKind, LossKind, MarkKind, Ns, Record, RequestId, StringId,
};

use crate::refusal::Refusal;

/// Loop events that are replayed at the most; some 300 bytes of memory each.
pub const EVENTS_MAX: usize = 16_000_000;

/// Captures one event loop, record by record.
#[derive(Debug)]
pub struct Capture {
    graph: Graph,
    log: Log,
    events_max: usize,
    previous_end_ns: Ns,
    /// The end of the last event before records were lost.
    lost_from_ns: Option<Ns>,
    /// When the loop turned to the kernel after the last event.
    turned_ns: Option<Ns>,
    polled_ns: Ns,
    polled_before_ns: Ns,
    turn: u32,
    /// When connections were accepted on which nothing was read yet.
    accepted_ns: HashMap<HandleId, Ns>,
    /// When connections were read last on which no requests come.
    read_ns: HashMap<HandleId, Ns>,
}

/// What one event loop did.
#[derive(Debug, Default)]
pub struct Log {
    pub(crate) events: Vec<Seen>,
    pub(crate) pieces: Vec<EndedPiece>,
    /// In order of time; one inside another is a part of that.
    pub(crate) collections: Vec<Collected>,
    pub(crate) requests: Vec<Answered>,
    pub(crate) hops: Vec<Hopped>,
    pub(crate) awaits: Vec<Awaited>,
    pub(crate) warmup_end_ns: Option<Ns>,
    /// Requests of which no response was seen.
    pub(crate) unfinished: u64,
    /// Requests whose history was lost.
    pub(crate) truncated: u64,
    pub(crate) pauses: u64,
    /// Records that were lost with events, so that what depends on them is not known.
    pub(crate) losses: u64,
    /// Time between events that records were lost of: what came meanwhile may be gone as a whole.
    pub(crate) lost_ns: Ns,
    pub(crate) too_many: bool,
}

/// A garbage collection that had the thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Collected {
    pub begin_ns: Ns,
    pub end_ns: Ns,
    /// As V8 has it.
    pub kind: u32,
}

/// A loop event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub ended: Ended,
    /// When the loop was done with the one before it and what followed (it turned to the kernel,
    /// or began this one), and when it last came back from the kernel.
    pub free_ns: Ns,
    pub polled_ns: Ns,
    /// The same of the time before: what was ready then was told then.
    pub polled_before_ns: Ns,
    /// Polls so far.
    pub turn: u32,
    /// When its connection was accepted, if it is the first on it: before that nobody reads.
    pub accepted_ns: Option<Ns>,
    /// When the loop took what the pool had done, if it is the first of that.
    pub taken_ns: Ns,
    /// A wake-up for something else, at which the loop takes what the pool has done all the same.
    pub takes_jobs: bool,
    /// Collections between ready, or the end of the event before it, and its begin.
    pub lead_gc_ns: u64,
    /// When its connection was read before, which took all that was there, if it is a read of what
    /// was asked for.
    pub read_before_ns: Ns,
    /// Whose answer it is, if it is a part of a read that brought several; 0 if it is whole.
    pub answers: RequestId,
    /// It came with the same read as the event before it.
    pub joins: bool,
    /// Where its pieces begin.
    pub first_piece: u32,
}

/// A request with its response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub id: RequestId,
    pub route: StringId,
    pub source: EventId,
    pub source_ready_ns: Ns,
    pub sink: EventId,
    pub sink_ns: Ns,
    /// It came after warm-up.
    pub counts: bool,
    pub inferred: bool,
    pub client_ns: u64,
}

/// A loop event that a request waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hopped {
    pub request: RequestId,
    pub event: EventId,
    /// The event on the path before it.
    pub from: EventId,
    pub register_ns: Ns,
    pub inferred: bool,
    /// Another request had asked for it.
    pub shared: bool,
}

/// A micro event that ran in a later loop event than the one that registered it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Awaited {
    pub request: RequestId,
    pub registrar: EventId,
    pub loop_event: EventId,
    /// Where a clock was read.
    pub begin_ns: Option<Ns>,
}

impl Capture {
    /// Nothing yet. Requests that come before `warmup_end_ns` are replayed, but not counted.
    pub fn new(warmup_end_ns: Option<Ns>) -> Self {
        let options = Options {
            walks: Walks::All,
            // Nobody is blamed in a replay.
            culprits_from_ns: u64::MAX,
            ..Options::default()
        };
        Self {
            graph: Graph::new(options),
            log: Log {
                warmup_end_ns,
                ..Log::default()
            },
            events_max: EVENTS_MAX,
            previous_end_ns: 0,
            lost_from_ns: None,
            turned_ns: None,
            polled_ns: 0,
            polled_before_ns: 0,
            turn: 0,
            accepted_ns: HashMap::new(),
            read_ns: HashMap::new(),
        }
    }

    /// Takes the next record of the trace.
    pub fn push(&mut self, record: Record) {
        let log = &mut self.log;
        self.graph.push(record, &mut |path: &RequestPath, window| {
            log.answer(path, window);
        });
        self.take_ended();
        self.see(&record);
    }

    /// Ends the trace. Whether what it has is enough is for all of a recording together to say
    /// ([`crate::Coverage`]); but one that was too long to hold is refused.
    pub fn finish(mut self) -> Result<Log, Refusal> {
        let log = &mut self.log;
        self.graph.finish(&mut |path: &RequestPath, window| {
            log.answer(path, window);
        });
        self.take_ended();
        self.log.part_answers();
        self.log.unfinished = self.graph.unfinished();
        match self.log.too_many && !self.log.requests.is_empty() {
            true => Err(Refusal::TooLong),
            false => Ok(self.log),
        }
    }

    fn take_ended(&mut self) {
        let Some(ended) = self.graph.ended() else {
            return;
        };
        if self.log.events.len() == self.events_max {
            self.log.too_many = true;
            return;
        }
        if let Some(from_ns) = self.lost_from_ns.take() {
            self.log.lost_ns += ended.begin_ns.saturating_sub(from_ns);
        }
        let mut taken_ns = ended.begin_ns;
        let mut free_ns = self.turned_ns.take().unwrap_or(ended.begin_ns);
        // That the pool is done is told by a wake-up, which is a part of its work, unless nothing
        // was done by then: all wake-ups of a loop are one to the kernel (`uv__async_io`), of V8's
        // helpers too, and at any of them the loop takes what is done when it gets there.
        if let Some(before) = self.log.events.last()
            && ended.kind == LoopKind::Pool
            && before.ended.kind == LoopKind::Async
            && before.turn == self.turn
            && ended
                .ready_ns
                .is_none_or(|ready_ns| ready_ns <= self.polled_ns)
        {
            free_ns = before.free_ns;
            taken_ns = before.ended.begin_ns;
            self.log.pieces.truncate(before.first_piece as usize);
            self.log.events.pop();
        } else if !self.log.events.is_empty() {
            self.take_tail(free_ns);
        }
        if ended.kind == LoopKind::Pool && taken_ns == ended.begin_ns {
            self.log.take_with_first(self.turn, ended.ready_ns);
        }
        let waiting_ns = ended.ready_ns.unwrap_or(free_ns).max(free_ns);
        let read_before_ns = self.read_before_ns(&ended);
        self.log.events.push(Seen {
            ended,
            free_ns,
            polled_ns: self.polled_ns,
            polled_before_ns: self.polled_before_ns,
            turn: self.turn,
            accepted_ns: self.accepted_ns.remove(&ended.handle),
            taken_ns,
            takes_jobs: false,
            lead_gc_ns: self.graph.work(waiting_ns, ended.begin_ns).gc_ns,
            read_before_ns,
            answers: 0,
            joins: false,
            first_piece: self.log.pieces.len() as u32,
        });
        self.log.pieces.extend(self.graph.pieces(&ended));
        self.previous_end_ns = ended.end_ns;
    }

    fn read_before_ns(&mut self, ended: &Ended) -> Ns {
        if !is_answer(ended) {
            return 0;
        }
        let before = self.read_ns.insert(ended.handle, ended.begin_ns);
        before.unwrap_or(0)
    }

    /// What the loop did after the last event, cut where collections begin and end.
    fn take_tail(&mut self, free_ns: Ns) {
        let mut at_ns = self.previous_end_ns;
        let first = self.log.collections_from(at_ns);
        let within = self.log.collections[first..].iter();
        let bounds = within.flat_map(|one| [one.begin_ns, one.end_ns]);
        for end_ns in bounds.chain([free_ns]) {
            let end_ns = end_ns.min(free_ns);
            if end_ns > at_ns || end_ns == free_ns && at_ns == self.previous_end_ns {
                self.log.pieces.push(EndedPiece {
                    end_ns,
                    request: 0,
                    work: self.graph.work(at_ns, end_ns),
                });
                at_ns = end_ns;
            }
        }
    }

    fn see(&mut self, record: &Record) {
        match *record {
            Record::Poll {
                enter_ns, leave_ns, ..
            } => {
                self.turned_ns.get_or_insert(enter_ns);
                self.polled_before_ns = self.polled_ns;
                self.polled_ns = leave_ns;
                self.turn += 1;
            }
            Record::Gc {
                kind,
                begin_ns,
                end_ns,
                ..
            } => self.log.collect(Collected {
                begin_ns,
                end_ns,
                kind,
            }),
            Record::HandleOpen { handle, at_ns, .. } => {
                self.accepted_ns.insert(handle, at_ns);
            }
            Record::HandleClose { handle, .. } => {
                self.accepted_ns.remove(&handle);
                self.read_ns.remove(&handle);
            }
            Record::Mark { kind, at_ns, .. } => match kind {
                MarkKind::WarmupEnd => self.log.end_warmup(at_ns),
                MarkKind::Paused => self.log.pauses += 1,
                MarkKind::Listening | MarkKind::Resumed => {}
            },
            Record::Loss {
                kind,
                count,
                events,
            } => {
                let is_break = matches!(
                    kind,
                    LossKind::NoChunk
                        | LossKind::DiskFull
                        | LossKind::Overwritten
                        | LossKind::Damaged
                );
                if is_break || events > 0 {
                    self.log.losses += count.max(1);
                    if is_break && !self.log.events.is_empty() {
                        self.lost_from_ns.get_or_insert(self.previous_end_ns);
                    }
                    // What it did there is not known, so it was free.
                    self.turned_ns.get_or_insert(self.previous_end_ns);
                }
            }
            _ => {}
        }
    }
}

impl Log {
    /// A job that the loop took with the first of this answer, if that was one, or at a wake-up for
    /// something else: it took them when all of them were done, maybe later than it began to.
    fn take_with_first(&mut self, turn: u32, ready_ns: Option<Ns>) {
        let of_turn = self.events.iter_mut().rev();
        let mut of_turn = of_turn.take_while(|one| one.turn == turn);
        let first = of_turn.find(|one| !is_job(one) || one.taken_ns < one.ended.begin_ns);
        let Some(first) = first else { return };
        let done_ns = ready_ns.unwrap_or(0);
        match first.ended.kind {
            LoopKind::Pool => {
                first.taken_ns = first.taken_ns.max(done_ns.min(first.ended.begin_ns));
            }
            LoopKind::Async => {
                first.takes_jobs = true;
                first.taken_ns = first.taken_ns.max(done_ns.min(first.ended.end_ns));
            }
            _ => {}
        }
    }

    /// A collection; those inside it were told before.
    fn collect(&mut self, one: Collected) {
        while let Some(last) = self.collections.last() {
            if last.begin_ns < one.begin_ns {
                break;
            }
            self.collections.pop();
        }
        self.collections.push(one);
    }

    /// The first collection that ends after this.
    pub(crate) fn collections_from(&self, at_ns: Ns) -> usize {
        self.collections.partition_point(|one| one.end_ns <= at_ns)
    }

    /// The first collection of which there is a part in this time.
    pub(crate) fn collection_in(&self, from_ns: Ns, to_ns: Ns) -> Option<Collected> {
        let one = self.collections.get(self.collections_from(from_ns))?;
        (one.begin_ns < to_ns).then_some(*one)
    }

    /// Its kind.
    pub(crate) fn kind_of(&self, from_ns: Ns, to_ns: Ns) -> Option<CollectionKind> {
        let one = self.collection_in(from_ns, to_ns)?;
        Some(CollectionKind::from_v8(one.kind))
    }

    /// Everything so far turns out to be warm-up.
    fn end_warmup(&mut self, at_ns: Ns) {
        self.warmup_end_ns = self.warmup_end_ns.max(Some(at_ns));
        self.requests.iter_mut().for_each(|one| one.counts = false);
    }

    fn answer(&mut self, path: &RequestPath, window: Window<'_>) {
        let warmup = self.warmup_end_ns.is_some_and(|end| path.source_ns < end);
        self.truncated += u64::from(path.truncated);
        let client = path.segments.iter().filter(|segment| {
            segment.kind == SegmentKind::Io && segment.resource == bobtail_graph::Resource::Client
        });
        self.requests.push(Answered {
            id: path.id,
            route: path.route,
            source: path.source_event,
            source_ready_ns: path.source_ready_ns,
            sink: path.sink_event,
            sink_ns: path.sink_ns,
            counts: !warmup,
            inferred: path.inferred_hops > 0,
            client_ns: client.map(|segment| segment.duration_ns).sum(),
        });
        for pair in path.events.windows(2) {
            let [before, step] = pair else { continue };
            match (step.hop, step.kind) {
                (Hop::Wait { register_ns }, _) => self.hops.push(Hopped {
                    request: path.id,
                    event: step.event,
                    from: before.event,
                    register_ns,
                    inferred: step.inferred,
                    shared: step.shared,
                }),
                (Hop::Inside, EventKind::Micro(_)) => self.awaited(path, window, step.event),
                _ => {}
            }
        }
    }

    fn awaited(&mut self, path: &RequestPath, window: Window<'_>, micro: EventId) {
        let Some(facts) = window.event(path, micro) else {
            return;
        };
        if facts.registrar == 0 || facts.registrar >= facts.loop_event {
            return;
        }
        let known = self.awaits.last();
        let again = |one: &Awaited| one.loop_event == facts.loop_event && one.request == path.id;
        if !known.is_some_and(again) {
            self.awaits.push(Awaited {
                request: path.id,
                registrar: facts.registrar,
                loop_event: facts.loop_event,
                begin_ns: facts.begin_ns,
            });
        }
    }
}

impl Seen {
    /// It brought this request what it waited for, as far as it is known whom it brought that.
    pub(crate) fn is_for(&self, request: RequestId) -> bool {
        self.answers == 0 || self.answers == request
    }
}

/// A read of what this process asked for, from somebody who is no client.
pub(crate) fn is_answer(ended: &Ended) -> bool {
    ended.kind == LoopKind::Read && !ended.on_server
}

/// It tells that a job of the pool is done.
pub(crate) fn is_job(seen: &Seen) -> bool {
    seen.ended.kind == LoopKind::Pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_events_than_are_replayed_are_refused() {
        let drawn = bobtail_testkit::draw(
            r#"
            open 1 server
            0ms begin #1 read handle=1 ready=0ms
                source 1 "/a"
            1ms sink 1 200
                end
            2ms begin #2 other
                end
            "#,
        );
        let refused = |events_max: usize| {
            let mut capture = Capture {
                events_max,
                ..Capture::new(None)
            };
            drawn.records.iter().for_each(|one| capture.push(*one));
            capture.finish().err()
        };
        assert_eq!(refused(2), None);
        assert_eq!(refused(1), Some(Refusal::TooLong));
    }
}
