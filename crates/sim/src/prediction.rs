//! Predictions: percentiles of replayed latencies, and how sure they are.
//!
//! A replay has no noise of its own, but the recording is one of many that the service could have
//! given. So both the replay without a change and that with one are drawn anew over the same
//! blocks of time, and what is told of the difference is free of what they share.

use bobtail_breakdown::compare::{Blocks, FIRST_REPLICATE, WHOLE, Weights, drawings, interval};
use bobtail_breakdown::{PERCENTILES, REQUESTS_BEYOND, rank};
use serde::Serialize;

use crate::blocked::Blocked;

const SEED: u64 = 0x0b0b_7a11;
/// The place of the highest percentile.
const HIGHEST: usize = 0;

/// The requests of a recording, in blocks of time.
#[derive(Debug)]
pub struct Sample {
    /// Of each request.
    block: Vec<usize>,
    occupied: usize,
    drawings: Vec<Weights>,
    /// Those that enough requests lie beyond, highest first.
    pub percentiles: Vec<f64>,
}

/// What every scenario is compared with: its percentiles are looked up once for all of them.
#[derive(Debug)]
pub struct Baseline {
    latencies: Blocked,
    /// Of each percentile of the sample, under each drawing.
    drawn: Vec<Vec<Option<u64>>>,
}

impl Baseline {
    pub(crate) fn latencies(&self) -> &Blocked {
        &self.latencies
    }
}

/// A percentile of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Predicted {
    pub percentile: f64,
    pub latency_ns: u64,
    /// 95 %; none where the recording is too short to tell.
    pub interval_ns: Option<[u64; 2]>,
    /// Against the replay without a change: 0.1 is 10 % longer.
    pub change: f64,
    pub change_interval: Option<[f64; 2]>,
}

impl Sample {
    /// Of requests by arrival time; `latencies_ns` are those without a change, and `asked` the
    /// percentile at which the tail begins.
    pub fn of(arrivals_ns: &[u64], latencies_ns: &[u64], asked: f64) -> Self {
        let count = latencies_ns.len() as u64;
        let mut sorted = latencies_ns.to_vec();
        sorted.sort_unstable();
        let beyond = |percentile: f64| (count - rank(count, percentile)) as f64;
        let mut all: Vec<f64> = [asked, 99.9, 99.0, 50.0]
            .into_iter()
            .filter(|one| *one <= asked && beyond(*one) >= REQUESTS_BEYOND)
            .collect();
        if asked > 50.0 && all.iter().all(|one| *one <= 50.0) {
            // Too few for a tail: the highest that can be told.
            let highest = PERCENTILES
                .into_iter()
                .find(|one| beyond(*one) >= REQUESTS_BEYOND);
            all.extend(highest);
        }
        all.sort_by(|a, b| b.total_cmp(a));
        all.dedup();
        let tail_ns = sorted
            .get(rank(count, asked).saturating_sub(1) as usize)
            .copied()
            .unwrap_or(1);
        let first_ns = arrivals_ns.iter().min().copied().unwrap_or(0);
        let last_ns = arrivals_ns.iter().max().copied().unwrap_or(0);
        let blocks = Blocks::of_span(first_ns, last_ns, tail_ns);
        let block: Vec<usize> = arrivals_ns
            .iter()
            .map(|&at_ns| blocks.index(at_ns))
            .collect();
        let mut occupied: Vec<usize> = block.clone();
        occupied.sort_unstable();
        occupied.dedup();
        Self {
            drawings: drawings(&occupied, blocks.count(), SEED),
            occupied: occupied.len(),
            block,
            percentiles: all,
        }
    }

    /// Why the percentile that was asked for is not told, if it is not.
    pub fn untold(&self, asked: f64, requests: u64) -> Option<String> {
        if self.percentiles.contains(&asked) {
            return None;
        }
        let beyond = requests - rank(requests, asked);
        let needed = (REQUESTS_BEYOND / (1.0 - asked / 100.0)).round();
        Some(format!(
            "p{asked} is not told: {REQUESTS_BEYOND} requests have to lie beyond it, and {beyond} \
             do; about {needed} that count are needed"
        ))
    }

