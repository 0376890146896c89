//! How much energy a speed costs: counted where the processor counts, else modelled.
//!
//! A modelled figure is a different thing from a counted one, so the two are different types and
//! every answer says which it is.

mod power_events;
mod powercap;
pub mod rapl;

use serde::Serialize;

use crate::host::Host;

/// Where figures of energy come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnergyKind {
    /// The processor's counters, through powercap or perf.
    Rapl,
    /// The paper's three points.
    Modelled,
}

/// What this host allows, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnergySource {
    pub kind: EnergyKind,
    /// What is counted, or by what is modelled.
    pub about: String,
    pub is_available: bool,
    pub why_not: Option<String>,
}

/// Every energy source, best first; the last one is always available.
pub fn energy_sources(host: &Host) -> Vec<EnergySource> {
    let rapl = match rapl::Rapl::open(host) {
        Ok(rapl) => EnergySource {
            kind: EnergyKind::Rapl,
            about: rapl.about(),
            is_available: true,
            why_not: None,
        },
        Err(error) => EnergySource {
            kind: EnergyKind::Rapl,
            about: "powercap or perf".to_owned(),
            is_available: false,
            why_not: Some(error.to_string()),
        },
    };
    let modelled = EnergySource {
        kind: EnergyKind::Modelled,
        about: "MODELLED by the paper's 1.0, 1.676 and 2.712 at 2.6, 3.3 and 4.0 GHz".to_owned(),
        is_available: true,
        why_not: None,
    };
    vec![rapl, modelled]
}
