//! Which levers this host really has for a service, why not the others, and which to take.
//!
//! By opening each, which only reads: a list of files that exist would promise what the kernel
//! refuses. What opens can still do nothing, which is what the self-test is for.

use serde::Serialize;

use crate::actuator::Actuator;
use crate::cpufreq::min_max::CpufreqMinMax;
use crate::cpufreq::userspace::CpufreqUserspace;
use crate::emulated;
use crate::energy::{EnergySource, energy_sources};
use crate::energy_preference;
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::group::quota::Quota;
use crate::group::{CpuGroup, burst};
use crate::host::{Host, Place};
use crate::intel_min_perf;
use crate::lever::{Asked, Lever, LeverKind};
use crate::several::Several;
use crate::topology::{FrequencyDomain, frequency_domains};
use crate::uclamp::Uclamp;

/// Levers in the order in which `auto` tries them: what sets a speed, then what promises a floor,
/// then hints, then what only lifts a limit. The imitation is never chosen, only named.
const BEST_FIRST: [LeverKind; 7] = [
    LeverKind::CpufreqUserspace,
    LeverKind::CpufreqMinMax,
    LeverKind::IntelMinPerf,
    LeverKind::EnergyPreference,
    LeverKind::Uclamp,
    LeverKind::Quota,
    LeverKind::Burst,
];

/// Levers that go by one word on the command line, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    pub word: &'static str,
    pub kinds: &'static [LeverKind],
    /// Of these cpufreq drivers only; any, if empty.
    drivers: &'static [&'static str],
}

/// Every word there is, but for the imitation's: it is started and not found.
const FAMILIES: [Family; 11] = [
    family("auto", &BEST_FIRST, &[]),
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
    /// The levers that go by this word.
    pub fn named(word: &str) -> Option<Self> {
        FAMILIES.into_iter().find(|family| family.word == word)
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

/// All that this host offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    /// Best first; the imitation last.
    pub levers: Vec<LeverReport>,
    pub energy: Vec<EnergySource>,
    /// What `auto` takes; none where nothing real is there.
    pub chosen: Option<LeverKind>,
}

impl Survey {
    /// One line for people: what was chosen, or that nothing was, and why not the others.
    pub fn summary(&self) -> String {
        match self.chosen {
            Some(kind) => line(&format!("lever {kind}"), &self.levers),
            None => line("no lever on this host", &self.levers),
        }
    }
}

/// Looks at every lever and energy source of the host; changes nothing.
pub fn survey(host: &Host, target: &Target) -> Survey {
    let mut levers: Vec<LeverReport> = BEST_FIRST
        .into_iter()
        .map(|kind| match open(host, target, kind, &Asked::default()) {
            Ok(actuator) => LeverReport {
                kind,
                is_available: true,
                why_not: None,
                lever: Some(actuator.lever().clone()),
            },
            Err(error) => unavailable(kind, &error),
        })
        .collect();
    let first = levers.iter().find(|lever| lever.is_available);
    let chosen = first.map(|lever| lever.kind);
    levers.push(imitation());
    Survey {
        levers,
        energy: energy_sources(host),
        chosen,
    }
}

/// What `auto` took, and what it would rather have taken.
#[derive(Debug)]
pub struct Chosen {
    pub actuator: Box<dyn Actuator>,
    /// Better kinds that this host does not have, or that do nothing on it; best first.
    pub passed_over: Vec<LeverReport>,
}

impl Chosen {
    /// One line for people: what was taken, and why nothing better.
    pub fn summary(&self) -> String {
        let lever = self.actuator.lever();
        line(
            &format!("lever {}: {}", lever.kind, lever.about),
            &self.passed_over,
        )
    }
}

/// Opens the best real lever of the host, or says why there is none. With a gauge each one is
/// tested before it is taken, so that a lever that takes values and does nothing is passed over;
/// that moves it for some ms per CPU and undoes it.
///
/// # Errors
///
/// The survey without a choice; its [`summary`](Survey::summary) tells people.
pub fn auto(
    host: &Host,
    target: &Target,
    asked: &Asked,
    mut gauge: Option<&mut dyn Gauge>,
) -> Result<Chosen, Box<Survey>> {
    let mut passed_over = vec![];
    for kind in BEST_FIRST {
        let tested = open(host, target, kind, asked).and_then(|mut actuator| {
            if let Some(gauge) = gauge.as_deref_mut() {
                actuator.self_test(gauge)?;
            }
            Ok(actuator)
        });
        match tested {
            Ok(actuator) => {
                return Ok(Chosen {
                    actuator,
                    passed_over,
                });
            }
            Err(error) => passed_over.push(unavailable(kind, &error)),
        }
    }
    passed_over.push(imitation());
    Err(Box::new(Survey {
        levers: passed_over,
        energy: energy_sources(host),
        chosen: None,
    }))
}

/// Some words, and in brackets the real levers that are not available.
fn line(words: &str, levers: &[LeverReport]) -> String {
    let real = levers
        .iter()
        .filter(|lever| lever.kind != LeverKind::Emulated);
    let refused = real.filter_map(|lever| Some((lever.kind, lever.why_not.as_ref()?)));
    let refused: Vec<_> = refused
        .map(|(kind, why)| format!("{kind}: {why}"))
        .collect();
    if refused.is_empty() {
        return words.to_owned();
    }
    format!("{words} ({})", refused.join("; "))
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
