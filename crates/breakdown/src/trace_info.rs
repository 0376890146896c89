//! Which event loop a trace is of.

use bobtail_trace::record::{Ns, RequestId};

/// Facts about a trace that its records do not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceInfo {
    pub pid: u32,
    pub thread: u32,
    /// Version of Node.
    pub node: String,
    /// When the recording of this loop started.
    pub start_ns: Ns,
    /// Requests received before are warm-up; a mark in the trace may set a later end.
    pub warmup_end_ns: Option<Ns>,
}

impl TraceInfo {
    /// The name of a request that is unique in the recording.
    pub fn request_name(&self, request: RequestId) -> String {
        format!("{}-{}:{request}", self.pid, self.thread)
    }
}
