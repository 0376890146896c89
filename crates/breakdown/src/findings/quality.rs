//! Lints about the recording itself: how far its answers can be trusted.

use super::{Evidence, finding};
use crate::figures::{count, percent};
use crate::names::ROUTES;
use crate::report::Finding;

/// Shares from which the answer suffers.
const UNATTRIBUTED: f64 = 0.05;
const INFERRED: f64 = 0.1;

/// Too few for the percentile that was asked for.
pub(super) fn too_few_requests(evidence: &Evidence<'_>) -> Option<Finding> {
    let note = evidence.tail.note.clone()?;
    let action = "record for longer, or with more load (--duration, --on-port)";
    Some(finding("too-few-requests", 0, note, action))
}

/// Time that nothing explains.
pub(super) fn unattributed(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns = evidence.per_request(evidence.tail_sums.unattributed_ns);
    if evidence.share(impact_ns) < UNATTRIBUTED {
        return None;
    }
    let share = percent(evidence.share(impact_ns));
    let sentence = format!("{share} of the tail's latency could not be explained");
    let action = "see which mechanisms are unavailable here (bobtail doctor)";
    Some(finding("unattributed", impact_ns, sentence, action))
}

/// Paths that rest on deduction, in the tail or in general.
pub(super) fn inferred(evidence: &Evidence<'_>) -> Option<Finding> {
    let (requests, tail) = (evidence.requests, evidence.tail_sums);
    let is_many = |inferred: u64, of: u64| inferred as f64 >= INFERRED * of.max(1) as f64;
    let in_tail = is_many(tail.inferred, tail.count);
    if evidence.loop_only || !(in_tail || is_many(requests.inferred, requests.count)) {
        return None;
    }
    let sentence = format!(
        "the path of {} of {} requests, {} of {} in the tail, has a hop that was deduced, not \
         observed",
        count(requests.inferred),
        count(requests.count),
        count(tail.inferred),
        count(tail.count),
    );
    let action = "a client library that queues callbacks loses the context: use its promise \
                  interface, or AsyncResource.bind the callback";
    Some(finding("inferred", 0, sentence, action))
}

/// Without micro events nearly every path of several events rests on deduction.
pub(super) fn loop_only(evidence: &Evidence<'_>) -> Option<Finding> {
    if !evidence.loop_only || evidence.requests.count == 0 {
        return None;
    }
    let sentence = format!(
        "recorded with --detail loop: paths are deduced, here those of {} of {} requests",
        count(evidence.requests.inferred),
        count(evidence.requests.count)
    );
    Some(finding(
        "loop-detail",
        0,
        sentence,
        "record with --detail full",
    ))
}

/// A service that puts identifiers into its routes.
pub(super) fn unnamed_routes(evidence: &Evidence<'_>) -> Option<Finding> {
    if evidence.unnamed == 0 {
        return None;
    }
    let sentence = format!(
        "{} of {} requests are of routes beyond the first {}, which are told together as (other)",
        count(evidence.unnamed),
        count(evidence.requests.count),
        count(ROUTES as u64),
    );
    let action = "give identifiers in paths a parameter of the router, such as /item/:id: paths \
                  are then told by that pattern";
    Some(finding("unnamed-routes", 0, sentence, action))
}

/// Threads and processes of which there is nothing.
pub(super) fn not_all_recorded(evidence: &Evidence<'_>) -> Option<Finding> {
    let refused = evidence.losses.get(super::REFUSED_LOOPS)?;
    let sentence = format!(
        "{} threads or processes were not recorded: the recording had reached its bound",
        count(*refused)
    );
    let action = "allow more (--max-total), or record for a shorter time (--duration)";
    Some(finding("not-all-recorded", 0, sentence, action))
}

/// History that is gone.
pub(super) fn lost_history(evidence: &Evidence<'_>) -> Option<Finding> {
    if evidence.requests.truncated == 0 {
        return None;
    }
    let lost: Vec<_> = evidence
        .losses
        .iter()
        .filter(|(word, _)| *word != super::REFUSED_LOOPS)
        .map(|(word, n)| format!("{} {word}", count(*n)))
        .collect();
    let why = if lost.is_empty() {
        "they were open too long".to_owned()
    } else {
        lost.join(", ")
    };
    let sentence = format!(
        "part of the history of {} of {} requests was lost ({why})",
        count(evidence.requests.truncated),
        count(evidence.requests.count)
    );
    let action = "allow larger traces (--max-size), or record for a shorter time";
    Some(finding("lost-history", 0, sentence, action))
}
