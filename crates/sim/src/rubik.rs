//! Rubik (Kasture et al., MICRO 2015), as the VEE'19 paper compares with it: the lowest frequency
//! at which no open request would miss a target, by what recent requests needed.
//!
//! Not a live policy: it needs to know how far each request is. What of it is from the papers and
//! what is ours (an event loop interleaves requests) is told in docs/design/simulating.md.

mod feedback;
mod histogram;
mod open;
mod tables;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bobtail_breakdown::{REQUESTS_BEYOND, rank};
use bobtail_policy::{Decision, Reasons, Speed};
use bobtail_trace::record::Ns;

use crate::follower::{Follower, Sees};
use crate::scheme::ReplayedLever;
use feedback::Feedback;
use open::{Open, Progress};
use tables::{COLUMNS, Tables};

/// Between two frequencies.
const STEP_KHZ: u32 = 200_000;
/// Tables are built once in so long.
const BUILD_NS: u64 = 100_000_000;
/// Of fewer requests there are no tables.
const LEAST: usize = 32;
/// So many requests, or as many as a percentile needs, are recent.
const RECENT_LEAST: usize = 1_000;
const NEVER: Ns = Ns::MAX;

/// Rubik at work on one loop.
#[derive(Debug)]
pub(crate) struct Rubik {
    /// Relative to base, and what to ask for; lowest first.
    speeds: Vec<(f64, Speed)>,
    lever_ns: u64,
    tail: f64,
    feedback: Feedback,
    /// Requests that will come.
    expected: BinaryHeap<Reverse<(Ns, u32)>>,
    /// Of each request, when it came; [`NEVER`] until then.
    came_ns: Vec<Ns>,
    is_answered: Vec<bool>,
    /// Of each request, whether it is in percentiles: the tail asked for is that of these.
    counts: Vec<bool>,
    open: Open,
    /// What the last ones needed, oldest first.
    recent: VecDeque<Needed>,
    recent_max: usize,
    /// Of the loop's work for a request, and of the rest of its time.
    tables: Option<(Tables, Tables)>,
    build_due_ns: Ns,
}

/// What a request needed.
#[derive(Debug, Clone, Copy)]
struct Needed {
    /// Of the loop, at base speed.
    work_ns: f64,
    /// Neither of the loop nor waiting for those before it.
    rest_ns: f64,
    latency_ns: u64,
}

impl Rubik {
    /// For a loop with these requests, of which the percentile `tail` of those that count shall be
    /// within a target.
    pub(crate) fn new(counts: Vec<bool>, target_ns: u64, tail: f64, lever: &ReplayedLever) -> Self {
        let requests = counts.len();
        Self {
            speeds: speeds(lever),
            lever_ns: lever.latency_ns,
            tail,
            feedback: Feedback::new(target_ns as f64),
            expected: BinaryHeap::new(),
            came_ns: vec![NEVER; requests],
            is_answered: vec![false; requests],
            counts,
            open: Open::default(),
            recent: VecDeque::new(),
            recent_max: RECENT_LEAST.max((REQUESTS_BEYOND / (1.0 - tail / 100.0)).ceil() as usize),
            tables: None,
            build_due_ns: 0,
        }
    }

    /// Learns from the requests that are answered, now and then.
    fn learn(&mut self, now: Ns) {
        let count = self.recent.len();
        if count < LEAST {
            return;
        }
        if now >= self.build_due_ns {
            self.build_due_ns = now + BUILD_NS;
            let share = self.tail / 100.0;
            let of = |need: fn(&Needed) -> f64| self.recent.iter().map(need).collect::<Vec<f64>>();
            self.tables = Some((
                Tables::of(&of(|one| one.work_ns), share, COLUMNS),
                Tables::of(&of(|one| one.rest_ns), share, 1),
            ));
        }
        let at = rank(count as u64, self.tail) as usize;
        if at < count && self.feedback.is_due(now) {
            let mut latencies: Vec<u64> = self.recent.iter().map(|one| one.latency_ns).collect();
            let (_, tail_ns, _) = latencies.select_nth_unstable(at.max(1) - 1);
            self.feedback.measure(*tail_ns as f64);
        }
    }

