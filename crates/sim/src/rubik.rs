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
