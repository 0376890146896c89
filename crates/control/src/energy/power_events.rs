//! RAPL through perf: a counter of each package, of the kernel's `power` events.
//!
//! The kernel adds the processor's counter up in 64 bits itself, so this one never wraps around.
//! What a unit is, which event it is and on which CPU of a package it is to be asked for are the
//! kernel's to say (`Documentation/ABI/testing/sysfs-bus-event_source-devices-events`).

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::error::ControlError;
use crate::host::{Host, Place};
use crate::syscalls;
use crate::topology::parse_cpus;

const DIRECTORY: &str = "bus/event_source/devices/power";
const EVENT: &str = "events/energy-pkg";
const UJ_PER_J: f64 = 1e6;

/// The packages of this machine.
#[derive(Debug)]
pub(super) struct PowerEvents {
    event: PathBuf,
    /// Of each package.
    counters: Vec<File>,
    uj_per_count: f64,
    /// Told so far.
    told_uj: u64,
}

impl PowerEvents {
    /// Begins to count.
    ///
    /// # Errors
    ///
    /// [`ControlError::NoCounter`] where the kernel has no such event, [`ControlError::Perf`] where
    /// it does not let this process count it.
    pub(super) fn open(host: &Host) -> Result<Self, ControlError> {
        let place = |file: &str| Place::sys(format!("{DIRECTORY}/{file}"));
        let Some(event) = host.read_if_there(&place(EVENT))? else {
            return Err(ControlError::NoCounter);
        };
        let path = host.path(&place(EVENT))?;
        let Some(config) = number_of(&event) else {
            return Err(ControlError::Malformed {
                path,
                value: event,
                expected: "an event such as event=0x02",
            });
        };
        let joules_per_count: f64 = host.read_number(&place(&format!("{EVENT}.scale")))?;
        let kind: u32 = host.read_number(&place("type"))?;
        let cpus = place("cpumask");
        let cpus = parse_cpus(host, &cpus, &host.read(&cpus)?)?;
        let each = cpus.into_iter().map(|cpu| {
            syscalls::count(kind, config, cpu).map_err(|cause| ControlError::Perf {
                event: path.clone(),
                cause,
            })
        });
        let counters = each.collect::<Result<Vec<_>, _>>()?;
        if counters.is_empty() {
            return Err(ControlError::NoCounter);
        }
        Ok(Self {
            event: path,
            counters,
            uj_per_count: joules_per_count * UJ_PER_J,
            told_uj: 0,
        })
    }

    /// The packages, by number.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        (0..self.counters.len()).map(|number| format!("package-{number}"))
    }

    /// What all packages used since the last call, or since they were opened, in µJ.
    pub(super) fn used_uj(&mut self) -> Result<u64, ControlError> {
        let mut sum_uj = 0.0;
        for counter in &mut self.counters {
            let mut count = [0; 8];
            counter
                .read_exact(&mut count)
                .map_err(|cause| ControlError::Perf {
                    event: self.event.clone(),
                    cause,
                })?;
            sum_uj += u64::from_ne_bytes(count) as f64 * self.uj_per_count;
        }
        // Of sums, so that what is rounded does not add up.
        let used_uj = (sum_uj as u64).saturating_sub(self.told_uj);
        self.told_uj += used_uj;
        Ok(used_uj)
    }
}

/// The number of an event: `event=0x02`.
fn number_of(event: &str) -> Option<u64> {
    let digits = event.strip_prefix("event=0x")?;
    u64::from_str_radix(digits, 16).ok()
}
