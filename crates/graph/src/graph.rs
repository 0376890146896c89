//! Records in, finished requests out.
//!
//! The graph is never built as a whole: a request is walked and tiled as soon as the loop event
//! with its sink has ended, and what no open request needs is overwritten. So memory does not
//! depend on the length of the trace.

use std::collections::{BTreeSet, VecDeque};

use bobtail_trace::record::{EventId, Ns, OpId, ReadyQuality, Record, RequestId};

use crate::events::{LoopEvent, Row};
use crate::history::History;
use crate::path::RequestPath;
use crate::pool;
use crate::recorder::Recorder;
use crate::requests::Request;
use crate::tiling;
use crate::walk::Walk;
use crate::window::{EventFacts, Running, Window, running_at};

/// Which requests get their critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Walks {
    /// None: only latencies, several times faster.
    None,
    /// Every one.
    All,
    /// These.
    Only(BTreeSet<RequestId>),
}

/// What a graph does beyond the minimum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub walks: Walks,
    /// Culprits are listed for requests of at least this latency (a queue of thousands behind
    /// thousands would cost a square otherwise).
    pub culprits_from_ns: u64,
    /// Events remembered at the most (rounded up to a power of two); a request that needs older
    /// ones comes out truncated.
    pub max_events: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            walks: Walks::All,
            culprits_from_ns: 0,
            max_events: 1 << 20,
        }
    }
}

/// The event dependency graph of one event loop, as far back as open requests need it.
#[derive(Debug)]
pub struct Graph {
    options: Options,
    recorder: Recorder,
    walk: Walk,
    path: RequestPath,
    held: VecDeque<Held>,
    /// The loop event that the last record ended.
    ended: Option<Row>,
}

impl Graph {
    /// An empty graph.
    pub fn new(options: Options) -> Self {
        let history = History::new(options.max_events);
        Self {
            recorder: Recorder::new(history, options.walks == Walks::None),
            options,
            walk: Walk::default(),
            path: RequestPath::new(),
            held: VecDeque::new(),
            ended: None,
        }
    }

    pub(crate) fn history(&self) -> &History {
        &self.recorder.history
    }

    pub(crate) fn ended_row(&self) -> Option<Row> {
        self.ended
    }

    /// Takes the next record of the trace; calls `finished` for each request that this completes.
    /// The path is only lent: its buffers are used again for the next one.
    pub fn push<F>(&mut self, record: Record, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        if self.options.walks == Walks::None && only_for_walks(&record) {
            return;
        }
        self.ended = None;
        if let Some(end_ns) = self.recorder.end_by(&record) {
            self.ended = self.recorder.end_loop_event(end_ns);
            self.finish_gone(finished);
        }
        self.recorder.record(record);
        if !self.recorder.is_open() {
            self.finish_gone(finished);
        }
        if !self.held.is_empty() {
            self.release(finished);
        }
    }

    /// Ends the trace: hands on requests whose sink was the last thing seen.
    pub fn finish<F>(&mut self, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        let now = self.recorder.history.now;
        self.ended = self.recorder.end_loop_event(now);
        self.finish_gone(finished);
        self.recorder.cut_off_all();
        self.finish_gone(finished);
        self.recorder.history.jobs.clear();
        self.release(finished);
    }

    /// What is known so far about an event, while it is remembered; its resource without regard to
    /// any request.
    pub fn event(&self, event: EventId) -> Option<EventFacts> {
        let none = RequestPath::new();
        Window::new(&self.recorder.history, 0).facts(&none, event, false)
    }

    /// Requests of which no sink was seen, so far.
    pub fn unfinished(&self) -> u64 {
        self.recorder.history.requests.without_sink()
    }

    /// Requests that were under way when recording paused or went on, so far: nothing is known of
    /// a part of their time, so they are neither finished nor unfinished.
    pub fn straddling(&self) -> u64 {
        self.recorder.history.requests.straddling()
    }

