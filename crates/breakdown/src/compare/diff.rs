//! The answer of `bobtail diff --json` (`spec/diff.schema.json`): two recordings, figure by figure.
//!
//! The figures of a percentile are its latency and the means over the requests beyond it, by cause:
//! those sum up, so a change of latency is the sum of the changes of its causes. Percentiles of
//! causes would not.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::blocks::{BLOCKS_MIN, blocks_beyond_needed};
use super::cell::{CAUSES, Cell};
use super::change::{Change, Known};
use super::counterparts::{counterparts, without_line};
use super::ledger::Ledger;
use super::profile::Profile;
use super::resampling::{FIRST_REPLICATE, Sampled, WHOLE, Weights};
use super::route_cells::{RouteCells, rank};
use crate::blame::Who;
use crate::figures;
use crate::latencies::REQUESTS_BEYOND;
use crate::population::requests_needed;
use crate::report::{CulpritKind, Run};
use crate::trace_info::Measured;

/// Percentiles that are compared, highest first.
const COMPARED: [f64; 3] = [99.9, 99.0, 50.0];
/// Routes that are told, those with most time first; likewise culprits and waits.
const ROUTES_TOLD: usize = 100;
const ROWS_TOLD: usize = 100;
pub(crate) const ALL_ROUTES: &str = "*";

/// What moved from one recording to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    pub schema: String,
    /// How often the figures were computed without one block of a recording.
    pub replicates: u64,
    pub a: DiffSide,
    pub b: DiffSide,
    /// All routes together, then each, by time.
    pub routes: Vec<RouteDiff>,
    pub tail: TailDiff,
}

/// One of the recordings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffSide {
    pub run: Run,
    /// Finished requests after warm-up.
    pub requests: u64,
    /// Blocks of time with requests.
    pub blocks: u64,
    pub losses: BTreeMap<String, u64>,
}

/// The requests of a route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteDiff {
    /// `*` stands for all.
    pub route: String,
    pub a_count: u64,
    pub b_count: u64,
    pub mean: Change,
    /// Highest first.
    pub percentiles: Vec<PercentileDiff>,
}

/// A percentile, and the requests beyond it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PercentileDiff {
    pub percentile: f64,
    pub latency: Change,
    /// Mean latency of the requests beyond, which the causes sum up to.
    pub beyond: Change,
    pub causes: Vec<CauseDiff>,
    /// Why nothing can be told.
    pub note: Option<String>,
}

/// A cause: mean per request beyond the percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CauseDiff {
    pub cause: String,
    #[serde(flatten)]
    pub change: Change,
}

/// The requests of each recording's own tail, by what they waited for and behind whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TailDiff {
    pub percentile: f64,
    pub a_count: u64,
    pub b_count: u64,
    /// By change, the largest first.
    pub culprits: Vec<CulpritDiff>,
    pub io: Vec<IoDiff>,
}

/// Time that a culprit inflicted: mean per request of the tail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CulpritDiff {
    pub kind: CulpritKind,
    pub route: Option<String>,
    #[serde(rename = "type")]
    pub word: String,
    /// Without line and column, which edits elsewhere in the file move.
    pub location: Option<String>,
    #[serde(flatten)]
    pub change: Change,
}

/// Waiting for a resource: mean per request of the tail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IoDiff {
    pub resource: String,
    pub kind: String,
    #[serde(flatten)]
    pub change: Change,
}

/// Compares two recordings. The tail of both begins at `percentile`; of routes those with most time
/// are told, and those that are `wanted` if they have requests.
pub fn diff(
    a: (DiffSide, &Profile),
    b: (DiffSide, &Profile),
    percentile: f64,
    wanted: &[String],
) -> Diff {
    let comparing = Comparing {
        a: Side::new(a.1),
        b: Side::new(b.1),
        measured: a.1.measured.and(b.1.measured),
    };
    Diff {
        schema: "bobtail-diff/1".into(),
        replicates: (comparing.a.blocks + comparing.b.blocks) as u64,
        routes: comparing.routes(wanted),
        tail: comparing.tail(percentile),
        a: DiffSide {
            blocks: comparing.a.blocks as u64,
            ..a.0
        },
        b: DiffSide {
            blocks: comparing.b.blocks as u64,
            ..b.0
        },
    }
}