    /// The speed by base at which no open request would miss the target.
    fn needed(&self, now: Ns) -> f64 {
        let target_ns = self.feedback.asked_ns() - self.lever_ns as f64;
        let Some(first_ns) = self.open.first_ns() else {
            return 0.0;
        };
        let Some((work, rest)) = &self.tables else {
            return f64::INFINITY;
        };
        if (now - first_ns) as f64 >= target_ns {
            return f64::INFINITY;
        }
        let each: Vec<Progress> = self.open.each(now).collect();
        let first_done_ns = each.last().map_or(0.0, |one| one.done_ns);
        // For those behind the first up to one.
        let mut done_ns = each.iter().map(|one| one.done_ns).sum::<f64>() - first_done_ns;
        let mut needed: f64 = 0.0;
        for one in each {
            let own_ns = work.left_ns(one.done_ns, 0);
            let in_line_ns = work.left_ns(first_done_ns, one.before) - done_ns;
            let left_ns = target_ns - one.open_ns as f64 - rest.left_ns(one.rest_ns, 0);
            if left_ns <= 0.0 {
                return f64::INFINITY;
            }
            needed = needed.max(own_ns.max(in_line_ns) / left_ns);
            done_ns -= one.done_ns;
        }
        needed
    }
}

impl Follower for Rubik {
    fn next_ns(&self) -> Ns {
        self.expected.peek().map_or(NEVER, |one| one.0.0)
    }

    fn expect(&mut self, request: u32, at_ns: Ns) {
        self.expected.push(Reverse((at_ns, request)));
    }

    fn come(&mut self, now: Ns) -> bool {
        let mut any = false;
        while let Some(&Reverse((at_ns, request))) =
            self.expected.peek().filter(|one| one.0.0 <= now)
        {
            self.expected.pop();
            // One may be answered before it was seen.
            if !self.is_answered[request as usize] {
                self.came_ns[request as usize] = at_ns;
                self.open.come(request, at_ns);
                any = true;
            }
        }
        any
    }

    fn work(&mut self, request: u32, done_ns: f64, took_ns: u64) {
        if let Some(&came_ns) = self.came_ns.get(request as usize) {
            self.open.work(request, came_ns, done_ns, took_ns);
        }
    }

    fn answer(&mut self, request: u32, now: Ns) -> bool {
        self.is_answered[request as usize] = true;
        let came_ns = self.came_ns[request as usize];
        let Some(progress) = self.open.answer(request, came_ns, now) else {
            return false;
        };
        if !self.counts[request as usize] {
            return true;
        }
        if self.recent.len() == self.recent_max {
            self.recent.pop_front();
        }
        self.recent.push_back(Needed {
            work_ns: progress.done_ns,
            rest_ns: progress.rest_ns,
            latency_ns: progress.open_ns,
        });
        true
    }

    fn sees(&self) -> Sees {
        Sees::Events
    }

    fn decide(&mut self, now: Ns, is_working: bool) -> Decision {
        self.learn(now);
        let needed = if is_working { self.needed(now) } else { 0.0 };
        let enough = self.speeds.iter().find(|(ratio, _)| *ratio >= needed);
        let speed = enough.map_or(Speed::Peak, |(_, speed)| *speed);
        Decision {
            speed,
            reasons: match speed {
                Speed::Base => Reasons::default(),
                _ => Reasons::TARGET,
            },
            look_again_ns: None,
        }
    }
}

