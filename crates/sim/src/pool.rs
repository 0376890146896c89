//! The thread pool of libuv: jobs wait in one line for one of a few threads.
//!
//! How many threads there are is not in a recording (`UV_THREADPOOL_SIZE` is an affair of the
//! service), but what they did is: as many as were busy while a job waited for one of them.

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

/// A job that waited for a thread begins when one is free: no later than this after another's end.
const TAKEN_OVER_NS: u64 = 100_000;
/// Jobs that waited of which it is asked how many threads were busy meanwhile.
const WAITERS_ASKED: usize = 1000;
/// Jobs before one that may still be running.
const EARLIER_ASKED: usize = 256;

/// As many as were busy while jobs waited; at least those of libuv where none did.
fn threads_of(recorded: &[Recorded]) -> u32 {
    let mut by_start: Vec<&Recorded> = recorded.iter().collect();
    by_start.sort_by_key(|one| one.start_ns);
    let mut busy: Vec<usize> = at_starts(&by_start);
    let waiters = by_start.iter().enumerate().filter_map(|(place, one)| {
        let earlier = &by_start[place.saturating_sub(EARLIER_ASKED)..place];
        busy_while_waiting(one, earlier)
    });
    let mut waited: Vec<usize> = waiters.take(WAITERS_ASKED).collect();
    let most = busy.iter().max().copied().unwrap_or(0);
    // The end of a job is told a little late, so now and then more seem to run than can.
    let threads = beyond_all_but_few(&mut waited, 10);
    if threads > 0 && beyond_all_but_few(&mut busy, 100) <= threads {
        return threads as u32;
    }
    (most as u32).max(THREADS_DEFAULT)
}

/// The largest value that one in so many reaches.
fn beyond_all_but_few(values: &mut [usize], one_in: usize) -> usize {
    values.sort_unstable();
    let few = values.len().div_ceil(one_in);
    values
        .len()
        .checked_sub(few)
        .map_or(0, |at| values.get(at).copied().unwrap_or(0))
}

/// How many jobs ran when each began, itself included.
fn at_starts(by_start: &[&Recorded]) -> Vec<usize> {
    let mut ends: BinaryHeap<Reverse<Ns>> = BinaryHeap::new();
    let each = by_start.iter().map(|one| {
        while ends.peek().is_some_and(|end| end.0 <= one.start_ns) {
            ends.pop();
        }
        ends.push(Reverse(one.start_ns + one.run_ns));
        ends.len()
    });
    each.collect()
}

/// How many were busy while a job waited for one of them; `None` if it did not.
fn busy_while_waiting(one: &Recorded, earlier: &[&Recorded]) -> Option<usize> {
    let at_ns = one.submit_ns.midpoint(one.start_ns);
    let end_ns = |other: &Recorded| other.start_ns + other.run_ns;
    let taken_over = earlier.iter().any(|other| {
        end_ns(other) <= one.start_ns && one.start_ns - end_ns(other) <= TAKEN_OVER_NS
    });
    let waited = one.start_ns > one.submit_ns + WAITED_NS && taken_over;
    let runs = |other: &&&Recorded| other.start_ns <= at_ns && at_ns < end_ns(other);
    waited.then(|| earlier.iter().filter(runs).count())
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
        // Told late by a little, now and then.
        let mut late: Vec<_> = (0..100)
            .flat_map(|i| {
                [
                    job(i * 4 * ms, i * 4 * ms, 3 * ms),
                    job(i * 4 * ms, i * 4 * ms + 3 * ms, ms),
                ]
            })
            .collect();
        late[40].run_ns += 10;
        assert_eq!(Pool::of(&late).threads, 1);
        // Slow to begin, but not behind another.
        assert_eq!(
            Pool::of(&[job(0, ms, ms), job(9 * ms, 10 * ms, ms)]).threads,
            THREADS_DEFAULT
        );
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
