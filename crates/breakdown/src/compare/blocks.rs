//! Slices of a recording's time, the units that are resampled.
//!
//! A block must be long against the time in which requests delay each other, or resampling blocks
//! is no better than resampling requests: it is at least four times the latency of the tail. That
//! is the method of batch means; Law, *Simulation Modeling and Analysis*, 5th ed., section 9.5.3.

use bobtail_trace::record::Ns;

use crate::population::Population;
use crate::survey::Survey;

/// As many as there are at most: more make intervals hardly better, and each must be long.
pub const BLOCKS: usize = 32;
/// Fewer say too little about how blocks differ.
pub(crate) const BLOCKS_MIN: usize = 8;
/// Requests beyond a percentile that came in fewer blocks of time are a few incidents, of which no
/// interval can tell how often there are such: of four one would not be surprised if there were
/// ten (the 95 % interval of a Poisson count of 4 is 1.1 to 10.2).
const BLOCKS_BEYOND_MIN: usize = 5;
/// The same where there are few such requests, since one that came alone is no incident.
const BLOCKS_BEYOND_MIN_OF_FEW: usize = 8;
const FEW_REQUESTS: u64 = 100;
/// Rounds with requests beyond a percentile; they are no slices of one run.
pub(crate) const ROUNDS_BEYOND_MIN: usize = 3;
const TAIL_LATENCIES: u64 = 4;

/// In how many blocks so many requests beyond a percentile must have come.
pub fn blocks_beyond_needed(requests: u64) -> usize {
    if requests < FEW_REQUESTS {
        BLOCKS_BEYOND_MIN_OF_FEW
    } else {
        BLOCKS_BEYOND_MIN
    }
}

/// Equal slices of time, from the first request to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    first_ns: Ns,
    block_ns: u64,
    count: usize,
}

impl Blocks {
    /// The blocks of a recording.
    pub fn of(surveys: &[Survey], population: &Population) -> Self {
        let sources = surveys.iter().filter_map(|survey| survey.sources_ns);
        let (first_ns, last_ns) = sources
            .reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
            .unwrap_or((0, 0));
        Self::of_span(first_ns, last_ns, population.tail.threshold_ns)
    }

    /// The blocks of what came from `first_ns` to `last_ns`, with this latency of the tail.
    pub fn of_span(first_ns: Ns, last_ns: Ns, tail_ns: u64) -> Self {
        let span_ns = last_ns - first_ns + 1;
        let shortest_ns = tail_ns.saturating_mul(TAIL_LATENCIES);
        let count = (span_ns / shortest_ns.max(1)).clamp(1, BLOCKS as u64);
        Self {
            first_ns,
            block_ns: span_ns.div_ceil(count),
            count: count as usize,
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The block of a time.
    pub fn index(&self, at_ns: Ns) -> usize {
        let index = at_ns.saturating_sub(self.first_ns) / self.block_ns;
        (index as usize).min(self.count - 1)
    }
}
