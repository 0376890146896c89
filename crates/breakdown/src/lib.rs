//! From the critical paths of all requests to an explanation of the slow ones.
//!
//! The whole pipeline, for a recording of several event loops:
//!
//! ```text
//! for each trace:  survey(trace, records, k)            latencies only           -> Survey
//! once:            Population::of(&surveys, 99.9)       percentiles, who is tail -> Population
//! for each trace:  aggregate(&mut sums, records, …)     every path, summed       -> Aggregate
//! once:            report(run, &surveys, …, &sums)      means, ranks, findings   -> Report
//!
//! for the HTML page: `page`, beside and after the second pass
//! slowest(&surveys, n), then per trace explain(trace, records, strings, &ids)    -> Vec<Explain>
//! ```
//!
//! Beside it, `compare` tells how sure a figure is and what moved between two recordings; its
//! second pass takes the place of `aggregate`.
//!
//! Two passes, because who is the tail is known only after all latencies are. Nothing here reads a
//! file: records come from an iterator that may fail with an error of its own, names from a
//! [`Strings`].

#![forbid(unsafe_code)]

mod aggregate;
mod blame;
mod cluster;
pub mod compare;
mod explain;
mod figures;
mod findings;
mod latencies;
mod longest_pauses;
mod names;
pub mod page;
mod pauses;
mod places;
mod population;
pub mod report;
mod resources;
mod strings;
mod summary;
mod sums;
mod survey;
mod taken;
mod trace_info;

pub use aggregate::{Aggregate, aggregate, aggregate_and};
pub use explain::{
    Explain, ExplainCulprit, ExplainEvent, ExplainPause, ExplainSegment, culprit_word, explain,
};
pub use latencies::{Latencies, PERCENTILES, REQUESTS_BEYOND, rank};
pub use page::{Page, SLOWEST_SHOWN, Tally};
pub use places::{CodeLocation, Located, code_location, located, shown_place};
pub use population::{Population, TAIL_PERCENTILE, slowest};
pub use report::Report;
pub use strings::Strings;
pub use summary::{RunFacts, diff_side, report};
pub use survey::{SAMPLED_REMEMBERED, Survey, survey};
pub use taken::{Taken, TakenInterval};
pub use trace_info::{Heap, Measured, Throttled, TraceInfo};
