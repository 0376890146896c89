//! The model: the event dependency graph of one loop, as the loop will run it again.
//!
//! Flat vectors in the recorded order, because a replay runs through millions of events once for
//! each change that is asked about.

use bobtail_policy::CollectionKind;
use bobtail_trace::record::Ns;

use crate::disturbed::Disturbed;
use crate::pool::Pool;
use crate::times::AsRecorded;

/// Number of a loop event in the recorded order.
pub(crate) type EventIx = u32;
/// Of work: each has a factor.
pub(crate) const CLASSES: usize = 6;
/// The place of collections, of what a speed does not change, and of what no scenario does.
pub(crate) const GC: usize = 1;
pub(crate) const NOT_RUNNING: usize = 4;
#[cfg(test)]
pub(crate) const LOOP: usize = 5;
/// Stands for no gate.
pub(crate) const NO_GATE: u32 = u32::MAX;
/// Stands for no connection.
pub(crate) const NO_CONNECTION: u32 = u32::MAX;
/// Stands for no request, or for one that was not answered.
pub(crate) const NO_REQUEST: u32 = u32::MAX;

/// One event loop, ready to run again.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub(crate) events: Vec<Event>,
    pub(crate) steps: Vec<Step>,
    /// Of steps: `native`, `gc`, `jit`, `ic`, not running, and what the loop itself does. Apart
    /// from the rest, since the loop reads only their sum.
    pub(crate) work_ns: Vec<[u64; CLASSES]>,
    /// Of events: the load brings it, and not what comes of itself.
    pub(crate) is_of_load: Vec<bool>,
    pub(crate) gates: Vec<Gate>,
    pub(crate) requests: Vec<Request>,
    pub(crate) pool: Pool,
    /// Connections on which one read may bring several answers.
    pub(crate) connections: usize,
    /// Median of the leads of events that were ready while the loop was busy, and while it slept.
    pub(crate) lead_busy_ns: u64,
    pub(crate) lead_woken_ns: u64,
    /// Likewise of the time until the kernel answers.
    pub(crate) poll_busy_ns: u64,
    pub(crate) poll_woken_ns: u64,
    /// First arrival and last response.
    pub(crate) span_ns: (Ns, Ns),
    /// The events that were recorded between them.
    pub(crate) span_events: (usize, usize),
    /// Found when a replay first asks for them.
    pub(crate) as_recorded: AsRecorded,
}

/// A loop event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Event {
    pub trigger: Trigger,
    pub phase: Phase,
    /// It tells that a job of the pool is done.
    pub is_job: bool,
    /// It is a wake-up for something else, at which the loop takes what the pool has done.
    pub takes_jobs: bool,
    /// So long before its begin the loop took what the pool had done; where it is a wake-up, before
    /// its end.
    pub taken_before_ns: u64,
    /// It was ready while the loop slept.
    pub woken: bool,
    /// What it waits for, and how its time scales.
    pub wait: Wait,
    /// From when it was ready and the loop free to its begin, and the collections in that.
    pub lead_ns: u64,
    pub lead_gc_ns: u64,
    /// What is collected in it.
    pub lead_gc_kind: Option<CollectionKind>,
    /// The connection on which it brings an answer, where one read may bring several;
    /// [`NO_CONNECTION`] for none.
    pub connection: u32,
    /// It came with the same read as the event before it.
    pub joins: bool,
    /// The answer of the kernel with which it was told.
    pub turn: u32,
    /// As of [`crate::turns::Turn`].
    pub turn_woken: bool,
    pub poll_ns: u64,
    /// Its steps are those up to the first of the next event.
    pub first_step: u32,
}

impl Event {
    /// With all others of its kind in one answer of the kernel it is one wake-up.
    pub(crate) fn is_of_pool(&self) -> bool {
        matches!(self.trigger, Trigger::Job { .. }) || self.takes_jobs
    }
}

/// What makes an event ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// Nothing in this process: it comes at its time. With the load, where it is a part of it;
    /// then `since_ns` is when the request came to which it belongs. Where `is_released`, not
    /// before a step of an earlier event either.
    Arrival {
        at_ns: Ns,
        since_ns: Ns,
        is_load: bool,
        is_released: bool,
    },
    /// A step of an earlier event, and then it takes so long.
    Released { delay_ns: u64 },
    /// A step submits this job to the pool.
    Job { job: u32 },
}

