//! The latency of requests as stacks: route, kind of segment, what it was, and where.
//!
//! A stack is not a call stack: its frames are the questions that one asks of a slow request, from
//! the outermost. Each nanosecond of a latency is in exactly one stack.

use std::collections::BTreeMap;

use bobtail_breakdown::{Strings, culprit_word};
use bobtail_graph::{RequestPath, Segment, SegmentKind, Window};
use bobtail_trace::record::CodePlace;

use super::frames::{FrameId, Frames};
use crate::segment::work_of;
use crate::source::Source;

/// Stacks kept; what comes after is in one.
const STACKS: usize = 100_000;
const OTHER: &str = "(other)";

/// What is added up over requests.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub latency_ns: u64,
    pub requests: u64,
    last_request: u64,
}

/// All stacks, outermost frame first.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    pub frames: Frames,
    pub sums: BTreeMap<Vec<FrameId>, Sums>,
    /// Requests added.
    pub requests: u64,
}

impl Stacks {
    /// Adds the whole latency of a request.
    pub fn add<S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        path: &RequestPath,
        window: Window<'_>,
    ) {
        self.requests += 1;
        let route = self.frames.word(source.text(path.route).unwrap_or(OTHER));
        for segment in &path.segments {
            let stack = vec![route, self.frames.word(segment.kind.word())];
            match segment.kind {
                SegmentKind::Io => self.io(source, path, segment, stack),
                SegmentKind::Queue => self.queue(source, path, segment, stack),
                SegmentKind::Exec => self.exec(source, path, segment, window, stack),
                SegmentKind::Unattributed => self.charge(stack, segment.duration_ns),
            }
        }
    }

    fn io<S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        path: &RequestPath,
        segment: &Segment,
        mut stack: Vec<FrameId>,
    ) {
        let event = segment.event_kind.word();
        let resource = source.resource(segment.resource).unwrap_or(event);
        stack.push(self.frames.word(resource));
        if let Some(part) = segment.part {
            stack.push(self.frames.word(part.word()));
        }
        // Who had the threads of the pool; there is nobody where nothing was waited for.
        self.queue(source, path, segment, stack);
    }

    fn queue<S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        path: &RequestPath,
        segment: &Segment,
        stack: Vec<FrameId>,
    ) {
        let mut left_ns = segment.duration_ns;
        for culprit in path.culprits_of(segment) {
            let mut who = culprit_word(culprit, source.strings);
            if let Some(route) = source.text(culprit.route) {
                who = format!("{who} {route}");
            }
            let mut stack = stack.clone();
            stack.push(self.frames.word(&who));
            self.push_location(source, culprit.location, &mut stack);
            let ns = culprit.duration_ns.min(left_ns);
            left_ns -= ns;
            self.charge(stack, ns);
        }
        self.charge(stack, left_ns);
    }

    fn exec<S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        path: &RequestPath,
        segment: &Segment,
        window: Window<'_>,
        mut stack: Vec<FrameId>,
    ) {
        stack.push(self.frames.word(segment.event_kind.word()));
        let location = window
            .event(path, segment.event)
            .map(|facts| facts.location)
            .unwrap_or_default();
        self.push_location(source, location, &mut stack);
        let mut left_ns = segment.duration_ns;
        let mut part = |stacks: &mut Self, word: &str, ns: u64| {
            let ns = ns.min(left_ns);
            left_ns -= ns;
            let mut stack = stack.clone();
            stack.push(stacks.frames.word(word));
            stacks.charge(stack, ns);
        };
        for culprit in path.culprits_of(segment) {
            let word = culprit_word(culprit, source.strings);
            part(self, &word, culprit.duration_ns);
        }
        for (class, ns) in work_of(source, segment) {
            match class {
                "jitNs" => part(self, "jit", ns),
                "icNs" => part(self, "inline-cache misses", ns),
                "loopNs" => part(self, "loop", ns),
                _ => {}
            }
        }
        self.charge(stack, left_ns);
    }

    fn push_location<S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        place: CodePlace,
        stack: &mut Vec<FrameId>,
    ) {
        if let Some(location) = source.location(place) {
            stack.push(self.frames.location(&location));
        }
    }

    fn charge(&mut self, stack: Vec<FrameId>, ns: u64) {
        if ns == 0 {
            return;
        }
        let full = self.sums.len() >= STACKS && !self.sums.contains_key(&stack);
        let stack = if full {
            vec![self.frames.word(OTHER)]
        } else {
            stack
        };
        let sums = self.sums.entry(stack).or_default();
        sums.latency_ns += ns;
        if sums.last_request != self.requests {
            sums.last_request = self.requests;
            sums.requests += 1;
        }
    }
}
