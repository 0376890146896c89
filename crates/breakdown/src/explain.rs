//! The answer of `bobtail explain --json` (`spec/explain.schema.json`): one request in full.

use std::collections::BTreeSet;

use bobtail_graph::{
    Collection, Culprit, CulpritKind, EventFacts, Graph, Options, RequestPath, Resource,
    SegmentKind, Walks, Window,
};
use bobtail_trace::record::{CodePlace, Ns, Record, RequestId, StringId};
use serde::{Deserialize, Serialize};

use crate::places::located;
use crate::report::Work;
use crate::strings::Strings;
use crate::trace_info::TraceInfo;

/// One request, segment by segment. Times count from the ready time of its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explain {
    pub schema: String,
    /// `<pid>-<thread>:<request>`
    pub id: String,
    pub route: String,
    pub latency_ns: u64,
    pub status: u32,
    pub complete: bool,
    pub inferred_hops: u32,
    pub truncated: bool,
    pub segments: Vec<ExplainSegment>,
    pub events: Vec<ExplainEvent>,
}

/// One piece of the critical path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainSegment {
    pub kind: String,
    pub start_ns: u64,
    pub duration_ns: u64,
    pub event: u32,
    #[serde(rename = "type")]
    pub word: String,
    pub resource: Option<String>,
    pub shared: bool,
    pub work: Work,
    /// All its times were observed, and so was the hop that it belongs to.
    pub exact: bool,
    /// The hop was deduced, not observed.
    pub inferred: bool,
    pub part: Option<String>,
    pub culprits: Vec<ExplainCulprit>,
}

/// Who had the loop thread for a part of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainCulprit {
    pub event: u32,
    pub route: Option<String>,
    #[serde(rename = "type")]
    pub word: String,
    /// In the source, where that is known; else in what ran.
    pub location: Option<String>,
    /// Where it was in what ran, if `location` is in a source.
    pub generated_location: Option<String>,
    pub duration_ns: u64,
    /// The collection of which this is a part.
    pub pause: Option<ExplainPause>,
}

/// A whole collection, of which a request may have waited for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainPause {
    /// Among all of the trace, in the order of their ends.
    pub number: u32,
    /// From the ready time of the source; negative before it.
    pub start_ns: i64,
    pub duration_ns: u64,
}

/// An event on or around the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainEvent {
    pub id: u32,
    #[serde(rename = "type")]
    pub word: String,
    pub registrar: u32,
    pub loop_event: u32,
    pub request: u32,
    pub route: Option<String>,
    pub register_ns: Option<i64>,
    pub ready_ns: Option<i64>,
    pub ready_quality: Option<String>,
    pub begin_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// As of a culprit.
    pub location: Option<String>,
    pub generated_location: Option<String>,
    pub resource: Option<String>,
    pub on_path: bool,
}

/// Explains the requests with these numbers, in the order of their sinks. One pass.
pub fn explain<E>(
    trace: &TraceInfo,
    records: impl IntoIterator<Item = Result<Record, E>>,
    strings: &(impl Strings + ?Sized),
    requests: &BTreeSet<RequestId>,
) -> Result<Vec<Explain>, E> {
    let walks = Walks::Only(requests.clone());
    let mut graph = Graph::new(Options {
        walks,
        ..Options::default()
    });
    let mut answers = Vec::new();
    let mut finished = |path: &RequestPath, window: Window<'_>| {
        if path.walked {
            let order = (path.sink_ns, path.id);
            answers.push((order, explanation(trace, path, window, strings)));
        }
    };
    for record in records {
        graph.push(record?, &mut finished);
    }
    graph.finish(&mut finished);
    answers.sort_by_key(|(order, _)| *order);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

pub(crate) fn explanation(
    trace: &TraceInfo,
    path: &RequestPath,
    window: Window<'_>,
    strings: &(impl Strings + ?Sized),
) -> Explain {
    Explain {
        schema: "bobtail-explain/1".into(),
        id: trace.request_name(path.id),
        route: text(strings, path.route).unwrap_or_default(),
        latency_ns: path.latency_ns,
        status: path.status,
        complete: path.complete(),
        inferred_hops: path.inferred_hops,
        truncated: path.truncated,
        segments: segments(trace, path, window, strings),
        events: window
            .events(path)
            .iter()
            .map(|e| event(path, e, strings))
            .collect(),
    }
}

