//! From a drawing to the text of a request's path, and the check of what must always hold.

use std::fmt::Write as _;

use bobtail_graph::{
    CulpritKind, Graph, Options, PoolPart, RequestPath, Resource, Segment, SegmentKind, Window,
    Work,
};
use bobtail_testkit::{Drawn, draw};

/// All finished requests of a drawing.
pub fn paths(drawn: &Drawn, options: Options) -> Vec<RequestPath> {
    paths_by(drawn, options).0
}

/// All finished requests of a drawing, and how many of them came before its end.
pub fn paths_by(drawn: &Drawn, options: Options) -> (Vec<RequestPath>, usize) {
    let mut graph = Graph::new(options);
    let mut paths = Vec::new();
    let mut finished = |path: &RequestPath, _: Window<'_>| {
        hold_invariants(path);
        paths.push(path.clone());
    };
    for record in &drawn.records {
        graph.push(*record, &mut finished);
    }
    let mut at_end = Vec::new();
    graph.finish(&mut |path: &RequestPath, _: Window<'_>| {
        hold_invariants(path);
        at_end.push(path.clone());
    });
    let before_end = paths.len();
    paths.append(&mut at_end);
    (paths, before_end)
}

/// Checks the path of one request of a drawing, line by line.
pub fn check(drawing: &str, request: u32, expected: &str) {
    let drawn = draw(drawing);
    let paths = paths(&drawn, Options::default());
    let path = paths
        .iter()
        .find(|p| p.id == request)
        .expect("the request finished");
    let expected: String = expected
        .lines()
        .map(|line| line.trim().to_owned() + "\n")
        .collect();
    let text = text(path, &drawn);
    assert_eq!(text.trim(), expected.trim(), "\n--- got:\n{text}");
}

/// A path as text: what, then its segments.
pub fn text(path: &RequestPath, drawn: &Drawn) -> String {
    let mut text = format!("{} {}", drawn.text(path.route), ms(path.latency_ns));
    if path.inferred_hops > 0 {
        write!(text, " inferred={}", path.inferred_hops).unwrap();
    }
    if path.truncated {
        text += " truncated";
    }
    for segment in &path.segments {
        text += "\n";
        segment_text(&mut text, path, segment, drawn);
    }
    text
}

fn segment_text(text: &mut String, path: &RequestPath, segment: &Segment, drawn: &Drawn) {
    let kind = segment.kind.word();
    write!(text, "{kind} {}", ms(segment.duration_ns)).unwrap();
    if let Some(part) = segment.part {
        write!(text, " {}", part.word()).unwrap();
    }
    write!(text, " {}#{}", segment.event_kind.word(), segment.event).unwrap();
    match segment.resource {
        Resource::Unnamed => {}
        Resource::Client => *text += " client",
        Resource::Named(id) => write!(text, " {}", drawn.text(id)).unwrap(),
    }
    let flags = [
        (segment.shared, " shared"),
        (segment.inferred, " inferred"),
        (
            !segment.exact && segment.kind != SegmentKind::Unattributed,
            " inexact",
        ),
    ];
    flags
        .iter()
        .filter(|(set, _)| *set)
        .for_each(|(_, word)| *text += word);
    for (index, culprit) in path.culprits_of(segment).iter().enumerate() {
        *text += if index == 0 { " < " } else { ", " };
        match culprit.kind {
            CulpritKind::Event(kind) => {
                write!(text, "{}#{}", kind.word(), culprit.event).unwrap();
                let route = drawn.text(culprit.route);
                if !route.is_empty() {
                    write!(text, " {route}").unwrap();
                }
            }
            CulpritKind::Job => {
                let (route, what) = (drawn.text(culprit.route), drawn.text(culprit.resource));
                write!(text, "job#{} {route} {what}", culprit.event).unwrap();
            }
            kind => *text += kind.word(),
        }
        let place = culprit.location;
        if place.file != 0 {
            let (function, file) = (drawn.text(place.function), drawn.text(place.file));
            write!(text, " {function} {file}:{}:{}", place.line, place.column).unwrap();
        }
        write!(text, " {}", ms(culprit.duration_ns)).unwrap();
    }
}

fn ms(ns: u64) -> String {
    format!("{}ms", ns as f64 / 1e6)
}

/// What holds for every path, whatever the trace.
pub fn hold_invariants(path: &RequestPath) {
    if !path.walked {
        return assert!(path.segments.is_empty() && path.events.is_empty());
    }
    let sum: u64 = path.segments.iter().map(|s| s.duration_ns).sum();
    assert_eq!(
        sum, path.latency_ns,
        "segments sum to the latency: {path:#?}"
    );
    let mut at = path.source_ready_ns;
    for segment in &path.segments {
        assert_eq!(
            segment.start_ns, at,
            "segments follow each other: {path:#?}"
        );
        assert!(segment.duration_ns > 0, "no empty segment: {path:#?}");
        at += segment.duration_ns;
        hold_for_segment(path, segment);
    }
    for pair in path.events.windows(2) {
        assert!(
            pair[0].event < pair[1].event,
            "no event before its parent: {path:#?}"
        );
    }
    if !path.truncated {
        let first = path.events.first().expect("a complete path has events");
        assert_eq!(first.event, path.source_event);
        assert_eq!(path.events.last().map(|e| e.event), Some(path.sink_event));
    }
}

fn hold_for_segment(path: &RequestPath, segment: &Segment) {
    let culprits = path.culprits_of(segment);
    let blamed: u64 = culprits.iter().map(|c| c.duration_ns).sum();
    let blamed_on = |kind: fn(&CulpritKind) -> bool| -> u64 {
        let of_kind = culprits.iter().filter(|c| kind(&c.kind));
        of_kind.map(|c| c.duration_ns).sum()
    };
    let interrupted = (
        blamed_on(|kind| matches!(kind, CulpritKind::Gc(..))),
        blamed_on(|kind| matches!(kind, CulpritKind::NotRunning(_))),
    );
    let work = segment.work;
    match segment.kind {
        SegmentKind::Queue if !culprits.is_empty() => {
            assert_eq!(
                blamed, segment.duration_ns,
                "culprits sum to the queue: {path:#?}"
            );
            assert_eq!(interrupted, (work.gc_ns, work.not_running_ns));
        }
        SegmentKind::Exec if !culprits.is_empty() => {
            assert_eq!(interrupted, (work.gc_ns, work.not_running_ns));
            assert_eq!(blamed, work.gc_ns + work.not_running_ns);
        }
        SegmentKind::Queue | SegmentKind::Exec => {}
        SegmentKind::Io if segment.part == Some(PoolPart::Wait) => {
            assert!(blamed <= segment.duration_ns, "{path:#?}");
            assert_eq!(
                blamed,
                blamed_on(|kind| *kind == CulpritKind::Job),
                "jobs have the pool: {path:#?}"
            );
        }
        SegmentKind::Io | SegmentKind::Unattributed => {
            assert_eq!(
                (blamed, work),
                (0, Work::default()),
                "nobody to blame: {segment:?}"
            );
        }
    }
    if matches!(segment.kind, SegmentKind::Queue | SegmentKind::Exec) {
        assert_eq!(
            work.total_ns(),
            segment.duration_ns,
            "work is exclusive: {segment:?}"
        );
    }
}
