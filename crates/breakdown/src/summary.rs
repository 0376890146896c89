//! From sums to the report: means, ranks, findings.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use bobtail_graph::Work;
use bobtail_trace::record::Ns;

use crate::aggregate::{Aggregate, IoKey};
use crate::cluster::cluster;
use crate::compare::DiffSide;
use crate::findings::{self, Evidence, REFUSED_LOOPS};
use crate::longest_pauses;
use crate::names::UNNAMED;
use crate::population::Population;
use crate::report::{
    Breakdown, Class, Ended, Io, Outcome, Process, ProcessBreakdown, Report, Requests, Run, Tail,
    Unavailable,
};
use crate::sums::{IoSums, Sums};
use crate::survey::Survey;
use crate::trace_info::{Measured, Throttled};

/// Rows of a list that are reported; the rest is too small to act on.
const ROWS_REPORTED: usize = 100;

/// What the recording folder tells about the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    pub command: Vec<String>,
    pub started_at: String,
    /// `full` or `loop`.
    pub detail: String,
    pub warmup_ns: u64,
    pub outcome: Option<Outcome>,
    pub unavailable: Vec<Unavailable>,
    /// Event loops without a trace: the recording had reached its bound.
    pub refused_loops: u64,
}

/// Puts the report together.
pub fn report(
    run: RunFacts,
    surveys: &[Survey],
    population: &Population,
    aggregate: &Aggregate,
) -> Report {
    let breakdown = breakdowns(aggregate);
    let tail_count = aggregate
        .sums
        .iter()
        .filter(|((_, c), _)| *c == Class::Tail);
    let tail = Tail {
        count: tail_count.map(|(_, sums)| sums.count).sum(),
        ..population.tail.clone()
    };
    let requests = requests(surveys, population, aggregate);
    let losses = losses(&run, surveys);
    let io = ios(aggregate);
    let ranked = aggregate.blame.ranked(
        &aggregate.culprit_routes,
        &aggregate.places,
        &aggregate.resources,
    );
    let culprits: Vec<_> = ranked.into_iter().map(|row| row.culprit).collect();
    let heaps = surveys.iter().filter_map(|s| s.trace.heap.as_ref());
    let unavailable = unavailable(&run, surveys);
    let run = run_of(run, surveys);
    let pauses = longest_pauses::told(&aggregate.watched, surveys, start_ns(surveys));
    let evidence = Evidence {
        requests: &requests,
        tail: &tail,
        tail_sums: &total(aggregate, Class::Tail),
        rest_sums: &total(aggregate, Class::Nontail),
        io: &io,
        culprits: &culprits,
        pauses: &pauses,
        heaps: &heaps.collect::<Vec<_>>(),
        throttled: throttled(surveys),
        duration_ns: run.duration_ns,
        unnamed: unnamed(aggregate),
        losses: &losses,
        loop_only: run.detail == "loop",
    };
    let findings = findings::all(&evidence);
    let processes = processes(aggregate);
    Report {
        schema: "bobtail-report/1".into(),
        unavailable,
        run,
        findings,
        requests,
        tail,
        cluster: cluster(&breakdown, &processes),
        breakdown,
        processes,
        gc: aggregate.pauses.ranked(&aggregate.blame),
        pauses,
        io: io.into_iter().take(ROWS_REPORTED).collect(),
        culprits: culprits.into_iter().take(ROWS_REPORTED).collect(),
        losses,
    }
}

/// Of the process that its CPU quota cost most; `None` where nobody told.
pub(crate) fn throttled(surveys: &[Survey]) -> Option<Throttled> {
    let told = surveys.iter().filter_map(|s| s.trace.throttled);
    told.max_by_key(|one| one.throttled_ns)
}

/// What this host did not allow, then work classes that the recording says nothing about.
fn unavailable(run: &RunFacts, surveys: &[Survey]) -> Vec<Unavailable> {
    let mut all = run.unavailable.clone();
    for (index, mechanism) in Measured::MECHANISMS.into_iter().enumerate() {
        let lacking = surveys.iter().filter(|s| !s.trace.measured.each()[index]);
        let lacking = lacking.count();
        if lacking == 0 || all.iter().any(|one| one.mechanism == mechanism) {
            continue;
        }
        let reason = if lacking == surveys.len() {
            "the recording does not have it".to_owned()
        } else {
            format!("{lacking} of {} processes did not record it", surveys.len())
        };
        all.push(Unavailable {
            mechanism: mechanism.into(),
            reason,
        });
    }
    all
}