/// What an event waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub resource: u32,
    /// A timer waits for itself: no other machine would make it faster.
    pub is_timer: bool,
}

/// The part of a turn of the loop in which an event runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Poll,
    Check,
    Close,
    Timers,
}

/// What an event does without anything depending on it, and then what does depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// For which it works, by number; [`NO_REQUEST`] for none.
    pub request: u32,
    /// It waits until this gate is open; [`NO_GATE`] for none.
    pub gate: u32,
    pub action: Action,
}

/// What happens at the end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    None,
    /// An event begins to wait.
    Release(EventIx),
    /// A gate has one thing less to wait for; here its steps would follow.
    Gate(u32),
    /// Likewise, elsewhere.
    Join(u32),
    /// The last byte of a response is out.
    Sink(u32),
    /// A collection begins.
    Collect(CollectionKind),
    /// It is over.
    Collected,
}

/// Steps that wait for several things (an `await` of something that others started).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate {
    pub event: EventIx,
    /// What it waits for.
    pub missing: u32,
}

/// A request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub source: EventIx,
    /// How long before what its event told came, or before that stood in line where something in
    /// this process brought it.
    pub before_ns: i64,
    pub arrival_ns: Ns,
    pub latency_ns: u64,
    pub route: u32,
    /// It is in percentiles: it came after warm-up, and the host did not disturb it.
    pub counts: bool,
    /// A hop of its path was deduced.
    pub inferred: bool,
    pub waits_for_client: bool,
}

impl Model {
    /// The latencies that were recorded, after warm-up, in the order of the responses.
    pub fn recorded_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.counted().map(|one| one.latency_ns)
    }

    /// When those requests came.
    pub fn arrivals_ns(&self) -> impl Iterator<Item = Ns> + '_ {
        self.counted().map(|one| one.arrival_ns)
    }

    /// Routes of those requests, by number.
    pub fn routes(&self) -> impl Iterator<Item = u32> + '_ {
        self.counted().map(|one| one.route)
    }

    /// Requests of which a hop was deduced.
    pub fn inferred(&self) -> u64 {
        self.counted().filter(|one| one.inferred).count() as u64
    }

    /// Requests that waited for their client, as long as in the recording whatever is changed.
    pub fn client_waits(&self) -> u64 {
        self.counted().filter(|one| one.waits_for_client).count() as u64
    }

    /// Threads of the pool.
    pub fn pool_threads(&self) -> u32 {
        self.pool.threads
    }

    /// Jobs of the pool.
    pub fn pool_jobs(&self) -> usize {
        self.pool.jobs.len()
    }

    /// Loop events, a read with several answers as one.
    pub fn events(&self) -> usize {
        self.events.iter().filter(|one| !one.joins).count()
    }

    /// Requests, those of warm-up included.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// What the host disturbed is in no percentile.
    pub(crate) fn leave_out(&mut self, disturbed: &Disturbed) {
        let hit = self.requests.iter_mut();
        let hit = hit.filter(|one| one.counts && disturbed.covers(one.arrival_ns));
        hit.for_each(|one| one.counts = false);
    }

    pub(crate) fn counted(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().filter(|one| one.counts)
    }

    /// Of each step: its work, and the route for which it is; 0 for none.
    pub(crate) fn works(&self) -> impl Iterator<Item = (&[u64; CLASSES], usize)> {
        let routes = self.steps.iter().map(|step| {
            let request = self.requests.get(step.request as usize);
            request.map_or(0, |one| one.route as usize)
        });
        self.work_ns.iter().zip(routes)
    }

    /// The steps of an event.
    pub(crate) fn steps_of(&self, event: EventIx) -> std::ops::Range<usize> {
        steps_of(&self.events, &self.steps, event)
    }
}

/// The steps of one of these events.
pub(crate) fn steps_of(events: &[Event], steps: &[Step], event: EventIx) -> std::ops::Range<usize> {
    let first = events[event as usize].first_step as usize;
    let next = events.get(event as usize + 1);
    first..next.map_or(steps.len(), |one| one.first_step as usize)
}
