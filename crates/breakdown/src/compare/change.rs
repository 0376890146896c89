//! One figure of two recordings: its change, how sure that is, and what it would be of nothing.

use serde::{Deserialize, Serialize};

use super::resampling::{FIRST_REPLICATE, HALVES, WHOLE, interval};

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

/// A statistic of one recording under each of its drawings, where it exists.
pub(crate) type Sampled = Vec<Option<f64>>;

impl Change {
    /// The change of a statistic between recordings of so many blocks.
    pub(crate) fn of(a: &Sampled, b: &Sampled, blocks: usize) -> Self {
        let (a_ns, b_ns) = (a[WHOLE], b[WHOLE]);
        let delta_ns = a_ns.zip(b_ns).map(|(a, b)| b - a);
        let pairs = a.iter().zip(b).skip(FIRST_REPLICATE);
        let deltas = pairs.filter_map(|(a, b)| Some(b.as_ref()? - a.as_ref()?));
        let bounds = delta_ns.and(interval(deltas.collect(), blocks));
        let noise_ns = noise_ns(a).zip(noise_ns(b)).map(|(a, b)| a.max(b));
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
