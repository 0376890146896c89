//! What the page is given (`spec/html.schema.json`), field by field.
//!
//! A recording has a hundred requests with a hundred events each to show, so a row is an array in
//! the order of its fields and every text is a number in one table; the schema names the places.

use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::report::{Finding, Report};

/// Number of a text; 0 is none.
pub(crate) type Text = u32;

/// The whole of it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageData {
    pub schema: &'static str,
    /// Exactly what `report --json` answers.
    pub report: Report,
    pub strings: Vec<String>,
    pub processes: Vec<ProcessRow>,
    /// Borders between bands of latency, lowest first.
    pub bands: Vec<Band>,
    /// Texts; the first is what was not told apart.
    pub routes: Vec<Text>,
    pub cells: Vec<Cell>,
    pub curves: Vec<CurveRow>,
    pub culprits: Vec<CulpritRow>,
    pub blame: Vec<BlameRow>,
    pub waits: Vec<WaitRow>,
    /// Findings about the tail of a route alone.
    pub advice: Vec<AdviceRow>,
    pub requests: Vec<RequestRow>,
}

/// One recorded event loop.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessRow {
    pub pid: u32,
    pub thread: u32,
    /// Which work classes were measured.
    pub gc: bool,
    pub jit: bool,
    pub ic: bool,
    pub not_running: bool,
}

/// The latencies from here on reach a percentile.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Band {
    pub percentile: f64,
    pub from_ns: u64,
}

/// Writes rows as arrays.
macro_rules! row {
    ($(#[$meta:meta])* $name:ident { $($(#[$field:meta])* $part:ident: $kind:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field])* pub $part: $kind),+ }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let parts = [$(stringify!($part)),+].len();
                let mut row = serializer.serialize_tuple(parts)?;
                $(row.serialize_element(&self.$part)?;)+
                row.end()
            }
        }
    };
}

row!(
    /// Sums over the requests of a process, route and band.
    Cell {
        process: usize, route: usize, band: u8, count: u64, latency_ns: u64, io_ns: u64,
        queue_ns: u64, exec_ns: u64, unattributed_ns: u64, gc_ns: u64, jit_ns: u64, ic_ns: u64,
        loop_ns: u64, not_running_ns: u64,
    }
);
row!(
    /// Latencies of a process and route: steps from bucket to bucket and counts, alternating.
    CurveRow { process: usize, route: usize, steps: Vec<u64> }
);
row!(
    /// What made requests of the tail wait; see `Culprit` of the report.
    CulpritRow { kind: Text, route: Text, word: Text, location: Text, generated: Text }
);
row!(
    /// What a culprit did to the tail requests of a process and route.
    BlameRow {
        process: usize,
        /// `None`: of all routes.
        route: Option<usize>,
        culprit: usize, inflicted_ns: u64, victims: u64, occurrences: u64, longest_ns: u64,
    }
);
row!(
    /// Waits for a resource, by the requests of a process, route and band; see `Io` of the report.
    WaitRow {
        process: usize, route: usize, band: u8, resource: Text,
        /// Kind of the event that ended the wait.
        kind: Text,
        requests: u64, io_ns: u64, pool_wait_ns: u64, pool_run_ns: u64, shared_ns: u64,
    }
);
row!(
    /// What the report would advise if the tail had the requests of this route alone.
    AdviceRow { route: usize, findings: Vec<Finding> }
);
row!(
    /// One request in full; see `Explain`. Times count from the ready time of its source.
    RequestRow {
        id: String, process: usize,
        /// Its place among the shown routes, and its own name.
        route: usize, name: Text,
        latency_ns: u64, status: u32, truncated: bool,
        inferred_hops: u32,
        /// Among all, 1 the slowest; 0 for an example that is not among the slowest.
        rank: usize,
        segments: Vec<SegmentRow>, events: Vec<EventRow>, timeline: TimelineRow,
    }
);
row!(
    /// A piece of the critical path; see `ExplainSegment`.
    SegmentRow {
        kind: Text, start_ns: u64, duration_ns: u64, event: u32, word: Text, resource: Text,
        part: Text, shared: bool, exact: bool, inferred: bool,
        /// Native, gc, jit, ic, loop, not running.
        work: [Option<u64>; 6],
        culprits: Vec<SegmentCulpritRow>,
    }
);
row!(
    /// Who had the loop in a part of a segment; see `ExplainCulprit`.
    SegmentCulpritRow {
        /// 0: none, or several small ones together.
        event: u32,
        route: Text, word: Text, location: Text, generated: Text, duration_ns: u64,
        /// Begin and duration of the whole collection of which this is a part.
        pause_ns: Option<(i64, u64)>,
    }
);
row!(
    /// An event on or around the path; see `ExplainEvent`.
    EventRow {
        id: u32, word: Text, registrar: u32, loop_event: u32, request: u32, route: Text,
        register_ns: Option<i64>, ready_ns: Option<i64>, ready_quality: Text,
        begin_ns: Option<i64>, end_ns: Option<i64>, location: Text, generated: Text,
        resource: Text, on_path: bool,
    }
);
row!(
    /// What the loop thread and the pool did meanwhile, whoever for.
    TimelineRow {
        from_ns: i64, to_ns: i64, runs: Vec<RunRow>, interruptions: Vec<InterruptionRow>,
        jobs: Vec<JobRow>,
        /// Moment and number of ready events that waited from then on, alternating.
        waiting: Vec<i64>,
    }
);
row!(
    /// The loop thread did one thing, or several short ones of which this was the longest.
    RunRow {
        begin_ns: i64, duration_ns: u64,
        /// Kind of callback; `poll`, `other` or `lost`.
        word: Text,
        event: u32,
        /// The request it worked for; 0 none.
        request: u32,
        route: Text, location: Text,
        /// How many more are in it.
        merged: u32,
    }
);
row!(
    /// What took the thread from the code it was executing.
    InterruptionRow {
        begin_ns: i64, duration_ns: u64,
        /// `gc`, `jit`, `ic` or `cpu`.
        class: Text,
        /// Kind of the collection; why the thread did not run.
        word: Text,
        /// Of the duration, in that class.
        spent_ns: u64,
    }
);
row!(
    /// A job of the thread pool.
    JobRow {
        /// When it was submitted; `None` unknown.
        submit_ns: Option<i64>,
        begin_ns: i64, duration_ns: u64, event: u32, request: u32, route: Text, resource: Text,
    }
);