/// The frequencies from base to peak, both included.
fn speeds(lever: &ReplayedLever) -> Vec<(f64, Speed)> {
    let between = (lever.base_khz + STEP_KHZ..lever.peak_khz).step_by(STEP_KHZ as usize);
    let between = between.map(Speed::Khz);
    let all = [Speed::Base]
        .into_iter()
        .chain(between)
        .chain([Speed::Peak]);
    all.map(|speed| (lever.ratio(speed), speed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TARGET_NS: u64 = 10 * MS;
    /// Between arrivals: each is answered before the next comes.
    const EVERY_NS: u64 = 50 * MS;

    /// One request after the other, each of which needs only the loop.
    struct Stream {
        rubik: Rubik,
        came: u32,
    }

    impl Stream {
        fn new(requests: usize) -> Self {
            let lever = ReplayedLever {
                latency_ns: 0,
                ..ReplayedLever::default()
            };
            let rubik = Rubik::new(vec![true; requests], TARGET_NS, 99.0, &lever);
            Self { rubik, came: 0 }
        }

        /// So many that need so much; the frequency that the next one begins at.
        fn serve(&mut self, requests: u32, needs_ns: u64) -> Speed {
            for _ in 0..requests {
                let begin_ns = self.begin();
                let end_ns = begin_ns + needs_ns;
                self.rubik.work(self.came, needs_ns as f64, needs_ns);
                assert!(self.rubik.answer(self.came, end_ns));
                self.rubik.decide(end_ns, false);
                self.came += 1;
            }
            // It is looked at, and nothing is done for it.
            let begin_ns = self.begin();
            let speed = self.rubik.decide(begin_ns, true).speed;
            self.rubik.answer(self.came, begin_ns);
            self.came += 1;
            speed
        }

        fn begin(&mut self) -> u64 {
            let at_ns = u64::from(self.came) * EVERY_NS;
            self.rubik.expect(self.came, at_ns);
            assert!(self.rubik.come(at_ns));
            at_ns
        }
    }

    #[test]
    fn who_has_seen_too_little_runs_at_peak() {
        let least = LEAST as u32;
        let mut stream = Stream::new(2 * LEAST);
        assert_eq!(stream.serve(least - 2, MS), Speed::Peak);
        assert_eq!(stream.serve(2, MS), Speed::Base);
    }

    #[test]
    fn tables_follow_what_the_last_requests_needed_and_forget_the_others() {
        let mut stream = Stream::new(4_000);
        assert_eq!(stream.serve(1_000, 2 * MS), Speed::Base);
        // More than the feedback may ever make of the target; but they are beyond p99.
        assert_eq!(stream.serve(8, 24 * MS), Speed::Base);
        assert_ne!(stream.serve(8, 24 * MS), Speed::Base);
        // They count as long as they are among the last thousand.
        assert_ne!(stream.serve(970, 2 * MS), Speed::Base);
        assert_eq!(stream.serve(100, 2 * MS), Speed::Base);
    }

    #[test]
    fn work_for_a_later_request_is_no_progress_of_the_first() {
        let needed = |is_first: bool| {
            let mut stream = Stream::new(200);
            // Too few for the feedback to have its say.
            for _ in 0..12 {
                stream.serve(2, 4 * MS);
                stream.serve(2, 8 * MS);
            }
            let at_ns = stream.begin();
            let (first, later) = (stream.came, stream.came + 1);
            stream.rubik.expect(later, at_ns + MS);
            assert!(stream.rubik.come(at_ns + MS));
            let worked = if is_first { first } else { later };
            stream.rubik.work(worked, 6.0 * MS as f64, 6 * MS);
            stream.rubik.needed(at_ns + 7 * MS)
        };
        let is = |told: f64, expected: f64| (told - expected).abs() < 0.06;
        // Who did 6 ms is one of those that need 8: 4 are left beyond its bin, and 8 of the later
        // one, in the 4 ms that it has.
        assert!(is(needed(true), 12.0 / 4.0), "{}", needed(true));
        // All 8 ms of the first are left, in its 3.
        assert!(is(needed(false), 8.0 / 3.0), "{}", needed(false));
    }
}
