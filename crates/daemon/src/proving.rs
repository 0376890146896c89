//! Levers that clients may have, tested before anybody is let in: one that takes every value and
//! does nothing would be granted for ever.
//!
//! A client has no rights to look, and an administrator's machine may be a virtual one. Only what
//! moves CPUs is tested: a group or a thread is there with whoever asks for it.

use bobtail_control::{ControlError, Host, LeverKind};

use crate::config::Config;
use crate::journal::Journal;
use crate::keeper::open_own;
use crate::log;

/// Tests each kind that a rule allows, and notes in the configuration which do nothing.
pub fn prove(host: &Host, journal: &mut Journal, config: &mut Config) {
    let allowed = config.allow.iter().flat_map(|rule| &rule.levers);
    let mut kinds: Vec<LeverKind> = allowed.copied().filter(moves_cpus).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let Err(error) = open_own(host, journal, kind, &config.asked(kind), false) else {
            continue;
        };
        // What is not there now, or another's, is told to who asks for it.
        if matches!(
            error,
            ControlError::NoEffect { .. } | ControlError::Ignored { .. }
        ) {
            log::line(format_args!("{error}; nobody gets it"));
            config.without_effect.push(kind);
        }
    }
}

fn moves_cpus(kind: &LeverKind) -> bool {
    use LeverKind::{CpufreqMinMax, CpufreqUserspace, EnergyPreference, IntelMinPerf};
    matches!(
        kind,
        CpufreqMinMax | CpufreqUserspace | EnergyPreference | IntelMinPerf
    )
}