struct Side<'a> {
    profile: &'a Profile,
    weights: Vec<Weights>,
    /// Blocks with requests.
    blocks: usize,
}

impl<'a> Side<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self {
            weights: profile.weights(),
            blocks: profile.occupied().len(),
            profile,
        }
    }

    fn sampled(&self, statistic: impl Fn(&Weights) -> Option<f64>) -> Sampled {
        self.weights.iter().map(statistic).collect()
    }

    fn tail_count(&self, weights: &Weights) -> f64 {
        self.profile.tail(None, weights).count
    }
}

struct Comparing<'a> {
    a: Side<'a>,
    b: Side<'a>,
    measured: Measured,
}

/// Requests of a route in one recording, under all weights.
struct Told {
    count: u64,
    blocks: usize,
    mean: Known,
    /// By percentile.
    latencies: Vec<Sampled>,
    intervals: Vec<Option<[f64; 2]>>,
    beyond: Vec<Vec<Cell>>,
    /// Blocks in which they came.
    blocks_beyond: Vec<usize>,
}

impl Told {
    fn of(side: &Side<'_>, cells: &RouteCells) -> Self {
        let each = side.weights.iter().take(FIRST_REPLICATE);
        let percentiles: Vec<_> = each.map(|w| cells.percentiles_ns(w, &COMPARED)).collect();
        let beyond: Vec<_> = side
            .weights
            .iter()
            .map(|w| cells.slowest(w, &COMPARED))
            .collect();
        let mean = side.sampled(|weights| {
            let all = cells.all(weights);
            (all.count > 0.0).then(|| all.latency_ns / all.count)
        });
        let nth = |index: usize| percentiles.iter().map(move |all| all[index]).collect();
        Self {
            count: cells.count(&side.weights[WHOLE]),
            blocks: cells.blocks(),
            mean: Known::of(&mean, cells.blocks()),
            latencies: (0..COMPARED.len()).map(nth).collect(),
            intervals: COMPARED.map(|p| cells.percentile_interval(p)).into(),
            beyond,
            blocks_beyond: cells.blocks_beyond(&COMPARED),
        }
    }

    /// A statistic of the requests beyond a percentile.
    fn beyond(&self, index: usize, of: impl Fn(&Cell) -> Option<f64>) -> Known {
        let cells = self.beyond.iter().map(|all| &all[index]);
        let mean = |cell: &Cell| (cell.count > 0.0).then(|| Some(of(cell)? / cell.count))?;
        Known::of(&cells.map(mean).collect(), self.blocks)
    }

    fn latency(&self, index: usize) -> Known {
        Known::of_percentile(&self.latencies[index], self.intervals[index])
    }

    fn mean_ns(&self) -> Option<f64> {
        self.mean.value()
    }

    fn supports(&self, percentile: f64) -> bool {
        (self.count - rank(self.count, percentile)) as f64 >= REQUESTS_BEYOND
    }
}

