//! What the loop thread did, as slices: loop events with their runs, polls, pauses, pool jobs.
//!
//! A loop event is drawn when it ends, because only then is known which request it worked for; and
//! before the graph is told so, because it forgets what no request needs any more.

use std::io::{self, Write};

use bobtail_breakdown::Strings;
use bobtail_graph::{CulpritKind, EventFacts, Graph, Options, Walks};
use bobtail_trace::record::{LoopKind, Ns, Record};

use super::loop_event::{LoopEvent, Run, args_of};
use super::packets::{Sequence, Slice, Value, of_category};
use super::queue_length::QueueLength;
use super::requests::Arrows;
use super::tracks::{Kind, Lanes, Loop};
use super::windows::Windows;
use crate::source::Source;

/// Draws one event loop.
pub(super) struct Timeline<'a, S: ?Sized> {
    source: &'a Source<'a, S>,
    windows: &'a Windows,
    arrows: &'a Arrows,
    /// Knows which request an event works for.
    graph: Graph,
    open: Option<LoopEvent>,
    queue: QueueLength,
    of: Loop,
    pauses: Lanes,
    compilation: Lanes,
    not_running: Lanes,
    pool: Lanes,
    /// Up to here the track of the loop is drawn.
    drawn_ns: Ns,
    now_ns: Ns,
}

impl<'a, S: Strings + ?Sized> Timeline<'a, S> {
    pub fn new(source: &'a Source<'a, S>, windows: &'a Windows, arrows: &'a Arrows) -> Self {
        let of = Loop::of(source.trace);
        let options = Options {
            walks: Walks::Only(Default::default()),
            ..Options::default()
        };
        Self {
            source,
            windows,
            arrows,
            graph: Graph::new(options),
            open: None,
            queue: QueueLength::default(),
            of,
            pauses: Lanes::new(of, Kind::Pauses),
            compilation: Lanes::new(of, Kind::Compilation),
            not_running: Lanes::new(of, Kind::NotRunning),
            pool: Lanes::new(of, Kind::Pool),
            drawn_ns: 0,
            now_ns: 0,
        }
    }

