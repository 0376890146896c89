//! The spans of one request: itself, and one for each segment of its critical path.
//!
//! Who had the loop while it queued is a link to that request's span where the culprit worked for a
//! request, whether or not that one is exported, too; else it is an event of the span.

use std::cmp::Reverse;

use bobtail_breakdown::{Strings, culprit_word};
use bobtail_graph::{Culprit, RequestPath, Segment, Window};
use bobtail_trace::record::{Ns, RequestId};

use super::messages::{Event, KeyValue, Link, STATUS_ERROR, Span, Status, attribute, kind};
use crate::ids::number;
use crate::segment::{name_of, work_of};
use crate::source::Source;

/// Links, and events, of one span; the greatest are kept and the others counted, as SDKs do.
const CULPRITS: usize = 128;

/// Which of the numbers of a request.
#[derive(Debug, Clone, Copy)]
enum Part {
    TraceHigh,
    TraceLow,
    Root,
    /// By place in the path.
    Segment(usize),
}

/// Makes spans of one trace.
#[derive(Debug)]
pub(super) struct Spans<'a, S: ?Sized> {
    pub source: &'a Source<'a, S>,
}

impl<S: Strings + ?Sized> Spans<'_, S> {
    /// The request first, then its segments in order of time.
    pub fn of(&self, path: &RequestPath, window: Window<'_>) -> Vec<Span> {
        let segments = path.segments.iter().enumerate();
        let children = segments.map(|(place, segment)| self.segment(path, place, segment, window));
        let mut spans = vec![self.root(path)];
        spans.extend(children);
        spans
    }

    fn root(&self, path: &RequestPath) -> Span {
        let route = self.source.text(path.route).unwrap_or_default();
        let name = self.source.text(path.name).unwrap_or_default();
        let mut attributes = vec![
            attribute("bobtail.request", &*self.source.trace.request_name(path.id)),
            attribute("bobtail.complete", path.complete()),
            attribute("bobtail.inferred_hops", u64::from(path.inferred_hops)),
        ];
        if let Some((method, target)) = name.split_once(' ') {
            attributes.push(attribute("http.request.method", method));
            attributes.push(attribute("url.path", target));
            let pattern = route
                .strip_prefix(method)
                .and_then(|rest| rest.strip_prefix(' '));
            attributes.push(attribute("http.route", pattern.unwrap_or(route)));
        }
        if path.status != 0 {
            let status = u64::from(path.status);
            attributes.push(attribute("http.response.status_code", status));
        }
        Span {
            trace_id: self.trace_id(path.id),
            span_id: self.span_id(path.id, Part::Root),
            name: route.to_owned(),
            kind: kind::SERVER,
            attributes,
            status: (path.status >= 500).then_some(Status { code: STATUS_ERROR }),
            ..self.times(path.source_ready_ns, path.latency_ns)
        }
    }

    fn segment(
        &self,
        path: &RequestPath,
        place: usize,
        segment: &Segment,
        window: Window<'_>,
    ) -> Span {
        let mut span = Span {
            trace_id: self.trace_id(path.id),
            span_id: self.span_id(path.id, Part::Segment(place)),
            parent_span_id: self.span_id(path.id, Part::Root),
            name: name_of(self.source, segment),
            kind: kind::INTERNAL,
            attributes: self.attributes(segment),
            ..self.times(segment.start_ns, segment.duration_ns)
        };
        let mut culprits = path.culprits_of(segment).to_vec();
        culprits.sort_by_key(|culprit| Reverse(culprit.duration_ns));
        for culprit in &culprits {
            let attributes = self.culprit(culprit);
            if culprit.request != 0 && culprit.request != path.id {
                let link = Link {
                    trace_id: self.trace_id(culprit.request),
                    span_id: self.span_id(culprit.request, Part::Root),
                    attributes,
                };
                push(&mut span.links, &mut span.dropped_links_count, link);
            } else {
                let collection = window.collection(culprit.collection);
                let at_ns = collection.map_or(segment.start_ns, |whole| whole.begin_ns);
                let event = Event {
                    time_unix_nano: self.source.unix_ns(at_ns),
                    name: culprit_word(culprit, self.source.strings),
                    attributes,
                };
                push(&mut span.events, &mut span.dropped_events_count, event);
            }
        }
        span
    }

    fn attributes(&self, segment: &Segment) -> Vec<KeyValue> {
        let mut attributes = vec![
            attribute("bobtail.segment", segment.kind.word()),
            attribute("bobtail.event", u64::from(segment.event)),
            attribute("bobtail.event.type", segment.event_kind.word()),
            attribute("bobtail.exact", segment.exact && !segment.inferred),
        ];
        if let Some(resource) = self.source.resource(segment.resource) {
            attributes.push(attribute("bobtail.resource", resource));
        }
        if let Some(part) = segment.part {
            attributes.push(attribute("bobtail.part", part.word()));
        }
        if segment.inferred {
            attributes.push(attribute("bobtail.inferred", true));
        }
        if segment.shared {
            attributes.push(attribute("bobtail.shared", true));
        }
        let work = work_of(self.source, segment).into_iter();
        attributes.extend(work.map(|(class, ns)| attribute(&format!("bobtail.work.{class}"), ns)));
        attributes
    }

    fn culprit(&self, culprit: &Culprit) -> Vec<KeyValue> {
        let mut attributes = vec![
            attribute(
                "bobtail.culprit.type",
                &*culprit_word(culprit, self.source.strings),
            ),
            attribute("bobtail.culprit.durationNs", culprit.duration_ns),
        ];
        if let Some(route) = self.source.text(culprit.route) {
            attributes.push(attribute("bobtail.culprit.route", route));
        }
        if let Some(location) = self.source.location(culprit.location) {
            let text = location.to_string();
            attributes.push(attribute("bobtail.culprit.location", &*text));
        }
        if culprit.event != 0 {
            let event = u64::from(culprit.event);
            attributes.push(attribute("bobtail.culprit.event", event));
        }
        attributes
    }

    fn times(&self, start_ns: Ns, duration_ns: u64) -> Span {
        let start_time_unix_nano = self.source.unix_ns(start_ns);
        Span {
            start_time_unix_nano,
            end_time_unix_nano: start_time_unix_nano + duration_ns,
            ..Span::default()
        }
    }

    fn trace_id(&self, request: RequestId) -> Vec<u8> {
        let high = self.number(request, Part::TraceHigh).to_be_bytes();
        let low = self.number(request, Part::TraceLow).to_be_bytes();
        [high, low].concat()
    }

    fn span_id(&self, request: RequestId, part: Part) -> Vec<u8> {
        self.number(request, part).to_be_bytes().to_vec()
    }

    /// The same for the same request of the same recording, and for no other.
    fn number(&self, request: RequestId, part: Part) -> u64 {
        let trace = self.source.trace;
        let part = match part {
            Part::TraceHigh => 0,
            Part::TraceLow => 1,
            Part::Root => 2,
            Part::Segment(place) => 3 + place as u64,
        };
        let process = [trace.pid.into(), trace.thread.into()];
        number(&[
            self.source.start_realtime_ns,
            process[0],
            process[1],
            request.into(),
            part,
        ])
    }
}

fn push<T>(list: &mut Vec<T>, dropped: &mut u32, one: T) {
    if list.len() < CULPRITS {
        list.push(one);
    } else {
        *dropped += 1;
    }
}
