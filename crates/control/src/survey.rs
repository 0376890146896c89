//! Which levers this host really has for a service, why not the others, and which to take.
//!
//! By opening each, which only reads: a list of files that exist would promise what the kernel
//! refuses. What opens can still do nothing, which is what the self-test is for.

use serde::Serialize;

use crate::actuator::Actuator;
use crate::cpufreq::min_max::CpufreqMinMax;
use crate::cpufreq::userspace::CpufreqUserspace;
use crate::emulated;
use crate::energy_preference;
use crate::error::ControlError;
use crate::group::quota::Quota;
use crate::group::{CpuGroup, burst};
use crate::host::{Host, Place};
use crate::intel_min_perf;
use crate::lever::{Asked, Lever, LeverKind};
use crate::several::Several;
use crate::topology::{FrequencyDomain, frequency_domains};
use crate::uclamp::Uclamp;

/// Levers in the order in which `auto` tries them: what sets a speed, then what promises a floor,
/// then hints, then what only lifts a limit. In cgroup v2 the last two change places
/// ([`Family::order`]). The imitation is never chosen, only named.
const BEST_FIRST: [LeverKind; 7] = [
    LeverKind::CpufreqUserspace,
    LeverKind::CpufreqMinMax,
    LeverKind::IntelMinPerf,
    LeverKind::EnergyPreference,
    LeverKind::Uclamp,
    LeverKind::Quota,
    LeverKind::Burst,
];

const PINS: &str = "holds its base between boosts; only by name, or with a base to hold";

/// Levers that go by one word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    pub word: &'static str,
    /// Best first, where groups are of cgroup v1 or there is none.
    kinds: &'static [LeverKind],
    /// Of these cpufreq drivers only; any, if empty.
    drivers: &'static [&'static str],
}

const AUTO: Family = family("auto", &BEST_FIRST, &[]);

/// Every word there is, but for the imitation's: it is started and not found.
const FAMILIES: [Family; 11] = [
    AUTO,
    family(
        "cpufreq",
        &[LeverKind::CpufreqUserspace, LeverKind::CpufreqMinMax],
        &[],
    ),
    family(
        "intel-pstate",
        &[LeverKind::IntelMinPerf, LeverKind::EnergyPreference],
        &["intel_pstate", "intel_cpufreq"],
    ),
    family(
        "amd-pstate",
        &[LeverKind::CpufreqMinMax, LeverKind::EnergyPreference],
        &["amd-pstate", "amd-pstate-epp"],
    ),
    family("cpufreq-userspace", &[LeverKind::CpufreqUserspace], &[]),
    family("cpufreq-min-max", &[LeverKind::CpufreqMinMax], &[]),
    family("intel-min-perf", &[LeverKind::IntelMinPerf], &[]),
    family("energy-preference", &[LeverKind::EnergyPreference], &[]),
    family("uclamp", &[LeverKind::Uclamp], &[]),
    family("quota", &[LeverKind::Quota], &[]),
    family("burst", &[LeverKind::Burst], &[]),
];

const fn family(
    word: &'static str,
    kinds: &'static [LeverKind],
    drivers: &'static [&'static str],
) -> Family {
    Family {
        word,
        kinds,
        drivers,
    }
}

impl Family {
    /// All of them.
    pub fn auto() -> Self {
        AUTO
    }

    /// The levers that go by this word.
    pub fn named(word: &str) -> Option<Self> {
        FAMILIES.into_iter().find(|family| family.word == word)
    }

    /// Its kinds in the order in which they are tried for this process on a host. In cgroup v2 who
    /// decides is in the group that is held back, and cannot ask for its quota then: there the
    /// burst goes first, which needs nobody to ask.
    pub fn order(&self, host: &Host) -> Vec<LeverKind> {
        let mut order = self.kinds.to_vec();
        let at = |wanted| self.kinds.iter().position(|&kind| kind == wanted);
        if let (Some(quota), Some(burst)) = (at(LeverKind::Quota), at(LeverKind::Burst)) {
            let group = CpuGroup::of_process(host, LeverKind::Quota, "self");
            if group.is_ok_and(|group| group.is_of_v2()) {
                order.swap(quota, burst);
            }
        }
        order
    }

    /// The best of them for this process that `open` gives.
    pub fn best<T>(
        &self,
        host: &Host,
        asked: &Asked,
        mut open: impl FnMut(LeverKind) -> Result<T, ControlError>,
    ) -> Choice<T> {
        let mut passed_over = vec![];
        for kind in self.order(host) {
            let error = match open(kind) {
                Ok(taken) if !self.passes_over(kind, asked) => {
                    let taken = Some((kind, taken));
                    return Choice { taken, passed_over };
                }
                Ok(_) => ControlError::Unavailable {
                    lever: kind,
                    why: PINS.to_owned(),
                },
                Err(error) => error,
            };
            passed_over.push(unavailable(kind, &error));
        }
        Choice {
            taken: None,
            passed_over,
        }
    }

