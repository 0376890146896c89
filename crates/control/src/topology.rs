//! Which CPUs share a clock, and so can only be fast or slow together.
//!
//! One directory of cpufreq is not enough: where each hardware thread has its own, the threads of
//! a core still run at the highest of their requests, and acpi-cpufreq tells CPUs that the
//! hardware couples only in `freqdomain_cpus`.

use std::collections::BTreeSet;

use crate::error::ControlError;
use crate::host::{Host, Place};

/// CPUs that share a clock, with the cpufreq policies that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrequencyDomain {
    /// Ascending.
    pub cpus: Vec<u32>,
    /// Numbers `n` of `cpufreq/policyN`, ascending.
    pub policies: Vec<u32>,
}

/// The frequency domains of the online CPUs, by their first CPU. Without cpufreq a domain is a
/// core, and has no policies.
///
/// # Errors
///
/// When a file of the topology cannot be read or is not a list of CPUs.
pub fn frequency_domains(host: &Host) -> Result<Vec<FrequencyDomain>, ControlError> {
    let mut groups = vec![];
    for cpu in cpus_online(host)? {
        let siblings = Place::sys(format!(
            "devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        ));
        let mut group = cpus_in(host, &siblings)?;
        group.insert(cpu);
        groups.push(group);
    }
    let policies = policies(host)?;
    for &policy in &policies {
        groups.push(cpus_of_policy(host, policy)?);
    }
    let mut domains: Vec<FrequencyDomain> = merged(groups)
        .into_iter()
        .map(|cpus| FrequencyDomain {
            cpus: cpus.into_iter().collect(),
            policies: vec![],
        })
        .collect();
    for policy in policies {
        // A policy is named after one of its CPUs.
        let of = |domain: &&mut FrequencyDomain| domain.cpus.contains(&policy);
        if let Some(domain) = domains.iter_mut().find(of) {
            domain.policies.push(policy);
        }
    }
    Ok(domains)
}

/// Online CPUs, ascending.
pub fn cpus_online(host: &Host) -> Result<BTreeSet<u32>, ControlError> {
    let place = Place::sys("devices/system/cpu/online");
    let text = host.read(&place)?;
    parse_cpus(host, &place, &text)
}

/// The cpufreq policies whose CPUs include any of these.
pub(crate) fn policies_of(
    host: &Host,
    domain: &FrequencyDomain,
    cpus: &[u32],
) -> Result<Vec<u32>, ControlError> {
    let mut found = vec![];
    for &policy in &domain.policies {
        let place = Place::sys(format!(
            "devices/system/cpu/cpufreq/policy{policy}/related_cpus"
        ));
        let related = cpus_in(host, &place)?;
        if cpus.iter().any(|cpu| related.contains(cpu)) {
            found.push(policy);
        }
    }
    Ok(found)
}

/// The numbers of all cpufreq policies, ascending; none where there is no cpufreq.
pub(crate) fn policies(host: &Host) -> Result<Vec<u32>, ControlError> {
    let names = host.list(&Place::sys("devices/system/cpu/cpufreq"))?;
    let number = |name: &String| name.strip_prefix("policy")?.parse().ok();
    let mut policies: Vec<u32> = names.iter().filter_map(number).collect();
    policies.sort_unstable();
    Ok(policies)
}

fn cpus_of_policy(host: &Host, policy: u32) -> Result<BTreeSet<u32>, ControlError> {
    let mut cpus = BTreeSet::from([policy]);
    for file in ["related_cpus", "freqdomain_cpus"] {
        let place = Place::sys(format!("devices/system/cpu/cpufreq/policy{policy}/{file}"));
        cpus.append(&mut cpus_in(host, &place)?);
    }
    Ok(cpus)
}

/// Groups that share a CPU become one.
fn merged(groups: Vec<BTreeSet<u32>>) -> Vec<BTreeSet<u32>> {
    let mut merged: Vec<BTreeSet<u32>> = vec![];
    for mut group in groups {
        merged.retain(|other| {
            let is_apart = other.is_disjoint(&group);
            if !is_apart {
                group.extend(other);
            }
            is_apart
        });
        merged.push(group);
    }
    merged.sort();
    merged
}

fn cpus_in(host: &Host, place: &Place) -> Result<BTreeSet<u32>, ControlError> {
    match host.read_if_there(place)? {
        Some(text) => parse_cpus(host, place, &text),
        None => Ok(BTreeSet::new()),
    }
}

pub(crate) fn parse_cpus(
    host: &Host,
    place: &Place,
    text: &str,
) -> Result<BTreeSet<u32>, ControlError> {
    match parse_list(text) {
        Some(cpus) => Ok(cpus.into_iter().collect()),
        None => Err(ControlError::Malformed {
            path: host.path(place)?,
            value: text.to_owned(),
            expected: "a list of CPUs",
        }),
    }
}

/// Reads `0-3,8` as well as cpufreq's `0 1 2 3`; none for what is no list of CPUs.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last < CPUS_MAX => cpus.extend(first..=last),
            _ => return None,
        }
    }
    Some(cpus)
}

/// No kernel has more (NR_CPUS is at most 8192); a damaged list must not fill the memory.
const CPUS_MAX: u32 = 65_536;