impl Comparing<'_> {
    fn routes(&self, wanted: &[String]) -> Vec<RouteDiff> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        let both = [self.a.profile, self.b.profile];
        for (route, ns) in both.iter().flat_map(|profile| profile.route_sums()) {
            *sums.entry(route).or_default() += ns;
        }
        let mut ranked: Vec<_> = sums.into_iter().collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        let is_wanted = |route: &str| wanted.iter().any(|one| one == route);
        let told = (ranked.into_iter().enumerate())
            .filter(|(rank, (route, _))| *rank < ROUTES_TOLD || is_wanted(route));
        let single = told.map(|(_, (route, _))| {
            let [a, b] = both.map(|profile| profile.route(route));
            self.route(route, a.as_ref(), b.as_ref())
        });
        let all = both.map(Profile::all);
        std::iter::once(self.route(ALL_ROUTES, Some(&all[0]), Some(&all[1])))
            .chain(single)
            .collect()
    }

    fn route(&self, route: &str, a: Option<&RouteCells>, b: Option<&RouteCells>) -> RouteDiff {
        let a = a.map(|cells| Told::of(&self.a, cells));
        let b = b.map(|cells| Told::of(&self.b, cells));
        let count = |told: &Option<Told>| told.as_ref().map_or(0, |told| told.count);
        let percentiles = COMPARED.iter().enumerate();
        RouteDiff {
            route: route.into(),
            a_count: count(&a),
            b_count: count(&b),
            mean: match (&a, &b) {
                (Some(a), Some(b)) => Change::of(a.mean, b.mean),
                _ => {
                    let whole = |told: Option<&Told>| told.and_then(Told::mean_ns);
                    Change::too_few(whole(a.as_ref()), whole(b.as_ref()))
                }
            },
            percentiles: percentiles
                .map(|(index, p)| self.percentile(index, *p, a.as_ref(), b.as_ref()))
                .collect(),
        }
    }

    fn percentile(
        &self,
        index: usize,
        p: f64,
        a: Option<&Told>,
        b: Option<&Told>,
    ) -> PercentileDiff {
        let lack = lack(index, a, b);
        let (Some(a), Some(b), None) = (a, b, &lack) else {
            let own = |told: Option<&Told>| {
                let told = told.filter(|told| told.supports(p))?;
                told.latencies[index][WHOLE]
            };
            return PercentileDiff {
                percentile: p,
                latency: Change::too_few(own(a), own(b)),
                beyond: Change::too_few(None, None),
                causes: Vec::new(),
                note: lack,
            };
        };
        let change = |of: &dyn Fn(&Cell) -> Option<f64>| {
            Change::of(a.beyond(index, of), b.beyond(index, of))
        };
        let causes = CAUSES.iter().enumerate().map(|(cause, word)| CauseDiff {
            cause: (*word).into(),
            change: change(&|cell| cell.part_ns(cause, self.measured)),
        });
        PercentileDiff {
            percentile: p,
            latency: Change::of(a.latency(index), b.latency(index)),
            beyond: change(&|cell| Some(cell.latency_ns)),
            causes: causes.collect(),
            note: None,
        }
    }

    fn tail(&self, percentile: f64) -> TailDiff {
        let [a, b] = [&self.a, &self.b];
        let culprits = named(
            [a, b].map(|side| side.profile.culprits.by(|who| culprit(side, who))),
            |(_, _, _, location)| location.as_deref(),
            |(kind, route, word, _), location| (*kind, route.clone(), word.clone(), Some(location)),
        );
        let waits = named(
            [a, b].map(|side| {
                side.profile
                    .waits
                    .by(|(name, kind)| wait(side, *name, kind))
            }),
            |(resource, _)| Some(resource),
            |(_, kind), resource| (resource, *kind),
        );
        TailDiff {
            percentile,
            a_count: a.tail_count(&a.weights[WHOLE]) as u64,
            b_count: b.tail_count(&b.weights[WHOLE]) as u64,
            culprits: self.rows(&culprits, |(kind, route, word, location), change| {
                CulpritDiff {
                    kind: *kind,
                    route: route.clone(),
                    word: word.clone(),
                    location: location.clone(),
                    change,
                }
            }),
            io: self.rows(&waits, |(resource, kind), change| IoDiff {
                resource: resource.clone(),
                kind: (*kind).into(),
                change,
            }),
        }
    }

    /// The rows of two ledgers, those that changed most first.
    fn rows<K: Ord + Clone, R>(
        &self,
        ledgers: &[Ledger<K>; 2],
        row: impl Fn(&K, Change) -> R,
    ) -> Vec<R> {
        let keys: BTreeSet<&K> = ledgers.iter().flat_map(Ledger::keys).collect();
        let whole = |side: &Side<'_>, ledger: &Ledger<K>, key: &K| {
            let weights = &side.weights[WHOLE];
            ledger.sum_ns(key, weights) / side.tail_count(weights).max(1.0)
        };
        let moved = |key: &K| {
            let [a, b] = [
                whole(&self.a, &ledgers[0], key),
                whole(&self.b, &ledgers[1], key),
            ];
            (b - a).abs()
        };
        let mut ranked: Vec<_> = keys.into_iter().map(|key| (moved(key), key)).collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
        let counts = [&self.a, &self.b].map(|side| side.sampled(|w| Some(side.tail_count(w))));
        let per_request = |index: usize, side: &Side<'_>, key: &K| {
            let drawn = side.weights.iter().zip(&counts[index]);
            let sampled = drawn
                .map(|(weights, count)| {
                    let count = count.filter(|count| *count > 0.0)?;
                    Some(ledgers[index].sum_ns(key, weights) / count)
                })
                .collect();
            Known::of(&sampled, side.blocks)
        };
        let told = ranked.into_iter().take(ROWS_TOLD).map(|(_, key)| {
            let [a, b] = [per_request(0, &self.a, key), per_request(1, &self.b, key)];
            row(key, Change::of(a, b))
        });
        told.collect()
    }
}

