//! Lints about what the loop thread did.

use super::{Evidence, finding, place};
use crate::figures::{count, percent, stretches, time, times};
use crate::report::{Culprit, CulpritKind, Finding};
use crate::sums::{Disturbed, Sums};

/// A callback is a hog when it holds the loop for this long.
const HOG_NS: u64 = 1_000_000;
/// … and when its longest run is at least one part in so many of what a victim waits for it.
const HOG_SHARE: u64 = 5;
/// Share of the tail's latency from which a cause is worth telling.
const WORTH_TELLING: f64 = 0.1;
/// Share from which a cause is the dominant one.
const DOMINANT: f64 = 0.3;
/// Share from which there is hardly anything else.
const MOST: f64 = 0.5;
/// The cure where no quota is to blame.
const QUIETER: &str = "run fewer busy processes beside it, or give it processors of its own";
/// Requests of the tail lose so many times as much as they would by chance.
const BY_CHANCE: f64 = 3.0;
/// Share of the recording in which the quota was used up from which that is worth telling.
const THROTTLED: f64 = 0.05;

/// One route's callback holds up the tail.
pub(super) fn loop_hog(evidence: &Evidence<'_>) -> Option<Finding> {
    let hog = evidence
        .culprits
        .iter()
        .find(|c| c.kind == CulpritKind::Event && holds(c))?;
    let impact_ns = evidence.per_request(hog.inflicted_ns);
    if evidence.share(impact_ns) < WORTH_TELLING {
        return None;
    }
    let who = name(hog);
    let sentence = format!(
        "{who} made {} of {} tail requests wait {} each on average: it held the loop {}",
        count(hog.victims),
        count(evidence.tail.count),
        time(wait_of_victim_ns(hog)),
        stretches(hog.occurrences, hog.longest_ns),
    );
    let action = format!("split {who} into smaller steps, or move it to a worker thread");
    Some(finding("loop-hog", impact_ns, sentence, action))
}

/// One run of it matters by itself; otherwise it is part of a crowd.
fn holds(culprit: &Culprit) -> bool {
    let one_in_the_way = culprit.longest_ns * HOG_SHARE >= wait_of_victim_ns(culprit);
    culprit.longest_ns >= HOG_NS && one_in_the_way
}

fn wait_of_victim_ns(culprit: &Culprit) -> u64 {
    culprit.inflicted_ns / culprit.victims.max(1)
}

fn name(culprit: &Culprit) -> String {
    let named = place(culprit.route.as_deref(), culprit.location.as_deref());
    named.unwrap_or_else(|| {
        format!(
            "a callback of kind \"{}\" outside any request",
            culprit.word
        )
    })
}

/// The thread was ready to run, but another had the processor, or a quota was used up.
pub(super) fn not_running(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns = evidence.per_request(evidence.tail_sums.work.not_running_ns);
    if evidence.share(impact_ns) < WORTH_TELLING || !evidence.tail_sums.measured.not_running {
        return None;
    }
    let cpu = |c: &&Culprit| c.kind == CulpritKind::Cpu;
    let longest_ns = evidence
        .culprits
        .iter()
        .filter(cpu)
        .map(|c| c.longest_ns)
        .max();
    let sentence = format!(
        "for {} of the tail's latency the loop thread was ready to run but got no processor, up to \
         {} at a stretch",
        percent(evidence.share(impact_ns)),
        time(longest_ns.unwrap_or(0)),
    );
    let action = match evidence.throttled {
        Some(quota) if quota.periods > 0 => format!(
            "raise the CPU quota of its container: it was used up {}, which cost {}",
            times(quota.periods),
            time(quota.throttled_ns),
        ),
        // A process that was moved to another group later may be throttled there.
        Some(_) => format!("{QUIETER}: the CPU quota of the group it started in was never used up"),
        None => format!(
            "{QUIETER}; how often its CPU quota was used up is not known, look at its container's"
        ),
    };
    Some(finding("not-running", impact_ns, sentence, action))
}

/// The CPU quota was used up, but whom that delayed was not recorded.
pub(super) fn throttled(evidence: &Evidence<'_>) -> Option<Finding> {
    let quota = evidence.throttled?;
    let share = quota.throttled_ns as f64 / evidence.duration_ns.max(1) as f64;
    if share < THROTTLED || evidence.tail_sums.measured.not_running {
        return None;
    }
    let sentence = format!(
        "the CPU quota of its container was used up {}, which cost {} in all",
        times(quota.periods),
        time(quota.throttled_ns),
    );
    let action = "raise the quota; which requests it delayed is told with record --not-running";
    Some(finding("cpu-quota", 0, sentence, action))
}