    /// What has had the loop thread at a moment of the recent past; `None` where it is forgotten.
    /// What an event executed is known when it has ended.
    pub fn running_at(&self, time_ns: Ns) -> Option<Running> {
        running_at(&self.recorder.history, time_ns)
    }

    /// Rows for which memory is held, by container: what [`Options::max_events`] bounds, and the
    /// tables of fixed bounds beside it.
    pub fn capacities(&self) -> [(&'static str, usize); 9] {
        self.recorder.history.capacities()
    }

    fn finish_gone<F>(&mut self, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        self.recorder.settle_departures();
        if self.recorder.gone.is_empty() {
            return;
        }
        for index in 0..self.recorder.gone.len() {
            let id = self.recorder.gone[index];
            let Some(&request) = self.recorder.history.requests.table.get(id) else {
                continue;
            };
            self.recorder.history.requests.close(id, true);
            self.explain(&request);
            let history = &mut self.recorder.history;
            if self.path.latency_ns >= self.options.culprits_from_ns {
                if let Some(last_op) = pool::awaits(&self.path, history) {
                    history.requests.hold(request.needs);
                    self.held.push_back(Held {
                        path: self.path.clone(),
                        last_own: request.last_own,
                        last_op,
                    });
                    continue;
                }
                pool::blame(&mut self.path, history);
            }
            finished(&self.path, Window::new(history, request.last_own));
        }
        self.recorder.gone.clear();
        self.recorder.history.keep_for_oldest();
    }

    /// Hands on the requests of which it is known by now who had the threads they waited for, and
    /// those for which history is not kept any longer.
    fn release<F>(&mut self, finished: &mut F)
    where
        F: FnMut(&RequestPath, Window<'_>),
    {
        let history = &mut self.recorder.history;
        while let Some(first) = self.held.front() {
            let is_let_go = history.requests.held() < self.held.len();
            let waits = history.awaits_job_before(first.last_op);
            if waits && !is_let_go && self.held.len() <= HELD_MAX {
                break;
            }
            let Some(mut first) = self.held.pop_front() else {
                break;
            };
            pool::blame(&mut first.path, history);
            finished(&first.path, Window::new(history, first.last_own));
            if !is_let_go {
                history.requests.release_first();
                history.keep_for_oldest();
            }
        }
    }

    fn explain(&mut self, request: &Request) {
        let walked = match &self.options.walks {
            Walks::None => false,
            Walks::All => true,
            Walks::Only(ids) => ids.contains(&request.id),
        };
        let path = &mut self.path;
        tiling::start(path, &self.recorder.history, request);
        path.walked = walked;
        if !walked {
            return;
        }
        let now = self.recorder.history.now;
        self.recorder.history.stretches.settle(now);
        self.walk.run(&self.recorder.history, request, path);
        let culprits = path.latency_ns >= self.options.culprits_from_ns;
        tiling::tile(path, &self.recorder.history, request, culprits);
    }
}

/// A finished request that waited for a thread of the pool: what had the threads is only known
/// when it is done.
#[derive(Debug)]
struct Held {
    path: RequestPath,
    last_own: EventId,
    /// Jobs up to this one have to be back.
    last_op: OpId,
}

/// Requests that are held at the most; more are handed on without what is not known yet.
const HELD_MAX: usize = 1 << 12;

/// Records that tell nothing about latencies.
fn only_for_walks(record: &Record) -> bool {
    matches!(
        record,
        Record::Micro { .. }
            | Record::Resume { .. }
            | Record::Register { .. }
            | Record::Gc { .. }
            | Record::Work { .. }
            | Record::NotRunning { .. }
            | Record::Location { .. }
    )
}

/// Quality of a source's ready time, `None` when only its begin is known.
pub(crate) fn source_quality(received: &LoopEvent) -> Option<ReadyQuality> {
    received.ready_ns.map(|_| received.quality)
}