fn segments(
    trace: &TraceInfo,
    path: &RequestPath,
    window: Window<'_>,
    strings: &(impl Strings + ?Sized),
) -> Vec<ExplainSegment> {
    let one = |s: &bobtail_graph::Segment| ExplainSegment {
        kind: s.kind.word().into(),
        start_ns: s.start_ns - path.source_ready_ns,
        duration_ns: s.duration_ns,
        event: s.event,
        word: s.event_kind.word().into(),
        resource: resource(strings, s.resource),
        shared: s.shared,
        work: match s.kind {
            SegmentKind::Queue | SegmentKind::Exec => trace.measured.work(s.duration_ns, &s.work),
            SegmentKind::Io | SegmentKind::Unattributed => Work::default(),
        },
        exact: s.exact && !s.inferred,
        inferred: s.inferred,
        part: s.part.map(|p| p.word().into()),
        culprits: path
            .culprits_of(s)
            .iter()
            .map(|c| culprit(path, c, window, strings))
            .collect(),
    };
    path.segments.iter().map(one).collect()
}

fn culprit(
    path: &RequestPath,
    c: &bobtail_graph::Culprit,
    window: Window<'_>,
    strings: &(impl Strings + ?Sized),
) -> ExplainCulprit {
    let pause = |whole: Collection| ExplainPause {
        number: c.collection,
        start_ns: whole.begin_ns as i64 - path.source_ready_ns as i64,
        duration_ns: whole.end_ns.saturating_sub(whole.begin_ns),
    };
    let (location, generated_location) = place(strings, c.location);
    ExplainCulprit {
        event: c.event,
        route: text(strings, c.route),
        word: culprit_word(c, strings),
        location,
        generated_location,
        duration_ns: c.duration_ns,
        pause: window.collection(c.collection).map(pause),
    }
}

/// `gc scavenge`, `cpu preempted`, `loop poll`, `job fs.read /a`, or the kind of the callback.
pub fn culprit_word(culprit: &Culprit, strings: &(impl Strings + ?Sized)) -> String {
    let word = culprit.kind.word();
    match culprit.kind {
        CulpritKind::Gc(..) => format!("gc {word}"),
        CulpritKind::Job => match strings.get(culprit.resource) {
            Some(resource) => format!("{word} {resource}"),
            None => word.into(),
        },
        CulpritKind::NotRunning(_) => format!("cpu {word}"),
        CulpritKind::Poll | CulpritKind::Between | CulpritKind::Lost => format!("loop {word}"),
        CulpritKind::Event(_) => word.into(),
    }
}

fn event(path: &RequestPath, e: &EventFacts, strings: &(impl Strings + ?Sized)) -> ExplainEvent {
    let relative = |time: Option<Ns>| time.map(|t| t as i64 - path.source_ready_ns as i64);
    let (location, generated_location) = place(strings, e.location);
    ExplainEvent {
        id: e.event,
        word: e.kind.word().into(),
        registrar: e.registrar,
        loop_event: e.loop_event,
        request: e.request,
        route: text(strings, e.route),
        register_ns: relative(e.register_ns),
        ready_ns: relative(e.ready_ns),
        ready_quality: e.ready_quality.map(|q| q.word().into()),
        begin_ns: relative(e.begin_ns),
        end_ns: relative(e.end_ns),
        location,
        generated_location,
        resource: resource(strings, e.resource),
        on_path: e.on_path,
    }
}

/// A place, and where it was in what ran, if that is another.
fn place(strings: &(impl Strings + ?Sized), place: CodePlace) -> (Option<String>, Option<String>) {
    match located(place, strings) {
        Some(located) => (Some(located.location), located.generated),
        None => (None, None),
    }
}

fn resource(strings: &(impl Strings + ?Sized), resource: Resource) -> Option<String> {
    match resource {
        Resource::Unnamed => None,
        Resource::Client => Some("client".into()),
        Resource::Named(id) => text(strings, id),
    }
}

fn text(strings: &(impl Strings + ?Sized), id: StringId) -> Option<String> {
    strings.get(id).map(str::to_owned)
}
