//! What a segment is called, and what the loop thread did in it, the same in every format.

use bobtail_breakdown::Strings;
use bobtail_graph::{Segment, SegmentKind};

use crate::source::Source;

/// `io fs.readFile /a (pool-wait)`, `queue`, `exec promise`.
pub(crate) fn name_of<S: Strings + ?Sized>(source: &Source<'_, S>, segment: &Segment) -> String {
    let kind = segment.kind.word();
    let event = segment.event_kind.word();
    match segment.kind {
        SegmentKind::Io => {
            let resource = source.resource(segment.resource).unwrap_or(event);
            let part = segment
                .part
                .map_or(String::new(), |p| format!(" ({})", p.word()));
            format!("{kind} {resource}{part}")
        }
        SegmentKind::Exec => format!("{kind} {event}"),
        SegmentKind::Queue | SegmentKind::Unattributed => kind.to_owned(),
    }
}

/// The classes of work that were measured, by their words in JSON; of queue and exec they sum to
/// the segment, others have none.
pub(crate) fn work_of<S: Strings + ?Sized>(
    source: &Source<'_, S>,
    segment: &Segment,
) -> Vec<(&'static str, u64)> {
    if !matches!(segment.kind, SegmentKind::Queue | SegmentKind::Exec) {
        return Vec::new();
    }
    let measured = source.trace.measured;
    let work = measured.work(segment.duration_ns, &segment.work);
    let classes = [
        ("nativeNs", work.native_ns),
        ("gcNs", work.gc_ns),
        ("jitNs", work.jit_ns),
        ("icNs", work.ic_ns),
        ("loopNs", work.loop_ns),
        ("notRunningNs", work.not_running_ns),
    ];
    let told = classes
        .into_iter()
        .filter_map(|(name, ns)| Some((name, ns?)));
    told.collect()
}