    pub fn see<W: Write>(&mut self, sequence: &mut Sequence<W>, record: Record) -> io::Result<()> {
        match record {
            Record::LoopBegin {
                begin_ns: at_ns, ..
            }
            | Record::LoopEnd { end_ns: at_ns }
            | Record::Poll {
                enter_ns: at_ns, ..
            } => self.end_loop_event(sequence, at_ns)?,
            _ => {}
        }
        self.graph.push(record, &mut |_, _| {});
        match record {
            Record::LoopBegin { .. } => self.begin_loop_event(&record),
            Record::Micro {
                event, begin_ns, ..
            } => {
                self.now_ns = self.now_ns.max(begin_ns.unwrap_or(0));
                if let Some(open) = &mut self.open {
                    open.micro(event, begin_ns, self.arrows);
                }
            }
            Record::Resume { event, at_ns } => {
                self.now_ns = self.now_ns.max(at_ns.unwrap_or(0));
                if let Some(open) = &mut self.open {
                    open.resume(event, at_ns);
                }
            }
            Record::Poll {
                enter_ns,
                leave_ns,
                ready_count,
            } => {
                self.poll(sequence, enter_ns, leave_ns, ready_count)?;
            }
            Record::Gc {
                kind,
                cause,
                begin_ns,
                end_ns,
                ..
            } => {
                let slice = of_category("gc", CulpritKind::Gc(kind, cause).word());
                draw_on(
                    &mut self.pauses,
                    sequence,
                    self.windows,
                    (begin_ns, end_ns),
                    &slice,
                )?;
            }
            Record::Work {
                end_ns,
                span_ns,
                jit_ns,
                ic_ns,
            } => {
                let slice = work(jit_ns, ic_ns);
                let times = (end_ns.saturating_sub(span_ns), end_ns);
                draw_on(&mut self.compilation, sequence, self.windows, times, &slice)?;
            }
            Record::NotRunning {
                end_ns,
                duration_ns,
                cause,
                ..
            } => {
                let slice = of_category("cpu", cause.word());
                let times = (end_ns.saturating_sub(duration_ns), end_ns);
                draw_on(&mut self.not_running, sequence, self.windows, times, &slice)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the trace.
    pub fn finish<W: Write>(&mut self, sequence: &mut Sequence<W>) -> io::Result<()> {
        self.end_loop_event(sequence, self.now_ns)?;
        let changes = self.queue.told(Ns::MAX);
        self.queue_length(sequence, &changes)
    }

    fn begin_loop_event(&mut self, record: &Record) {
        let Record::LoopBegin {
            event,
            kind,
            begin_ns,
            ready,
            run_ns,
            ..
        } = *record
        else {
            return;
        };
        self.now_ns = self.now_ns.max(begin_ns);
        if let Some(ready) = ready {
            self.queue.waited(ready.at_ns, begin_ns);
        }
        let run = Run::new(event, begin_ns, self.arrows);
        self.open = Some(LoopEvent::new(kind, run_ns, run));
    }

    fn end_loop_event<W: Write>(
        &mut self,
        sequence: &mut Sequence<W>,
        end_ns: Ns,
    ) -> io::Result<()> {
        self.now_ns = self.now_ns.max(end_ns);
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let begin_ns = open.first().begin_ns.max(self.drawn_ns);
        let end_ns = end_ns.max(begin_ns);
        if open.kind == LoopKind::Pool
            && let Some(facts) = self.graph.event(open.first().event)
        {
            self.pool_job(sequence, &open, &facts)?;
        }
        if self.windows.show(begin_ns, end_ns) {
            let track = self.of.uuid(Kind::Loop, 0);
            open.draw(
                sequence,
                track,
                (begin_ns, end_ns),
                self.source,
                &self.graph,
            )?;
            self.drawn_ns = end_ns;
        }
        Ok(())
    }

    fn pool_job<W: Write>(
        &mut self,
        sequence: &mut Sequence<W>,
        open: &LoopEvent,
        facts: &EventFacts,
    ) -> io::Result<()> {
        let Some(ready_ns) = facts.ready_ns else {
            return Ok(());
        };
        let run_ns = ready_ns.saturating_sub(open.run_ns);
        let begin_ns = facts.register_ns.map_or(run_ns, |at_ns| at_ns.min(run_ns));
        if !self.windows.show(begin_ns, ready_ns) {
            return Ok(());
        }
        let name = self.source.resource(facts.resource).unwrap_or("job");
        let track = self.pool.place(sequence, begin_ns, ready_ns)?;
        if begin_ns < run_ns {
            let waits = format!("waits: {name}");
            sequence.begin(track, begin_ns, &of_category("pool", &waits))?;
            sequence.end(track, run_ns)?;
        }
        let flows = open.first().flows.iter().map(|(flow, _)| *flow);
        let slice = Slice {
            args: args_of(self.source, open.first().event, Some(facts)),
            flows: flows.collect(),
            ..of_category("pool", name)
        };
        sequence.begin(track, run_ns, &slice)?;
        sequence.end(track, ready_ns)
    }

    fn poll<W: Write>(
        &mut self,
        sequence: &mut Sequence<W>,
        enter_ns: Ns,
        leave_ns: Ns,
        ready_count: u32,
    ) -> io::Result<()> {
        let begin_ns = enter_ns.max(self.drawn_ns);
        let end_ns = leave_ns.max(begin_ns);
        self.now_ns = self.now_ns.max(end_ns);
        if self.windows.show(begin_ns, end_ns) {
            let track = self.of.uuid(Kind::Loop, 0);
            let mut slice = of_category("loop", "poll");
            slice
                .args
                .push(("readyCount", Value::Number(ready_count.into())));
            sequence.begin(track, begin_ns, &slice)?;
            sequence.end(track, end_ns)?;
            self.drawn_ns = end_ns;
        }
        let changes = self.queue.polled(end_ns);
        self.queue_length(sequence, &changes)
    }

    fn queue_length<W: Write>(
        &self,
        sequence: &mut Sequence<W>,
        changes: &[(Ns, i64)],
    ) -> io::Result<()> {
        let track = self.of.uuid(Kind::QueueLength, 0);
        for &(at_ns, length) in changes {
            if self.windows.show(at_ns, at_ns) {
                sequence.counter(track, at_ns, length)?;
            }
        }
        Ok(())
    }
}

/// The sums of a stretch of work; where in it they were is not recorded.
fn work(jit_ns: u64, ic_ns: u64) -> Slice<'static> {
    let name = match (jit_ns, ic_ns) {
        (_, 0) => "jit",
        (0, _) => "ic",
        _ => "jit, ic",
    };
    Slice {
        args: vec![
            ("jitNs", Value::Number(jit_ns)),
            ("icNs", Value::Number(ic_ns)),
        ],
        ..of_category("work", name)
    }
}

fn draw_on<W: Write>(
    lanes: &mut Lanes,
    sequence: &mut Sequence<W>,
    windows: &Windows,
    (begin_ns, end_ns): (Ns, Ns),
    slice: &Slice<'_>,
) -> io::Result<()> {
    if end_ns < begin_ns || !windows.show(begin_ns, end_ns) {
        return Ok(());
    }
    let track = lanes.place(sequence, begin_ns, end_ns)?;
    sequence.begin(track, begin_ns, slice)?;
    sequence.end(track, end_ns)
}