/// One recording as a side of a comparison.
pub fn diff_side(run: RunFacts, surveys: &[Survey], population: &Population) -> DiffSide {
    DiffSide {
        losses: losses(&run, surveys),
        run: run_of(run, surveys),
        requests: population.latencies.count(),
        blocks: 0,
    }
}

fn start_ns(surveys: &[Survey]) -> Ns {
    surveys.iter().map(|s| s.trace.start_ns).min().unwrap_or(0)
}

fn run_of(run: RunFacts, surveys: &[Survey]) -> Run {
    let start_ns = start_ns(surveys);
    let end_ns = surveys.iter().map(|s| s.end_ns).max().unwrap_or(0);
    // Where several loops are recorded, their bursts fall together as nearly as makes no matter.
    let shortest_pause_ns = surveys.iter().map(|s| s.paused_ns).min().unwrap_or(0);
    let mut node: Vec<String> = surveys.iter().map(|s| s.trace.node.clone()).collect();
    node.sort();
    node.dedup();
    let process = |s: &Survey| Process {
        pid: s.trace.pid,
        thread: s.trace.thread,
        node: s.trace.node.clone(),
        requests: s.latencies.count(),
        ended: s.ended.map(|(at_ns, reason)| Ended {
            at_ns: at_ns.saturating_sub(start_ns),
            reason,
        }),
    };
    Run {
        command: run.command,
        started_at: run.started_at,
        duration_ns: end_ns.saturating_sub(start_ns),
        recorded_ns: end_ns.saturating_sub(start_ns + shortest_pause_ns),
        node,
        processes: surveys.iter().map(process).collect(),
        detail: run.detail,
        warmup_ns: run.warmup_ns,
        outcome: run.outcome,
    }
}

fn requests(surveys: &[Survey], population: &Population, aggregate: &Aggregate) -> Requests {
    let count = population.latencies.count();
    Requests {
        count,
        complete: count.saturating_sub(aggregate.truncated),
        inferred: aggregate.sums.values().map(|sums| sums.inferred).sum(),
        truncated: aggregate.truncated,
        warmup: surveys.iter().map(|s| s.warmup).sum(),
        unfinished: surveys.iter().map(|s| s.unfinished).sum(),
        straddling: surveys.iter().map(|s| s.straddling).sum(),
        cut_off: surveys.iter().map(|s| s.cut_off).sum(),
        mean_ns: population.latencies.mean_ns(),
        percentiles_ns: population.percentiles_ns(),
        confidence_ns: population.confidence_ns(),
    }
}

fn losses(run: &RunFacts, surveys: &[Survey]) -> BTreeMap<String, u64> {
    let mut losses = BTreeMap::new();
    if run.refused_loops > 0 {
        losses.insert(REFUSED_LOOPS.to_owned(), run.refused_loops);
    }
    for (word, count) in surveys
        .iter()
        .flat_map(|s| &s.losses)
        .filter(|(_, n)| **n > 0)
    {
        *losses.entry(word.clone()).or_default() += count;
    }
    losses
}

fn total(aggregate: &Aggregate, class: Class) -> Sums {
    let mut total = Sums::default();
    let of_class = aggregate.sums.iter().filter(|((_, c), _)| *c == class);
    of_class.for_each(|(_, sums)| total.add(sums));
    total
}

/// Requests whose routes came after as many as are told by name.
fn unnamed(aggregate: &Aggregate) -> u64 {
    let beyond = aggregate
        .sums
        .iter()
        .filter(|((route, _), _)| *route == UNNAMED);
    beyond.map(|(_, sums)| sums.count).sum()
}

/// All routes together, then each: the ones that lose most time first.
fn breakdowns(aggregate: &Aggregate) -> Vec<Breakdown> {
    let mut rows: Vec<_> = aggregate
        .sums
        .iter()
        .map(|((route, class), sums)| (aggregate.routes.text(*route), *class, sums))
        .collect();
    rows.sort_by_key(|(route, class, sums)| (*class, std::cmp::Reverse(sums.latency_ns), *route));
    let all = [Class::Tail, Class::Nontail].map(|class| (class, total(aggregate, class)));
    let all = all.iter().filter(|(_, sums)| sums.count > 0);
    all.map(|(class, sums)| breakdown("*", *class, sums))
        .chain(
            rows.into_iter()
                .map(|(route, class, sums)| breakdown(route, class, sums)),
        )
        .collect()
}