/// The host gave this machine's processors to others while requests of the tail were under way.
pub(super) fn host_steal(evidence: &Evidence<'_>) -> Option<Finding> {
    let cause = "the host gave this machine's processors to others";
    let (sentence, impact_ns) = disturbed(evidence, |sums| &sums.by_host, cause)?;
    let action = "what is slow then is not the service: give its machine processors of its own, \
                  keep those it has from sleeping, or record while the host is quiet";
    Some(finding("host-steal", impact_ns, sentence, action))
}

/// V8's own threads, which compile and collect, had the loop's processors.
pub(super) fn v8_threads(evidence: &Evidence<'_>) -> Option<Finding> {
    let cause = "V8's own threads, which compile and collect, had the processors of the loop";
    let (sentence, impact_ns) = disturbed(evidence, |sums| &sums.by_v8, cause)?;
    let action = "give it one processor more, or try it with fewer such threads \
                  (--v8-pool-size=1, which tune tries)";
    Some(finding("v8-threads", impact_ns, sentence, action))
}

/// How many were under way meanwhile, and what that may have cost a request of the tail.
///
/// Who is under way for long is so at any moment more often: as much as by chance says nothing. How
/// much and not how many, since where a little is taken again and again anybody is hit.
fn disturbed(
    evidence: &Evidence<'_>,
    by: fn(&Sums) -> &Disturbed,
    cause: &str,
) -> Option<(String, u64)> {
    let (tail, rest) = (evidence.tail_sums, evidence.rest_sums);
    let impact_ns = evidence.per_request(by(tail).taken_ns);
    let is_by_chance = (by(tail).taken_ns as f64) < BY_CHANCE * by(tail).by_chance_ns;
    if evidence.share(impact_ns) < WORTH_TELLING || is_by_chance {
        return None;
    }
    let sentence = format!(
        "{} of {} tail requests and {} of {} others were under way while {cause}, which may be {} \
         of the tail's latency",
        count(by(tail).count),
        count(tail.count),
        count(by(rest).count),
        count(rest.count),
        percent(evidence.share(impact_ns)),
    );
    Some((sentence, impact_ns))
}

/// The kernel had told that something was ready, and the thread was still in its wait for that.
///
/// With time not running recorded, most of that is [`not_running`], which knows the reason.
pub(super) fn woken_late(evidence: &Evidence<'_>) -> Option<Finding> {
    let poll = |c: &&Culprit| c.kind == CulpritKind::Loop && c.word == "poll";
    let late = evidence.culprits.iter().find(poll)?;
    let impact_ns = evidence.per_request(late.inflicted_ns);
    if evidence.share(impact_ns) < DOMINANT {
        return None;
    }
    let sentence = format!(
        "for {} of the tail's latency the loop thread was still waiting in the kernel for what was \
         ready already, up to {} at a stretch: it was woken late",
        percent(evidence.share(impact_ns)),
        time(late.longest_ns),
    );
    let action = if evidence.tail_sums.measured.not_running {
        QUIETER
    } else {
        "look for busy processes beside it and at its CPU quota; record --not-running tells whom \
         that delayed"
    };
    Some(finding("woken-late", impact_ns, sentence, action))
}

/// No single callback is long, but there are many.
pub(super) fn burst(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns = evidence.per_request(evidence.tail_sums.crowd_ns);
    if evidence.share(impact_ns) < DOMINANT {
        return None;
    }
    let sentence = format!(
        "{} of the tail's latency is waiting behind many short callbacks of other requests",
        percent(evidence.share(impact_ns)),
    );
    let action = "the loop is saturated in bursts: add workers (cluster), or limit how many \
                  requests are accepted at once";
    Some(finding("burst", impact_ns, sentence, action))
}

/// The request's own computation; what of it is its own, loop events alone do not tell.
pub(super) fn own_work(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns = evidence.per_request(evidence.tail_sums.exec_ns);
    if evidence.loop_only || evidence.share(impact_ns) < DOMINANT || is_of_v8(evidence) {
        return None;
    }
    let sentence = format!(
        "{} of the tail's latency is the requests' own work on the loop",
        percent(evidence.share(impact_ns)),
    );
    let action = "profile these routes: less work per request, or a worker thread for the rest";
    Some(finding("own-work", impact_ns, sentence, action))
}

/// Most of it is collections, compilation or misses: those have advice of their own.
fn is_of_v8(evidence: &Evidence<'_>) -> bool {
    let work = &evidence.tail_sums.work;
    evidence.share(evidence.per_request(work.gc_ns + work.jit_ns + work.ic_ns)) >= MOST
}

/// I/O of a request is ready while the request itself still computes.
pub(super) fn blocks_itself(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns = evidence.per_request(evidence.tail_sums.own_queue_ns);
    if evidence.share(impact_ns) < WORTH_TELLING {
        return None;
    }
    let sentence = format!(
        "{} of the tail's latency is results that wait until the same request has computed \
         something else",
        percent(evidence.share(impact_ns)),
    );
    let action = "start the I/O after the computation, or move the computation off the loop";
    Some(finding("blocks-itself", impact_ns, sentence, action))
}
