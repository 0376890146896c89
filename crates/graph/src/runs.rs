//! The runs: what the loop thread did, without gaps, in order of time.
//!
//! A run is a stretch in which one event executes. Micro events whose begin was not recorded join
//! the run before them (the writer only leaves the clock out within one request), so there are far
//! fewer runs than events, and every moment belongs to exactly one of them.

use bobtail_trace::record::{EventId, Ns, RequestId};

use crate::events::Row;
use crate::locations::{LocationId, Locations};
use crate::ring::Ring;

/// What a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RunKind {
    /// A callback executes.
    Event,
    /// The loop is in the kernel.
    Poll,
    /// Between events.
    #[default]
    Between,
    /// History was lost.
    Lost,
}

/// From `start_ns` to the start of the next run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    pub start_ns: Ns,
    /// The event that executes; 0 for other kinds.
    pub event: EventId,
    /// The request it worked for in this run.
    pub request: RequestId,
    /// What it executed, by majority of the samples taken.
    pub location: LocationId,
    /// Samples that agree with `location` minus those that do not.
    pub votes: u32,
    pub kind: RunKind,
}

impl Run {
    /// Counts a sample: keeps the majority (Boyer-Moore) in constant space.
    pub(crate) fn sample(&mut self, location: LocationId, locations: &Locations) {
        if self.votes == 0 {
            self.location = location;
        }
        if locations.agree(self.location, location) {
            self.votes += 1
        } else {
            self.votes -= 1
        }
    }
}

/// The sequence of runs.
#[derive(Debug)]
pub(crate) struct Runs {
    pub ring: Ring<Run>,
}

impl Runs {
    pub(crate) fn new(initial: usize, bound: usize) -> Self {
        Self {
            ring: Ring::new(1, initial, bound),
        }
    }

    /// Starts a run, which ends the one before it.
    pub(crate) fn start(&mut self, run: Run) -> Row {
        let last = self.last();
        if let Some(before) = self.ring.get_mut(last)
            && before.kind == RunKind::Between
            && before.start_ns == run.start_ns
        {
            *before = run;
            return last;
        }
        self.ring.push(run)
    }

    /// Row of the run that is going on.
    pub(crate) fn last(&self) -> Row {
        self.ring.next().wrapping_sub(1)
    }

    /// When a run ended; `now` for the one that is going on.
    pub(crate) fn end_ns(&self, row: Row, now: Ns) -> Ns {
        self.ring
            .get(row.wrapping_add(1))
            .map_or(now, |next| next.start_ns)
    }

    /// Row of the run that was going on at that time, or of the oldest one known.
    pub(crate) fn at(&self, time_ns: Ns) -> Row {
        let after = self.ring.partition_point(|run| run.start_ns <= time_ns);
        if after == self.ring.oldest() {
            after
        } else {
            after.wrapping_sub(1)
        }
    }

    /// The pieces of `[from, to)` that fall to each run, in order, clipped; time before the oldest
    /// known run is not covered.
    pub(crate) fn pieces(&self, from: Ns, to: Ns, now: Ns) -> Pieces<'_> {
        Pieces {
            runs: self,
            row: self.at(from),
            from,
            to,
            now,
        }
    }
}

/// See [`Runs::pieces`].
pub(crate) struct Pieces<'a> {
    runs: &'a Runs,
    row: Row,
    from: Ns,
    to: Ns,
    now: Ns,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (Row, &'a Run, Ns, Ns);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let row = self.row;
            let run = self.runs.ring.get(row)?;
            if self.from >= self.to || run.start_ns >= self.to {
                return None;
            }
            self.row = row.wrapping_add(1);
            let start = run.start_ns.max(self.from);
            let end = self.runs.end_ns(row, self.now.max(self.to)).min(self.to);
            if end > start {
                self.from = end;
                return Some((row, run, start, end));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Runs {
        let mut runs = Runs::new(8, 8);
        for (start_ns, event) in [(10, 1), (20, 2), (20, 3), (35, 4)] {
            runs.start(Run {
                start_ns,
                event,
                kind: RunKind::Event,
                ..Run::default()
            });
        }
        runs
    }

    #[test]
    fn pieces_cover_an_interval_without_gap() {
        let runs = runs();
        let pieces: Vec<_> = runs
            .pieces(12, 40, 40)
            .map(|(_, run, a, b)| (run.event, a, b))
            .collect();
        assert_eq!(pieces, [(1, 12, 20), (3, 20, 35), (4, 35, 40)]);
    }

    #[test]
    fn time_before_the_oldest_run_is_not_covered() {
        let runs = runs();
        let pieces: Vec<_> = runs
            .pieces(5, 12, 40)
            .map(|(_, run, a, b)| (run.event, a, b))
            .collect();
        assert_eq!(pieces, [(1, 10, 12)]);
    }

    #[test]
    fn an_empty_stretch_between_events_is_replaced() {
        let mut runs = Runs::new(8, 8);
        let row = runs.start(Run {
            start_ns: 5,
            ..Run::default()
        });
        assert_eq!(
            runs.start(Run {
                start_ns: 5,
                event: 1,
                kind: RunKind::Event,
                ..Run::default()
            }),
            row
        );
    }

    #[test]
    fn location_is_the_majority_of_samples() {
        let mut run = Run::default();
        let locations = Locations::default();
        [7, 8, 7, 7, 9]
            .into_iter()
            .for_each(|location| run.sample(location, &locations));
        assert_eq!(run.location, 7);
    }
}