    /// Of latencies without a change.
    pub fn baseline(&self, latencies_ns: &[u64]) -> Baseline {
        let latencies = self.sorted(latencies_ns);
        let drawn = |percentile: &f64| {
            let each = self.drawings.iter();
            each.map(|weights| latencies.at(*percentile, weights))
                .collect()
        };
        Baseline {
            drawn: self.percentiles.iter().map(drawn).collect(),
            latencies,
        }
    }

    /// Latencies by block.
    pub fn sorted(&self, latencies_ns: &[u64]) -> Blocked {
        self.sorted_served(latencies_ns, |_| true)
    }

    /// The same without those, by their place, that were not served.
    pub fn sorted_served(&self, latencies_ns: &[u64], served: impl Fn(usize) -> bool) -> Blocked {
        let each = self.block.iter().zip(latencies_ns).enumerate();
        let each = each.filter(|(at, _)| served(*at));
        let latencies = each.map(|(_, (&block, &ns))| (ns, block as u32));
        Blocked::new(self.drawings[WHOLE].len(), latencies.collect())
    }

    /// The percentiles of a scenario that enough requests lie beyond in it, too, against those
    /// without a change.
    pub fn predict(&self, unchanged: &Baseline, changed: &Blocked) -> Vec<Predicted> {
        let count = changed.len() as u64;
        let beyond = |one: f64| (count - rank(count, one)) as f64;
        (0..self.percentiles.len())
            .filter(|at| beyond(self.percentiles[*at]) >= REQUESTS_BEYOND)
            .map(|at| self.percentile(at, unchanged, changed))
            .collect()
    }

    /// How much shorter the highest percentile becomes, with its interval; longer is below 0.
    pub fn gain_ns(&self, unchanged: &Baseline, changed: &Blocked) -> (i64, Option<[i64; 2]>) {
        let percentile = self.percentiles[HIGHEST];
        let is_told = unchanged.latencies.tells(percentile) && changed.tells(percentile);
        let drawn = self.drawn(HIGHEST, unchanged, changed, is_told);
        let gain = |[before, after]: &Both| Some((*before)? as f64 - (*after)? as f64);
        let bounds = self.interval(is_told, &drawn, gain);
        let bounds = bounds.map(|bounds| bounds.map(|one| one as i64));
        (gain(&drawn[WHOLE]).unwrap_or(0.0) as i64, bounds)
    }

    /// That of a place in [`Self::percentiles`].
    fn percentile(&self, at: usize, unchanged: &Baseline, changed: &Blocked) -> Predicted {
        let percentile = self.percentiles[at];
        let tells = changed.tells(percentile);
        let drawn = self.drawn(at, unchanged, changed, tells);
        let latency = |[_, after]: &Both| Some((*after)? as f64);
        let change = |[before, after]: &Both| {
            let before_ns = (*before)?.max(1);
            Some((*after)? as f64 / before_ns as f64 - 1.0)
        };
        let bounds = self.interval(tells, &drawn, latency);
        let both_tell = tells && unchanged.latencies.tells(percentile);
        Predicted {
            percentile,
            latency_ns: drawn[WHOLE][1].unwrap_or(0),
            interval_ns: bounds.map(|bounds| bounds.map(|one| one as u64)),
            change: change(&drawn[WHOLE]).unwrap_or(0.0),
            change_interval: self.interval(both_tell, &drawn, change),
        }
    }

    /// A percentile of both under each drawing, or under the whole where no interval is told.
    fn drawn(&self, at: usize, before: &Baseline, after: &Blocked, is_told: bool) -> Vec<Both> {
        let count = if is_told {
            self.drawings.len()
        } else {
            WHOLE + 1
        };
        let each = before.drawn[at].iter().zip(&self.drawings).take(count);
        each.map(|(before, weights)| [*before, after.at(self.percentiles[at], weights)])
            .collect()
    }

