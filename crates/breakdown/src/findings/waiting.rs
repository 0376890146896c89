//! Lints about what was waited for outside the loop thread.

use bobtail_trace::record::LoopKind;

use super::{Evidence, finding};
use crate::figures::percent;
use crate::report::{Culprit, CulpritKind, Finding, Io};

/// Share of the tail's latency from which a cause is worth telling.
const WORTH_TELLING: f64 = 0.1;
/// Share of the waits for the pool from which a job is named.
const WORTH_NAMING: f64 = 0.25;
/// Share from which one resource is the dominant cause.
const DOMINANT: f64 = 0.3;

/// Jobs wait for a thread of libuv's pool.
pub(super) fn pool_exhausted(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns: u64 = evidence.tail_io().map(|io| io.pool_wait_ns).sum();
    if evidence.share(impact_ns) < WORTH_TELLING {
        return None;
    }
    let busiest = evidence.tail_io().max_by_key(|io| io.pool_wait_ns)?;
    let jobs = || {
        evidence
            .culprits
            .iter()
            .filter(|c| c.kind == CulpritKind::Job)
    };
    let of_wait =
        |inflicted_ns: u64| evidence.per_request(inflicted_ns) as f64 / impact_ns.max(1) as f64;
    let holder = jobs()
        .next()
        .filter(|holder| of_wait(holder.inflicted_ns) >= WORTH_NAMING);
    let mut had = holder.map_or_else(String::new, |holder| {
        let share = percent(of_wait(holder.inflicted_ns));
        format!(
            "; for {share} of that wait the threads were at {}",
            job(holder)
        )
    });
    let unknown = 1.0 - of_wait(jobs().map(|job| job.inflicted_ns).sum());
    if unknown >= DOMINANT {
        had += &format!(
            "; for {} of that wait the threads were at jobs this loop does not know, such as those \
             of another thread of the process",
            percent(unknown)
        );
    }
    let sentence = format!(
        "{} of the tail's latency is waiting for a free thread of the pool, most of it before \
         {}{had}",
        percent(evidence.share(impact_ns)),
        busiest.resource,
    );
    let fewer = holder.map_or_else(
        || "fs, dns, crypto and zlib jobs".to_owned(),
        |holder| format!("jobs like {}", job(holder)),
    );
    let action = format!("start fewer {fewer} at once, or raise UV_THREADPOOL_SIZE (4 by default)");
    Some(finding("pool-exhausted", impact_ns, sentence, action))
}

/// `fs.read /data/a.json (GET /reports)`.
fn job(holder: &Culprit) -> String {
    match &holder.route {
        Some(route) => format!("{} ({route})", holder.word),
        None => holder.word.clone(),
    }
}

/// One file, host or database takes most of the time.
pub(super) fn slow_resource(evidence: &Evidence<'_>) -> Option<Finding> {
    // What another request had started is told by `shared_work`, with the same resource.
    let is_shared = is_shared_told(evidence);
    let told_ns = |io: &Io| match is_shared {
        true => before_a_connection_ns(evidence, io).max(io.shared_ns),
        false => before_a_connection_ns(evidence, io),
    };
    let own_ns = |io: &&Io| io.io_ns.saturating_sub(io.pool_wait_ns + told_ns(io));
    let outside = |io: &&Io| !is_timer(io) && io.kind != "agent";
    let slowest = evidence.tail_io().filter(outside).max_by_key(own_ns)?;
    let impact_ns = own_ns(&slowest);
    if evidence.share(impact_ns) < DOMINANT {
        return None;
    }
    let sentence = format!(
        "{} of the tail's latency is waiting for {}",
        percent(evidence.share(impact_ns)),
        waited_for(slowest),
    );
    Some(finding(
        "slow-resource",
        impact_ns,
        sentence,
        make_faster(slowest),
    ))
}

/// The client is waited for on both sides of a request: while its body is read, and, from its
/// response on, until its connection takes more.
fn client_takes_response(io: &Io) -> bool {
    io.kind == LoopKind::Poll.word()
}

fn waited_for(io: &Io) -> String {
    match io.resource.as_str() {
        "client" if client_takes_response(io) => "the client to take its response".into(),
        "client" => "the client to send its request".into(),
        resource if io.own_service => format!("{resource}, which is this service itself"),
        resource => resource.into(),
    }
}

