//! Tiling: the interval from ready to sink, cut into segments along the path.
//!
//! A cursor moves from the source's ready time to the sink and every step covers what lies between
//! the cursor and its own time. Nothing is added up separately, so a wrong or missing time can
//! make a segment shorter, longer or `unattributed`, but never a gap, an overlap or a wrong sum.

use bobtail_trace::record::{EventId, LoopKind, Ns, ReadyQuality};

use crate::events::{LoopEvent, Row};
use crate::graph::source_quality;
use crate::history::History;
use crate::path::{
    EventKind, Hop, PathEvent, PoolPart, RequestPath, Resource, Segment, SegmentKind,
};
use crate::queue;
use crate::requests::Request;
use crate::resource::resource_of;
use crate::runs::{Run, RunKind};
use crate::work::Work;

/// Fills in what is known without a walk.
pub(crate) fn start(path: &mut RequestPath, history: &History, request: &Request) {
    path.events.clear();
    path.segments.clear();
    path.culprits.clear();
    path.id = request.id;
    path.name = request.name;
    path.route = request.route;
    path.status = request.status;
    path.source_ns = request.source_ns;
    path.source_event = request.source_loop;
    path.source_ready_ns = request.ready_ns;
    path.source_quality = history
        .loop_event(request.source_loop)
        .and_then(source_quality);
    let sink_ns = request.handover.map_or(request.sink_ns, |h| h.at_ns);
    let late = request.late_handover();
    path.sink_ns = sink_ns.max(request.ready_ns);
    path.sink_event = late.map_or(request.sink_event, |h| h.event);
    path.handed_over = request.handed_over;
    path.cut_off = request.cut_off;
    path.latency_ns = path.sink_ns - path.source_ready_ns;
    path.truncated = request.losses != history.losses;
    path.inferred_hops = 0;
    path.paper_sum_ns = 0;
}

/// Cuts the interval of a walked path.
pub(crate) fn tile(path: &mut RequestPath, history: &History, request: &Request, blame: bool) {
    let events = std::mem::take(&mut path.events);
    let mut tiler = Tiler {
        history,
        request,
        blame,
        cursor: path.source_ready_ns,
        end: path.sink_ns,
        owner: (path.source_event, EventKind::Loop(LoopKind::Read)),
        inferred: false,
        stretch: history.stretches.find(path.source_ready_ns),
        steps: &events,
        path,
    };
    for (index, step) in events.iter().enumerate() {
        match step.hop {
            Hop::Source => tiler.source(step),
            _ if index == 0 => tiler.lost_until(step),
            Hop::Inside => tiler.inside(step),
            Hop::Wait { register_ns } => tiler.wait(step, register_ns),
        }
    }
    let end = tiler.end;
    if !events.is_empty() {
        tiler.exec_until(end);
    }
    tiler.cover(SegmentKind::Unattributed, end, |_| {});
    path.events = events;
}

struct Tiler<'a> {
    history: &'a History,
    request: &'a Request,
    blame: bool,
    /// Everything before it is covered.
    cursor: Ns,
    end: Ns,
    /// The event that what follows belongs to.
    owner: (EventId, EventKind),
    inferred: bool,
    /// Where the stretches at the cursor begin.
    stretch: Row,
    steps: &'a [PathEvent],
    path: &'a mut RequestPath,
}