    fn interval(
        &self,
        is_told: bool,
        drawn: &[Both],
        of: impl Fn(&Both) -> Option<f64>,
    ) -> Option<[f64; 2]> {
        let replicates = drawn.get(FIRST_REPLICATE..).filter(|_| is_told)?;
        interval(replicates.iter().filter_map(of).collect(), self.occupied)
    }
}

/// A percentile without and with a change, where it exists.
type Both = [Option<u64>; 2];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_latencies_and_intervals_hold_them() {
        let arrivals: Vec<u64> = (0..20_000).map(|i| i * 1_000_000).collect();
        let latencies: Vec<u64> = (0..20_000).map(|i| (i * 7_919) % 20_000 + 1).collect();
        let sample = Sample::of(&arrivals, &latencies, 99.9);
        assert_eq!(sample.percentiles, [99.9, 99.0, 50.0]);
        let before = sample.baseline(&latencies);
        let halved: Vec<u64> = latencies.iter().map(|ns| ns / 2).collect();
        let after = sample.sorted(&halved);
        let told = sample.predict(&before, &after);
        let of = |one: &Predicted| (one.percentile, one.latency_ns);
        let told_ns: Vec<_> = told.iter().map(of).collect();
        assert_eq!(told_ns, [(99.9, 9_990), (99.0, 9_900), (50.0, 5_000)]);
        for one in told {
            let [low, high] = one.interval_ns.expect("32 blocks are enough");
            assert!(
                low <= one.latency_ns && one.latency_ns <= high && low < high,
                "{one:?}"
            );
            // What both share is not in the interval of the change.
            let [low, high] = one.change_interval.expect("likewise");
            assert!(low < -0.49 && high > -0.51 && high - low < 0.001, "{one:?}");
        }
        assert_eq!(sample.gain_ns(&before, &after).0, 9_990);
    }

    #[test]
    fn of_a_few_incidents_no_interval_is_told() {
        let arrivals: Vec<u64> = (0..20_000).map(|i| i * 1_000_000).collect();
        // 40 slow ones in each of so many of the 32 blocks.
        let told = |incidents: u64| {
            let slow = |i: u64| i % 625 < 40 && i / 625 < incidents;
            let latencies = (0..20_000).map(|i| if slow(i) { 900 + i % 40 } else { 1 + i % 500 });
            let latencies: Vec<u64> = latencies.collect();
            let sample = Sample::of(&arrivals, &latencies, 99.9);
            let all = sample.baseline(&latencies);
            let gain = sample.gain_ns(&all, all.latencies()).1;
            let [tail, .., middle] = &sample.predict(&all, all.latencies())[..] else {
                panic!("three percentiles")
            };
            assert!(
                middle.interval_ns.is_some(),
                "of half of them there are enough"
            );
            assert_eq!(tail.interval_ns.is_some(), tail.change_interval.is_some());
            assert_eq!(tail.interval_ns.is_some(), gain.is_some());
            tail.interval_ns.is_some()
        };
        // 20 requests lie beyond p99.9, so that eight blocks are needed.
        assert!(!told(7));
        assert!(told(8));
    }

    #[test]
    fn what_too_few_requests_lie_beyond_is_not_told() {
        let few: Vec<u64> = (1..=1_500).collect();
        let told = Sample::of(&few, &few, 99.9);
        assert_eq!(told.percentiles, [99.0, 50.0]);
        assert_eq!(told.untold(99.0, 1_500), None);
        let why = "p99.9 is not told: 10 requests have to lie beyond it, and 1 do; about 10000 \
                   that count are needed";
        assert_eq!(told.untold(99.9, 1_500).as_deref(), Some(why));
        assert_eq!(
            Sample::of(&few[..200], &few[..200], 99.9).percentiles,
            [95.0, 50.0]
        );
        assert!(
            Sample::of(&few[..19], &few[..19], 99.9)
                .percentiles
                .is_empty()
        );
    }
}
