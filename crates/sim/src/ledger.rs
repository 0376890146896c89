//! The ledger of a replay under a policy: what speeds, boosts and energy it came to.
//!
//! Every nanosecond from the first request to the last response is charged once, idle ones too, by
//! the same model of energy that runs live: what comes after may be a timer that is due long after
//! the load. What is boosted is told as asked, what energy it took as it was in force.

use bobtail_policy::{ModelledEnergy, Reasons};
use bobtail_trace::record::Ns;

/// A boost, from when it was asked for until its end was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boost {
    pub from_ns: Ns,
    pub to_ns: Ns,
    /// Why it began; empty for a speed that is always the same.
    pub reasons: Reasons,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    from_ns: Ns,
    /// Time at each speed relative to base, and how much of it the thread worked.
    speeds: Vec<AtSpeed>,
    /// The same since the last response so far.
    since: Vec<AtSpeed>,
    /// Of that what was at base, which nearly all is: apart, so that nobody looks for it.
    at_base: AtSpeed,
    pub boosts: Vec<Boost>,
    is_boosted: bool,
}

/// Time at one speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtSpeed {
    /// Relative to base.
    pub ratio: f64,
    pub total_ns: u64,
    pub worked_ns: u64,
}

impl Default for AtSpeed {
    /// None yet, at base.
    fn default() -> Self {
        Self {
            ratio: 1.0,
            total_ns: 0,
            worked_ns: 0,
        }
    }
}

impl Ledger {
    pub(crate) fn new(from_ns: Ns) -> Self {
        Self {
            from_ns,
            ..Self::default()
        }
    }

    /// Adds what another loop came to.
    pub fn add(&mut self, other: &Self) {
        other
            .speeds
            .iter()
            .for_each(|one| add(&mut self.speeds, one));
        self.boosts.extend(&other.boosts);
    }

    /// Time at each speed that there was.
    pub fn speeds(&self) -> &[AtSpeed] {
        &self.speeds
    }

    /// The same with what came after the last response.
    #[cfg(test)]
    pub(crate) fn all_speeds(&self) -> Vec<AtSpeed> {
        let mut all = self.speeds.clone();
        let since = self.since.iter().chain([&self.at_base]);
        let since = since.filter(|one| one.total_ns > 0);
        since.for_each(|one| add(&mut all, one));
        all
    }

    /// Energy by the same time at base speed.
    pub fn relative_energy(&self) -> f64 {
        let mut energy = ModelledEnergy::default();
        let each = self.speeds.iter();
        each.for_each(|one| energy.add(one.total_ns, one.ratio));
        energy.relative()
    }

    /// Share of the time not at base speed.
    pub fn fast_share(&self) -> f64 {
        let total_ns: u64 = self.speeds.iter().map(|one| one.total_ns).sum();
        let fast = self.speeds.iter().filter(|one| one.ratio != 1.0);
        fast.map(|one| one.total_ns).sum::<u64>() as f64 / total_ns.max(1) as f64
    }

    #[inline]
    pub(crate) fn run(&mut self, from_ns: Ns, to_ns: Ns, ratio: f64) {
        let charged_ns = to_ns.saturating_sub(from_ns.max(self.from_ns));
        self.charge(ratio, charged_ns, charged_ns);
    }

    #[inline]
    pub(crate) fn pass(&mut self, from_ns: Ns, to_ns: Ns, ratio: f64) {
        self.charge(ratio, to_ns.saturating_sub(from_ns.max(self.from_ns)), 0);
    }

    /// A response: all time so far is a part of the run.
    pub(crate) fn respond(&mut self) {
        let at_base = std::mem::take(&mut self.at_base);
        if at_base.total_ns > 0 {
            add(&mut self.speeds, &at_base);
        }
        for one in self.since.drain(..) {
            add(&mut self.speeds, &one);
        }
    }

    #[inline]
    fn charge(&mut self, ratio: f64, total_ns: u64, worked_ns: u64) {
        if ratio == self.at_base.ratio {
            self.at_base.total_ns += total_ns;
            self.at_base.worked_ns += worked_ns;
            return;
        }
        let charged = AtSpeed {
            ratio,
            total_ns,
            worked_ns,
        };
        add(&mut self.since, &charged);
    }

    /// Begins one, unless it goes on at another speed.
    pub(crate) fn begin_boost(&mut self, boost: Boost) {
        if !std::mem::replace(&mut self.is_boosted, true) {
            self.boosts.push(boost);
        }
    }

    /// At the end: what was boosted before the first request is not told, as it is not charged.
    pub(crate) fn close(&mut self, now: Ns) {
        self.end_boost(now);
        let from_ns = self.from_ns;
        self.boosts.retain(|one| one.to_ns > from_ns);
    }

    pub(crate) fn end_boost(&mut self, now: Ns) {
        if std::mem::take(&mut self.is_boosted)
            && let Some(last) = self.boosts.last_mut()
        {
            last.to_ns = now;
        }
    }
}

/// Adds a time to those at the same speed.
fn add(speeds: &mut Vec<AtSpeed>, more: &AtSpeed) {
    match speeds.iter_mut().find(|one| one.ratio == more.ratio) {
        Some(one) => {
            one.total_ns += more.total_ns;
            one.worked_ns += more.worked_ns;
        }
        None => speeds.push(*more),
    }
}
