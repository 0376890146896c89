//! The requests that the page shows in full: the slowest, and one of each route and band.
//!
//! They are explained in a pass of their own, after it is known which they are, because listing
//! culprits and events of every request that might have been shown would cost far more.

use std::collections::{BTreeMap, BTreeSet};

use bobtail_graph::{Graph, Options, RequestPath, Walks, Window};
use bobtail_trace::record::{Record, RequestId};

use crate::explain::{Explain, ExplainCulprit, ExplainEvent, ExplainSegment, explanation};
use crate::page::lanes::lanes;
use crate::page::rows::{EventRow, RequestRow, SegmentCulpritRow, SegmentRow, Text, TimelineRow};
use crate::page::texts::Texts;
use crate::strings::Strings;
use crate::trace_info::TraceInfo;

/// Segments of a request, beyond which it is not shown.
const SEGMENTS: usize = 2000;
/// Culprits of a segment; the smaller ones are told together.
const CULPRITS: usize = 12;
/// Events on the path and beside it; of the latter the longest, own ones first.
const EVENTS_ON_PATH: usize = 400;
const EVENTS_BESIDE: usize = 24;
const SMALLER: &str = "shorter ones together";

/// A request and its number in its trace.
pub(crate) struct Shown {
    pub request: RequestId,
    pub row: RequestRow,
}

/// Explains these requests of a trace, in the order of their sinks.
pub(crate) fn gallery<E>(
    trace: &TraceInfo,
    records: impl IntoIterator<Item = Result<Record, E>>,
    strings: &(impl Strings + ?Sized),
    requests: &BTreeSet<RequestId>,
    texts: &mut Texts,
) -> Result<Vec<Shown>, E> {
    let mut shown = Vec::new();
    if requests.is_empty() {
        return Ok(shown);
    }
    let mut graph = Graph::new(Options {
        walks: Walks::Only(requests.clone()),
        ..Options::default()
    });
    let mut finished = |path: &RequestPath, window: Window<'_>| {
        if !path.walked || path.segments.len() > SEGMENTS {
            return;
        }
        let explained = explanation(trace, path, window, strings);
        let timeline = lanes(path, window, strings, texts);
        let row = request(&explained, path.id, timeline, texts);
        let request = path.id;
        shown.push(Shown { request, row });
    };
    for record in records {
        graph.push(record?, &mut finished);
    }
    graph.finish(&mut finished);
    Ok(shown)
}

/// Process, route and rank are told by whoever knows them.
fn request(
    explained: &Explain,
    number: RequestId,
    timeline: TimelineRow,
    texts: &mut Texts,
) -> RequestRow {
    RequestRow {
        id: explained.id.clone(),
        process: 0,
        route: 0,
        name: texts.of(&explained.route),
        latency_ns: explained.latency_ns,
        status: explained.status,
        truncated: explained.truncated,
        inferred_hops: explained.inferred_hops,
        rank: 0,
        segments: explained
            .segments
            .iter()
            .map(|one| segment(one, texts))
            .collect(),
        events: events(&explained.events, number)
            .into_iter()
            .map(|one| event(one, texts))
            .collect(),
        timeline,
    }
}

fn segment(one: &ExplainSegment, texts: &mut Texts) -> SegmentRow {
    let work = &one.work;
    SegmentRow {
        kind: texts.of(&one.kind),
        start_ns: one.start_ns,
        duration_ns: one.duration_ns,
        event: one.event,
        word: texts.of(&one.word),
        resource: texts.maybe(one.resource.as_deref()),
        part: texts.maybe(one.part.as_deref()),
        shared: one.shared,
        exact: one.exact,
        inferred: one.inferred,
        work: [
            work.native_ns,
            work.gc_ns,
            work.jit_ns,
            work.ic_ns,
            work.loop_ns,
            work.not_running_ns,
        ],
        culprits: culprits(&one.culprits, texts),
    }
}

