//! What a scheme is told before a replay: what it aims at, of all loops of a recording together.
//!
//! Apart from the schemes, since a service has one target and one ranking of its routes, however
//! many loops serve it.

use std::collections::BTreeMap;

use bobtail_breakdown::{PERCENTILES, REQUESTS_BEYOND, rank};
use bobtail_policy::{GcBoost, Policy};
use bobtail_trace::record::Ns;

use crate::components::Components;
use crate::follower::{Follower, Sees};
use crate::foresight::Foresight;
use crate::ledger::Ledger;
use crate::model::Model;
use crate::policy_outcome::percentile_ns;
use crate::replay::{AtBase, Replayed, at_base_speed, replay_ahead, replay_all};
use crate::rubik::Rubik;
use crate::scenario::Scenario;
use crate::scheme::{Drive, Scheme, TAIL};

/// The tails that an energy is spent for, where enough requests lie beyond them: the first is to
/// be shortest, if nothing else is asked for.
const TAILS_WITHIN: [f64; 3] = [99.9, 99.0, 50.0];
/// Of a latency: what differs by less is as good as the same.
const ALIKE: f64 = 0.005;
/// Halvings between a number of requests that there is energy for and twice that.
const REFINEMENTS: usize = 8;
/// Targets are told in whole ones.
const TARGET_UNIT_NS: u64 = 1_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// Of each loop and request at base speed. Nothing for schemes that do not look ahead.
    base: Vec<Vec<AtBase>>,
    aim: Option<Aim>,
}

/// What a scheme aims at.
#[derive(Debug, Clone, PartialEq)]
pub enum Aim {
    /// Requests that take so long at base speed.
    Slow { from_ns: u64, since: Since },
    /// Requests of types that are likely to be in the tail, most likely first.
    Types(Vec<TypeChance>),
    /// That a percentile of the latency is at most this.
    Target { percentile: f64, latency_ns: u64 },
}

/// From when on to boost for a request. It may be slow for what the loop did before it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Arrival,
    /// Or for as long before that as it takes, as far as the loop did not sleep.
    Before,
    /// Or since the loop slept.
    Backlog,
}

impl Since {
    const ALL: [Self; 3] = [Self::Arrival, Self::Before, Self::Backlog];

    fn of(self, one: &AtBase) -> Ns {
        match self {
            Self::Arrival => one.came_ns,
            Self::Before => one
                .busy_since_ns
                .max(one.came_ns.saturating_sub(one.latency_ns)),
            Self::Backlog => one.busy_since_ns,
        }
    }
}

/// How likely requests of a type are to be in the tail at base speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeChance {
    /// By number, of [`Components::routes`].
    pub route: u32,
    pub requests: u64,
    pub in_tail: u64,
    /// The scheme boosts for it.
    pub is_boosted: bool,
}

impl TypeChance {
    /// The probability of being in the tail.
    pub fn chance(&self) -> f64 {
        self.in_tail as f64 / self.requests.max(1) as f64
    }
}

impl Ahead {
    /// Of a scenario with a scheme.
    pub(crate) fn of(models: &[Model], scenario: &Scenario, components: &Components) -> Self {
        let Some(Drive { scheme, .. }) = &scenario.drive else {
            return Self::none();
        };
        let base = || {
            let each = models.iter();
            let each = each.map(|model| at_base_speed(model, scenario, components));
            each.collect::<Vec<_>>()
        };
        let (base, aim) = match *scheme {
            Scheme::Policy(_) => return Self::none(),
            Scheme::Oracle { tail, energy } => {
                let base = base();
                let from_ns = tail_ns(models, &base, tail.unwrap_or(TAIL));
                let ahead = Self {
                    base,
                    aim: Some(Aim::Slow {
                        from_ns,
                        since: Since::Arrival,
                    }),
                };
                return match energy {
                    Some(budget) => {
                        let tails = tail.into_iter().chain(TAILS_WITHIN);
                        let tails = tails.map(|wished| supported(models, wished)).collect();
                        ahead.within(budget, tails, models, scenario, components)
                    }
                    None => ahead,
                };
            }
            Scheme::Adrenaline { tail, types } => {
                let base = base();
                let types = types_of(models, &base, tail, types);
                (base, Aim::Types(types))
            }
            Scheme::Rubik { target_ns, tail } => {
                let percentile = supported(models, tail);
                let reached = || of_gc_boost(models, scenario, components, percentile);
                let latency_ns = target_ns.unwrap_or_else(reached);
                let target = Aim::Target {
                    percentile,
                    latency_ns,
                };
                (Vec::new(), target)
            }
        };
        Self {
            base,
            aim: Some(aim),
        }
    }

