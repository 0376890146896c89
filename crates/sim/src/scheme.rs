//! Schemes: the policies that run live, and those that only a replay can follow.
//!
//! The latter know what a live service cannot: which requests will be slow, and what a request
//! asks for before it is read. They bound what the former can reach.

use std::fmt;
use std::ops::RangeInclusive;

use bobtail_policy::{
    Decider, LeverFacts, Policy, Problem, Speed, StaticSpeed, duration_text, parse_duration_ns,
};

/// Frequencies of the paper's machine (VEE'19, section 3), of which the model of energy tells.
const BASE_KHZ: u32 = 2_600_000;
const PEAK_KHZ: u32 = 4_000_000;
/// From a decision to the new speed, where nothing else is said.
pub(crate) const LATENCY_NS: u64 = 20_000;

/// Who decides.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Scheme {
    Policy(Policy),
    /// Peak speed while the loop works and a request is open that would be in the tail at base
    /// speed: nobody can know that live.
    Oracle {
        /// Where the tail begins, 99 if nothing is said; with an energy the percentile that comes
        /// out shortest, 99.9 if nothing is said.
        tail: Option<f64>,
        /// The tail begins where as much of this energy is used as shortens that percentile most
        /// and no more, by that of the same time at base speed.
        energy: Option<f64>,
    },
    /// Adrenaline as the paper compares with it (VEE'19, section 7.2): peak speed while a request
    /// is open of one of the types that are most likely to be in the tail.
    Adrenaline {
        tail: f64,
        /// How many types.
        types: u32,
    },
    /// Rubik ([`crate::rubik`]): the lowest speed at which no open request would miss a target.
    Rubik {
        /// `None` for what GC-Boost reaches.
        target_ns: Option<u64>,
        /// The percentile of the latency that shall be within it.
        tail: f64,
    },
}

/// All loops of a recording are one frequency domain.
pub const ALL_LOOPS: u32 = u32::MAX;

/// The lever of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayedLever {
    pub latency_ns: u64,
    pub base_khz: u32,
    pub peak_khz: u32,
    /// So many loops have it together, at the highest speed that one asks for, in the order of the
    /// models; with 1 each its own, with [`ALL_LOOPS`] all one.
    pub domain_loops: u32,
}

impl Default for ReplayedLever {
    fn default() -> Self {
        Self {
            latency_ns: LATENCY_NS,
            base_khz: BASE_KHZ,
            peak_khz: PEAK_KHZ,
            domain_loops: 1,
        }
    }
}

impl ReplayedLever {
    /// A speed relative to base.
    pub(crate) fn ratio(&self, speed: Speed) -> f64 {
        let khz = match speed {
            Speed::Peak => self.peak_khz,
            Speed::Khz(khz) => khz,
            _ => self.base_khz,
        };
        f64::from(khz) / f64::from(self.base_khz)
    }
}

/// A scheme with its lever.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    pub scheme: Scheme,
    pub lever: ReplayedLever,
    /// Share of the time of a loop's events that looking may take, as of `boost --budget`; none is
    /// no bound.
    pub budget: Option<f64>,
    /// CPU time of one look.
    pub look_ns: u64,
}

/// What is wrong with the name of a scheme, and at which byte of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemeError {
    pub at: usize,
    pub problem: String,
    /// The name is of none.
    pub is_unknown: bool,
}

const ORACLE: &str = "oracle";
const ADRENALINE: &str = "adrenaline";
const RUBIK: &str = "rubik";
/// Where a tail begins that nothing is said of.
pub(crate) const TAIL: f64 = 99.0;
/// As the paper has it.
const TAIL_OF_RUBIK: f64 = 99.9;
/// Budgets that are taken.
const ENERGIES: RangeInclusive<f64> = 1.0..=100.0;
/// Targets that are taken.
const TARGETS_NS: RangeInclusive<u64> = 1_000..=3_600_000_000_000;

