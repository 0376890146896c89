//! How long a lever takes: measured on this host, since a policy must know it before it boosts.
//!
//! The time of the calls; how long the hardware then needs is the driver's word, beside it.

use std::time::Instant;

use serde::Serialize;

use bobtail_policy::Speed;

use crate::actuator::Actuator;
use crate::error::ControlError;

/// Times of changes, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    pub changes: usize,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

/// Moves a lever up and down `rounds` times (at least once) and undoes it.
///
/// # Errors
///
/// The first change that is refused; the lever is undone then too.
pub fn measure_latency(
    actuator: &mut dyn Actuator,
    rounds: usize,
) -> Result<Latency, ControlError> {
    let measured = times_of(actuator, rounds.max(1));
    let undone = actuator.undo();
    let mut times_ns = measured?;
    undone?;
    times_ns.sort_unstable();
    let at = |permille: usize| times_ns[(times_ns.len() - 1) * permille / 1000];
    Ok(Latency {
        changes: times_ns.len(),
        p50_ns: at(500),
        p99_ns: at(990),
        max_ns: at(1000),
    })
}

fn times_of(actuator: &mut dyn Actuator, rounds: usize) -> Result<Vec<u64>, ControlError> {
    actuator.apply(Speed::Base)?;
    let mut times_ns = Vec::with_capacity(rounds * 2);
    for _ in 0..rounds {
        for speed in [Speed::Peak, Speed::Base] {
            let begin = Instant::now();
            actuator.apply(speed)?;
            times_ns.push(begin.elapsed().as_nanos() as u64);
        }
    }
    Ok(times_ns)
}
