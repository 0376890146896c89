//! The answer of `bobtail report --json`, field by field (`spec/report.schema.json`).
//!
//! Plain data: every number is computed before it gets here, so that what is printed as text, as
//! HTML and as JSON cannot differ.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why the tail of a recording is slow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub schema: String,
    pub run: Run,
    pub requests: Requests,
    pub tail: Tail,
    pub breakdown: Vec<Breakdown>,
    /// The same by process, tail first.
    pub processes: Vec<ProcessBreakdown>,
    /// The tail of them together; `None` of a single process.
    pub cluster: Option<Cluster>,
    pub io: Vec<Io>,
    /// Collections by kind, the ones that cost the tail most first.
    pub gc: Vec<Collections>,
    /// The longest single collections.
    pub pauses: Vec<Pause>,
    pub culprits: Vec<Culprit>,
    pub findings: Vec<Finding>,
    /// Records lost, by word of the trace format.
    pub losses: BTreeMap<String, u64>,
    pub unavailable: Vec<Unavailable>,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub command: Vec<String>,
    pub started_at: String,
    pub duration_ns: u64,
    /// Of it, the time in which recording was not paused.
    pub recorded_ns: u64,
    pub node: Vec<String>,
    pub processes: Vec<Process>,
    pub detail: String,
    pub warmup_ns: u64,
    pub outcome: Option<Outcome>,
}

/// One recorded event loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    pub pid: u32,
    pub thread: u32,
    pub node: String,
    pub requests: u64,
    /// Its recording ended before it did.
    pub ended: Option<Ended>,
}

/// When the recording of a loop ended, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// From the start of the run.
    pub at_ns: u64,
    pub reason: EndReason,
}

/// Why the recording of a loop ended before the loop did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// There are no more numbers for events.
    EventNumbers,
    DiskFull,
    /// In a pause between bursts.
    Paused,
}

/// How the service ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub exit_code: Option<i64>,
    pub signal: Option<String>,
}

/// All requests, and what is known about them as a whole. The confidence intervals assume
/// independent requests, so they are too narrow for correlated tails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requests {
    pub count: u64,
    pub complete: u64,
    pub inferred: u64,
    pub truncated: u64,
    pub warmup: u64,
    pub unfinished: u64,
    /// Left out: under way when recording paused or went on.
    pub straddling: u64,
    /// Of `count`: the connection was closed before the whole response had left.
    pub cut_off: u64,
    pub mean_ns: u64,
    pub percentiles_ns: BTreeMap<String, u64>,
    pub confidence_ns: BTreeMap<String, [u64; 2]>,
}

/// Which requests are called the tail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tail {
    pub percentile: f64,
    pub requested_percentile: f64,
    pub threshold_ns: u64,
    pub count: u64,
    pub note: Option<String>,
}

/// Tail, or the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Tail,
    Nontail,
}

/// Means per request of a route and class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Breakdown {
    /// `*` stands for all.
    pub route: String,
    pub class: Class,
    pub count: u64,
    pub latency_ns: u64,
    pub io_ns: u64,
    pub queue_ns: u64,
    pub exec_ns: u64,
    pub unattributed_ns: u64,
    pub work: Work,
    pub paper_sum_ns: u64,
}

/// Means per request of the tail over all processes: the paper's table of a cluster. The parts
/// sum to the latency; `None` is "not measured", whose time is in native.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// That finished requests.
    pub processes: u64,
    /// Requests of the tail.
    pub count: u64,
    pub latency_ns: u64,
    pub io_ns: u64,
    pub ic_ns: Option<u64>,
    pub gc_ns: Option<u64>,
    pub jit_ns: Option<u64>,
    pub native_ns: Option<u64>,
    /// The loop's own time, not running, and what is unattributed.
    pub other_ns: u64,
}

/// Means per request of a process and class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessBreakdown {
    pub pid: u32,
    pub thread: u32,
    pub class: Class,
    pub count: u64,
    pub latency_ns: u64,
    pub io_ns: u64,
    pub queue_ns: u64,
    pub exec_ns: u64,
    pub unattributed_ns: u64,
    pub work: Work,
}

