//! One loop event as a slice, with a slice in it for each stretch that a micro event had.
//!
//! Micro events without a time of their own are part of the run before them, as in the graph; a
//! slice for each would need a time that nobody measured.

use std::io::{self, Write};

use bobtail_breakdown::Strings;
use bobtail_graph::{EventFacts, Graph};
use bobtail_trace::record::{EventId, LoopKind, Ns};

use super::packets::{Sequence, Slice, Value};
use super::requests::Arrows;
use crate::source::Source;

/// Runs of one loop event that are drawn, so that memory does not grow with its length.
const RUNS_DRAWN: usize = 10_000;

/// A stretch in which one event executed.
#[derive(Debug)]
pub(super) struct Run {
    pub event: EventId,
    pub begin_ns: Ns,
    /// Arrows through it, and whether they end here.
    pub flows: Vec<(u64, bool)>,
}

impl Run {
    pub fn new(event: EventId, begin_ns: Ns, arrows: &Arrows) -> Self {
        Self {
            event,
            begin_ns,
            flows: arrows.of(event).collect(),
        }
    }
}

/// A loop event that is open.
#[derive(Debug)]
pub(super) struct LoopEvent {
    pub kind: LoopKind,
    /// Of a pool job on its thread.
    pub run_ns: u64,
    /// The first is the loop event itself.
    runs: Vec<Run>,
    micro_events: u64,
}

impl LoopEvent {
    pub fn new(kind: LoopKind, run_ns: u64, first: Run) -> Self {
        Self {
            kind,
            run_ns,
            runs: vec![first],
            micro_events: 0,
        }
    }

    pub fn first(&self) -> &Run {
        &self.runs[0]
    }

    /// A micro event begins in it.
    pub fn micro(&mut self, event: EventId, begin_ns: Option<Ns>, arrows: &Arrows) {
        self.micro_events += 1;
        match begin_ns {
            Some(at_ns) if self.runs.len() < RUNS_DRAWN => {
                self.runs.push(Run::new(event, at_ns, arrows));
            }
            _ => {
                if let Some(last) = self.runs.last_mut() {
                    last.flows.extend(arrows.of(event));
                }
            }
        }
    }

    /// An event goes on; its arrows are at its first run.
    pub fn resume(&mut self, event: EventId, at_ns: Option<Ns>) {
        if let Some(begin_ns) = at_ns
            && self.runs.len() < RUNS_DRAWN
        {
            self.runs.push(Run {
                event,
                begin_ns,
                flows: Vec::new(),
            });
        }
    }

    /// Draws it, with its runs inside its times.
    pub fn draw<W: Write, S: Strings + ?Sized>(
        &self,
        sequence: &mut Sequence<W>,
        track: u64,
        (begin_ns, end_ns): (Ns, Ns),
        source: &Source<'_, S>,
        graph: &Graph,
    ) -> io::Result<()> {
        let facts = graph.event(self.first().event);
        let name = name_of(source, self.kind.word(), facts.as_ref());
        let mut whole = slice("loop", &name, self.first());
        whole.args = args_of(source, self.first().event, facts.as_ref());
        whole
            .args
            .push(("microEvents", Value::Number(self.micro_events)));
        sequence.begin(track, begin_ns, &whole)?;
        let inner = &self.runs[1..];
        let ends = inner.iter().skip(1).map(|run| run.begin_ns).chain([end_ns]);
        let mut drawn_ns = begin_ns;
        for (run, run_end_ns) in inner.iter().zip(ends) {
            // What comes back to the loop event itself needs no slice inside it.
            if run.event == self.first().event {
                continue;
            }
            let facts = graph.event(run.event);
            let word = facts.as_ref().map_or("run", |facts| facts.kind.word());
            let name = name_of(source, word, facts.as_ref());
            let from_ns = run.begin_ns.clamp(drawn_ns, end_ns);
            drawn_ns = run_end_ns.clamp(from_ns, end_ns);
            let inner = Slice {
                args: args_of(source, run.event, facts.as_ref()),
                ..slice("run", &name, run)
            };
            sequence.begin(track, from_ns, &inner)?;
            sequence.end(track, drawn_ns)?;
        }
        sequence.end(track, end_ns)
    }
}

/// Without arguments; of several events of a path in one run, the last decides.
fn slice<'n>(category: &'static str, name: &'n str, run: &Run) -> Slice<'n> {
    let of = |ends: bool| run.flows.iter().filter(move |(_, last)| *last == ends);
    let mut flows: Vec<u64> = of(false).map(|(flow, _)| *flow).collect();
    let last_of_flows: Vec<u64> = of(true).map(|(flow, _)| *flow).collect();
    flows.sort_unstable();
    flows.dedup();
    flows.retain(|flow| !last_of_flows.contains(flow));
    Slice {
        category,
        name,
        args: Vec::new(),
        flows,
        last_of_flows,
    }
}

/// `read GET /x`: what it was, and for which request.
fn name_of<S: Strings + ?Sized>(
    source: &Source<'_, S>,
    word: &str,
    facts: Option<&EventFacts>,
) -> String {
    let route = facts.and_then(|facts| source.text(facts.route));
    route.map_or_else(|| word.to_owned(), |route| format!("{word} {route}"))
}

/// What is known about an event.
pub(super) fn args_of<S: Strings + ?Sized>(
    source: &Source<'_, S>,
    event: EventId,
    facts: Option<&EventFacts>,
) -> Vec<(&'static str, Value)> {
    let mut args = vec![("event", Value::Number(event.into()))];
    let Some(facts) = facts else {
        return args;
    };
    if facts.request != 0 {
        let name = source.trace.request_name(facts.request);
        args.push(("request", Value::Text(name)));
    }
    if facts.registrar != 0 {
        args.push(("registrar", Value::Number(facts.registrar.into())));
    }
    if let (Some(ready_ns), Some(begin_ns)) = (facts.ready_ns, facts.begin_ns) {
        let queued_ns = begin_ns.saturating_sub(ready_ns);
        args.push(("queuedNs", Value::Number(queued_ns)));
    }
    if let Some(quality) = facts.ready_quality {
        args.push(("readyQuality", Value::Text(quality.word().to_owned())));
    }
    let texts = [
        (
            "resource",
            source.resource(facts.resource).map(str::to_owned),
        ),
        (
            "location",
            source.location(facts.location).map(|at| at.to_string()),
        ),
    ];
    let told = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, Value::Text(text?))));
    args.extend(told);
    args
}
