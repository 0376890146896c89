//! How sure a figure is, and whether two recordings differ in it.
//!
//! Slow requests come in groups (one collection delays all that wait), so an interval that takes
//! requests for independent is too narrow. Everything here weighs blocks of time instead
//! ([`jackknife`]), and a difference must also exceed what halves of one recording differ by.
//!
//! ```text
//! for each trace:  profile(&mut profile, records, …)    every path, by route, block and latency
//! once:            gauge(&profile, …)                   one figure with its interval
//!                  diff(a, b, …)                        two recordings, figure by figure
//!                  diff_page(diff, …)                   the same with what its page draws
//!                  rounds(a, b)                         two arms of an experiment, run in turns
//! ```

mod blocks;
mod cell;
mod change;
mod counterparts;
#[cfg(test)]
mod coverage;
mod diff;
mod gauge;
mod jackknife;
mod ledger;
mod page;
mod percentile_interval;
mod profile;
mod resampling;
mod rounds;
mod route_cells;

pub use blocks::{BLOCKS, Blocks, blocks_beyond_needed};
pub use change::{Change, Verdict};
pub use diff::{
    CauseDiff, CulpritDiff, Diff, DiffSide, IoDiff, PercentileDiff, RouteDiff, TailDiff, diff,
};
pub use gauge::{Figure, Gauge, Gauged, Lack, gauge};
pub use page::{CurvePair, DiffPage, diff_page};
pub use profile::{Profile, profile};
pub use resampling::{FIRST_REPLICATE, WHOLE, Weights, drawings, interval};
pub use rounds::{PercentileRatio, ROUNDS_MAX, Ratio, Round, RoundsDiff, RoundsLack, rounds};
