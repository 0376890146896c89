//! Why a recording is not replayed: what is missing in it.
//!
//! A prediction from half a recording looks like any other, so there is none.

use thiserror::Error;

use crate::capture::EVENTS_MAX;

/// See the module.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("nothing to replay: no request was answered")]
    NoRequests,
    #[error(
        "too much was lost for a replay: the history of {truncated} of {requests} requests, with \
         {losses} losses of records; record again with a larger --max-size"
    )]
    Lossy {
        truncated: u64,
        requests: u64,
        losses: u64,
    },
    #[error(
        "too much was lost for a replay: {} of {} ms, with {losses} losses of records; record \
         again with a larger --max-size",
        lost_ns / 1_000_000,
        span_ns / 1_000_000
    )]
    Gaps {
        lost_ns: u64,
        span_ns: u64,
        losses: u64,
    },
    #[error(
        "recording paused {pauses} times: what went on meanwhile is not known; record again \
         without --every"
    )]
    Paused { pauses: u64 },
    #[error("more than {EVENTS_MAX} loop events: too long to replay; record for a shorter time")]
    TooLong,
    #[error(
        "{unfinished} of {requests} requests got no response in the recording, so that what they \
         wait for is not known"
    )]
    Unfinished { unfinished: u64, requests: u64 },
}
