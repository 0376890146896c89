//! The numbers on the wire of what other crates name: levers, units, speeds.
//!
//! Written out here, so that an enum put into another order elsewhere does not change the protocol.

use bobtail_control::{LeverKind, Unit};
use bobtail_policy::Speed;

const LEVERS: [(u8, LeverKind); 8] = [
    (1, LeverKind::CpufreqUserspace),
    (2, LeverKind::CpufreqMinMax),
    (3, LeverKind::EnergyPreference),
    (4, LeverKind::IntelMinPerf),
    (5, LeverKind::Uclamp),
    (6, LeverKind::Quota),
    (7, LeverKind::Burst),
    (8, LeverKind::Emulated),
];

const UNITS: [(u8, Unit); 5] = [
    (1, Unit::Khz),
    (2, Unit::Capacity),
    (3, Unit::Percent),
    (4, Unit::Microseconds),
    (5, Unit::Preference),
];

/// A frequency of 0 kHz is no frequency.
const BASE: u32 = 0;
const PEAK: u32 = u32::MAX;

pub(super) fn lever(code: u8) -> Option<LeverKind> {
    let found = LEVERS.iter().find(|(number, _)| *number == code);
    found.map(|(_, lever)| *lever)
}

/// 0, which no reader takes, for a lever that the protocol does not know.
pub(super) fn of_lever(lever: LeverKind) -> u8 {
    let found = LEVERS.iter().find(|(_, kind)| *kind == lever);
    found.map_or(0, |(code, _)| *code)
}

pub(super) fn unit(code: u8) -> Option<Unit> {
    let found = UNITS.iter().find(|(number, _)| *number == code);
    found.map(|(_, unit)| *unit)
}

pub(super) fn of_unit(unit: Unit) -> u8 {
    let found = UNITS.iter().find(|(_, other)| *other == unit);
    found.map_or(0, |(code, _)| *code)
}

pub(super) fn speed(code: u32) -> Speed {
    match code {
        BASE => Speed::Base,
        PEAK => Speed::Peak,
        khz => Speed::Khz(khz),
    }
}

pub(super) fn of_speed(speed: Speed) -> u32 {
    match speed {
        Speed::Peak => PEAK,
        Speed::Khz(khz) => khz,
        _ => BASE,
    }
}
