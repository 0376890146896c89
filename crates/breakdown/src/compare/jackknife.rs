//! How sure a figure of one recording is: what it would be without each of its blocks.
//!
//! Leaving a block out tells how much the block weighs (the jackknife; Künsch, *The Jackknife and
//! the Bootstrap for General Stationary Observations*, 1989). Of these weights the interval is
//! Student's, corrected as Tafazzoli, Steiger and Wilson do in *N-Skart*, IEEE Transactions on
//! Automatic Control 56(2), 2011: for skewness by Willink, *A Confidence Interval and Test for the
//! Mean of an Asymmetric Distribution*, 2005, since a few incidents make the blocks skewed, and for
//! blocks that resemble the one before, since an incident may be longer than a block. The bootstrap
//! draws incidents that are there twice, but knows none that were not recorded, so that its
//! intervals are too narrow where there are few (`docs/design/comparing.md` has figures).

use super::blocks::BLOCKS_MIN;
use super::resampling::{FIRST_REPLICATE, Sampled, WHOLE, Weights, halved};

/// The 97.5 % quantile of Student's distribution of 1, 2, … degrees of freedom.
const STUDENT: [f64; 31] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042, 2.040,
];
/// Degrees of freedom of a variance, by incident that makes it: three times as many, which is the
/// number of blocks where these are normal (their kurtosis is 3; Satterthwaite, 1946).
const FREEDOM_PER_INCIDENT: f64 = 3.0;
const AUTOCORRELATION_MAX: f64 = 0.8;
/// The 95 % bound above how many incidents were to be expected where none was seen: −ln 0.025.
const NONE_SEEN: f64 = 3.69;

/// All that a statistic is computed under: the whole, its halves, then all blocks but one.
pub(crate) fn left_out(occupied: &[usize], blocks: usize) -> Vec<Weights> {
    let mut all = halved(occupied, blocks);
    for &block in occupied {
        let mut weights = all[WHOLE].clone();
        weights[block] = 0;
        all.push(weights);
    }
    all
}

/// A figure of one recording. A time, which is never below 0, or a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub value: f64,
    /// 95 % interval.
    pub bounds: Option<[f64; 2]>,
    /// How many blocks make it differ from block to block: few, where a few incidents do.
    pub incidents: f64,
}

impl Estimate {
    /// Of a statistic under [`left_out`], in a recording of so many blocks; `None` where it does
    /// not exist.
    pub(crate) fn of(sampled: &Sampled, blocks: usize) -> Option<Self> {
        let value = sampled[WHOLE]?;
        let unsure = Self {
            value,
            bounds: None,
            incidents: 0.0,
        };
        let without: Option<Vec<f64>> = sampled.iter().skip(FIRST_REPLICATE).copied().collect();
        let Some(without) = without.filter(|all| blocks >= BLOCKS_MIN && all.len() >= blocks)
        else {
            return Some(unsure);
        };
        let times = without.len() as f64;
        let weighed = without.iter().map(|one| (times - 1.0) * (value - one));
        Some(unsure.with(&weighed.collect::<Vec<_>>()))
    }

    /// `weights` is how far each block pulls the figure from what it is without.
    fn with(self, weights: &[f64]) -> Self {
        let count = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / count;
        let power = |n: i32| weights.iter().map(|w| (w - mean).powi(n)).sum::<f64>();
        let variance = power(2) / (count - 1.0);
        if variance <= (self.value * 1e-9).powi(2) {
            let bounds = Some([self.value; 2]);
            return Self { bounds, ..self };
        }
        let incidents = power(2).powi(2) / power(4);
        let third = power(3) * count / ((count - 1.0) * (count - 2.0));
        let skew = third / variance.powf(1.5) / (6.0 * count.sqrt());
        let alike = inflation(weights);
        let quantile = student((count / alike - 1.0).min(FREEDOM_PER_INCIDENT * incidents));
        let error = (variance / count * alike).sqrt();
        let reach = |quantile: f64| skewed(quantile, skew) * error;
        Self {
            bounds: Some([
                (self.value - reach(quantile)).max(0.0),
                self.value - reach(-quantile),
            ]),
            incidents,
            ..self
        }
    }

    /// How far the truth may be below and above the value. What was never seen in this recording
    /// may yet be there: as many incidents as are likely to go unseen, each like those of `other`.
    pub(crate) fn reach(&self, other: &Self) -> Option<[f64; 2]> {
        let [low, high] = self.bounds?;
        let unseen = if self.value == 0.0 && other.incidents > 0.0 {
            other.value * NONE_SEEN / other.incidents
        } else {
            0.0
        };
        Some([self.value - low, (high - self.value).max(unseen)])
    }
}