impl Scheme {
    /// The names there are.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Policy::names().chain([ORACLE, ADRENALINE, RUBIK])
    }

    pub(crate) fn parse(text: &str) -> Result<Self, SchemeError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let known = match name {
            ORACLE => Self::Oracle {
                tail: None,
                energy: None,
            },
            ADRENALINE => Self::Adrenaline {
                tail: TAIL,
                types: 1,
            },
            RUBIK => Self::Rubik {
                target_ns: None,
                tail: TAIL_OF_RUBIK,
            },
            _ => {
                let parsed = text.parse::<Policy>().map(Self::Policy);
                return parsed.map_err(|error| SchemeError {
                    at: error.at,
                    problem: problem_text(&error.problem),
                    is_unknown: error.at == 0 && !Policy::names().any(|one| one == name),
                });
            }
        };
        let mut scheme = known;
        let mut at = name.len() + 1;
        let mut seen: Vec<&str> = Vec::new();
        for setting in settings.split(',').filter(|_| !settings.is_empty()) {
            scheme.set(name, setting, at)?;
            let key = setting.split('=').next().unwrap_or_default();
            if seen.contains(&key) {
                return Err(SchemeError {
                    at,
                    problem: format!("{key} is set twice"),
                    is_unknown: false,
                });
            }
            seen.push(key);
            at += setting.len() + 1;
        }
        Ok(scheme)
    }

    fn set(&mut self, name: &str, setting: &str, at: usize) -> Result<(), SchemeError> {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let error = |at: usize, problem: String| SchemeError {
            at,
            problem,
            is_unknown: false,
        };
        // Of one without a value, where it would be.
        let value_at = (at + key.len() + 1).min(at + setting.len());
        match (self, key) {
            (Self::Oracle { tail, .. }, "tail") => {
                *tail = Some(percentile(value).map_err(|problem| error(value_at, problem))?);
            }
            (Self::Adrenaline { tail, .. } | Self::Rubik { tail, .. }, "tail") => {
                *tail = percentile(value).map_err(|problem| error(value_at, problem))?;
            }
            (Self::Oracle { energy, .. }, "energy") => {
                let number = value.parse().ok().filter(|one| ENERGIES.contains(one));
                let wrong = || format!("energy is \"{value}\", not a factor from 1 to 100");
                *energy = Some(number.ok_or_else(|| error(value_at, wrong()))?);
            }
            (Self::Adrenaline { types, .. }, "types") => {
                let number = value.parse().ok().filter(|one| (1..=1000).contains(one));
                let wrong = || {
                    let expected = "a whole number from 1 to 1000, or a range of them (1..4, 1..n)";
                    format!("types is \"{value}\", not {expected}")
                };
                *types = number.ok_or_else(|| error(value_at, wrong()))?;
            }
            (Self::Rubik { target_ns, .. }, "target") => {
                let duration = parse_duration_ns(value).filter(|ns| TARGETS_NS.contains(ns));
                let wrong = || {
                    format!("target is \"{value}\", not a duration from 1us to 3600s (us, ms, s)")
                };
                *target_ns = Some(duration.ok_or_else(|| error(value_at, wrong()))?);
            }
            (scheme, _) => {
                let has = match scheme {
                    Self::Adrenaline { .. } => "tail, types",
                    Self::Rubik { .. } => "target, tail",
                    Self::Oracle { .. } => "energy, tail",
                    _ => "tail",
                };
                let problem = format!("{name} has no setting \"{key}\"; it has {has}");
                return Err(error(at, problem));
            }
        }
        Ok(())
    }

    /// What decides by readings alone; base speed where foresight does.
    pub(crate) fn start(&self, lever: &LeverFacts) -> Box<dyn Decider> {
        match self {
            Self::Policy(policy) => policy.start(lever),
            Self::Oracle { .. } | Self::Adrenaline { .. } | Self::Rubik { .. } => {
                Box::new(StaticSpeed { speed: Speed::Base })
            }
        }
    }
}

/// What is wrong with a policy. What is for replays only says so of itself; to who replays that
/// is no news, unless it was to take turns with others.
fn problem_text(problem: &Problem) -> String {
    match problem {
        Problem::ReplayOnly { name, known } => {
            format!(
                "{name} takes no turns, as it does not go by what a loop tells; of these: {known}"
            )
        }
        problem => problem.to_string(),
    }
}

/// Where a tail begins.
fn percentile(value: &str) -> Result<f64, String> {
    let number = value.parse().ok().filter(|one| (50.0..100.0).contains(one));
    number.ok_or_else(|| format!("tail is \"{value}\", not a percentile from 50 to below 100"))
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::Oracle { tail, energy } => match (energy, tail) {
                (Some(energy), Some(tail)) => write!(f, "{ORACLE}:energy={energy},tail={tail}"),
                (Some(energy), None) => write!(f, "{ORACLE}:energy={energy}"),
                (None, tail) => write!(f, "{ORACLE}:tail={}", tail.unwrap_or(TAIL)),
            },
            Self::Adrenaline { tail, types } => {
                write!(f, "{ADRENALINE}:tail={tail},types={types}")
            }
            Self::Rubik { target_ns, tail } => {
                write!(f, "{RUBIK}:tail={tail}")?;
                target_ns.map_or(Ok(()), |ns| write!(f, ",target={}", duration_text(ns)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_read_with_their_settings_and_errors_tell_where() {
        for text in [
            "oracle:tail=99.9",
            "oracle:energy=1.05",
            "oracle:energy=1.05,tail=99",
            "adrenaline:tail=95,types=3",
            "rubik:tail=99.9",
            "rubik:tail=99,target=12500us",
            "static:peak",
        ] {
            assert_eq!(Scheme::parse(text).unwrap().to_string(), text);
        }
        let error = |text: &str| {
            let error = Scheme::parse(text).unwrap_err();
            (error.at, error.problem)
        };
        let no_key = "oracle has no setting \"k\"; it has energy, tail".to_owned();
        assert_eq!(error("oracle:tail=99,k=1"), (15, no_key));
        assert_eq!(error("adrenaline:types=0").0, 17);
        assert_eq!(error("oracle:energy=0.9").0, 14);
        assert_eq!(error("gc-boost:hold=x").0, 14);
        let no_unit = "target is \"5\", not a duration from 1us to 3600s (us, ms, s)".to_owned();
        assert_eq!(error("rubik:tail=99,target=5"), (21, no_unit));
        let no_key = "rubik has no setting \"q\"; it has target, tail".to_owned();
        assert_eq!(error("rubik:q=1"), (6, no_key));
        let twice = "tail is set twice".to_owned();
        assert_eq!(error("oracle:tail=99,tail=95"), (15, twice));
        assert_eq!(error("oracle:energy=1.1,tail=30").0, 23);
        assert!(Scheme::parse("gc-bost").unwrap_err().is_unknown);
        let (at, problem) = error("in-turns:of=oracle+combined");
        assert!(
            at == 12 && problem.starts_with("oracle takes no turns, "),
            "{problem}"
        );
    }
}