/// The longest, in their order; then the others, those that read the same as one; what is left as
/// one without an event. A thread that is descheduled a thousand times is one cause.
fn culprits(all: &[ExplainCulprit], texts: &mut Texts) -> Vec<SegmentCulpritRow> {
    let mut longest: Vec<usize> = (0..all.len()).collect();
    longest.sort_by_key(|&index| std::cmp::Reverse(all[index].duration_ns));
    let (told, others) = longest.split_at(longest.len().min(CULPRITS));
    let told: BTreeSet<usize> = told.iter().copied().collect();
    let mut rows: Vec<_> = told.iter().map(|&i| culprit(&all[i], texts)).collect();
    let mut together = together(others.iter().map(|&i| &all[i]));
    let smaller = together.split_off(together.len().min(CULPRITS));
    rows.extend(together.iter().map(|one| culprit(one, texts)));
    let left_ns: u64 = smaller.iter().map(|one| one.duration_ns).sum();
    if left_ns > 0 {
        rows.push(SegmentCulpritRow {
            event: 0,
            route: 0,
            word: texts.of(SMALLER),
            location: 0,
            generated: 0,
            duration_ns: left_ns,
            pause_ns: None,
        });
    }
    rows
}

/// Those that read the same as one, called after the longest of them, by their time.
fn together<'a>(longest_first: impl Iterator<Item = &'a ExplainCulprit>) -> Vec<ExplainCulprit> {
    let mut groups: Vec<ExplainCulprit> = Vec::new();
    let mut found: BTreeMap<_, usize> = BTreeMap::new();
    for one in longest_first {
        let pause = one.pause.as_ref().map(|pause| pause.number);
        let key = (&one.word, &one.route, &one.location, pause);
        match found.get(&key) {
            Some(&index) => groups[index].duration_ns += one.duration_ns,
            None => {
                found.insert(key, groups.len());
                groups.push(one.clone());
            }
        }
    }
    groups.sort_by_key(|one| std::cmp::Reverse(one.duration_ns));
    groups
}

fn culprit(one: &ExplainCulprit, texts: &mut Texts) -> SegmentCulpritRow {
    SegmentCulpritRow {
        event: one.event,
        route: texts.maybe(one.route.as_deref()),
        word: texts.of(&one.word),
        location: texts.maybe(one.location.as_deref()),
        generated: texts.maybe(one.generated_location.as_deref()),
        duration_ns: one.duration_ns,
        pause_ns: one.pause.map(|pause| (pause.start_ns, pause.duration_ns)),
    }
}

/// Those worth showing, by number.
fn events(all: &[ExplainEvent], request: RequestId) -> Vec<&ExplainEvent> {
    let length = |one: &ExplainEvent| match (one.begin_ns, one.end_ns) {
        (Some(begin_ns), Some(end_ns)) => end_ns - begin_ns,
        _ => 0,
    };
    let (mut on_path, mut beside): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.on_path);
    on_path.sort_by_key(|one| std::cmp::Reverse(length(one)));
    on_path.truncate(EVENTS_ON_PATH);
    beside.sort_by_key(|one| (one.request != request, std::cmp::Reverse(length(one))));
    beside.truncate(EVENTS_BESIDE);
    on_path.extend(beside);
    on_path.sort_by_key(|one| one.id);
    on_path
}

fn event(one: &ExplainEvent, texts: &mut Texts) -> EventRow {
    let quality = one.ready_quality.as_deref();
    EventRow {
        id: one.id,
        word: texts.of(&one.word),
        registrar: one.registrar,
        loop_event: one.loop_event,
        request: one.request,
        route: texts.maybe(one.route.as_deref()),
        register_ns: one.register_ns,
        ready_ns: one.ready_ns,
        ready_quality: quality.map_or(0 as Text, |word| texts.of(word)),
        begin_ns: one.begin_ns,
        end_ns: one.end_ns,
        location: texts.maybe(one.location.as_deref()),
        generated: texts.maybe(one.generated_location.as_deref()),
        resource: texts.maybe(one.resource.as_deref()),
        on_path: one.on_path,
    }
}
