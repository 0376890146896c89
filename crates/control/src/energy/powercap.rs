//! RAPL through powercap: files with the microjoules of each package.
//!
//! Packages only, each once: their zones contain those of cores and memory, and a second interface
//! may tell the same package again. The counters wrap around within minutes to hours, so they must
//! be read more often than that.

use crate::error::ControlError;
use crate::host::{Host, Place};

const DIRECTORY: &str = "class/powercap";

/// The packages of this machine, and what they used since it was opened.
#[derive(Debug)]
pub(super) struct Powercap {
    host: Host,
    packages: Vec<Package>,
}

#[derive(Debug)]
struct Package {
    name: String,
    counter: Place,
    /// The value after which the counter begins at 0 again.
    last_value_uj: u64,
    before_uj: u64,
}

impl Powercap {
    /// Finds the packages and begins to count.
    ///
    /// # Errors
    ///
    /// When there are none, or a counter cannot be read: since 2020 only root may.
    pub(super) fn open(host: &Host) -> Result<Self, ControlError> {
        let mut packages: Vec<Package> = vec![];
        let mut zones = host.list(&Place::sys(DIRECTORY))?;
        // Some processors tell a package twice, also through MMIO; the one of the registers counts.
        zones.sort_by_key(|zone| zone.starts_with("intel-rapl-mmio"));
        for zone in zones {
            let place = |file: &str| Place::sys(format!("{DIRECTORY}/{zone}/{file}"));
            let name = host.read_if_there(&place("name"))?;
            let is_known = |name: &str| packages.iter().any(|package| package.name == name);
            let is_package = |name: &String| name.starts_with("package-") && !is_known(name);
            let Some(name) = name.filter(is_package) else {
                continue;
            };
            let counter = place("energy_uj");
            packages.push(Package {
                name,
                last_value_uj: host.read_number(&place("max_energy_range_uj"))?,
                before_uj: host.read_number(&counter)?,
                counter,
            });
        }
        if packages.is_empty() {
            return Err(ControlError::NoCounter);
        }
        Ok(Self {
            host: host.clone(),
            packages,
        })
    }

    /// The packages.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.packages.iter().map(|package| package.name.clone())
    }

    /// What all packages used since the last call, or since they were opened, in µJ.
    ///
    /// # Errors
    ///
    /// When a counter cannot be read any longer.
    pub(super) fn used_uj(&mut self) -> Result<u64, ControlError> {
        let mut sum_uj = 0_u64;
        for package in &mut self.packages {
            let now_uj: u64 = self.host.read_number(&package.counter)?;
            let used_uj = match now_uj.checked_sub(package.before_uj) {
                Some(used_uj) => used_uj,
                None => now_uj + package.last_value_uj.saturating_sub(package.before_uj) + 1,
            };
            package.before_uj = now_uj;
            sum_uj = sum_uj.saturating_add(used_uj);
        }
        Ok(sum_uj)
    }
}
