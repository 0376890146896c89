//! What a recording has of what went on, and whether that is enough for a replay.
//!
//! Of all its loops together: each has a part in one distribution of latencies, and a loop that
//! hardly anybody asks (a worker with one open stream) must not refuse what all others did.

use std::iter::Sum;

use crate::capture::Log;
use crate::refusal::Refusal;

/// One in so many requests may lack its history.
const LACKING_ONCE_IN: u64 = 100;
/// This part of the time may be lost, with all requests in it.
const LOST_PART: u64 = 20;
/// One in so many may lack its response: those under way at the end do.
const UNFINISHED_ONCE_IN: u64 = 2;

/// See the module. Those of several loops add up, but for pauses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Requests that were answered, those of warm-up included.
    pub requests: u64,
    /// Requests of which no response was seen.
    pub unfinished: u64,
    /// Answered requests whose history was lost.
    pub truncated: u64,
    pub pauses: u64,
    /// Records that were lost with events.
    pub losses: u64,
    /// Time between events that records were lost of, of that from the first to the last event.
    pub lost_ns: u64,
    pub span_ns: u64,
}

impl Coverage {
    /// Of one loop. One that answered nobody has a part in nothing but who was never answered, and
    /// pauses and losses, which may be why.
    pub fn of(log: &Log) -> Self {
        let of_nobody = Self {
            unfinished: log.unfinished,
            pauses: log.pauses,
            losses: log.losses,
            ..Self::default()
        };
        let (Some(first), Some(last)) = (log.events.first(), log.events.last()) else {
            return of_nobody;
        };
        if log.requests.is_empty() {
            return of_nobody;
        }
        Self {
            requests: log.requests.len() as u64,
            unfinished: log.unfinished,
            truncated: log.truncated,
            pauses: log.pauses,
            losses: log.losses,
            lost_ns: log.lost_ns,
            span_ns: last.ended.end_ns - first.ended.begin_ns,
        }
    }

    /// Refuses what would have to be guessed.
    ///
    /// # Errors
    ///
    /// What the recording lacks: requests, or too much of their history.
    pub fn check(&self) -> Result<(), Refusal> {
        let Self {
            requests,
            unfinished,
            truncated,
            pauses,
            losses,
            lost_ns,
            span_ns,
        } = *self;
        if pauses > 0 {
            return Err(Refusal::Paused { pauses });
        }
        if truncated * LACKING_ONCE_IN > requests {
            return Err(Refusal::Lossy {
                truncated,
                requests,
                losses,
            });
        }
        if lost_ns * LOST_PART > span_ns {
            return Err(Refusal::Gaps {
                lost_ns,
                span_ns,
                losses,
            });
        }
        if unfinished * UNFINISHED_ONCE_IN > requests + unfinished {
            return Err(Refusal::Unfinished {
                unfinished,
                requests: requests + unfinished,
            });
        }
        Ok(())
    }

    /// What is to be said of losses that do not refuse: they may be the tail.
    pub fn note(&self) -> Option<String> {
        let Self {
            requests,
            truncated,
            losses,
            lost_ns,
            span_ns,
            ..
        } = *self;
        if losses == 0 && truncated == 0 {
            return None;
        }
        let ms = |ns: u64| ns / 1_000_000;
        Some(format!(
            "records were lost ({losses}): a part of the history of {truncated} of {requests} \
             requests, and {} of {} ms with what came in them; these may be of the tail",
            ms(lost_ns),
            ms(span_ns)
        ))
    }
}

impl Sum for Coverage {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |all, one| Self {
            requests: all.requests + one.requests,
            unfinished: all.unfinished + one.unfinished,
            truncated: all.truncated + one.truncated,
            // Loops pause together.
            pauses: all.pauses.max(one.pauses),
            losses: all.losses + one.losses,
            lost_ns: all.lost_ns + one.lost_ns,
            span_ns: all.span_ns + one.span_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Coverage = Coverage {
        requests: 12_000,
        unfinished: 3,
        truncated: 0,
        pauses: 0,
        losses: 0,
        lost_ns: 0,
        span_ns: 10_000_000_000,
    };

    #[test]
    fn shares_are_those_of_all_loops_together() {
        let stream = Coverage {
            requests: 1,
            unfinished: 4,
            truncated: 1,
            losses: 7,
            lost_ns: 200_000_000,
            span_ns: 1_000_000_000,
            pauses: 0,
        };
        assert!(matches!(stream.check(), Err(Refusal::Lossy { .. })));
        let all: Coverage = [BUSY, stream].into_iter().sum();
        assert_eq!(all.check(), Ok(()));
        let told = all.note().expect("records were lost");
        assert!(
            told.contains("(7)") && told.contains("1 of 12001"),
            "{told}"
        );
        assert!(told.contains("200 of 11000 ms"), "{told}");
        assert_eq!(BUSY.note(), None);
    }

    #[test]
    fn each_share_is_refused_from_its_bound_on() {
        let with = |change: fn(&mut Coverage)| {
            let mut one = BUSY;
            change(&mut one);
            one.check().err()
        };
        assert_eq!(with(|one| one.truncated = 120), None);
        let lossy = with(|one| one.truncated = 121);
        assert!(matches!(lossy, Some(Refusal::Lossy { truncated: 121, .. })));
        assert_eq!(with(|one| one.lost_ns = 500_000_000), None);
        let gaps = with(|one| one.lost_ns = 500_000_001);
        assert!(matches!(gaps, Some(Refusal::Gaps { .. })));
        assert_eq!(with(|one| one.unfinished = 12_000), None);
        let unfinished = with(|one| one.unfinished = 12_001);
        assert!(matches!(
            unfinished,
            Some(Refusal::Unfinished {
                requests: 24_001,
                ..
            })
        ));
        assert_eq!(
            with(|one| one.pauses = 1),
            Some(Refusal::Paused { pauses: 1 })
        );
    }
}
