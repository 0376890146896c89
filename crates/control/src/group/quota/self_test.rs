//! Finds out whether a raised quota gives a group more, by threads that want all there is.
//!
//! Apart from the lever because only its test puts threads into the group.

use bobtail_policy::Speed;

use super::{KIND, Quota};
use crate::actuator::{Actuator, SelfTest};
use crate::error::ControlError;
use crate::gauge::Gauge;
use crate::host::{Host, Place};
use crate::knob::Knob;
use crate::lever::Range;

/// How long the self-test looks, in periods. The group uses as much in any window of whole periods,
/// once it has used up what it had before and what the write of its quota has filled up.
const TEST_PERIODS: u64 = 4;
const PERIODS_BEFORE: u64 = 2;

impl Quota {
    /// Base and peak in turn; what the test took and did is the caller's to undo.
    pub(super) fn test_held(&mut self, gauge: &mut dyn Gauge) -> Result<SelfTest, ControlError> {
        let base = self.take(Speed::Base, gauge)?;
        let peak = self.take(Speed::Peak, gauge)?;
        let Range {
            base: low,
            peak: high,
            ..
        } = self.lever.range;
        let expected = f64::from(high) / f64::from(low);
        let (Some(base), Some(peak)) = (base, peak) else {
            return Ok(SelfTest {
                expected: Some(expected),
                measured: None,
            });
        };
        let measured = peak.cpus / base.cpus.max(f64::MIN_POSITIVE);
        let brings_half = measured >= 1.0 + (expected - 1.0) / 2.0;
        // Held back at the peak and yet no further: the kernel took the value and does nothing.
        if !brings_half && base.is_throttled && peak.is_throttled {
            return Err(ControlError::NoEffect {
                lever: KIND,
                expected,
                measured,
            });
        }
        Ok(SelfTest {
            expected: Some(expected),
            measured: (brings_half && base.is_throttled).then_some(measured),
        })
    }

    /// Sets a speed, and what the group gets then; none where that cannot be measured.
    fn take(&mut self, speed: Speed, gauge: &mut dyn Gauge) -> Result<Option<Taken>, ControlError> {
        let value = self.apply(speed)?.value;
        let (reads, _) = self.group.limit(&self.host)?;
        if reads != Some(value) {
            return Err(ControlError::Ignored {
                path: self.host.path(&self.knob.place)?,
                wrote: value.to_string(),
                reads: reads.map_or("no limit".to_owned(), |reads| reads.to_string()),
            });
        }
        let tasks = self.group.tasks_places();
        if tasks.is_empty() {
            return Ok(None);
        }
        let before = self.group.throttled(&self.host)?;
        let (host, group) = (&self.host, &self.group);
        let period_ns = u64::from(self.period_us) * 1000;
        let mut share = |periods| {
            let enter = || enter(host, &tasks);
            gauge.share(KIND, period_ns * periods, &enter, &|| group.used_ns(host))
        };
        share(PERIODS_BEFORE)?;
        let cpus = share(TEST_PERIODS)?;
        let is_throttled = self.group.throttled(&self.host)? > before;
        Ok(cpus.map(|cpus| Taken { cpus, is_throttled }))
    }
}

/// What a group got.
struct Taken {
    /// Of CPU time by time.
    cpus: f64,
    /// The kernel held it back.
    is_throttled: bool,
}

/// Puts the calling thread into a group and into its account.
fn enter(host: &Host, tasks: &[Place]) -> Result<(), ControlError> {
    let mut each = tasks.iter();
    each.try_for_each(|place| Knob::open(host, place.clone())?.write_number(0))
}
