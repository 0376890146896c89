//! What is said beside an answer: of the recording, and of scenarios whose percentiles mislead.
//!
//! Apart from the answer itself, since these are sentences for people: each says what to make of
//! it.

use crate::overload::growth;
use crate::what_if::Fidelity;

/// Of a change of the pool.
pub(crate) const UNUSED_POOL: &str = "nothing used the thread pool, so `pool` changes nothing";

/// Of a load that is too much for as long as it lasts, though the whole recording had time for it:
/// by when requests came that were served under a scenario, and their latencies.
pub(crate) fn growing_under(
    name: &str,
    (arrivals_ns, latencies_ns): (Vec<u64>, Vec<u64>),
) -> Option<String> {
    let times = growth(&arrivals_ns, &latencies_ns)?;
    Some(format!(
        "under `{name}` the last third of the requests took {times:.1} times as long as the first: \
         the loop does not catch up with its load, or that grew; a percentile tells how long was \
         recorded, too"
    ))
}

/// Of the recording itself; `grown` is by how much its latencies grew while it was made.
pub(crate) fn of_recording(fidelity: &Fidelity, requests: u64, grown: Option<f64>) -> Vec<String> {
    let share = |count: u64| format!("{:.1} %", count as f64 * 100.0 / requests as f64);
    let mut notes = Vec::new();
    if let Some(times) = grown {
        notes.push(format!(
            "the last third of the requests took {times:.1} times as long as the first: the loop \
             did not catch up with its load, or that grew; a percentile tells how long was \
             recorded, too"
        ));
    }
    if fidelity.inferred_requests * 20 > requests {
        notes.push(format!(
            "{} of the requests have a hop that was deduced: what they wait for may be another's",
            share(fidelity.inferred_requests)
        ));
    }
    if fidelity.client_requests * 20 > requests {
        notes.push(format!(
            "{} of the requests waited for their client, and do so as long under every change but \
             of `io` or `resource:client`",
            share(fidelity.client_requests)
        ));
    }
    notes
}
