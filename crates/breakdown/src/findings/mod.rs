//! Findings: what to do, as a list of lints over the numbers of the report.
//!
//! Each lint looks at the same evidence and either says nothing or one sentence with numbers. None
//! knows of the others, so one can be added or argued about alone.

mod on_the_loop;
mod quality;
mod v8;
mod waiting;

use std::collections::BTreeMap;

use crate::report::{Class, Culprit, Finding, Io, Pause, Requests, Tail};
use crate::sums::Sums;
use crate::trace_info::{Heap, Throttled};

/// The word among the losses for event loops without a trace; those of records are the format's.
pub(crate) const REFUSED_LOOPS: &str = "event-loops";

/// What lints may look at.
pub(crate) struct Evidence<'a> {
    pub requests: &'a Requests,
    pub tail: &'a Tail,
    pub tail_sums: &'a Sums,
    pub rest_sums: &'a Sums,
    pub io: &'a [Io],
    /// Most inflicting first.
    pub culprits: &'a [Culprit],
    /// The longest collections, longest first.
    pub pauses: &'a [Pause],
    /// Limits of the heaps of the processes that told them.
    pub heaps: &'a [&'a Heap],
    /// Of the process that its CPU quota cost most; `None` where nobody told.
    pub throttled: Option<Throttled>,
    /// Length of the recording.
    pub duration_ns: u64,
    /// Requests whose routes are not told by name.
    pub unnamed: u64,
    pub losses: &'a BTreeMap<String, u64>,
    /// Recorded with `--detail loop`: without what ran inside the loop events.
    pub loop_only: bool,
}

impl Evidence<'_> {
    /// Mean latency of the tail.
    fn latency_ns(&self) -> u64 {
        self.per_request(self.tail_sums.latency_ns)
    }

    /// A sum over the tail as a mean per request of it.
    fn per_request(&self, sum: u64) -> u64 {
        sum / self.tail_sums.count.max(1)
    }

    /// A mean per request of the tail as a share of its mean latency.
    fn share(&self, mean_ns: u64) -> f64 {
        mean_ns as f64 / self.latency_ns().max(1) as f64
    }

    fn tail_io(&self) -> impl Iterator<Item = &Io> {
        self.io.iter().filter(|io| io.class == Class::Tail)
    }
}

type Lint = fn(&Evidence<'_>) -> Option<Finding>;

/// In the order in which they are told when their impact is the same.
const LINTS: [Lint; 28] = [
    quality::too_few_requests,
    on_the_loop::loop_hog,
    v8::asked_collections,
    v8::collections_for_external_memory,
    v8::collections_to_free_all,
    v8::full_collections,
    v8::young_collections,
    v8::compilation,
    v8::inline_caches,
    on_the_loop::not_running,
    on_the_loop::throttled,
    on_the_loop::v8_threads,
    on_the_loop::host_steal,
    on_the_loop::woken_late,
    on_the_loop::burst,
    on_the_loop::own_work,
    on_the_loop::blocks_itself,
    waiting::pool_exhausted,
    waiting::slow_resource,
    waiting::agent_queue,
    waiting::timer,
    waiting::shared_work,
    quality::unattributed,
    quality::inferred,
    quality::loop_only,
    quality::unnamed_routes,
    quality::lost_history,
    quality::not_all_recorded,
];

/// The findings, the one with most impact first; those about the recording itself come last.
///
/// Young and full collections have cures of their own, but are one cause: they rank by what they
/// cost together.
pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings: Vec<_> = LINTS.iter().filter_map(|lint| lint(evidence)).collect();
    let is_gc = |f: &Finding| v8::COLLECTIONS.contains(&f.code.as_str());
    let gc_ns: u64 = findings
        .iter()
        .filter(|f| is_gc(f))
        .map(|f| f.impact_ns)
        .sum();
    findings.sort_by_key(|f| {
        let cause_ns = if is_gc(f) { gc_ns } else { f.impact_ns };
        std::cmp::Reverse((cause_ns, f.impact_ns))
    });
    findings
}

/// Code in words: `export app.js:14:3 (GET /export)`; `None` where neither is known.
fn place(route: Option<&str>, location: Option<&str>) -> Option<String> {
    match (route, location) {
        (Some(route), Some(location)) => Some(format!("{location} ({route})")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

fn finding(code: &str, impact_ns: u64, sentence: String, action: impl Into<String>) -> Finding {
    Finding {
        code: code.into(),
        sentence,
        action: action.into(),
        impact_ns,
    }
}
