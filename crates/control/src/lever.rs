//! What a lever is: its kind, what it moves, and between which values.
//!
//! Plain serializable data, because `doctor` shows it, bobtaild sends it, and a client decides by
//! it without having the lever itself.

use std::fmt;

use serde::{Deserialize, Serialize};

use bobtail_policy::Speed;

use crate::error::ControlError;

/// The levers there are; one actuator file each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LeverKind {
    /// `scaling_setspeed` under the governor `userspace`: a frequency, set at once.
    CpufreqUserspace,
    /// `scaling_min_freq` and `scaling_max_freq` under any other governor.
    CpufreqMinMax,
    /// `energy_performance_preference` of intel_pstate and amd_pstate: a hint.
    EnergyPreference,
    /// `intel_pstate/min_perf_pct`: a floor for the whole machine.
    IntelMinPerf,
    /// `uclamp.min` of one thread by `sched_setattr`.
    Uclamp,
    /// CPU quota of a cgroup, v1 or v2.
    Quota,
    /// CPU burst of a cgroup, v1 or v2.
    Burst,
    /// A real-time thread that takes away a share of the CPU: for experiments.
    Emulated,
}

impl LeverKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::CpufreqUserspace,
        Self::CpufreqMinMax,
        Self::EnergyPreference,
        Self::IntelMinPerf,
        Self::Uclamp,
        Self::Quota,
        Self::Burst,
        Self::Emulated,
    ];

    /// How long a change is taken to need where nobody tells: too long rather than too short, since
    /// a boost that comes after what it is for costs and brings nothing. Processors that decide by
    /// themselves (HWP, CPPC) follow a frequency or a floor half a millisecond to several later; a
    /// hint and a clamp wait for the next decision of who takes them. Assumed, measured nowhere.
    pub fn assumed_latency_ns(self) -> u64 {
        match self {
            Self::CpufreqUserspace | Self::CpufreqMinMax | Self::IntelMinPerf => 1_000_000,
            Self::EnergyPreference | Self::Uclamp => 4_000_000,
            Self::Quota | Self::Burst | Self::Emulated => 0,
        }
    }

    /// The kind that goes by this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The word on the command line and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::CpufreqUserspace => "cpufreq-userspace",
            Self::CpufreqMinMax => "cpufreq-min-max",
            Self::EnergyPreference => "energy-preference",
            Self::IntelMinPerf => "intel-min-perf",
            Self::Uclamp => "uclamp",
            Self::Quota => "quota",
            Self::Burst => "burst",
            Self::Emulated => "emulated",
        }
    }
}

impl fmt::Display for LeverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a lever moves. Two levers on overlapping domains must be arbitrated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// CPUs that share a clock, ascending.
    Cpus(Vec<u32>),
    /// A control group, by its path below the hierarchy's root.
    Group(String),
    /// One thread, by its kernel id.
    Thread(i32),
}

/// What the values of a lever count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Frequency.
    Khz,
    /// Share of the CPU's capacity, of 1024 (uclamp).
    Capacity,
    /// Per cent of the machine's highest performance.
    Percent,
    /// CPU time per period, in µs (quota, burst); may exceed the period.
    Microseconds,
    /// Place in the list of the preferences that the host offers, slowest first.
    Preference,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Khz => "kHz",
            Self::Capacity => "of 1024",
            Self::Percent => "%",
            Self::Microseconds => "µs",
            Self::Preference => "(preference)",
        })
    }
}

/// The values of a lever: `lowest ≤ base ≤ peak ≤ highest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    pub unit: Unit,
    pub lowest: u32,
    pub highest: u32,
    /// The value of [`Speed::Base`].
    pub base: u32,
    /// The value of [`Speed::Peak`].
    pub peak: u32,
}

/// Which values the caller wants or allows; what is none is the host's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    pub base: Option<u32>,
    pub peak: Option<u32>,
    /// Nothing below is set, whatever a policy asks for.
    pub lowest: Option<u32>,
    /// Nothing above is set.
    pub highest: Option<u32>,
}

impl Range {
    /// Whether a value lies beyond base, to the side of the peak.
    pub fn is_raised(&self, value: u32) -> bool {
        if self.peak < self.base {
            value < self.base
        } else {
            value > self.base
        }
    }

    /// The host's range, narrowed to what is allowed, with the base and peak that were asked for.
    ///
    /// # Errors
    ///
    /// [`ControlError::OutOfRange`] for a base or peak that was asked for and lies outside, and
    /// for bounds that leave nothing.
    pub(crate) fn narrowed(self, lever: LeverKind, asked: &Asked) -> Result<Self, ControlError> {
        let refuse = |what, value, lowest, highest| ControlError::OutOfRange {
            lever,
            what,
            value,
            lowest,
            highest,
            unit: self.unit,
        };
        let lowest = asked.lowest.unwrap_or(self.lowest).max(self.lowest);
        let highest = asked.highest.unwrap_or(self.highest).min(self.highest);
        if lowest > highest {
            let (what, value) = match asked.lowest {
                Some(value) if value > self.highest => ("lowest", value),
                _ => ("highest", asked.highest.unwrap_or(highest)),
            };
            return Err(refuse(what, value, self.lowest, self.highest));
        }
        let within = |what, value: Option<u32>, default: u32| match value {
            Some(value) if value < lowest || value > highest => {
                Err(refuse(what, value, lowest, highest))
            }
            Some(value) => Ok(value),
            None => Ok(default.clamp(lowest, highest)),
        };
        let base = within("base", asked.base, self.base)?;
        let peak = within("peak", asked.peak, self.peak)?;
        if base > peak {
            return Err(refuse("base", base, lowest, peak));
        }
        Ok(Self {
            unit: self.unit,
            lowest,
            highest,
            base,
            peak,
        })
    }

    /// The value for a speed, within the range.
    ///
    /// # Errors
    ///
    /// [`ControlError::NotAFrequency`] for a frequency where there are none.
    pub fn value(&self, lever: LeverKind, speed: Speed) -> Result<u32, ControlError> {
        match (speed, self.unit) {
            (Speed::Peak, _) => Ok(self.peak),
            (Speed::Khz(khz), Unit::Khz) => Ok(khz.clamp(self.lowest, self.highest)),
            (Speed::Khz(khz), _) => Err(ControlError::NotAFrequency { lever, khz }),
            _ => Ok(self.base),
        }
    }
}

/// A lever of this host, described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lever {
    pub kind: LeverKind,
    pub domain: Domain,
    pub range: Range,
    /// One line: which files, which driver, which caveats.
    pub about: String,
    /// How long a change takes by the driver's own account, besides the call; none if unknown.
    pub transition_ns: Option<u64>,
    /// Whether the speed is imitated instead of set; every figure that comes of it must say so.
    pub is_emulated: bool,
}
