//! Who had the threads of the pool while a request waited for one.
//!
//! Unlike the loop, a pool runs several jobs at once, and what they were is only recorded when they
//! are done. So a request that waited is held until the jobs that were given before its own are
//! back, and each moment of its wait is shared evenly by the jobs that ran then: had one of them
//! not been there, its thread would have been free.

use bobtail_trace::record::{LoopKind, Ns, OpId};

use crate::events::LoopEvent;
use crate::history::History;
use crate::path::{Culprit, CulpritKind, PoolPart, RequestPath, Segment};

/// It takes so long to wake a thread that was free: shorter waits are nobody's doing.
const WAIT_MIN_NS: u64 = 100_000;

fn is_wait(segment: &Segment) -> bool {
    segment.part == Some(PoolPart::Wait) && segment.duration_ns >= WAIT_MIN_NS
}

/// The job that the request waited with last, where some that were given before are under way.
pub(crate) fn awaits(path: &RequestPath, history: &mut History) -> Option<OpId> {
    let waits = path.segments.iter().filter(|segment| is_wait(segment));
    let ops = waits.filter_map(|segment| Some(history.loop_event(segment.event)?.op));
    let last = ops.max()?;
    history.awaits_job_before(last).then_some(last)
}

/// Adds to the waits for a thread the jobs that had them, as far as these are known.
pub(crate) fn blame(path: &mut RequestPath, history: &History) {
    for segment in path.segments.iter_mut().filter(|segment| is_wait(segment)) {
        let (from, to) = (segment.start_ns, segment.start_ns + segment.duration_ns);
        let first = path.culprits.len() as u32;
        let shares = shares(jobs_in(history, from, to));
        let shared = shares.into_iter().filter(|(_, ns)| *ns > 0);
        let culprits = shared.map(|(job, duration_ns)| culprit(history, job, duration_ns));
        path.culprits.extend(culprits);
        segment.culprits = first..path.culprits.len() as u32;
    }
}

/// A job, and when it had a thread.
type Stay<'a> = (&'a LoopEvent, Ns, Ns);

/// The jobs that had a thread in an interval, with their times clipped to it. A job that ran then
/// called back later than the interval began.
fn jobs_in(history: &History, from: Ns, to: Ns) -> Vec<Stay<'_>> {
    let rows = &history.loop_events;
    let first = rows.partition_point(|event| event.begin_ns <= from);
    let after = (0..).map_while(|i: u32| rows.get(first.wrapping_add(i)));
    let jobs = after.filter(|event| event.kind == LoopKind::Pool && event.run_ns > 0);
    let stays = jobs.filter_map(|job| {
        let end_ns = job.ready_ns?;
        let begin_ns = end_ns.saturating_sub(job.run_ns);
        Some((job, begin_ns.max(from), end_ns.min(to)))
    });
    stays
        .filter(|(_, begin_ns, end_ns)| begin_ns < end_ns)
        .collect()
}

/// Each moment in which jobs ran, shared by them; what cannot be divided has the first.
fn shares(stays: Vec<Stay<'_>>) -> Vec<(&LoopEvent, u64)> {
    let mut changes: Vec<(Ns, bool, usize)> = Vec::with_capacity(2 * stays.len());
    for (index, &(_, begin_ns, end_ns)) in stays.iter().enumerate() {
        changes.extend([(begin_ns, true, index), (end_ns, false, index)]);
    }
    changes.sort_unstable();
    let mut shares: Vec<_> = stays.into_iter().map(|(job, ..)| (job, 0)).collect();
    let mut running: Vec<usize> = Vec::new();
    let mut reached: Ns = 0;
    for (at_ns, begins, index) in changes {
        let each = (at_ns - reached) / running.len().max(1) as u64;
        let mut left_ns = (at_ns - reached) % running.len().max(1) as u64;
        for &one in &running {
            shares[one].1 += each + u64::from(left_ns > 0);
            left_ns = left_ns.saturating_sub(1);
        }
        reached = at_ns;
        if begins {
            running.push(index);
        } else {
            running.retain(|&one| one != index);
        }
    }
    shares
}

fn culprit(history: &History, job: &LoopEvent, duration_ns: u64) -> Culprit {
    let registrar = history.event(job.event).map_or(0, |event| event.registrar);
    let started_in = history.event(registrar);
    let run = started_in.and_then(|event| history.runs.ring.get(event.first_run));
    Culprit {
        kind: CulpritKind::Job,
        event: job.event,
        request: job.registrar_request,
        route: history.requests.route(job.registrar_request),
        location: history.locations.get(run.map_or(0, |run| run.location)),
        collection: 0,
        resource: job.resource,
        duration_ns,
    }
}
