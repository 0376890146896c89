//! Requests as slices, the segments of chosen ones inside them, and the arrows along their paths.
//!
//! An arrow needs an identifier on the slice of each event that it goes through, but these are
//! drawn in another pass; so this one remembers which event has which.

use std::io::{self, Write};

use bobtail_breakdown::{Strings, culprit_word};
use bobtail_graph::{Culprit, RequestPath, Segment};
use bobtail_trace::record::EventId;

use super::packets::{Sequence, Slice, Value};
use super::tracks::{Kind, Lanes, Loop};
use super::windows::Windows;
use crate::ids::number;
use crate::segment::{name_of, work_of};
use crate::source::Source;

/// Arrows that are remembered; the requests after that have none.
const ARROWS: usize = 1 << 20;
/// Names of the arguments that hold the greatest culprits.
const BEHIND: [&str; 5] = ["behind 1", "behind 2", "behind 3", "behind 4", "behind 5"];

/// Where the arrows of chosen requests go through.
#[derive(Debug, Default)]
pub(super) struct Arrows {
    through: Vec<(EventId, u64, bool)>,
}

impl Arrows {
    fn add(&mut self, path: &RequestPath, flow: u64) {
        if self.through.len() + path.events.len() > ARROWS {
            return;
        }
        let last = path.events.len().saturating_sub(1);
        let steps = path.events.iter().enumerate();
        self.through
            .extend(steps.map(|(index, step)| (step.event, flow, index == last)));
    }

    /// To be called once, when all are added.
    pub fn sort(&mut self) {
        self.through.sort_unstable();
        self.through
            .dedup_by_key(|(event, flow, _)| (*event, *flow));
    }

    /// The arrows of an event: identifier, and whether it ends there.
    pub fn of(&self, event: EventId) -> impl Iterator<Item = (u64, bool)> + '_ {
        let first = self.through.partition_point(|(one, _, _)| *one < event);
        let same = self.through[first..]
            .iter()
            .take_while(move |(one, _, _)| *one == event);
        same.map(|&(_, flow, last)| (flow, last))
    }
}

/// Draws requests.
#[derive(Debug)]
pub(super) struct Requests<'a, S: ?Sized> {
    source: &'a Source<'a, S>,
    windows: &'a Windows,
    lanes: Lanes,
    pub arrows: Arrows,
    /// Chosen ones drawn so far.
    pub count: u64,
}

impl<'a, S: Strings + ?Sized> Requests<'a, S> {
    pub fn new(source: &'a Source<'a, S>, windows: &'a Windows) -> Self {
        Self {
            lanes: Lanes::new(Loop::of(source.trace), Kind::Requests),
            source,
            windows,
            arrows: Arrows::default(),
            count: 0,
        }
    }

    pub fn draw<W: Write>(
        &mut self,
        sequence: &mut Sequence<W>,
        path: &RequestPath,
    ) -> io::Result<()> {
        let (begin_ns, end_ns) = (path.source_ready_ns, path.source_ready_ns + path.latency_ns);
        if !path.walked && !self.windows.show(begin_ns, end_ns) {
            return Ok(());
        }
        let track = self.lanes.place(sequence, begin_ns, end_ns)?;
        let flow = self.flow(path);
        sequence.begin(track, begin_ns, &self.request(path, flow))?;
        if path.walked {
            self.count += 1;
            self.arrows.add(path, flow);
            for segment in &path.segments {
                let name = name_of(self.source, segment);
                let slice = Slice {
                    category: "segment",
                    name: &name,
                    args: self.args(path, segment),
                    ..Slice::default()
                };
                sequence.begin(track, segment.start_ns, &slice)?;
                sequence.end(track, segment.start_ns + segment.duration_ns)?;
            }
        }
        sequence.end(track, end_ns)
    }

    fn flow(&self, path: &RequestPath) -> u64 {
        let trace = self.source.trace;
        number(&[trace.pid.into(), trace.thread.into(), path.id.into()])
    }

    fn request(&self, path: &RequestPath, flow: u64) -> Slice<'a> {
        let trace = self.source.trace;
        let mut args = vec![
            ("request", Value::Text(trace.request_name(path.id))),
            ("status", Value::Number(path.status.into())),
            ("latencyNs", Value::Number(path.latency_ns)),
        ];
        if path.walked {
            args.push(("complete", Value::Flag(path.complete())));
            args.push(("inferredHops", Value::Number(path.inferred_hops.into())));
        }
        Slice {
            category: "request",
            name: self.source.text(path.route).unwrap_or("request"),
            args,
            flows: if path.walked { vec![flow] } else { Vec::new() },
            last_of_flows: Vec::new(),
        }
    }

    fn args(&self, path: &RequestPath, segment: &Segment) -> Vec<(&'static str, Value)> {
        let mut args = vec![
            ("event", Value::Number(segment.event.into())),
            ("durationNs", Value::Number(segment.duration_ns)),
            ("exact", Value::Flag(segment.exact && !segment.inferred)),
        ];
        if segment.inferred {
            args.push(("inferred", Value::Flag(true)));
        }
        if segment.shared {
            args.push(("shared", Value::Flag(true)));
        }
        let work = work_of(self.source, segment).into_iter();
        let some = work.filter(|(_, ns)| *ns > 0);
        args.extend(some.map(|(class, ns)| (class, Value::Number(ns))));
        let mut culprits = path.culprits_of(segment).to_vec();
        culprits.sort_by_key(|culprit| std::cmp::Reverse(culprit.duration_ns));
        let behind = BEHIND.into_iter().zip(&culprits);
        args.extend(behind.map(|(name, culprit)| (name, Value::Text(self.culprit(culprit)))));
        args
    }

    /// `12.345 ms read GET /export (exportOrders server.cjs:77), event 7`.
    fn culprit(&self, culprit: &Culprit) -> String {
        let ms = culprit.duration_ns as f64 / 1e6;
        let mut text = format!("{ms:.3} ms {}", culprit_word(culprit, self.source.strings));
        if let Some(route) = self.source.text(culprit.route) {
            text = format!("{text} {route}");
        }
        if let Some(location) = self.source.location(culprit.location) {
            text = format!("{text} ({location})");
        }
        match culprit.event {
            0 => text,
            event => format!("{text}, event {event}"),
        }
    }
}