/// Willink's transformation of a quantile.
fn skewed(quantile: f64, skew: f64) -> f64 {
    if skew.abs() < 1e-6 {
        return quantile;
    }
    ((1.0 + 6.0 * skew * (quantile - skew)).cbrt() - 1.0) / (2.0 * skew)
}

/// By how much more the mean of such blocks varies than if none told anything of the next: that of
/// a process of first order.
pub(crate) fn inflation(blocks: &[f64]) -> f64 {
    let count = blocks.len() as f64;
    let mean = blocks.iter().sum::<f64>() / count;
    let square: f64 = blocks.iter().map(|one| (one - mean).powi(2)).sum();
    if square == 0.0 {
        return 1.0;
    }
    let pairs = blocks.windows(2);
    let product: f64 = pairs.map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    // The mean was estimated too, which makes it too low by about one in `count`.
    let correlation = (product / square + 1.0 / count).clamp(0.0, AUTOCORRELATION_MAX);
    (1.0 + correlation) / (1.0 - correlation)
}

/// The 97.5 % quantile of Student's distribution.
pub(crate) fn student(freedom: f64) -> f64 {
    let last = STUDENT.len() as f64;
    let freedom = freedom.clamp(1.0, last);
    let below = STUDENT[freedom as usize - 1];
    let above = STUDENT[(freedom as usize).min(STUDENT.len() - 1)];
    below + (above - below) * freedom.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of blocks of equal size, each without one of them.
    fn mean_of(blocks: &[f64]) -> Sampled {
        let weights = left_out(&(0..blocks.len()).collect::<Vec<_>>(), blocks.len());
        let mean = |weights: &Weights| {
            let each = blocks.iter().zip(weights);
            let sum: f64 = each.map(|(one, w)| one * f64::from(*w)).sum();
            Some(sum / f64::from(weights.iter().sum::<u32>()))
        };
        weights.iter().map(mean).collect()
    }

    fn incidents(count: usize) -> Vec<f64> {
        let hit = |block: usize| (block * count) % 32 < count;
        (0..32)
            .map(|block| f64::from(u8::from(hit(block))))
            .collect()
    }

    #[test]
    fn five_incidents_have_about_the_exact_interval_of_a_count() {
        let estimate = Estimate::of(&mean_of(&incidents(5)), 32).expect("told");
        let [low, high] = estimate
            .bounds
            .expect("there are 32 blocks")
            .map(|one| one * 32.0);
        assert!((5.0..7.5).contains(&estimate.incidents), "{estimate:?}");
        // Poisson: 1.62 to 11.67. The binomial of 32 blocks varies a little less.
        assert!((1.0..2.0).contains(&low), "{low}");
        assert!((10.5..13.5).contains(&high), "{high}");
    }

    #[test]
    fn normal_blocks_have_the_interval_of_student() {
        let blocks: Vec<f64> = (0..32).map(|i| 100.0 + f64::from(i * 13 % 32)).collect();
        let [low, high] = Estimate::of(&mean_of(&blocks), 32)
            .and_then(|one| one.bounds)
            .expect("");
        let error = (88.0_f64 / 32.0).sqrt();
        assert!((low - (115.5 - 2.04 * error)).abs() < 0.3, "{low}");
        assert!((high - (115.5 + 2.04 * error)).abs() < 0.3, "{high}");
    }

    #[test]
    fn an_incident_longer_than_a_block_makes_the_interval_wider() {
        let in_a_row = |length: usize| {
            let blocks: Vec<f64> = (0..32).map(|i| (i / length % 2) as f64).collect();
            let [low, high] = Estimate::of(&mean_of(&blocks), 32)?.bounds?;
            Some(high - low)
        };
        assert!(in_a_row(4) > in_a_row(1).map(|width| width * 1.5));
    }

    #[test]
    fn what_none_has_seen_may_be_there() {
        let [none, some] = [0, 6].map(|n| Estimate::of(&mean_of(&incidents(n)), 32).expect("told"));
        assert_eq!(none.bounds, Some([0.0; 2]));
        let [below, above] = none.reach(&some).expect("told");
        assert_eq!(below, 0.0);
        assert!(above > some.value * 0.4 && above < some.value, "{above}");
        assert_eq!(none.reach(&none), Some([0.0; 2]));
    }

    #[test]
    fn few_blocks_tell_a_value_and_no_interval() {
        let estimate = Estimate::of(&mean_of(&[1.0; 7]), 7).expect("told");
        assert_eq!((estimate.value, estimate.bounds), (1.0, None));
        let mut sampled = mean_of(&[1.0; 9]);
        sampled[FIRST_REPLICATE + 3] = None;
        assert_eq!(Estimate::of(&sampled, 9).and_then(|one| one.bounds), None);
        sampled[WHOLE] = None;
        assert_eq!(Estimate::of(&sampled, 9), None);
    }
}
