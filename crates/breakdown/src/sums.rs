//! What is added up over requests, whatever they are grouped by.

use bobtail_graph::{CulpritKind, PoolPart, RequestPath, Segment, SegmentKind, Work};

use crate::survey::Survey;
use crate::taken::Taken;
use crate::trace_info::Measured;

/// Sums over requests of a route and class.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    pub count: u64,
    pub latency_ns: u64,
    pub io_ns: u64,
    pub queue_ns: u64,
    pub exec_ns: u64,
    pub unattributed_ns: u64,
    /// Of queue and exec.
    pub work: Work,
    /// Classes of it that were measured for each of the requests.
    pub measured: Measured,
    /// Of the compilation: in requests of the first tenth of the recording.
    pub early_jit_ns: u64,
    pub paper_ns: u64,
    /// Of queue: behind callbacks none of which took a tenth of it.
    pub crowd_ns: u64,
    /// Of queue: behind callbacks of the request itself.
    pub own_queue_ns: u64,
    /// Requests whose path has a hop that was deduced.
    pub inferred: u64,
    /// While the host took time from this machine.
    pub by_host: Disturbed,
    /// While V8's own threads took the loop's processors.
    pub by_v8: Disturbed,
}

/// Requests that were under way while time was taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Disturbed {
    pub count: u64,
    /// About so much of their latency may be what was taken.
    pub taken_ns: u64,
    /// How much there would be if all had come at any time.
    pub by_chance_ns: f64,
}

impl Disturbed {
    /// Of one request, from `begin_ns` to `end_ns`, in a recording of `span_ns`.
    fn of(taken: &Taken, [begin_ns, end_ns]: [u64; 2], span_ns: u64) -> Self {
        let disturbance = taken.disturbance(begin_ns, end_ns, span_ns);
        Self {
            count: u64::from(disturbance.is_hit),
            taken_ns: disturbance.taken_ns,
            by_chance_ns: disturbance.by_chance_ns,
        }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.taken_ns += other.taken_ns;
        self.by_chance_ns += other.by_chance_ns;
    }
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.latency_ns += other.latency_ns;
        self.io_ns += other.io_ns;
        self.queue_ns += other.queue_ns;
        self.exec_ns += other.exec_ns;
        self.unattributed_ns += other.unattributed_ns;
        self.work += other.work;
        self.measured = self.measured.and(other.measured);
        self.early_jit_ns += other.early_jit_ns;
        self.paper_ns += other.paper_ns;
        self.crowd_ns += other.crowd_ns;
        self.own_queue_ns += other.own_queue_ns;
        self.inferred += other.inferred;
        self.by_host.add(&other.by_host);
        self.by_v8.add(&other.by_v8);
    }

    /// Of one request.
    pub(crate) fn of(path: &RequestPath, survey: &Survey) -> Self {
        let trace = &survey.trace;
        let span_ns = survey.end_ns.saturating_sub(trace.start_ns);
        let under_way = [path.source_ready_ns, path.sink_ns];
        let mut sums = Self {
            count: 1,
            latency_ns: path.latency_ns,
            inferred: u64::from(path.inferred_hops > 0),
            paper_ns: path.paper_sum_ns,
            work: path.work(),
            measured: trace.measured,
            by_host: Disturbed::of(&trace.stolen, under_way, span_ns),
            by_v8: Disturbed::of(&trace.taken_by_v8, under_way, span_ns),
            ..Self::default()
        };
        for segment in &path.segments {
            *match segment.kind {
                SegmentKind::Io => &mut sums.io_ns,
                SegmentKind::Queue => &mut sums.queue_ns,
                SegmentKind::Exec => &mut sums.exec_ns,
                SegmentKind::Unattributed => &mut sums.unattributed_ns,
            } += segment.duration_ns;
        }
        sums
    }
}

/// A culprit that had less than this share of a request's queue time is one of a crowd.
const CROWD_SHARE: u64 = 10;

impl Sums {
    /// What of the queue of one request, whose sums these are, is of its own and of a crowd.
    pub(crate) fn part_queue(&mut self, path: &RequestPath) {
        let crowd_below_ns = self.queue_ns / CROWD_SHARE;
        for culprit in &path.culprits {
            if !matches!(culprit.kind, CulpritKind::Event(_)) {
                continue;
            }
            if culprit.duration_ns < crowd_below_ns {
                self.crowd_ns += culprit.duration_ns;
            }
            if culprit.request == path.id {
                self.own_queue_ns += culprit.duration_ns;
            }
        }
    }
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            count: 0,
            latency_ns: 0,
            io_ns: 0,
            queue_ns: 0,
            exec_ns: 0,
            unattributed_ns: 0,
            work: Work::default(),
            measured: Measured::ALL,
            early_jit_ns: 0,
            paper_ns: 0,
            crowd_ns: 0,
            own_queue_ns: 0,
            inferred: 0,
            by_host: Disturbed::default(),
            by_v8: Disturbed::default(),
        }
    }
}

/// Sums over the requests of one process.
#[derive(Debug, Clone)]
pub(crate) struct ProcessSums {
    pub pid: u32,
    pub thread: u32,
    pub tail: Sums,
    pub nontail: Sums,
}

/// Sums over waits for one resource by one class.
#[derive(Debug, Clone, Default)]
pub(crate) struct IoSums {
    pub requests: u64,
    last_request: u64,
    pub io_ns: u64,
    pub pool_wait_ns: u64,
    pub pool_run_ns: u64,
    pub shared_ns: u64,
}

impl IoSums {
    /// Adds a segment of a request, of which the numbers rise.
    pub(crate) fn add(&mut self, request: u64, segment: &Segment) {
        let ns = segment.duration_ns;
        self.io_ns += ns;
        match segment.part {
            Some(PoolPart::Wait) => self.pool_wait_ns += ns,
            Some(PoolPart::Run) => self.pool_run_ns += ns,
            None => {}
        }
        if segment.shared {
            self.shared_ns += ns;
        }
        if self.last_request != request {
            self.last_request = request;
            self.requests += 1;
        }
    }

    /// Adds the waits of other requests.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.io_ns += other.io_ns;
        self.pool_wait_ns += other.pool_wait_ns;
        self.pool_run_ns += other.pool_run_ns;
        self.shared_ns += other.shared_ns;
    }
}
