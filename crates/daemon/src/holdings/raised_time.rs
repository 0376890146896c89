//! How long a lever was up, whoever wanted it.
//!
//! What a boost costs goes by the lever and not by its claims: of two processes that share a clock
//! each counts its own boosts, and where those overlap their sum is more than the clock was up.

use std::time::Duration;

use bobtail_control::{Domain, LeverKind};
use serde::Serialize;

/// The account of one lever, from its first opening on.
#[derive(Debug, Clone, Copy)]
pub(super) struct RaisedTime {
    opened: Duration,
    raised: Duration,
    raised_since: Option<Duration>,
}

impl RaisedTime {
    /// Of a lever that was down before.
    pub(super) fn since(opened: Duration) -> Self {
        Self {
            opened,
            raised: Duration::ZERO,
            raised_since: None,
        }
    }

    /// It is up, or down, from now on.
    pub(super) fn set(&mut self, is_raised: bool, now: Duration) {
        self.raised = self.until(now);
        self.raised_since = is_raised.then_some(now);
    }

    fn until(&self, now: Duration) -> Duration {
        let going_on = |since| now.saturating_sub(since);
        self.raised + self.raised_since.map_or(Duration::ZERO, going_on)
    }

    /// As it is told.
    pub(super) fn told(&self, lever: LeverKind, domain: &Domain, now: Duration) -> Raised {
        Raised {
            lever,
            domain: domain.clone(),
            raised_ns: self.until(now).as_nanos() as u64,
            of_ns: now.saturating_sub(self.opened).as_nanos() as u64,
        }
    }
}

/// How long a lever that processes share was above its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Raised {
    pub lever: LeverKind,
    pub domain: Domain,
    pub raised_ns: u64,
    /// Since it was first opened.
    pub of_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn time_is_counted_once_however_often_it_is_raised() {
        let mut time = RaisedTime::since(MS(10));
        time.set(true, MS(20));
        time.set(true, MS(30));
        time.set(false, MS(50));
        time.set(false, MS(60));
        time.set(true, MS(70));
        let told = time.told(LeverKind::Emulated, &Domain::Cpus(vec![0]), MS(90));
        assert_eq!((told.raised_ns, told.of_ns), (50_000_000, 80_000_000));
    }
}
