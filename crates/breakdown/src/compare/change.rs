//! One figure of two recordings: its change, how sure that is, and what it would be of nothing.

use serde::{Deserialize, Serialize};

use super::jackknife::Estimate;
use super::resampling::{HALVES, Sampled, WHOLE};

/// Whether a figure moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval is above 0, and the change above the noise.
    More,
    /// The interval is below 0, and the change above the noise.
    Less,
    /// No change that could be told from none.
    WithinNoise,
    /// There are too few requests or blocks to say anything.
    TooFew,
}

/// A figure in two recordings. Times per request, in nanoseconds; `None` is "cannot be told".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub a_ns: Option<u64>,
    pub b_ns: Option<u64>,
    /// B less A.
    pub delta_ns: Option<i64>,
    /// 95 % interval of the difference.
    pub low_ns: Option<i64>,
    pub high_ns: Option<i64>,
    /// The A/A noise floor: the largest difference between two halves of one of the recordings.
    pub noise_ns: Option<u64>,
    pub verdict: Verdict,
}

/// A figure of one recording, and by how much its halves differ in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Known {
    estimate: Option<Estimate>,
    noise_ns: Option<f64>,
}

impl Known {
    /// Of a statistic in a recording of so many blocks.
    pub(crate) fn of(sampled: &Sampled, blocks: usize) -> Self {
        Self {
            estimate: Estimate::of(sampled, blocks),
            noise_ns: noise_ns(sampled),
        }
    }

    /// In the whole recording.
    pub(crate) fn value(&self) -> Option<f64> {
        self.estimate.map(|one| one.value)
    }

    /// Of a percentile, of which the whole and its halves are enough.
    pub(crate) fn of_percentile(sampled: &Sampled, bounds: Option<[f64; 2]>) -> Self {
        let estimate = sampled[WHOLE].map(|value| Estimate {
            value,
            bounds,
            incidents: 0.0,
        });
        let noise_ns = noise_ns(sampled);
        Self { estimate, noise_ns }
    }
}

impl Change {
    /// The change of a figure. Its interval is made of those of both recordings, each of which may
    /// reach further on one side than on the other (Zou and Donner, *Construction of Confidence
    /// Limits about Effect Measures*, 2008).
    pub(crate) fn of(a: Known, b: Known) -> Self {
        let noise_ns = a.noise_ns.zip(b.noise_ns).map(|(a, b)| a.max(b));
        let [a_ns, b_ns] = [a.value(), b.value()];
        let both = a.estimate.zip(b.estimate);
        let delta_ns = both.map(|(a, b)| b.value - a.value);
        let bounds = both.and_then(|(a, b)| {
            let ([a_below, a_above], [b_below, b_above]) = (a.reach(&b)?, b.reach(&a)?);
            let delta = b.value - a.value;
            Some([
                delta - b_below.hypot(a_above),
                delta + b_above.hypot(a_below),
            ])
        });
        Self {
            a_ns: a_ns.map(|ns| ns.round() as u64),
            b_ns: b_ns.map(|ns| ns.round() as u64),
            delta_ns: delta_ns.map(|ns| ns.round() as i64),
            low_ns: bounds.map(|[low, _]| low.round() as i64),
            high_ns: bounds.map(|[_, high]| high.round() as i64),
            noise_ns: noise_ns.map(|ns| ns.round() as u64),
            verdict: verdict(delta_ns, bounds, noise_ns),
        }
    }

    /// Of what may not be told: each recording's own value, if it may be.
    pub(crate) fn too_few(a_ns: Option<f64>, b_ns: Option<f64>) -> Self {
        Self {
            a_ns: a_ns.map(|ns| ns.round() as u64),
            b_ns: b_ns.map(|ns| ns.round() as u64),
            delta_ns: None,
            low_ns: None,
            high_ns: None,
            noise_ns: None,
            verdict: Verdict::TooFew,
        }
    }
}

fn noise_ns(sampled: &Sampled) -> Option<f64> {
    let differences = HALVES.map(|[one, other]| Some((sampled[one]? - sampled[other]?).abs()));
    let known = differences.into_iter().collect::<Option<Vec<f64>>>()?;
    known.into_iter().reduce(f64::max)
}

fn verdict(delta: Option<f64>, bounds: Option<[f64; 2]>, noise: Option<f64>) -> Verdict {
    match (delta, bounds, noise) {
        (Some(delta), Some([low, high]), Some(noise)) => {
            if low > 0.0 && delta > noise {
                Verdict::More
            } else if high < 0.0 && -delta > noise {
                Verdict::Less
            } else {
                Verdict::WithinNoise
            }
        }
        _ => Verdict::TooFew,
    }
}