    /// For so many requests, slowest first, as the first of these percentiles comes out shortest
    /// with, of those numbers that there is energy for, each request boosted since when it does so
    /// too.
    fn within(
        mut self,
        budget: f64,
        percentiles: Vec<f64>,
        models: &[Model],
        scenario: &Scenario,
        components: &Components,
    ) -> Self {
        let mut best: Option<(Reached, Option<Aim>)> = None;
        let slowest = self.slowest(models);
        for since in Since::ALL {
            let mut is_within = |count: usize| {
                let from_ns = count.checked_sub(1).map_or(u64::MAX, |last| slowest[last]);
                self.aim = Some(Aim::Slow { from_ns, since });
                let mut ledger = Ledger::default();
                let loops = replay_ahead(models, scenario, components, &self);
                loops.iter().for_each(|one| ledger.add(&one.ledger));
                let is_within = ledger.relative_energy() <= budget;
                let reached = Reached::of(loops, &percentiles);
                // Of equals the first, which boosts least.
                if is_within && best.as_ref().is_none_or(|best| reached < best.0) {
                    best = Some((reached, self.aim.clone()));
                }
                is_within
            };
            try_counts(slowest.len(), &mut is_within);
        }
        self.aim = best.and_then(|one| one.1);
        self
    }

    /// Latencies at base speed, longest first. Who is in no percentile, since the host disturbed
    /// it, is not worth energy.
    fn slowest(&self, models: &[Model]) -> Vec<u64> {
        let counted = models.iter().zip(&self.base).flat_map(|(model, base)| {
            let counts = model.requests.iter().map(|one| one.counts);
            base.iter().zip(counts).filter(|one| one.1)
        });
        let mut slowest: Vec<u64> = counted.map(|(one, _)| one.latency_ns).collect();
        slowest.sort_unstable_by(|a, b| b.cmp(a));
        slowest.dedup();
        slowest
    }

    fn none() -> Self {
        Self {
            base: Vec::new(),
            aim: None,
        }
    }

    /// What it aims at; none for policies that run live too.
    pub(crate) fn aim(self) -> Option<Aim> {
        self.aim
    }

    /// Who follows the requests of a loop, by the loop's number; nobody for policies that run live.
    pub(crate) fn follower(
        &self,
        number: usize,
        model: &Model,
        drive: &Drive,
    ) -> Option<Box<dyn Follower>> {
        let base = || self.base[number].iter();
        match self.aim.as_ref()? {
            Aim::Slow { from_ns, since } => {
                let marked = base().zip(&model.requests).map(|(one, request)| {
                    (since.of(one), request.counts && one.latency_ns >= *from_ns)
                });
                Some(Box::new(Foresight::of(marked, Sees::Work)))
            }
            Aim::Types(types) => {
                let is_boosted =
                    |route: u32| types.iter().any(|one| one.route == route && one.is_boosted);
                let routes = model.requests.iter().map(|one| is_boosted(one.route));
                let marked = base().map(|one| one.came_ns).zip(routes);
                Some(Box::new(Foresight::of(marked, Sees::Requests)))
            }
            &Aim::Target {
                percentile,
                latency_ns,
            } => {
                let counts = model.requests.iter().map(|one| one.counts).collect();
                let rubik = Rubik::new(counts, latency_ns, percentile, &drive.lever);
                Some(Box::new(rubik))
            }
        }
    }
}

/// Tries none, then ever twice as many, up to the first number that is beyond the budget, and then
/// between that and the one before: more of them take more of it, but for a boost here and there
/// that makes others shorter, and hardly ever less of the tail. The same numbers for every budget
/// as far as it reaches, so that more energy hardly ever looks worse.
fn try_counts(all: usize, is_within: &mut impl FnMut(usize) -> bool) {
    let (mut within, mut beyond) = (0, 1);
    if !is_within(0) {
        return;
    }
    while beyond <= all && is_within(beyond) {
        (within, beyond) = (beyond, beyond * 2);
    }
    beyond = beyond.min(all + 1);
    for _ in 0..REFINEMENTS {
        if beyond - within <= 1 {
            break;
        }
        let middle = usize::midpoint(within, beyond);
        match is_within(middle) {
            true => within = middle,
            false => beyond = middle,
        }
    }
}

