//! CPU frequency through cpufreq: what both of its ways to set one have in common.
//!
//! Two ways, because the governor `userspace` sets a frequency at once and in the caller's own
//! system call, but intel_pstate and amd_pstate in active mode do not have it; there only the
//! bounds remain, which the kernel applies a little later.

pub mod min_max;
pub mod userspace;

use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::knob::Knob;
use crate::lever::{Asked, LeverKind, Range, Unit};
use crate::saved::SavedSetting;
use crate::topology::{FrequencyDomain, policies_of};

/// Above the latency that a driver tells when it does not know: `CPUFREQ_ETERNAL`.
const UNKNOWN_LATENCY_NS: u64 = u32::MAX as u64;

/// A file of one cpufreq policy.
pub(crate) fn place(policy: u32, file: &str) -> Place {
    Place::sys(format!("devices/system/cpu/cpufreq/policy{policy}/{file}"))
}

/// Opens one file of each policy.
fn knobs(host: &Host, policies: &[u32], file: &str) -> Result<Vec<Knob>, ControlError> {
    let open = |&policy| Knob::open(host, place(policy, file));
    policies.iter().map(open).collect()
}

/// What an owner of any lever on these policies holds. One and the same file for all kinds, since
/// two kinds on one clock would each save what the other has set; the minimum, since every driver
/// has it.
pub(crate) fn marks(policies: &[u32]) -> impl Iterator<Item = Place> {
    policies
        .iter()
        .map(|&policy| place(policy, "scaling_min_freq"))
}

/// Says that a domain has no cpufreq at all, or which of its policies this caller's CPUs move.
fn leading_policies(
    host: &Host,
    kind: LeverKind,
    domain: &FrequencyDomain,
    cpus: &[u32],
) -> Result<Vec<u32>, ControlError> {
    let leading = if cpus.is_empty() {
        domain.policies.clone()
    } else {
        policies_of(host, domain, cpus)?
    };
    if leading.is_empty() {
        return Err(ControlError::Unavailable {
            lever: kind,
            why: format!("no cpufreq policy for CPUs {:?}", domain.cpus),
        });
    }
    Ok(leading)
}

/// The frequencies that all policies of a domain can run at; base is the highest floor of any.
///
/// The highest, because base is written to all of them, and the clock that they share runs at the
/// highest request as it is: none gets below its own floor. Who tells no base of his own gets
/// nothing below that either.
fn hardware_range(
    host: &Host,
    domain: &FrequencyDomain,
    is_base_told: bool,
) -> Result<Range, ControlError> {
    let mut range = Range {
        unit: Unit::Khz,
        lowest: 0,
        highest: u32::MAX,
        base: 0,
        peak: 0,
    };
    for &policy in &domain.policies {
        let read = |file| host.read_number::<u32>(&place(policy, file));
        range.lowest = range.lowest.max(read("cpuinfo_min_freq")?);
        range.highest = range.highest.min(read("cpuinfo_max_freq")?);
        range.base = range.base.max(read("scaling_min_freq")?);
    }
    range.base = range.base.clamp(range.lowest, range.highest);
    range.peak = range.highest;
    if !is_base_told {
        range.lowest = range.base;
    }
    Ok(range)
}

/// The longest transition that the drivers of a domain tell.
fn transition_ns(host: &Host, domain: &FrequencyDomain) -> Result<Option<u64>, ControlError> {
    let mut longest = None;
    for &policy in &domain.policies {
        if let Some(text) = host.read_if_there(&place(policy, "cpuinfo_transition_latency"))? {
            match text.parse::<u64>() {
                Ok(ns) if ns < UNKNOWN_LATENCY_NS => longest = longest.max(Some(ns)),
                _ => return Ok(None),
            }
        }
    }
    Ok(longest)
}

/// The driver of a domain's first policy.
fn driver(host: &Host, domain: &FrequencyDomain) -> Result<String, ControlError> {
    let first = domain.policies.first().copied().unwrap_or_default();
    Ok(host
        .read_if_there(&place(first, "scaling_driver"))?
        .unwrap_or_else(|| "an unnamed driver".to_owned()))
}

/// Files of each policy as they are now, in the order given, which is that of restoring.
fn saved(
    host: &Host,
    domain: &FrequencyDomain,
    files: &[&str],
) -> Result<Vec<SavedSetting>, ControlError> {
    let mut settings = vec![];
    for &policy in &domain.policies {
        for file in files {
            settings.push(SavedSetting::of_file(host, &place(policy, file))?);
        }
    }
    Ok(settings)
}

