//! The ledger of a replay under a policy: what speeds, boosts and energy it came to.
//!
//! Every nanosecond from the first request on is charged once, idle ones too, by the same model of
//! energy that runs live. What is boosted is told as asked, what energy it took as it was in force.

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

impl Ledger {
    pub(crate) fn new(from_ns: Ns) -> Self {
        Self {
            from_ns,
            ..Self::default()
        }
    }

    /// Adds what another loop came to.
    pub fn add(&mut self, other: &Self) {
        for one in &other.speeds {
            self.charge(one.ratio, one.total_ns, one.worked_ns);
        }
        self.boosts.extend(&other.boosts);
    }

    /// Time at each speed that there was.
    pub fn speeds(&self) -> &[AtSpeed] {
        &self.speeds
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

    pub(crate) fn run(&mut self, from_ns: Ns, to_ns: Ns, ratio: f64) {
        let charged_ns = to_ns.saturating_sub(from_ns.max(self.from_ns));
        self.charge(ratio, charged_ns, charged_ns);
    }

    pub(crate) fn pass(&mut self, from_ns: Ns, to_ns: Ns, ratio: f64) {
        self.charge(ratio, to_ns.saturating_sub(from_ns.max(self.from_ns)), 0);
    }

    fn charge(&mut self, ratio: f64, total_ns: u64, worked_ns: u64) {
        let known = self.speeds.iter().position(|one| one.ratio == ratio);
        let at = known.unwrap_or_else(|| {
            self.speeds.push(AtSpeed {
                ratio,
                total_ns: 0,
                worked_ns: 0,
            });
            self.speeds.len() - 1
        });
        self.speeds[at].total_ns += total_ns;
        self.speeds[at].worked_ns += worked_ns;
    }

    /// Begins one, unless it goes on at another speed.
    pub(crate) fn begin_boost(&mut self, boost: Boost) {
        if !std::mem::replace(&mut self.is_boosted, true) {
            self.boosts.push(boost);
        }
    }

    pub(crate) fn end_boost(&mut self, now: Ns) {
        if std::mem::take(&mut self.is_boosted)
            && let Some(last) = self.boosts.last_mut()
        {
            last.to_ns = now;
        }
    }
}