fn make_faster(io: &Io) -> String {
    match io.resource.as_str() {
        "client" if client_takes_response(io) => {
            "the client reads its response slowly: send less, compress it, stream it with a \
             timeout, or put a proxy that buffers before the service"
                .into()
        }
        "client" => {
            "the client sends its request slowly: look at the network, or at who sends".into()
        }
        resource if io.own_service => {
            format!("call the function instead of {resource}, or look at the route it asks for")
        }
        resource if resource.starts_with("worker ") => {
            "run shorter jobs in the workers, or, where processors are free, more workers".into()
        }
        resource => format!("make {resource} faster, ask it less often (cache), or earlier"),
    }
}

/// What requests waited for the answers to others, because those had the connections to it.
///
/// Whoever waits in the queue of an agent waits for what is on the way over its connections: that
/// is on the path, as another request's work, and only its end is of the kind `agent`.
fn before_a_connection_ns(evidence: &Evidence<'_>, io: &Io) -> u64 {
    let queued = |other: &Io| is_queue(other) && other.resource == io.resource;
    match io.kind.as_str() {
        "agent" => io.io_ns,
        "read" if evidence.tail_io().any(queued) => io.shared_ns,
        _ => 0,
    }
}

/// Some of the tail waited for a free connection.
fn is_queue(io: &Io) -> bool {
    io.kind == "agent" && io.io_ns > 0
}

/// Requests of this service to another wait for a free connection.
pub(super) fn agent_queue(evidence: &Evidence<'_>) -> Option<Finding> {
    let waited_ns = |io: &Io| before_a_connection_ns(evidence, io);
    let impact_ns: u64 = evidence.tail_io().map(waited_ns).sum();
    if evidence.share(impact_ns) < WORTH_TELLING {
        return None;
    }
    let worst = evidence.tail_io().max_by_key(|io| waited_ns(io))?;
    let sentence = format!(
        "{} of the tail's latency is waiting for a free connection to {}",
        percent(evidence.share(impact_ns)),
        worst.resource,
    );
    let action = "raise the agent's maxSockets (or the pool's size), or hold connections for a \
                  shorter time";
    Some(finding("connection-queue", impact_ns, sentence, action))
}

fn is_timer(io: &Io) -> bool {
    matches!(io.kind.as_str(), "timer" | "timers")
}

/// The application waits on purpose.
pub(super) fn timer(evidence: &Evidence<'_>) -> Option<Finding> {
    let timers = evidence.tail_io().filter(|io| is_timer(io));
    let impact_ns: u64 = timers.map(|io| io.io_ns).sum();
    if evidence.share(impact_ns) < WORTH_TELLING {
        return None;
    }
    let sentence = format!(
        "{} of the tail's latency is waiting for timers: delays, retries with back-off, polling \
         or debouncing",
        percent(evidence.share(impact_ns)),
    );
    let action = "shorten the delay, or wait for the event itself instead of polling for it";
    Some(finding("timer", impact_ns, sentence, action))
}

/// The wait was for what another request had started.
pub(super) fn shared_work(evidence: &Evidence<'_>) -> Option<Finding> {
    if !is_shared_told(evidence) {
        return None;
    }
    let impact_ns = shared_ns(evidence);
    let most = evidence
        .tail_io()
        .max_by_key(|io| for_others_ns(evidence, io))?;
    let sentence = format!(
        "{} of the tail's latency is waiting for work that another request had started, most of \
         it for {}",
        percent(evidence.share(impact_ns)),
        waited_for(most),
    );
    let hold = "look at shared promises, locks and caches that are filled on demand: fill them \
                ahead, or hold them shorter";
    let action = match is_timer(most) {
        true => hold.to_owned(),
        false => format!("{hold}; or {}", make_faster(most)),
    };
    Some(finding("shared-work", impact_ns, sentence, action))
}

fn is_shared_told(evidence: &Evidence<'_>) -> bool {
    evidence.share(shared_ns(evidence)) >= DOMINANT
}

fn shared_ns(evidence: &Evidence<'_>) -> u64 {
    evidence
        .tail_io()
        .map(|io| for_others_ns(evidence, io))
        .sum()
}

/// What was waited for because another request had started it.
fn for_others_ns(evidence: &Evidence<'_>, io: &Io) -> u64 {
    match io.kind.as_str() {
        "agent" => 0,
        _ => io.shared_ns - before_a_connection_ns(evidence, io),
    }
}