/// The frequencies that a domain's drivers have, in order; none where they take any.
fn table_of(host: &Host, domain: &FrequencyDomain) -> Result<Vec<u32>, ControlError> {
    let mut all = vec![];
    for &policy in &domain.policies {
        let of_policy = place(policy, "scaling_available_frequencies");
        let text = host.read_if_there(&of_policy)?.unwrap_or_default();
        all.extend(
            text.split_whitespace()
                .filter_map(|one| one.parse::<u32>().ok()),
        );
    }
    all.sort_unstable();
    Ok(all)
}

/// A range in frequencies that there are. The kernel would go to the next one up
/// (`CPUFREQ_RELATION_L`) of any other, say that one back, and be above what is allowed. Beyond the
/// table lies turbo.
fn of_table(range: Range, table: &[u32]) -> Range {
    let highest = match table.partition_point(|one| *one <= range.highest) {
        0 => range.highest,
        count if count == table.len() => range.highest,
        count => table[count - 1],
    };
    let next = |khz: u32| {
        let above = table.iter().find(|one| **one >= khz);
        above.map_or(khz, |one| *one).min(highest)
    };
    Range {
        highest,
        base: next(range.base),
        peak: next(range.peak),
        ..range
    }
}

/// The range of a domain narrowed to what was asked for, with room between base and peak.
fn range_with_room(
    host: &Host,
    kind: LeverKind,
    domain: &FrequencyDomain,
    asked: &Asked,
) -> Result<Range, ControlError> {
    let range = hardware_range(host, domain, asked.base.is_some())?.narrowed(kind, asked)?;
    let range = of_table(range, &table_of(host, domain)?);
    if range.base == range.peak {
        // Whoever has raised it is the reason, and may let go.
        require_free(host, domain)?;
        return Err(ControlError::Unavailable {
            lever: kind,
            why: format!("base and peak are both {} kHz", range.base),
        });
    }
    Ok(range)
}

/// Says who has the clock, if another has: [`ControlError::Held`].
fn require_free(host: &Host, domain: &FrequencyDomain) -> Result<(), ControlError> {
    for mark in marks(&domain.policies) {
        let mut mark = Knob::open_to_hold(host, mark)?;
        mark.hold()?;
        mark.let_go();
    }
    Ok(())
}

/// `scaling_min_freq` and `scaling_max_freq` of one policy.
#[derive(Debug)]
struct Bounds {
    min: Knob,
    max: Knob,
}

impl Bounds {
    /// Those of each policy.
    fn open(host: &Host, policies: &[u32]) -> Result<Vec<Self>, ControlError> {
        let open = |&policy| {
            Ok(Self {
                min: Knob::open(host, place(policy, "scaling_min_freq"))?,
                max: Knob::open(host, place(policy, "scaling_max_freq"))?,
            })
        };
        policies.iter().map(open).collect()
    }

    /// Moves from one value to another; the bound that leads the way goes first, because the
    /// kernel refuses a minimum above the maximum.
    fn change(&mut self, is_up: bool, value: u32, is_pinned: bool) -> Result<(), ControlError> {
        if is_pinned && is_up {
            self.max.write_number(value.into())?;
        }
        self.min.write_number(value.into())?;
        if is_pinned && !is_up {
            self.max.write_number(value.into())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lowest: u32, base: u32, peak: u32, highest: u32) -> Range {
        let unit = Unit::Khz;
        Range {
            unit,
            lowest,
            highest,
            base,
            peak,
        }
    }

    #[test]
    fn frequencies_are_those_of_the_table_and_never_above_what_is_allowed() {
        let table = [800, 1_600, 2_400];
        assert_eq!(
            of_table(range(800, 1_000, 2_000, 2_400), &table),
            range(800, 1_600, 2_400, 2_400)
        );
        assert_eq!(
            of_table(range(800, 800, 2_000, 2_000), &table),
            range(800, 800, 1_600, 1_600)
        );
        // Turbo is in no table.
        assert_eq!(
            of_table(range(800, 2_400, 3_000, 3_000), &table),
            range(800, 2_400, 3_000, 3_000)
        );
        let any = range(800, 1_000, 2_000, 2_400);
        assert_eq!(of_table(any, &[]), any);
    }
}