/// What the loop thread did during queue and exec, sums to them; `None` is "not measured", whose
/// time is in native.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    pub native_ns: Option<u64>,
    pub gc_ns: Option<u64>,
    pub jit_ns: Option<u64>,
    pub ic_ns: Option<u64>,
    /// The loop was in the kernel or between events.
    pub loop_ns: Option<u64>,
    /// The thread was runnable, but did not run.
    pub not_running_ns: Option<u64>,
}

/// Collections of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Collections {
    pub kind: String,
    /// How many there were after warm-up, how long together, and the longest.
    pub pauses: u64,
    pub total_ns: u64,
    pub longest_ns: u64,
    /// Requests of the tail that they delayed.
    pub victims: u64,
    /// By how much in total.
    pub inflicted_ns: u64,
}

/// One collection and the requests that it delayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    pub kind: String,
    pub pid: u32,
    pub thread: u32,
    /// Among all of its trace, in the order of their ends, as in the answer of explain.
    pub number: u32,
    /// From the start of the run.
    pub start_ns: u64,
    pub duration_ns: u64,
    /// What it interrupted; `None` unknown.
    pub inside: Option<Inside>,
    /// Requests that it delayed, those of the tail too.
    pub victims: u64,
    pub tail_victims: u64,
    /// By how much in total.
    pub inflicted_ns: u64,
    /// Some of them: those of the tail first, then those that it delayed most.
    pub requests: Vec<PauseVictim>,
}

/// What had the loop thread when a collection began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inside {
    pub kind: CulpritKind,
    pub route: Option<String>,
    #[serde(rename = "type")]
    pub word: String,
    pub location: Option<String>,
}

/// A request that a collection delayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseVictim {
    /// `<pid>-<thread>:<request>`
    pub id: String,
    pub class: Class,
    /// By this collection: its time in the queue and exec of the request.
    pub delay_ns: u64,
    pub latency_ns: u64,
}

/// Means per request of the class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Io {
    pub class: Class,
    pub resource: String,
    /// A port of this machine at which the recorded service itself listens.
    pub own_service: bool,
    pub kind: String,
    /// Requests that waited for it.
    pub requests: u64,
    pub io_ns: u64,
    pub pool_wait_ns: u64,
    pub pool_run_ns: u64,
    pub shared_ns: u64,
}

/// What kind of thing had the loop thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CulpritKind {
    Event,
    Gc,
    Loop,
    /// The thread did not run.
    Cpu,
    /// A job of the thread pool had one of its threads.
    Job,
}

impl CulpritKind {
    /// The word in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Gc => "gc",
            Self::Loop => "loop",
            Self::Cpu => "cpu",
            Self::Job => "job",
        }
    }
}

/// What made the tail wait: for the loop thread, or for a thread of the pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Culprit {
    pub kind: CulpritKind,
    pub route: Option<String>,
    /// Kind of the callback, of the collection …; of a job what it worked on.
    #[serde(rename = "type")]
    pub word: String,
    /// In the source, where that is known; else in what ran. Of several in one line that which cost
    /// most. Of a collection who asked for it; of a job the code that it was started in.
    pub location: Option<String>,
    /// Where it was in what ran, if `location` is in a source.
    pub generated_location: Option<String>,
    /// In total, on requests of the tail.
    pub inflicted_ns: u64,
    /// Requests of the tail it delayed.
    pub victims: u64,
    /// Of the loop and of not running, which have no events: stretches, told for each victim.
    pub occurrences: u64,
    /// The most that one request waited for one of them.
    pub longest_ns: u64,
}

/// A cause with what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub code: String,
    pub sentence: String,
    pub action: String,
    /// Mean per request of the tail.
    pub impact_ns: u64,
}

/// A mechanism of the probe that did not work here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unavailable {
    pub mechanism: String,
    pub reason: String,
}
