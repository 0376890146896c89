//! intel_pstate's floor for the whole machine, in per cent of its highest performance.
//!
//! Coarse: every CPU is raised. It remains where cpufreq's own minimum cannot be written.

use crate::cpufreq::marks;
use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
use crate::plain_setting::{Notation, PlainSetting};
use crate::topology::{cpus_online, policies};

const KIND: LeverKind = LeverKind::IntelMinPerf;
const DIRECTORY: &str = "devices/system/cpu/intel_pstate";

/// Opens the floor.
///
/// # Errors
///
/// When the driver is not intel_pstate, or runs at its highest already.
pub fn open(host: &Host, asked: &Asked) -> Result<PlainSetting, ControlError> {
    let place = |file: &str| Place::sys(format!("{DIRECTORY}/{file}"));
    let unavailable = |why: String| Err(ControlError::Unavailable { lever: KIND, why });
    match host.read_if_there(&place("status"))?.as_deref() {
        Some("active" | "passive") => {}
        Some(status) => return unavailable(format!("intel_pstate is {status}")),
        None => return unavailable("the driver is not intel_pstate".to_owned()),
    }
    let range = Range {
        unit: Unit::Percent,
        lowest: 0,
        highest: host.read_number(&place("max_perf_pct"))?,
        base: host.read_number(&place("min_perf_pct"))?,
        peak: host.read_number(&place("max_perf_pct"))?,
    }
    .narrowed(KIND, asked)?;
    if range.base == range.peak {
        return unavailable(format!("min_perf_pct is {} already", range.base));
    }
    let lever = Lever {
        kind: KIND,
        domain: Domain::Cpus(cpus_online(host)?.into_iter().collect()),
        range,
        about: "intel_pstate/min_perf_pct, for all CPUs of the machine".to_owned(),
        transition_ns: None,
        is_emulated: false,
    };
    // In passive mode the floor shows in the minimum of every policy.
    let marks = marks(&policies(host)?).collect();
    let places = vec![place("min_perf_pct")];
    PlainSetting::open(host, lever, places, marks, Notation::Number)
}
