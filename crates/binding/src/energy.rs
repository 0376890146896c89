//! Reads how much energy the machine used, where its processor counts it, and models it elsewhere.

use std::path::Path;

use bobtail_control::energy::rapl::Rapl;
use bobtail_control::host::Host;
use napi::{Error, Result};
use napi_derive::napi;

const UJ_PER_J: f64 = 1e6;

/// The counters of all packages, from when it was made. They wrap around within minutes to hours,
/// so it is to be asked more often than that.
#[napi]
pub struct EnergyMeter {
    rapl: Rapl,
    used_uj: u64,
}

#[napi]
impl EnergyMeter {
    /// Begins to count; the machine's files are below `root` (`root/sys/…`) instead of `/`, if it
    /// is told. Throws `BOBTAIL_ENERGY_NO_COUNTER: …` or the like where nothing is counted.
    #[napi(constructor)]
    pub fn new(root: Option<String>) -> Result<Self> {
        let host = root.map_or_else(Host::default, |root| Host::below(Path::new(&root)));
        let rapl = Rapl::open(&host).map_err(to_error)?;
        Ok(Self { rapl, used_uj: 0 })
    }

    /// Joules until now. Throws where a counter cannot be read any longer.
    #[napi]
    pub fn joules(&mut self) -> Result<f64> {
        self.used_uj += self.rapl.used_uj().map_err(to_error)?;
        Ok(self.used_uj as f64 / UJ_PER_J)
    }
}

/// `relativePower(ratio)`: power at a speed by that at base, of the model that replays go by;
/// `ratio` is the speed by that at base.
#[napi]
pub fn relative_power(ratio: f64) -> f64 {
    bobtail_policy::relative_power(ratio)
}

fn to_error(error: bobtail_control::ControlError) -> Error {
    Error::from_reason(format!("{}: {error}", error.code()))
}