/// Of each process with requests, the busiest in the tail first.
fn processes(aggregate: &Aggregate) -> Vec<ProcessBreakdown> {
    let mut all: Vec<_> = aggregate.processes.iter().collect();
    all.sort_by_key(|p| (std::cmp::Reverse(p.tail.count), p.pid, p.thread));
    let rows = all.iter().flat_map(|process| {
        let classes = [
            (Class::Tail, &process.tail),
            (Class::Nontail, &process.nontail),
        ];
        let some = classes.into_iter().filter(|(_, sums)| sums.count > 0);
        some.map(|(class, sums)| {
            process_breakdown(process.pid, process.thread, breakdown("*", class, sums))
        })
    });
    rows.collect()
}

/// The row of one process.
pub(crate) fn process_breakdown(pid: u32, thread: u32, row: Breakdown) -> ProcessBreakdown {
    ProcessBreakdown {
        pid,
        thread,
        class: row.class,
        count: row.count,
        latency_ns: row.latency_ns,
        io_ns: row.io_ns,
        queue_ns: row.queue_ns,
        exec_ns: row.exec_ns,
        unattributed_ns: row.unattributed_ns,
        work: row.work,
    }
}

/// Means that sum up: what rounding loses goes to the largest part.
fn breakdown(route: &str, class: Class, sums: &Sums) -> Breakdown {
    let mean = |sum: u64| sum / sums.count.max(1);
    let work = Work {
        native_ns: mean(sums.work.native_ns),
        gc_ns: mean(sums.work.gc_ns),
        jit_ns: mean(sums.work.jit_ns),
        ic_ns: mean(sums.work.ic_ns),
        loop_ns: mean(sums.work.loop_ns),
        not_running_ns: mean(sums.work.not_running_ns),
    };
    let latency_ns = mean(sums.latency_ns);
    let mut parts = [
        sums.io_ns,
        sums.queue_ns,
        sums.exec_ns,
        sums.unattributed_ns,
    ]
    .map(mean);
    let rest = latency_ns - parts.iter().sum::<u64>();
    if let Some(largest) = parts.iter_mut().max() {
        *largest += rest;
    }
    let [io_ns, queue_ns, exec_ns, unattributed_ns] = parts;
    Breakdown {
        route: route.into(),
        class,
        count: sums.count,
        latency_ns,
        io_ns,
        queue_ns,
        exec_ns,
        unattributed_ns,
        work: sums.measured.work(queue_ns + exec_ns, &work),
        paper_sum_ns: mean(sums.paper_ns),
    }
}

fn ios(aggregate: &Aggregate) -> Vec<Io> {
    let mut rows: Vec<_> = aggregate.io.iter().collect();
    rows.sort_by_key(|(key, sums)| (key.class, std::cmp::Reverse(sums.io_ns)));
    let count = |class| total(aggregate, class).count.max(1);
    let counts = [count(Class::Tail), count(Class::Nontail)];
    rows.into_iter()
        .map(|(key, sums)| io(aggregate, counts, key, sums))
        .collect()
}

fn io(aggregate: &Aggregate, counts: [u64; 2], key: &IoKey, sums: &IoSums) -> Io {
    let mean = |sum: u64| sum / counts[usize::from(key.class == Class::Nontail)];
    let resource = key
        .resource
        .map_or(key.kind, |r| aggregate.resources.text(r));
    Io {
        class: key.class,
        own_service: is_own_service(resource, &aggregate.ports),
        resource: resource.into(),
        kind: key.kind.into(),
        requests: sums.requests,
        io_ns: mean(sums.io_ns),
        pool_wait_ns: mean(sums.pool_wait_ns),
        pool_run_ns: mean(sums.pool_run_ns),
        shared_ns: mean(sums.shared_ns),
    }
}

/// Whether `host:port` is this machine and one of these ports. The same port of another host is
/// another service.
fn is_own_service(resource: &str, ports: &BTreeSet<u16>) -> bool {
    let Some((host, port)) = resource.rsplit_once(':') else {
        return false;
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let local = host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified());
    local && port.parse().is_ok_and(|port| ports.contains(&port))
}
