//! `queue-boost`: peak speed while the loop is behind (VEE'19, section 6.2).
//!
//! Behind means: more events wait than k times the average, or the event that executes has taken
//! longer than k times the average. The paper leaves open over what is averaged and when a boost
//! ends; both are settings here. Length alone is not enough: a single long event is a queue too.

use std::fmt;

use crate::arguments::{Arguments, duration_text};
use crate::average::RunningAverage;
use crate::decision::{Decider, Decision, Reasons};
use crate::error::PolicyError;
use crate::gc_boost::HOLD_MAX_NS;
use crate::hold::Hold;
use crate::reading::Reading;

pub(crate) const NAME: &str = "queue-boost";

/// Boost when the loop is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueBoost {
    /// A queue longer than this many times the average is a reason.
    pub k_length: f64,
    /// So is an event that takes longer than this many times the average.
    pub k_head: f64,
    /// A boost ends when both are at most this many times the average.
    pub release: f64,
    /// Shorter queues are no reason, whatever the average.
    pub length_min: u32,
    /// Shorter events are no reason, whatever the average.
    pub head_min_ns: u64,
    /// How long a boost lasts at least.
    pub hold_ns: u64,
    /// How often to look.
    pub period_ns: u64,
    /// Polls, and events, over which is averaged; no boost before that many were seen.
    pub window: u32,
}

impl Default for QueueBoost {
    fn default() -> Self {
        Self {
            k_length: 2.5,
            k_head: 2.5,
            release: 1.0,
            length_min: 1,
            head_min_ns: 0,
            hold_ns: 0,
            period_ns: 200_000,
            window: 256,
        }
    }
}

impl QueueBoost {
    pub(crate) fn parse(mut arguments: Arguments<'_>) -> Result<Self, PolicyError> {
        let policy = Self::settings(&mut arguments)?;
        arguments.finish(NAME)?;
        Ok(policy)
    }

    /// Its settings: `k` for both thresholds, `k-length` and `k-head` for one.
    pub(crate) fn settings(arguments: &mut Arguments<'_>) -> Result<Self, PolicyError> {
        let default = Self::default();
        let k = arguments.number("k", default.k_length, 1.0..=100.0)?;
        let k_length = arguments.number("k-length", k, 1.0..=100.0)?;
        let k_head = arguments.number("k-head", k, 1.0..=100.0)?;
        let release = arguments.number("release", default.release, 0.0..=100.0)?;
        let lower = k_length.min(k_head);
        if release > lower {
            let at = arguments.at("release");
            let expected = format!("at most k ({lower}), or a boost ends before it begins");
            return Err(arguments.wrong("release", &release.to_string(), at, expected));
        }
        Ok(Self {
            k_length,
            k_head,
            release,
            length_min: arguments.whole("length-min", default.length_min, 1..=1_000_000)?,
            head_min_ns: arguments.duration_ns("head-min", default.head_min_ns, 0..=HOLD_MAX_NS)?,
            hold_ns: arguments.duration_ns("hold", default.hold_ns, 0..=HOLD_MAX_NS)?,
            period_ns: arguments.duration_ns("period", default.period_ns, 1_000..=100_000_000)?,
            window: arguments.whole("window", default.window, 1..=1_000_000)?,
        })
    }

    /// Begins to decide for one loop.
    pub fn start(&self) -> QueueBoostDecider {
        QueueBoostDecider {
            policy: *self,
            hold: Hold::new(self.hold_ns),
            length: RunningAverage::new(self.window),
            head_ns: RunningAverage::new(self.window),
            reasons: Reasons::default(),
        }
    }
}

impl fmt::Display for QueueBoost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            k_length,
            k_head,
            release,
            length_min,
            ..
        } = self;
        write!(
            f,
            "{NAME}:k-length={k_length},k-head={k_head},release={release}"
        )?;
        write!(f, ",length-min={length_min}")?;
        for (key, ns) in [
            ("head-min", self.head_min_ns),
            ("hold", self.hold_ns),
            ("period", self.period_ns),
        ] {
            write!(f, ",{key}={}", duration_text(ns))?;
        }
        write!(f, ",window={}", self.window)
    }
}

/// Queue Boost at work.
#[derive(Debug, Clone)]
pub struct QueueBoostDecider {
    policy: QueueBoost,
    hold: Hold,
    length: RunningAverage,
    head_ns: RunningAverage,
    /// Those of the last decision, for the hysteresis.
    reasons: Reasons,
}

impl QueueBoostDecider {
    /// Whether enough events were seen to compare one with.
    pub(crate) fn is_ready(&self) -> bool {
        self.head_ns.get().is_some()
    }

    /// Whether a quantity is a reason: above `k` times its average to begin, above `release` times
    /// to go on. One that is not above 0 never is.
    fn is_behind(&self, reason: Reasons, now: f64, average: &RunningAverage, k: f64) -> bool {
        let factor = if self.reasons.contains(reason) {
            self.policy.release
        } else {
            k
        };
        average
            .get()
            .is_some_and(|average| now > 0.0 && now > factor * average)
    }
}

impl Decider for QueueBoostDecider {
    fn decide(&mut self, reading: &Reading) -> Decision {
        let Reading {
            now_ns,
            queue_length,
            head_ns,
            totals,
            ..
        } = *reading;
        self.length.update(totals.queue_lengths, totals.polls);
        self.head_ns.update(totals.events_ns, totals.events);
        let policy = self.policy;
        let is_long = queue_length >= policy.length_min
            && self.is_behind(
                Reasons::QUEUE_LENGTH,
                queue_length.into(),
                &self.length,
                policy.k_length,
            );
        let is_slow = head_ns >= policy.head_min_ns
            && self.is_behind(Reasons::HEAD, head_ns as f64, &self.head_ns, policy.k_head);
        self.reasons =
            Reasons::when(is_long, Reasons::QUEUE_LENGTH) | Reasons::when(is_slow, Reasons::HEAD);
        let decision = self.hold.decide(now_ns, self.reasons);
        let next_ns = now_ns.saturating_add(policy.period_ns);
        Decision {
            look_again_ns: Some(decision.look_again_ns.map_or(next_ns, |ns| ns.min(next_ns))),
            ..decision
        }
    }
}