    /// Whether a kind that is there is only taken by its own name: one that holds a frequency also
    /// between boosts, by itself the lowest, slows a service that did not ask for a base.
    pub fn passes_over(&self, kind: LeverKind, asked: &Asked) -> bool {
        kind == LeverKind::CpufreqUserspace && asked.base.is_none() && self.kinds.len() > 1
    }

    /// Why none of them can be here; none where one may.
    pub fn refusal(&self, host: &Host) -> Result<Option<String>, ControlError> {
        if self.drivers.is_empty() {
            return Ok(None);
        }
        for name in host.list(&Place::sys("devices/system/cpu/cpufreq"))? {
            let path = format!("devices/system/cpu/cpufreq/{name}/scaling_driver");
            if let Some(driver) = host.read_if_there(&Place::sys(path))? {
                let is_of_family = self.drivers.contains(&driver.as_str());
                let refusal = || format!("the cpufreq driver is {driver}");
                return Ok((!is_of_family).then(refusal));
            }
        }
        Ok(Some("this host has no cpufreq driver".to_owned()))
    }
}

/// For whom a lever is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// CPUs on which it may run; all, if empty.
    pub cpus: Vec<u32>,
    /// Kernel id of its event-loop thread.
    pub thread: i32,
    /// Its process, as in `/proc`.
    pub process: String,
}

/// One kind of lever on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeverReport {
    pub kind: LeverKind,
    pub is_available: bool,
    pub why_not: Option<String>,
    /// What it would move, where it is available and opening it changes nothing.
    pub lever: Option<Lever>,
}

/// What was taken of a family.
#[derive(Debug)]
pub struct Choice<T> {
    pub taken: Option<(LeverKind, T)>,
    /// Better kinds that this host does not have, or that do nothing on it; best first.
    pub passed_over: Vec<LeverReport>,
}

/// The imitation, of which only the rights are looked at: starting it would slow a CPU.
pub fn imitation() -> LeverReport {
    match emulated::check_rights() {
        Ok(()) => LeverReport {
            kind: LeverKind::Emulated,
            is_available: true,
            why_not: None,
            lever: None,
        },
        Err(error) => unavailable(LeverKind::Emulated, &error),
    }
}

/// Opens a real lever of a kind for a target; one per frequency domain of its CPUs, as one.
///
/// # Errors
///
/// Why this host does not have it, or the first domain that refuses; for the imitation, which is
/// [started](crate::emulated::Emulated::start) and not opened, always.
pub fn open(
    host: &Host,
    target: &Target,
    kind: LeverKind,
    asked: &Asked,
) -> Result<Box<dyn Actuator>, ControlError> {
    let group = |kind| CpuGroup::of_process(host, kind, &target.process);
    match kind {
        LeverKind::CpufreqUserspace => of_domains(host, target, kind, |domain, cpus| {
            Ok(Box::new(CpufreqUserspace::open(host, domain, cpus, asked)?))
        }),
        LeverKind::CpufreqMinMax => of_domains(host, target, kind, |domain, cpus| {
            Ok(Box::new(CpufreqMinMax::open(host, domain, cpus, asked)?))
        }),
        LeverKind::EnergyPreference => of_domains(host, target, kind, |domain, _| {
            Ok(Box::new(energy_preference::open(host, domain, asked)?))
        }),
        LeverKind::IntelMinPerf => Ok(Box::new(intel_min_perf::open(host, asked)?)),
        LeverKind::Uclamp => Ok(Box::new(Uclamp::open(host, target.thread, asked)?)),
        LeverKind::Quota => Ok(Box::new(Quota::open(host, &group(kind)?, asked, None)?)),
        LeverKind::Burst => Ok(Box::new(burst::open(host, &group(kind)?, asked)?)),
        LeverKind::Emulated => Err(ControlError::Unavailable {
            lever: kind,
            why: "it is started for an experiment, not found on a host".to_owned(),
        }),
    }
}

fn of_domains(
    host: &Host,
    target: &Target,
    kind: LeverKind,
    open: impl Fn(&FrequencyDomain, &[u32]) -> Result<Box<dyn Actuator>, ControlError>,
) -> Result<Box<dyn Actuator>, ControlError> {
    let mut parts = vec![];
    for domain in frequency_domains(host)? {
        let shared = |cpu: &u32| target.cpus.is_empty() || target.cpus.contains(cpu);
        let cpus: Vec<u32> = domain.cpus.iter().copied().filter(shared).collect();
        if !cpus.is_empty() {
            parts.push(open(&domain, &cpus)?);
        }
    }
    let mut parts = parts.into_iter();
    match parts.next() {
        Some(first) if parts.len() == 0 => Ok(first),
        Some(first) => Ok(Box::new(Several::of(first, parts.collect()))),
        None => Err(ControlError::Unavailable {
            lever: kind,
            why: format!("none of the CPUs {:?} is online", target.cpus),
        }),
    }
}

/// A kind that cannot be had, and why.
pub fn unavailable(kind: LeverKind, error: &ControlError) -> LeverReport {
    let why_not = match error {
        ControlError::Unavailable { why, .. } => why.clone(),
        other => other.to_string(),
    };
    LeverReport {
        kind,
        is_available: false,
        why_not: Some(why_not),
        lever: None,
    }
}
