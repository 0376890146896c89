//! Two arms of an experiment, compared round by round: how their figures differ, and how surely.
//!
//! A round is one run of a fresh service in each arm, so a round and not a slice of time is what is
//! resampled: requests of one run share its heap layout, its compiled code and its minute of a
//! shared machine. Both arms are drawn with the same weights, so what disturbs a whole round
//! cancels (a paired bootstrap; Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993,
//! chapter 8).

use serde::{Deserialize, Serialize};

use super::blocks::ROUNDS_BEYOND_MIN;
use super::cell::Cell;
use super::resampling::{FIRST_REPLICATE, WHOLE, Weights, drawings, interval};
use super::route_cells::{Growing, RouteCells, rank};
use crate::latencies::{PERCENTILES, REQUESTS_BEYOND};

pub use super::blocks::BLOCKS as ROUNDS_MAX;

/// One run of one arm.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Round {
    /// Latencies in nanoseconds, and how many requests had each.
    pub latencies: Vec<(u64, u32)>,
    /// Figures of the run as a whole, the same ones in the same order in every round.
    pub measures: Vec<f64>,
}

/// Why a figure cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundsLack {
    /// Fewer than ten requests of an arm lie beyond the percentile.
    Requests,
    /// All requests of an arm beyond the percentile came in one round or two.
    Incidents,
    /// Fewer than eight rounds: the figures are told, but not how sure they are.
    Rounds,
}

/// One figure of two arms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// B by A.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub lack: Option<RoundsLack>,
}

/// A percentile of the latencies, over all rounds; in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PercentileRatio {
    pub percentile: f64,
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// What differs between two arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundsDiff {
    /// Highest first.
    pub percentiles: Vec<PercentileRatio>,
    /// Means over the rounds, in the order of the rounds' measures.
    pub measures: Vec<Ratio>,
}

/// Compares two arms; round `i` of one ran beside round `i` of the other.
///
/// `None` where the rounds are not pairs, where there are none or more than [`ROUNDS_MAX`], or
/// where they do not all have the same number of measures.
pub fn rounds(a: &[Round], b: &[Round]) -> Option<RoundsDiff> {
    let count = a.len();
    let measures = a.first()?.measures.len();
    let alike = a.iter().chain(b).all(|one| one.measures.len() == measures);
    if count != b.len() || count > ROUNDS_MAX || !alike {
        return None;
    }
    let occupied: Vec<usize> = (0..count).collect();
    let drawn = drawings(&occupied, count, 1);
    let [of_a, of_b] = [a, b].map(cells);
    let sampled = [&of_a, &of_b].map(|cells| percentiles(cells, &drawn));
    let lacks = [&of_a, &of_b].map(|cells| lacks(cells, count));
    let percentiles = PERCENTILES.iter().enumerate().map(|(index, &percentile)| {
        let [a, b] = [0, 1].map(|arm: usize| sampled[arm].iter().map(|all| all[index]));
        let lack = lacks[0][index].or(lacks[1][index]);
        let ratio = Ratio::of(a.collect(), b.collect(), count, lack);
        PercentileRatio { percentile, ratio }
    });
    let measured = (0..measures).map(|index| {
        let [a, b] = [a, b].map(|arm| drawn.iter().map(|w| mean(arm, index, w)).collect());
        Ratio::of(a, b, count, None)
    });
    Some(RoundsDiff {
        percentiles: percentiles.collect(),
        measures: measured.collect(),
    })
}

impl Ratio {
    fn of(
        a: Vec<Option<f64>>,
        b: Vec<Option<f64>>,
        rounds: usize,
        lack: Option<RoundsLack>,
    ) -> Self {
        let ratios = a.iter().zip(&b).map(|(a, b)| Some((*b)? / (*a)?));
        let ratios: Vec<_> = ratios.map(|one| one.filter(|r| r.is_finite())).collect();
        let told = lack != Some(RoundsLack::Requests);
        let replicates = ratios.iter().skip(FIRST_REPLICATE).flatten().copied();
        let bounds = if lack.is_none() {
            interval(replicates.collect(), rounds)
        } else {
            None
        };
        Self {
            a: a[WHOLE].filter(|_| told),
            b: b[WHOLE].filter(|_| told),
            ratio: ratios[WHOLE].filter(|_| told),
            low: bounds.map(|[low, _]| low),
            high: bounds.map(|[_, high]| high),
            lack: lack.or(bounds.is_none().then_some(RoundsLack::Rounds)),
        }
    }
}

