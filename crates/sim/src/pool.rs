//! The thread pool of libuv: jobs wait in one line for one of a few threads.
//!
//! How many threads there are is not in a recording (`UV_THREADPOOL_SIZE` is an affair of the
//! service), but what they did is, and only one number of threads explains when jobs began.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bobtail_trace::record::Ns;

/// What libuv starts where nothing else is asked for.
const THREADS_DEFAULT: u32 = 4;

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
    /// The pool of so many threads that ran these jobs, given in the order of submission.
    pub(crate) fn of(threads: u32, recorded: &[Recorded]) -> Self {
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

/// A job may be told to have ended so late.
const TOLD_LATE_NS: u64 = 100_000;
/// Jobs by whose begins the number of threads is judged.
const JOBS_ASKED: usize = 20_000;
/// More of a delay says nothing more of the number of threads.
const OFF_NS_MAX: u64 = 10_000_000;
/// By so much fewer threads must explain the jobs better than the default.
const HARDLY: f64 = 0.05;

/// How many threads ran these jobs, given in the order of submission.
///
/// At least as many as ever worked at once: the threads note themselves when they do. Of those
/// numbers the one under which jobs began when they should have, because with too many a job
/// waited though a thread was free. Single jobs do not tell it: a thread that is woken late looks
/// like one that is not there. Where all jobs together do not either, it is the default.
pub(crate) fn threads_of(recorded: &[Recorded]) -> u32 {
    let least = most_at_once(recorded).max(1);
    let recorded = &recorded[..recorded.len().min(JOBS_ASKED)];
    let off = |threads: u32| {
        let mut line = Line::new(threads);
        let each = recorded.iter().map(|one| {
            let free_ns = line.free_ns().max(one.submit_ns);
            line.take(one.start_ns + one.run_ns);
            one.start_ns.abs_diff(free_ns).min(OFF_NS_MAX) as f64
        });
        each.sum::<f64>()
    };
    if least >= THREADS_DEFAULT || off(least) + 1.0 >= off(THREADS_DEFAULT) * (1.0 - HARDLY) {
        return least.max(THREADS_DEFAULT);
    }
    least
}

fn most_at_once(recorded: &[Recorded]) -> u32 {
    let mut by_start: Vec<&Recorded> = recorded.iter().collect();
    by_start.sort_by_key(|one| one.start_ns);
    let mut ends: BinaryHeap<Reverse<Ns>> = BinaryHeap::new();
    let mut most = 0;
    for one in by_start {
        while ends
            .peek()
            .is_some_and(|end| end.0 <= one.start_ns + TOLD_LATE_NS)
        {
            ends.pop();
        }
        ends.push(Reverse(one.start_ns + one.run_ns));
        most = most.max(ends.len());
    }
    most as u32
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
        assert_eq!(threads_of(&waited), 2);
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
        assert_eq!(threads_of(&late), 1);
        // Slow to begin, but not behind another.
        assert_eq!(
            threads_of(&[job(0, ms, ms), job(9 * ms, 10 * ms, ms)]),
            THREADS_DEFAULT
        );
        let idle = [job(0, 0, 5 * ms), job(ms, ms, 5 * ms)];
        assert_eq!(threads_of(&idle), THREADS_DEFAULT);
        let many: Vec<_> = (0..9).map(|_| job(0, 0, ms)).collect();
        assert_eq!(threads_of(&many), 9);
        assert_eq!(threads_of(&[]), THREADS_DEFAULT);
    }

    #[test]
    fn threads_are_at_least_those_that_worked_at_once_however_late() {
        let ms = 1_000_000;
        let alone = (0..JOBS_ASKED as u64).map(|n| job(n * 2 * ms, n * 2 * ms, ms));
        let late_ns = JOBS_ASKED as u64 * 2 * ms;
        let together = (0..6).map(|_| job(late_ns, late_ns, ms));
        let jobs: Vec<Recorded> = alone.chain(together).collect();
        assert_eq!(threads_of(&jobs), 6);
    }

    #[test]
    fn threads_that_are_woken_late_do_not_hide_their_number() {
        let us = 1_000;
        for threads in [1, 2, 3, 6] {
            let mut line = Line::new(threads);
            let jobs = (0..400_u64).map(|n| {
                // Bursts of eight, of which some wait.
                let submit_ns = n / 8 * 20_000 * us;
                let wake_ns = if n % 5 == 0 { 900 * us } else { 20 * us };
                let start_ns = line.free_ns().max(submit_ns) + wake_ns;
                let run_ns = 3_000 * us + n % 7 * 100 * us;
                line.take(start_ns + run_ns);
                job(submit_ns, start_ns, run_ns)
            });
            let jobs: Vec<Recorded> = jobs.collect();
            assert_eq!(threads_of(&jobs), threads);
        }
    }

    #[test]
    fn leads_give_the_recorded_starts_back() {
        let ms = 1_000_000;
        let recorded = [
            job(0, 7, 5 * ms),
            job(0, 9, 5 * ms),
            job(ms, 5 * ms + 20, ms),
        ];
        let pool = Pool::of(threads_of(&recorded), &recorded);
        let mut line = Line::new(pool.threads);
        for (job, one) in pool.jobs.iter().zip(&recorded) {
            let start_ns = (line.free_ns().max(one.submit_ns) as i64 + job.lead_ns) as Ns;
            assert_eq!(start_ns, one.start_ns);
            line.take(start_ns + job.run_ns);
        }
    }
}
