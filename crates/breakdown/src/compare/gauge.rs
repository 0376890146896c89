//! One figure of one recording with its interval, or why there is none: what gates are held
//! against.

use serde::{Deserialize, Serialize};

use super::cell::{CAUSES, Cell};
use super::jackknife::Estimate;
use super::profile::Profile;
use super::resampling::{Sampled, WHOLE, Weights};
use super::route_cells::{RouteCells, rank};
use crate::latencies::REQUESTS_BEYOND;

/// What is wanted to be known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gauge {
    /// `None` for all routes.
    #[serde(default)]
    pub route: Option<String>,
    pub figure: Figure,
}

/// A figure of the requests of a route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Figure {
    Mean,
    Percentile(f64),
    /// Mean latency of those in the tail of the recording.
    Tail,
    /// A cause of it, by its word.
    TailCause(String),
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gauged {
    /// Requests of the route; of a figure of the tail, those in the tail.
    pub count: u64,
    pub value_ns: Option<u64>,
    /// 95 % interval.
    pub interval_ns: Option<[u64; 2]>,
    /// Of a cause: its share of what it is a part of, latency or queue and exec.
    pub share: Option<f64>,
    pub interval_share: Option<[f64; 2]>,
    /// Why there is no value.
    pub lack: Option<Lack>,
    /// Requests that the figure needs.
    pub needed: Option<u64>,
}

/// Why a figure cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// No request of this route, or none in the tail.
    NoRequests,
    /// Fewer than ten requests lie beyond the percentile.
    TooFew,
    /// The work class was not measured for all requests.
    NotMeasured,
    /// There is no such cause.
    UnknownCause,
}

/// Each wanted figure of a recording.
pub fn gauge(profile: &Profile, wanted: &[Gauge]) -> Vec<Gauged> {
    let weights = profile.weights();
    let blocks = profile.occupied().len();
    let mut gauged = Vec::with_capacity(wanted.len());
    for gauge in wanted {
        let gauging = Gauging {
            profile,
            route: gauge.route.as_deref(),
            weights: &weights,
            blocks,
        };
        gauged.push(gauging.figure(&gauge.figure));
    }
    gauged
}

struct Gauging<'a> {
    profile: &'a Profile,
    route: Option<&'a str>,
    weights: &'a [Weights],
    blocks: usize,
}

impl Gauging<'_> {
    fn figure(&self, figure: &Figure) -> Gauged {
        match figure {
            Figure::Mean => self.of_route(|cells| {
                self.answer(|weights| mean(&cells.all(weights), |cell| Some(cell.latency_ns)))
            }),
            Figure::Percentile(percentile) => self.of_route(|cells| {
                let count = cells.count(&self.weights[WHOLE]);
                let beyond = count - rank(count, *percentile);
                if (beyond as f64) < REQUESTS_BEYOND {
                    return Gauged {
                        needed: Some(crate::population::requests_needed(*percentile)),
                        ..lacking(Lack::TooFew)
                    };
                }
                let whole = &self.weights[WHOLE];
                let value = cells.percentiles_ns(whole, &[*percentile])[0];
                times(value, cells.percentile_interval(*percentile))
            }),
            Figure::Tail => self.of_tail(|cell| Some(cell.latency_ns)),
            Figure::TailCause(word) => match CAUSES.iter().position(|cause| cause == word) {
                Some(cause) => self.cause(cause),
                None => lacking(Lack::UnknownCause),
            },
        }
    }

    fn of_route(&self, answer: impl FnOnce(&RouteCells) -> Gauged) -> Gauged {
        let cells = match self.route {
            Some(route) => self.profile.route(route),
            None => Some(self.profile.all()),
        };
        match cells {
            Some(cells) => Gauged {
                count: cells.count(&self.weights[WHOLE]),
                ..answer(&cells)
            },
            None => lacking(Lack::NoRequests),
        }
    }

    fn of_tail(&self, of: impl Fn(&Cell) -> Option<f64>) -> Gauged {
        let tail = |weights: &Weights| self.profile.tail(self.route, weights);
        let count = tail(&self.weights[WHOLE]).count as u64;
        if count == 0 {
            return lacking(Lack::NoRequests);
        }
        Gauged {
            count,
            ..self.answer(|weights| mean(&tail(weights), &of))
        }
    }

    fn cause(&self, cause: usize) -> Gauged {
        let measured = self.profile.measured;
        let gauged = self.of_tail(|cell| cell.part_ns(cause, measured));
        if gauged.count == 0 {
            return gauged;
        }
        let share = |weights: &Weights| {
            let tail = self.profile.tail(self.route, weights);
            let whole_ns = tail.whole_ns(cause);
            let part_ns = tail.part_ns(cause, measured)?;
            (whole_ns > 0.0).then(|| part_ns / whole_ns)
        };
        let Some(_) = gauged.value_ns else {
            return Gauged {
                count: gauged.count,
                ..lacking(Lack::NotMeasured)
            };
        };
        let (value, bounds) = self.sampled(share);
        Gauged {
            share: value,
            interval_share: bounds.map(|[low, high]| [low, high.min(1.0)]),
            ..gauged
        }
    }

    fn answer(&self, statistic: impl Fn(&Weights) -> Option<f64>) -> Gauged {
        let (value, bounds) = self.sampled(statistic);
        times(value, bounds)
    }

    fn sampled(
        &self,
        statistic: impl Fn(&Weights) -> Option<f64>,
    ) -> (Option<f64>, Option<[f64; 2]>) {
        let sampled: Sampled = self.weights.iter().map(statistic).collect();
        let estimate = Estimate::of(&sampled, self.blocks);
        let value = estimate.map(|one| one.value);
        (value, estimate.and_then(|one| one.bounds))
    }
}

fn times(value: Option<f64>, bounds: Option<[f64; 2]>) -> Gauged {
    Gauged {
        value_ns: value.map(|ns| ns.round() as u64),
        interval_ns: bounds.map(|bounds| bounds.map(|ns| ns.round() as u64)),
        ..Gauged::default()
    }
}

fn mean(cell: &Cell, of: impl Fn(&Cell) -> Option<f64>) -> Option<f64> {
    (cell.count > 0.0).then(|| Some(of(cell)? / cell.count))?
}

fn lacking(lack: Lack) -> Gauged {
    Gauged {
        lack: Some(lack),
        ..Gauged::default()
    }
}
