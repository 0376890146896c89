//! Which requests are exported: the tail, the slowest, those of a route or a time.
//!
//! Chosen in a pass of its own that walks no path, because the slowest are known only when all
//! were seen, and a walk of the few that are wanted is much cheaper than of all.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use bobtail_breakdown::{Strings, TraceInfo};
use bobtail_graph::{Graph, Options, RequestPath, Walks, Window};
use bobtail_trace::record::{Ns, Record, RequestId};

/// How slow a request must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// Any.
    All,
    /// At least this latency.
    From(u64),
    /// So many, the slowest of those that fit otherwise.
    Slowest(usize),
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub rank: Rank,
    /// Only of this route.
    pub route: Option<String>,
    /// Under way at some time in this range, by `CLOCK_MONOTONIC`.
    pub from_ns: Option<Ns>,
    pub to_ns: Option<Ns>,
}

impl Wanted {
    /// Every request.
    pub const ALL: Self = Self {
        rank: Rank::All,
        route: None,
        from_ns: None,
        to_ns: None,
    };

    fn fits(&self, path: &RequestPath, strings: &(impl Strings + ?Sized)) -> bool {
        let slow = !matches!(self.rank, Rank::From(least_ns) if path.latency_ns < least_ns);
        let asked = self.route.as_deref();
        slow && asked.is_none_or(|route| strings.get(path.route) == Some(route))
            && self.from_ns.is_none_or(|from_ns| path.sink_ns >= from_ns)
            && self.to_ns.is_none_or(|to_ns| path.source_ready_ns < to_ns)
    }
}

/// A request that fits, before it is known whether slower ones push it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    pub latency_ns: u64,
    pub request: Reverse<RequestId>,
    pub begin_ns: Ns,
}

/// The chosen requests of one trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// All that came after warm-up.
    All,
    /// These.
    Only(BTreeSet<RequestId>),
}

impl Chosen {
    pub(crate) fn has(&self, request: RequestId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(&request),
        }
    }

    pub(crate) fn walks(&self) -> Walks {
        match self {
            Self::All => Walks::All,
            Self::Only(ids) => Walks::Only(ids.clone()),
        }
    }
}

/// The requests of one trace that fit, at the most so many as are wanted in all.
pub fn choose<E>(
    trace: &TraceInfo,
    records: impl IntoIterator<Item = Result<Record, E>>,
    strings: &(impl Strings + ?Sized),
    wanted: &Wanted,
) -> Result<Vec<Candidate>, E> {
    let most = match wanted.rank {
        Rank::Slowest(count) => count,
        Rank::All | Rank::From(_) => usize::MAX,
    };
    let mut graph = Graph::new(Options {
        walks: Walks::None,
        ..Options::default()
    });
    let mut slowest: BinaryHeap<Reverse<Candidate>> = BinaryHeap::new();
    let mut finished = |path: &RequestPath, _: Window<'_>| {
        if is_warmup(trace, path) || !wanted.fits(path, strings) {
            return;
        }
        slowest.push(Reverse(Candidate {
            latency_ns: path.latency_ns,
            request: Reverse(path.id),
            begin_ns: path.source_ready_ns,
        }));
        if slowest.len() > most {
            slowest.pop();
        }
    };
    for record in records {
        graph.push(record?, &mut finished);
    }
    graph.finish(&mut finished);
    Ok(slowest.into_iter().map(|Reverse(one)| one).collect())
}

/// Those of all traces that are exported, by trace.
pub fn pick(candidates: Vec<Vec<Candidate>>, wanted: &Wanted) -> Vec<Vec<Candidate>> {
    let Rank::Slowest(count) = wanted.rank else {
        return candidates;
    };
    let traces = candidates.len();
    let numbered = candidates.into_iter().enumerate();
    let mut all: Vec<_> = numbered
        .flat_map(|(trace, some)| some.into_iter().map(move |one| (trace, one)))
        .collect();
    all.sort_by_key(|&(trace, one)| (Reverse(one.latency_ns), trace, one.request.0));
    let mut picked = vec![Vec::new(); traces];
    for (trace, one) in all.into_iter().take(count) {
        picked[trace].push(one);
    }
    picked
}

/// Requests received during warm-up are in no figure and so in no export.
pub(crate) fn is_warmup(trace: &TraceInfo, path: &RequestPath) -> bool {
    trace
        .warmup_end_ns
        .is_some_and(|end_ns| path.source_ns < end_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(latency_ns: u64, request: RequestId) -> Candidate {
        Candidate {
            latency_ns,
            request: Reverse(request),
            begin_ns: 0,
        }
    }

    #[test]
    fn the_slowest_of_all_traces_are_picked() {
        let wanted = Wanted {
            rank: Rank::Slowest(3),
            ..Wanted::ALL
        };
        let first = vec![candidate(50, 1), candidate(10, 2)];
        let second = vec![candidate(40, 1), candidate(10, 3), candidate(60, 4)];
        let picked = pick(vec![first, second], &wanted);
        assert_eq!(picked[0], [candidate(50, 1)]);
        assert_eq!(picked[1], [candidate(60, 4), candidate(40, 1)]);
    }
}
