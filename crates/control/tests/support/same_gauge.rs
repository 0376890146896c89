//! A CPU that is as fast at every frequency, as on a virtual machine whose host decides.

use bobtail_control::gauge::{Effort, Gauge};
use bobtail_control::{ControlError, LeverKind};

/// See the module.
pub struct SameGauge;

impl Gauge for SameGauge {
    fn rate(&mut self, _: LeverKind, _: &[u32], _: Effort) -> Result<f64, ControlError> {
        Ok(1.0)
    }
}