fn cells(rounds: &[Round]) -> RouteCells {
    let mut growing = Growing::default();
    for (block, round) in rounds.iter().enumerate() {
        for &(latency_ns, count) in &round.latencies {
            growing.add_many(latency_ns, block, count, &Cell::default());
        }
    }
    growing.finish()
}

fn percentiles(cells: &RouteCells, drawn: &[Weights]) -> Vec<Vec<Option<f64>>> {
    let of = |weights| cells.percentiles_ns(weights, &PERCENTILES);
    drawn.iter().map(of).collect()
}

fn lacks(cells: &RouteCells, rounds: usize) -> Vec<Option<RoundsLack>> {
    let count = cells.count(&vec![1; rounds]);
    let blocks = cells.blocks_beyond(&PERCENTILES);
    let lack = |(percentile, blocks): (&f64, usize)| {
        if ((count - rank(count, *percentile)) as f64) < REQUESTS_BEYOND {
            Some(RoundsLack::Requests)
        } else if blocks < ROUNDS_BEYOND_MIN {
            Some(RoundsLack::Incidents)
        } else {
            None
        }
    };
    PERCENTILES.iter().zip(blocks).map(lack).collect()
}

fn mean(rounds: &[Round], index: usize, weights: &Weights) -> Option<f64> {
    let drawn: u32 = weights.iter().sum();
    let each = rounds.iter().zip(weights);
    let sum: f64 = each
        .map(|(one, w)| one.measures[index] * f64::from(*w))
        .sum();
    (drawn > 0).then(|| sum / f64::from(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 requests from 1 to 2 ms, 20 of them twenty times as long; all times `factor`.
    fn round(factor: f64, cpu_ns: f64) -> Round {
        let of = |index: u64| if index.is_multiple_of(50) { 20 } else { 1 };
        let latency = |index: u64| (of(index) * (1_000_000 + index * 1_000)) as f64 * factor;
        Round {
            latencies: (0..1_000).map(|index| (latency(index) as u64, 1)).collect(),
            measures: vec![cpu_ns],
        }
    }

    /// Each round is as slow as its minute of the machine, whatever the arm.
    fn arm(count: u64, factor: f64) -> Vec<Round> {
        let pace = |index: u64| 1.0 + (index * 7 % 5) as f64 / 2.0;
        let one = |index| round(factor * pace(index), 1_000.0 * factor * pace(index));
        (0..count).map(one).collect()
    }

    #[test]
    fn what_disturbs_both_arms_of_a_round_alike_cancels() {
        let diff = rounds(&arm(10, 1.0), &arm(10, 0.8)).expect("pairs");
        // The ten slowest are all of the slowest minutes.
        for one in &diff.percentiles[1..] {
            let Ratio { low, high, .. } = one.ratio;
            let (low, high) = (low.expect("told"), high.expect("told"));
            assert!(low > 0.79 && high < 0.81, "{one:?}");
        }
        let cpu = diff.measures[0];
        assert!((cpu.ratio.expect("told") - 0.8).abs() < 1e-9);
        assert!((cpu.high.expect("told") - 0.8).abs() < 1e-9);
    }

    #[test]
    fn few_rounds_tell_figures_and_no_interval() {
        let diff = rounds(&arm(7, 1.0), &arm(7, 0.5)).expect("pairs");
        let p99 = diff.percentiles[1];
        assert_eq!(p99.percentile, 99.0);
        assert_eq!(
            (p99.ratio.low, p99.ratio.lack),
            (None, Some(RoundsLack::Rounds))
        );
        assert!(p99.ratio.ratio.is_some());
    }

    #[test]
    fn a_percentile_needs_requests_beyond_it_in_several_rounds() {
        // 9,000 requests: nine beyond p99.9.
        let diff = rounds(&arm(9, 1.0), &arm(9, 1.0)).expect("pairs");
        let highest = diff.percentiles[0].ratio;
        assert_eq!(
            (highest.a, highest.lack),
            (None, Some(RoundsLack::Requests))
        );
        assert_eq!(diff.percentiles[1].ratio.lack, None);
        let mut incident = arm(12, 1.0);
        incident[3].latencies.push((90_000_000_000, 500));
        let diff = rounds(&arm(12, 1.0), &incident).expect("pairs");
        assert_eq!(diff.percentiles[0].ratio.lack, Some(RoundsLack::Incidents));
    }

    #[test]
    fn what_are_no_pairs_is_refused() {
        assert_eq!(rounds(&[], &[]), None);
        assert_eq!(rounds(&arm(3, 1.0), &arm(4, 1.0)), None);
        assert_eq!(rounds(&arm(33, 1.0), &arm(33, 1.0)), None);
    }
}
