//! Energy as the processor counts it: RAPL, through powercap or else through perf.
//!
//! Powercap first, since the right to read a file can be given to a service and a counter of perf
//! needs a capability; a kernel or a container may have either without the other.

use crate::energy::power_events::PowerEvents;
use crate::energy::powercap::Powercap;
use crate::error::ControlError;
use crate::host::Host;

/// The packages of this machine, and what they used since it was opened.
#[derive(Debug)]
pub struct Rapl(Counters);

#[derive(Debug)]
enum Counters {
    Powercap(Powercap),
    PowerEvents(PowerEvents),
}

impl Rapl {
    /// Finds the packages and begins to count.
    ///
    /// # Errors
    ///
    /// When there are none, or a counter cannot be read: since 2020 only root may. Of two that are
    /// there and refuse, the error is that of powercap.
    pub fn open(host: &Host) -> Result<Self, ControlError> {
        let error = match Powercap::open(host) {
            Ok(powercap) => return Ok(Self(Counters::Powercap(powercap))),
            Err(error) => error,
        };
        match PowerEvents::open(host) {
            Ok(events) => Ok(Self(Counters::PowerEvents(events))),
            Err(of_perf) if matches!(error, ControlError::NoCounter) => Err(of_perf),
            Err(_) => Err(error),
        }
    }

    /// Through what it counts, and which packages.
    pub fn about(&self) -> String {
        let (through, names) = match &self.0 {
            Counters::Powercap(powercap) => ("powercap", powercap.names().collect::<Vec<_>>()),
            Counters::PowerEvents(events) => ("perf", events.names().collect()),
        };
        format!("{through}: {}", names.join(", "))
    }

    /// What all packages used since the last call, or since they were opened, in µJ.
    ///
    /// # Errors
    ///
    /// When a counter cannot be read any longer.
    pub fn used_uj(&mut self) -> Result<u64, ControlError> {
        match &mut self.0 {
            Counters::Powercap(powercap) => powercap.used_uj(),
            Counters::PowerEvents(events) => events.used_uj(),
        }
    }
}
