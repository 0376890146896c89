//! The thread pool of libuv: jobs wait in one line for one of a few threads.
//!
//! How many threads there are is not in a recording (`UV_THREADPOOL_SIZE` is an affair of the
//! service), but what they did is: as many as ever worked at once, if a job had to wait then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bobtail_trace::record::Ns;

/// What libuv starts where nothing else is asked for.
const THREADS_DEFAULT: u32 = 4;
/// A job that starts later than this after it was submitted had to wait.
const WAITED_NS: u64 = 200_000;

/// The pool and all its jobs, in the order of their submission.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pool {
    pub threads: u32,
    pub jobs: Vec<Job>,
}

/// One job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Job {
    pub run_ns: u64,
    /// Between a free thread and the begin of the work; less than 0 where the pool has rules of
    /// its own (slow jobs do not get all threads).
    pub lead_ns: i64,
}

/// A job as recorded, with its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded {
    pub submit_ns: Ns,
    pub start_ns: Ns,
    pub run_ns: u64,
}

impl Pool {
    /// The pool that ran these jobs, given in the order of submission.
    pub(crate) fn of(recorded: &[Recorded]) -> Self {
        let threads = threads_of(recorded);
        let mut line = Line::new(threads);
        let jobs = recorded.iter().map(|one| {
            let free_ns = line.free_ns().max(one.submit_ns);
            line.take(one.start_ns + one.run_ns);
            Job {
                run_ns: one.run_ns,
                lead_ns: one.start_ns as i64 - free_ns as i64,
            }
        });
        let jobs = jobs.collect();
        Self { threads, jobs }
    }
}

/// Jobs that waited of which it is asked how many threads were busy meanwhile.
const WAITERS_ASKED: usize = 64;
/// Jobs before one that may still be running.
const EARLIER_ASKED: usize = 1 << 12;

fn threads_of(recorded: &[Recorded]) -> u32 {
    let mut by_start: Vec<&Recorded> = recorded.iter().collect();
    by_start.sort_by_key(|one| one.start_ns);
    let mut ends: BinaryHeap<Reverse<Ns>> = BinaryHeap::new();
    let mut most = 0;
    for one in &by_start {
        while ends.peek().is_some_and(|end| end.0 <= one.start_ns) {
            ends.pop();
        }
        ends.push(Reverse(one.start_ns + one.run_ns));
        most = most.max(ends.len());
    }
    let busy_while_waiting = |(place, one): (usize, &&Recorded)| {
        let at_ns = one.submit_ns.midpoint(one.start_ns);
        let earlier = &by_start[place.saturating_sub(EARLIER_ASKED)..place];
        let runs = |one: &&&Recorded| one.start_ns <= at_ns && at_ns < one.start_ns + one.run_ns;
        earlier.iter().filter(runs).count()
    };
    let waited = |one: &(usize, &&Recorded)| one.1.start_ns > one.1.submit_ns + WAITED_NS;
    let mut waiters = by_start
        .iter()
        .enumerate()
        .filter(waited)
        .take(WAITERS_ASKED);
    if waiters.any(|one| busy_while_waiting(one) == most) {
        return most as u32;
    }
    (most as u32).max(THREADS_DEFAULT)
}

/// When each thread is free again.
#[derive(Debug)]
pub(crate) struct Line {
    free_ns: BinaryHeap<Reverse<Ns>>,
}

impl Line {
    pub(crate) fn new(threads: u32) -> Self {
        Self {
            free_ns: (0..threads.max(1)).map(|_| Reverse(0)).collect(),
        }
    }

    /// When the first thread is free.
    pub(crate) fn free_ns(&self) -> Ns {
        self.free_ns.peek().map_or(0, |free| free.0)
    }

    /// That thread is busy until then.
    pub(crate) fn take(&mut self, until_ns: Ns) {
        self.free_ns.pop();
        self.free_ns.push(Reverse(until_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(submit_ns: Ns, start_ns: Ns, run_ns: u64) -> Recorded {
        Recorded {
            submit_ns,
            start_ns,
            run_ns,
        }
    }

    #[test]
    fn threads_are_those_that_worked_while_a_job_waited() {
        let ms = 1_000_000;
        let waited = [job(0, 0, 5 * ms), job(0, 0, 5 * ms), job(0, 5 * ms, ms)];
        assert_eq!(Pool::of(&waited).threads, 2);
        let idle = [job(0, 0, 5 * ms), job(ms, ms, 5 * ms)];
        assert_eq!(Pool::of(&idle).threads, THREADS_DEFAULT);
        let many: Vec<_> = (0..9).map(|_| job(0, 0, ms)).collect();
        assert_eq!(Pool::of(&many).threads, 9);
        assert_eq!(Pool::of(&[]).threads, THREADS_DEFAULT);
    }

    #[test]
    fn leads_give_the_recorded_starts_back() {
        let ms = 1_000_000;
        let recorded = [
            job(0, 7, 5 * ms),
            job(0, 9, 5 * ms),
            job(ms, 5 * ms + 20, ms),
        ];
        let pool = Pool::of(&recorded);
        let mut line = Line::new(pool.threads);
        for (job, one) in pool.jobs.iter().zip(&recorded) {
            let start_ns = (line.free_ns().max(one.submit_ns) as i64 + job.lead_ns) as Ns;
            assert_eq!(start_ns, one.start_ns);
            line.take(start_ns + job.run_ns);
        }
    }
}