type CulpritKey = (CulpritKind, Option<String>, String, Option<String>);

fn culprit(side: &Side<'_>, who: &Who) -> CulpritKey {
    let text = |name: Option<u32>| name.map(|name| side.profile.places.text(name));
    let location = text(who.line).map(|location| without_line(location).to_owned());
    let route = text(who.route).map(str::to_owned);
    let resource = who.resource.map(|name| side.profile.resources.text(name));
    (
        who.kind,
        route,
        resource.unwrap_or(who.word).to_owned(),
        location,
    )
}

fn wait(side: &Side<'_>, name: Option<u32>, kind: &'static str) -> (String, &'static str) {
    let resource = name.map_or(kind, |name| side.profile.resources.text(name));
    (resource.to_owned(), kind)
}

/// The ledgers with the same name in both for what each recording calls in its own way.
fn named<K: Ord + Clone>(
    ledgers: [Ledger<K>; 2],
    name: impl Fn(&K) -> Option<&str>,
    renamed: impl Fn(&K, String) -> K,
) -> [Ledger<K>; 2] {
    let [a, b] = [&ledgers[0], &ledgers[1]].map(|one| one.keys().filter_map(&name).collect());
    let common = counterparts(&a, &b);
    [&ledgers[0], &ledgers[1]].map(|ledger| {
        ledger.by(|key| match name(key).and_then(|name| common.get(name)) {
            Some(common) => renamed(key, common.clone()),
            None => key.clone(),
        })
    })
}

/// Why nothing can be told of a percentile.
fn lack(index: usize, a: Option<&Told>, b: Option<&Told>) -> Option<String> {
    let p = COMPARED[index];
    let [count_a, count_b] = [a, b].map(|told| told.map_or(0, |told| told.count));
    let (Some(a), Some(b)) = (a.filter(|a| a.supports(p)), b.filter(|b| b.supports(p))) else {
        return Some(format!(
            "p{p} needs {} requests in each, there are {} and {}",
            figures::count(requests_needed(p)),
            figures::count(count_a),
            figures::count(count_b)
        ));
    };
    if a.blocks.min(b.blocks) < BLOCKS_MIN {
        return Some(format!(
            "too short: {BLOCKS_MIN} blocks of time with requests are needed in each, \
             there are {} and {}",
            a.blocks, b.blocks
        ));
    }
    let [beyond_a, beyond_b] = [a.blocks_beyond[index], b.blocks_beyond[index]];
    let beyond = [a, b].map(|told| told.count - rank(told.count, p));
    let [needed_a, needed_b] = beyond.map(blocks_beyond_needed);
    if beyond_a < needed_a || beyond_b < needed_b {
        return Some(format!(
            "the requests beyond p{p} came in {beyond_a} and {beyond_b} of {} and {} blocks of \
             time, {} are needed",
            a.blocks,
            b.blocks,
            needed_a.max(needed_b)
        ));
    }
    (a.intervals[index].and(b.intervals[index]))
        .is_none()
        .then(|| {
            format!("not enough incidents: p{p} may be longer than the longest request recorded")
        })
}
