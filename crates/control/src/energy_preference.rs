//! The hint to the processor how much speed is worth: intel_pstate and amd_pstate.
//!
//! A hint, not a floor: the hardware weighs it and takes its time. Use it where a minimum
//! frequency cannot be set.

use crate::cpufreq::{marks, place};
use crate::error::ControlError;
use crate::host::Host;
use crate::lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
use crate::plain_setting::{Notation, PlainSetting};
use crate::topology::FrequencyDomain;

const KIND: LeverKind = LeverKind::EnergyPreference;
/// Slowest first; `default` is one of them, which the driver does not tell.
const WORDS: [&str; 4] = [
    "power",
    "balance_power",
    "balance_performance",
    "performance",
];
/// Where the host's own preference is none of these (`default`, a number).
const BASE: &str = "balance_performance";

/// Opens the preference of a domain.
///
/// # Errors
///
/// When the driver has none, the governor performance has taken it over, or a file cannot be
/// written.
pub fn open(
    host: &Host,
    domain: &FrequencyDomain,
    asked: &Asked,
) -> Result<PlainSetting, ControlError> {
    let unavailable = |why: String| Err(ControlError::Unavailable { lever: KIND, why });
    let Some(&first) = domain.policies.first() else {
        return unavailable(format!("no cpufreq policy for CPUs {:?}", domain.cpus));
    };
    let offered = host.read_if_there(&place(first, "energy_performance_available_preferences"))?;
    let Some(offered) = offered else {
        let driver = host.read(&place(first, "scaling_driver"))?;
        return unavailable(format!(
            "driver {driver} has no energy_performance_preference"
        ));
    };
    let mut now = vec![];
    for &policy in &domain.policies {
        if host.read(&place(policy, "scaling_governor"))? == "performance" {
            return unavailable("the governor performance keeps the preference".to_owned());
        }
        now.push(host.read(&place(policy, "energy_performance_preference"))?);
    }
    let is_offered = |word: &&str| offered.split_whitespace().any(|offered| offered == *word);
    let words: Vec<String> = WORDS
        .into_iter()
        .filter(is_offered)
        .map(str::to_owned)
        .collect();
    if words.len() < 2 {
        return unavailable(format!("it offers \"{offered}\""));
    }
    let position = |word: &str| words.iter().position(|other| other == word);
    let highest = words.len() as u32 - 1;
    // The fastest of all, since it is written to all of them.
    let bases = now.iter().map(|word| position(word).or(position(BASE)));
    let base = bases.max().flatten().unwrap_or(0);
    let range = Range {
        unit: Unit::Preference,
        lowest: 0,
        highest,
        base: base as u32,
        peak: highest,
    }
    .narrowed(KIND, asked)?;
    if range.base == range.peak {
        return unavailable(format!("the preference is {} already", now.join(" and ")));
    }
    let lever = Lever {
        kind: KIND,
        domain: Domain::Cpus(domain.cpus.clone()),
        range,
        about: format!(
            "energy_performance_preference, {} and {}: a hint to the hardware",
            words[range.base as usize], words[range.peak as usize]
        ),
        transition_ns: None,
        is_emulated: false,
    };
    let files = domain.policies.iter();
    let places = files.map(|&policy| place(policy, "energy_performance_preference"));
    let marks = marks(&domain.policies).collect();
    let notation = Notation::Words(words);
    PlainSetting::open(host, lever, places.collect(), marks, notation)
}