/// What an oracle's boosts reach, shortest tail first: a latency counts as much as the next
/// percentile where two are as good as the same.
#[derive(PartialEq, PartialOrd)]
struct Reached {
    /// Of each percentile, as a power.
    about: Vec<i64>,
    ns: Vec<u64>,
}

impl Reached {
    fn of(loops: Vec<Replayed>, percentiles: &[f64]) -> Self {
        let latencies = loops.into_iter().flat_map(|one| one.latencies_ns);
        let mut latencies: Vec<u64> = latencies.collect();
        latencies.sort_unstable();
        let of = |percentile: &f64| {
            let rank = rank(latencies.len() as u64, *percentile);
            let last = (rank as usize).checked_sub(1);
            last.map_or(0, |last| latencies[last])
        };
        let ns: Vec<u64> = percentiles.iter().map(of).collect();
        let power = |ns: &u64| (libm::log((*ns).max(1) as f64) / ALIKE) as i64;
        let about = ns.iter().map(power).collect();
        Self { about, ns }
    }
}

/// The latency at which the tail of what counts begins.
fn tail_ns(models: &[Model], base: &[Vec<AtBase>], tail: f64) -> u64 {
    let requests = models.iter().flat_map(|one| &one.requests);
    let counted = requests.zip(base.iter().flatten());
    let counted = counted.filter(|(request, _)| request.counts);
    percentile_ns(counted.map(|(_, base)| base.latency_ns).collect(), tail).unwrap_or(u64::MAX)
}

/// Types by how likely they are to be in the tail; so many of them are boosted.
fn types_of(models: &[Model], base: &[Vec<AtBase>], tail: f64, types: u32) -> Vec<TypeChance> {
    let tail_ns = tail_ns(models, base, tail);
    let mut by_route: BTreeMap<u32, TypeChance> = BTreeMap::new();
    let requests = models.iter().flat_map(|one| &one.requests);
    let counted = requests.zip(base.iter().flatten());
    for (request, one_at_base) in counted.filter(|(request, _)| request.counts) {
        let one = by_route.entry(request.route).or_insert(TypeChance {
            route: request.route,
            requests: 0,
            in_tail: 0,
            is_boosted: false,
        });
        one.requests += 1;
        one.in_tail += u64::from(one_at_base.latency_ns >= tail_ns);
    }
    let mut all: Vec<TypeChance> = by_route.into_values().collect();
    let chance = TypeChance::chance;
    all.sort_by(|a, b| chance(b).total_cmp(&chance(a)).then(a.route.cmp(&b.route)));
    let likely = all.iter_mut().filter(|one| one.in_tail > 0);
    let boosted = likely.take(types as usize);
    boosted.for_each(|one| one.is_boosted = true);
    all
}

/// The percentile, or the highest below it that enough requests lie beyond; of too few for any
/// it stays.
fn supported(models: &[Model], wished: f64) -> f64 {
    let count = models.iter().map(|one| one.counted().count() as u64).sum();
    let lower = PERCENTILES.into_iter().filter(|one| *one < wished);
    let beyond = |percentile: f64| (count - rank(count, percentile)) as f64;
    let mut all = [wished].into_iter().chain(lower);
    all.find(|one| beyond(*one) >= REQUESTS_BEYOND)
        .unwrap_or(wished)
}

/// A percentile of the requests of all loops.
fn reached_ns(loops: Vec<Replayed>, percentile: f64) -> u64 {
    let latencies = loops.into_iter().flat_map(|one| one.latencies_ns);
    percentile_ns(latencies.collect(), percentile).unwrap_or(0)
}

/// What GC-Boost with its own settings reaches at the same lever.
fn of_gc_boost(
    models: &[Model],
    scenario: &Scenario,
    components: &Components,
    percentile: f64,
) -> u64 {
    let mut scenario = scenario.clone();
    if let Some(drive) = &mut scenario.drive {
        drive.scheme = Scheme::Policy(Policy::GcBoost(GcBoost::default()));
    }
    let replayed = replay_all(models, &scenario, components);
    reached_ns(replayed.loops, percentile).next_multiple_of(TARGET_UNIT_NS)
}