impl Tiler<'_> {
    fn source(&mut self, step: &PathEvent) {
        self.own(step);
        let Some(received) = self.history.loop_event(step.event) else {
            return;
        };
        self.queue_until(received.begin_ns, received.quality == ReadyQuality::Exact);
        self.add_whole_callback(received);
    }

    fn own(&mut self, step: &PathEvent) {
        self.owner = (step.event, step.kind);
        self.inferred = step.inferred;
    }

    /// The walk ended here, without reaching the source.
    fn lost_until(&mut self, step: &PathEvent) {
        let event = self.history.event(step.event);
        let run = event.and_then(|e| self.history.runs.ring.get(e.first_run));
        let begin_ns = run.map_or(self.end, |r| r.start_ns);
        self.own(step);
        self.cover(SegmentKind::Unattributed, begin_ns, |_| {});
        if let Some(l) = self.history.loop_event(step.event).copied() {
            self.add_whole_callback(&l);
        }
    }

    /// A micro event goes on where its predecessor stopped.
    fn inside(&mut self, step: &PathEvent) {
        if let Some(begin_ns) = self.history.begin_ns(step.event) {
            self.exec_until(begin_ns);
            self.own(step);
        }
    }

    /// A loop event was waited for since `register_ns`.
    fn wait(&mut self, step: &PathEvent, register_ns: Ns) {
        let Some(&event) = self.history.loop_event(step.event) else {
            return;
        };
        self.exec_until(register_ns.min(event.begin_ns));
        self.own(step);
        let before = self.cursor;
        let (ready_ns, exact) = self.ready(&event);
        self.io_until(step, &event, ready_ns, exact);
        self.queue_until(event.begin_ns, exact);
        self.path.paper_sum_ns += self.cursor - before;
        self.add_whole_callback(&event);
    }

    /// When the event was ready, and whether that is observed. Without a record of it: what its
    /// kind or the poll tells; what neither tells is left unattributed.
    fn ready(&mut self, event: &LoopEvent) -> (Ns, bool) {
        if let Some(ready_ns) = event.ready_ns {
            return match self.told_before(event, ready_ns) {
                Some(told_ns) if told_ns >= self.cursor => (told_ns, false),
                Some(_) => (ready_ns, false),
                None => (ready_ns, event.quality == ReadyQuality::Exact),
            };
        }
        if matches!(
            event.kind,
            LoopKind::Immediate | LoopKind::Immediates | LoopKind::Close
        ) {
            return (self.cursor, true);
        }
        let run = self.history.event(event.event).map_or(0, |e| e.first_run);
        match last_poll(self.history, run) {
            Some((enter_ns, leave_ns)) if leave_ns > self.cursor && leave_ns > enter_ns => {
                (leave_ns, false)
            }
            _ => {
                self.cover(SegmentKind::Unattributed, event.begin_ns, |s| {
                    s.exact = false
                });
                (event.begin_ns, false)
            }
        }
    }

    /// When the kernel told that there was something to read, where the stamp is that of more,
    /// which came while others of the same answer ran. Of several requests that ask on a connection
    /// the first may have waited for the loop since then; who asked later was answered later.
    fn told_before(&self, event: &LoopEvent, ready_ns: Ns) -> Option<Ns> {
        if event.kind != LoopKind::Read {
            return None;
        }
        let run = self.history.event(event.event)?.first_run;
        let (_, leave_ns) = last_poll(self.history, run)?;
        (leave_ns < ready_ns).then_some(leave_ns)
    }

    fn io_until(&mut self, step: &PathEvent, event: &LoopEvent, ready_ns: Ns, exact: bool) {
        let resource = resource_of(self.history, self.path, event);
        let owner = self.owner;
        if step.agent != 0 {
            let agent = self.history.event(step.agent).map_or(owner.1, |e| e.kind);
            self.owner = (step.agent, agent);
        }
        let fill = |part: Option<PoolPart>| {
            move |s: &mut Segment| {
                (s.resource, s.shared, s.exact, s.part) = (resource, step.shared, exact, part);
            }
        };
        let ready_ns = ready_ns.min(event.begin_ns);
        if event.kind == LoopKind::Pool && event.run_ns > 0 {
            let start_ns = ready_ns.saturating_sub(event.run_ns);
            self.cover(SegmentKind::Io, start_ns, fill(Some(PoolPart::Wait)));
            self.cover(SegmentKind::Io, ready_ns, fill(Some(PoolPart::Run)));
        } else {
            self.cover(SegmentKind::Io, ready_ns, fill(None));
        }
        self.owner = owner;
    }

    fn queue_until(&mut self, begin_ns: Ns, exact: bool) {
        let (from, to) = (self.cursor, begin_ns.min(self.end));
        if to <= from {
            return;
        }
        let first = self.path.culprits.len();
        if self.blame {
            queue::blame(self.history, from, to, first, &mut self.path.culprits);
        }
        let work = self.history.stretches.work(from, to, &mut self.stretch);
        let culprits = first as u32..self.path.culprits.len() as u32;
        self.cover(SegmentKind::Queue, to, |s| {
            (s.exact, s.work, s.culprits) = (exact, work, culprits);
        });
    }

    /// Inside one loop event: own runs are work, those of other requests are queue.
    fn exec_until(&mut self, until: Ns) {
        let (from, to) = (self.cursor, until.min(self.end));
        if to <= from {
            return;
        }
        for (_, run, start, end) in self.history.runs.pieces(from, to, self.history.now) {
            if start > self.cursor {
                self.cover(SegmentKind::Unattributed, start, |_| {});
            }
            self.piece(run, start, end);
        }
        self.cover(SegmentKind::Unattributed, to, |_| {});
    }

    fn piece(&mut self, run: &Run, start: Ns, end: Ns) {
        if run.kind != RunKind::Event {
            return self.cover(SegmentKind::Unattributed, end, |_| {});
        }
        let foreign = queue::is_foreign(run, self.request.id);
        let waits = foreign && (run.event == self.request.source_loop || !self.on_path(run.event));
        let first = self.path.culprits.len();
        if self.blame && waits {
            queue::blame_run(
                self.history,
                run,
                start,
                end,
                first,
                &mut self.path.culprits,
            );
        } else if self.blame {
            let culprits = &mut self.path.culprits;
            queue::blame_interruptions(self.history, run, start, end, first, culprits);
        }
        let work = self.history.stretches.work(start, end, &mut self.stretch);
        let culprits = first as u32..self.path.culprits.len() as u32;
        let kind = if waits {
            SegmentKind::Queue
        } else {
            SegmentKind::Exec
        };
        self.cover(kind, end, |s| {
            (s.shared, s.work, s.culprits) = (foreign && !waits, work, culprits);
        });
    }

    fn on_path(&self, event: EventId) -> bool {
        self.steps
            .binary_search_by_key(&event, |step| step.event)
            .is_ok()
    }

    /// Moves the cursor. A piece that only continues the one before it is joined to it.
    fn cover(&mut self, kind: SegmentKind, until: Ns, fill: impl FnOnce(&mut Segment)) {
        let until = until.min(self.end);
        if until <= self.cursor {
            return;
        }
        let none = self.path.culprits.len() as u32;
        let mut segment = Segment {
            kind,
            start_ns: self.cursor,
            duration_ns: until - self.cursor,
            event: self.owner.0,
            event_kind: self.owner.1,
            resource: Resource::Unnamed,
            shared: false,
            exact: kind != SegmentKind::Unattributed,
            inferred: self.inferred,
            part: None,
            work: Work::default(),
            culprits: none..none,
        };
        fill(&mut segment);
        self.cursor = until;
        match self.path.segments.last_mut() {
            Some(last) if continues(last, &segment) => {
                last.duration_ns += segment.duration_ns;
                last.work += segment.work;
                last.culprits.end = segment.culprits.end;
            }
            _ => self.path.segments.push(segment),
        }
    }

    fn add_whole_callback(&mut self, event: &LoopEvent) {
        if event.event == self.path.source_event {
            self.path.paper_sum_ns += event.begin_ns.saturating_sub(self.path.source_ready_ns);
        }
        self.path.paper_sum_ns += event.end_ns.saturating_sub(event.begin_ns);
    }
}

fn continues(last: &Segment, next: &Segment) -> bool {
    last.kind == next.kind
        && last.event == next.event
        && last.event_kind == next.event_kind
        && last.resource == next.resource
        && last.shared == next.shared
        && last.exact == next.exact
        && last.inferred == next.inferred
        && last.part == next.part
        && last.culprits.end == next.culprits.start
}

/// Enter and leave of the last poll before a run; nothing where records between them were lost.
fn last_poll(history: &History, run: u32) -> Option<(Ns, Ns)> {
    const RUNS_SEARCHED: u32 = 4096;
    (1..RUNS_SEARCHED)
        .map(|back| run.wrapping_sub(back))
        .find_map(|row| {
            let run = history.runs.ring.get(row)?;
            matches!(run.kind, RunKind::Poll | RunKind::Lost).then_some((row, run))
        })
        .filter(|(_, run)| run.kind == RunKind::Poll)
        .map(|(row, poll)| (poll.start_ns, history.runs.end_ns(row, history.now)))
}
