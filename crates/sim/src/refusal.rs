//! Why a recording is not replayed: what is missing in it.
//!
//! A prediction from half a recording looks like any other, so there is none.

use thiserror::Error;

use crate::capture::{EVENTS_MAX, Log};

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

/// One in so many requests may lack its history.
const LACKING_ONCE_IN: u64 = 100;
/// This part of the time may be lost, with all requests in it.
const LOST_PART: u64 = 20;
/// One in so many may lack its response: those under way at the end do.
const UNFINISHED_ONCE_IN: u64 = 2;

impl Log {
    /// Refuses what would have to be guessed.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let requests = self.requests.len() as u64;
        if self.too_many {
            return Err(Refusal::TooLong);
        }
        if self.pauses > 0 {
            let pauses = self.pauses;
            return Err(Refusal::Paused { pauses });
        }
        if self.truncated * LACKING_ONCE_IN > requests {
            return Err(Refusal::Lossy {
                truncated: self.truncated,
                requests,
                losses: self.losses,
            });
        }
        let span_ns = match (self.events.first(), self.events.last()) {
            (Some(first), Some(last)) => last.ended.end_ns - first.ended.begin_ns,
            _ => 0,
        };
        if self.lost_ns * LOST_PART > span_ns {
            return Err(Refusal::Gaps {
                lost_ns: self.lost_ns,
                span_ns,
                losses: self.losses,
            });
        }
        if self.unfinished * UNFINISHED_ONCE_IN > requests + self.unfinished {
            return Err(Refusal::Unfinished {
                unfinished: self.unfinished,
                requests: requests + self.unfinished,
            });
        }
        Ok(())
    }
}
