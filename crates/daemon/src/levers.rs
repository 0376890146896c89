//! Opens the lever of this host that a client names by its kind and a number.
//!
//! The daemon moves every CPU of a domain, because it cannot know where the client's thread will
//! run next; a client that knows better asks for a lever of one CPU.

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::cpufreq::userspace::CpufreqUserspace;
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, ControlError, Domain, Host, LeverKind};
use bobtail_control::{energy_preference, intel_min_perf};

/// Opens a lever; nothing is moved yet.
///
/// # Errors
///
/// When the host does not have it there, or its files cannot be opened.
pub fn open(
    host: &Host,
    kind: LeverKind,
    target: u32,
    asked: &Asked,
) -> Result<Box<dyn Actuator>, ControlError> {
    let unavailable = |why: String| ControlError::Unavailable { lever: kind, why };
    let domain = || {
        let domains = frequency_domains(host)?;
        let with_target = domains
            .into_iter()
            .find(|domain| domain.cpus.contains(&target));
        with_target.ok_or_else(|| unavailable(format!("no CPU {target} is online")))
    };
    match kind {
        LeverKind::CpufreqUserspace => {
            let lever = CpufreqUserspace::open(host, &domain()?, &[], asked)?;
            Ok(Box::new(lever))
        }
        LeverKind::CpufreqMinMax => {
            let lever = CpufreqMinMax::open(host, &domain()?, &[], asked)?;
            Ok(Box::new(lever))
        }
        LeverKind::EnergyPreference => {
            let lever = energy_preference::open(host, &domain()?, asked)?;
            Ok(Box::new(lever))
        }
        LeverKind::IntelMinPerf => Ok(Box::new(intel_min_perf::open(host, asked)?)),
        _ => Err(unavailable("bobtaild does not drive it".to_owned())),
    }
}

/// The CPUs that a lever moves; none for one that moves no CPU.
pub fn cpus(actuator: &dyn Actuator) -> Vec<u32> {
    match &actuator.lever().domain {
        Domain::Cpus(cpus) => cpus.clone(),
        _ => Vec::new(),
    }
}
