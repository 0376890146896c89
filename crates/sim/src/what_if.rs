//! The answer: what each scenario would bring, side by side, and where it would be worth most.
//!
//! The replay without a change is checked against the recording first. When it is off, the
//! predictions would be too, by nobody knows how much, so there are none.

use std::collections::BTreeMap;

use bobtail_breakdown::Latencies;
use serde::Serialize;
use thiserror::Error;

use crate::ahead::Aim;
use crate::components::Components;
use crate::coverage::Coverage;
use crate::frontier::Frontier;
use crate::ledger::Ledger;
use crate::model::Model;
use crate::notes::{UNUSED_POOL, growing_under, of_recording};
use crate::overload::growth;
use crate::policy_outcome::PolicyOutcome;
use crate::prediction::{Baseline, Predicted, Sample};
use crate::replay::{UNANSWERED, replay_all};
use crate::scenario::Scenario;
use crate::scheme::Drive;
use crate::sensitivity::{Sensitivity, Untried, candidates};
use crate::shedding::Closed;

/// A percentile of the replay without a change may be so far from the recorded one.
const OFF_AT_MOST: f64 = 0.02;
/// The loop, or the pool, never catches up from here on.
const SATURATED: f64 = 1.0;
/// The name of the replay without a change.
const UNCHANGED: &str = "unchanged";

/// Why nothing is predicted.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum WhatIfError {
    #[error(
        "the replay without a change is {percent:.1} % off the recorded p{percentile}, so it would \
         predict nothing of worth; what it lacks is described in docs/guide/what-if.md"
    )]
    Off { percentile: f64, percent: f64 },
    #[error("{requests} requests after warm-up are too few for any percentile: record for longer")]
    TooFew { requests: u64 },
    #[error(
        "{requests} requests are never answered under `{scenario}`: a fault of the replay, so it \
         predicts nothing; please report it, if you can with the recording"
    )]
    Unanswered { scenario: String, requests: u64 },
}

/// The whole answer, but for what only the reader of the recording knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf {
    pub requests: u64,
    /// The percentile that was asked for, and those that are told, highest first.
    pub asked: f64,
    pub percentiles: Vec<f64>,
    pub fidelity: Fidelity,
    /// The replay without a change.
    pub unchanged: Outcome,
    pub scenarios: Vec<Outcome>,
    /// Of the scenarios that differ in nothing but a policy; none without one.
    pub frontier: Option<Frontier>,
    /// Best first.
    pub sensitivity: Vec<Sensitivity>,
    pub notes: Vec<String>,
}

/// How near the replay without a change is to the recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fidelity {
    pub events: u64,
    pub recorded_ns: BTreeMap<String, u64>,
    /// By how much each percentile is off: 0.01 is 1 % too long.
    pub off: BTreeMap<String, f64>,
    /// Requests of which a hop was deduced.
    pub inferred_requests: u64,
    /// Requests that waited for their client.
    pub client_requests: u64,
    /// Threads of the pool, by what they did; null where nothing used it.
    pub pool_threads: Option<u32>,
    /// Requests of which a part of the history was lost, of `of_requests` that were answered.
    pub truncated_requests: u64,
    pub of_requests: u64,
    /// Records that were lost with events, and the time of which they were.
    pub losses: u64,
    pub lost_ns: u64,
}

/// What comes of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// As it was written.
    pub name: String,
    pub saturated: Option<Saturated>,
    /// Work by the time there is for it, of the busiest loop and the busiest pool.
    pub loop_use: f64,
    pub pool_use: f64,
    /// What a policy did in it, where there is one.
    pub policy: Option<PolicyOutcome>,
    /// Who was turned away, where requests are.
    pub shed: Option<Shed>,
    /// Of who was served. None when saturated: the latency would grow as long as the load lasts.
    pub percentiles: Vec<Predicted>,
    /// Likewise, as `[latency in ns, requests]` in buckets of three digits; where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latencies: Option<Vec<(u64, u64)>>,
}

/// What an answer is to tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Telling {
    /// The percentile at which the tail begins.
    pub tail: f64,
    /// Distributions of latencies: those of several recordings can be added up.
    pub latencies: bool,
}

/// Requests that were turned away.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shed {
    pub requests: u64,
    /// Of all.
    pub share: f64,
    /// How often nobody was let in, and for how long at most.
    pub times: u64,
    pub longest_ns: u64,
}

/// What has more work than time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Saturated {
    Loop,
    Pool,
}

/// Replays every scenario, by name, and ranks the components; `coverage` is that of the recording.
///
/// # Errors
///
/// Where too few requests are left for any percentile, where the replay without a change is off,
/// and where a request is never answered in a replay.
pub fn what_if(
    models: &[Model],
    coverage: &Coverage,
    components: &Components,
    scenarios: &[(String, Scenario)],
    telling: Telling,
) -> Result<WhatIf, WhatIfError> {
    let recorded: Vec<u64> = models.iter().flat_map(Model::recorded_ns).collect();
    let arrivals: Vec<u64> = models.iter().flat_map(Model::arrivals_ns).collect();
    let sample = Sample::of(&arrivals, &recorded, telling.tail);
    let requests = recorded.len() as u64;
    if sample.percentiles.is_empty() {
        return Err(WhatIfError::TooFew { requests });
    }
    let asking = Asking {
        models,
        coverage,
        components,
        sample: &sample,
        latencies: telling.latencies,
    };
    let before = asking.answered(UNCHANGED, &Scenario::unchanged())?;
    let unchanged = sample.baseline(&before.latencies_ns);
    let fidelity = asking.fidelity(&sample.baseline(&recorded), &unchanged);
    refuse_if_off(&fidelity, &sample.percentiles)?;
    let mut growing = Vec::new();
    let outcomes = scenarios.iter().map(|(name, scenario)| {
        let replayed = asking.answered(name, scenario)?;
        let mut outcome = asking.outcome(name.clone(), &replayed, &unchanged);
        if outcome.saturated.is_none() {
            growing.extend(growing_under(name, replayed.served_latencies(&arrivals)));
        }
        let policy = |drive| asking.policy(drive, &replayed, outcome.saturated);
        let policy = scenario.drive.as_ref().map(policy);
        outcome.policy = policy;
        outcome.shed = scenario.shedding.map(|_| Shed::of(&replayed));
        Ok(outcome)
    });
    let outcomes: Vec<Outcome> = outcomes.collect::<Result<_, WhatIfError>>()?;
    let unchanged_outcome = asking.outcome(UNCHANGED.to_owned(), &before, &unchanged);
    let grown = growth(&arrivals, &recorded);
    let (sensitivity, untried) = asking.sensitivity(&unchanged)?;
    let mut notes = of_recording(&fidelity, requests, grown);
    notes.extend(growing.into_iter().filter(|_| grown.is_none()));
    notes.splice(0..0, sample.untold(telling.tail, requests));
    notes.extend(untried.note());
    notes.extend(coverage.note());
    if fidelity.pool_threads.is_none() && scenarios.iter().any(|(_, one)| one.pool.is_some()) {
        notes.push(UNUSED_POOL.to_owned());
    }
    Ok(WhatIf {
        requests,
        asked: telling.tail,
        percentiles: sample.percentiles.clone(),
        notes,
        frontier: Frontier::of(&unchanged_outcome, &outcomes, scenarios),
        scenarios: outcomes,
        sensitivity,
        unchanged: unchanged_outcome,
        fidelity,
    })
}

/// What is not as it was without a change says nothing of one.
fn refuse_if_off(fidelity: &Fidelity, percentiles: &[f64]) -> Result<(), WhatIfError> {
    for &percentile in percentiles {
        let off = fidelity.off[&percentile.to_string()];
        if off.abs() > OFF_AT_MOST {
            let percent = off * 100.0;
            return Err(WhatIfError::Off {
                percentile,
                percent,
            });
        }
    }
    Ok(())
}

struct Asking<'a> {
    models: &'a [Model],
    coverage: &'a Coverage,
    components: &'a Components,
    sample: &'a Sample,
    latencies: bool,
}

/// What came of all loops of a recording.
struct Sum {
    latencies_ns: Vec<u64>,
    /// Which of them are none, where requests are turned away.
    turned_away: Vec<bool>,
    closed: Vec<Closed>,
    loop_use: f64,
    pool_use: f64,
    ledger: Ledger,
    aim: Option<Aim>,
}

impl Sum {
    /// Whether a request was served, by its place.
    fn served(&self) -> impl Fn(usize) -> bool + '_ {
        |at| !self.turned_away.get(at).is_some_and(|away| *away)
    }

    /// When those came, and their latencies.
    fn served_latencies(&self, arrivals_ns: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let served = self.served();
        let each = arrivals_ns.iter().zip(&self.latencies_ns).enumerate();
        each.filter(|(at, _)| served(*at))
            .map(|(_, (at_ns, ns))| (*at_ns, *ns))
            .unzip()
    }

    /// Latencies of those, and how many had each.
    fn buckets(&self) -> Vec<(u64, u64)> {
        let served = self.served();
        let mut latencies = Latencies::new();
        let each = self.latencies_ns.iter().enumerate();
        each.filter(|(at, _)| served(*at))
            .for_each(|(_, &ns)| latencies.add(ns));
        latencies.buckets().collect()
    }
}

impl Shed {
    fn of(replayed: &Sum) -> Self {
        let away = replayed.turned_away.iter().filter(|away| **away);
        let requests = away.count() as u64;
        let closed = replayed.closed.iter();
        let lasted_ns = closed.map(|one| one.to_ns - one.from_ns);
        Self {
            requests,
            share: requests as f64 / replayed.latencies_ns.len().max(1) as f64,
            times: replayed.closed.len() as u64,
            longest_ns: lasted_ns.max().unwrap_or(0),
        }
    }
}

impl Asking<'_> {
    fn replayed(&self, scenario: &Scenario) -> Sum {
        let replayed = replay_all(self.models, scenario, self.components);
        let mut all = Sum {
            latencies_ns: Vec::new(),
            turned_away: Vec::new(),
            closed: Vec::new(),
            loop_use: 0.0,
            pool_use: 0.0,
            ledger: Ledger::default(),
            aim: replayed.aim,
        };
        for one in replayed.loops {
            all.latencies_ns.extend(one.latencies_ns);
            all.turned_away.extend(one.turned_away);
            all.closed.extend(one.closed);
            all.loop_use = all.loop_use.max(one.loop_use);
            all.pool_use = all.pool_use.max(one.pool_use);
            all.ledger.add(&one.ledger);
        }
        all
    }

    /// The same, if everybody got an answer, or was turned away.
    fn answered(&self, name: &str, scenario: &Scenario) -> Result<Sum, WhatIfError> {
        let replayed = self.replayed(scenario);
        let requests = {
            let served = replayed.served();
            let latencies = replayed.latencies_ns.iter().enumerate();
            let never = latencies.filter(|(at, ns)| **ns == UNANSWERED && served(*at));
            never.count() as u64
        };
        if requests > 0 {
            let scenario = name.to_owned();
            return Err(WhatIfError::Unanswered { scenario, requests });
        }
        Ok(replayed)
    }

    fn policy(&self, drive: &Drive, replayed: &Sum, saturated: Option<Saturated>) -> PolicyOutcome {
        let aim = replayed.aim.as_ref();
        let latencies_ns = saturated.is_none().then_some(&replayed.latencies_ns[..]);
        PolicyOutcome::of(drive, &replayed.ledger, aim, latencies_ns, self.components)
    }

    fn outcome(&self, name: String, replayed: &Sum, unchanged: &Baseline) -> Outcome {
        let saturated = match replayed {
            one if one.loop_use >= SATURATED && name != UNCHANGED => Some(Saturated::Loop),
            one if one.pool_use >= SATURATED && name != UNCHANGED => Some(Saturated::Pool),
            _ => None,
        };
        let percentiles = match saturated {
            Some(_) => Vec::new(),
            None => {
                let served = replayed.served();
                let changed = self.sample.sorted_served(&replayed.latencies_ns, served);
                self.sample.predict(unchanged, &changed)
            }
        };
        let is_told = self.latencies && saturated.is_none();
        Outcome {
            name,
            saturated,
            loop_use: replayed.loop_use,
            pool_use: replayed.pool_use,
            policy: None,
            shed: None,
            percentiles,
            latencies: is_told.then(|| replayed.buckets()),
        }
    }

    fn fidelity(&self, recorded: &Baseline, unchanged: &Baseline) -> Fidelity {
        let sum = |of: fn(&Model) -> u64| self.models.iter().map(of).sum();
        let told = self.sample.predict(recorded, unchanged.latencies());
        let recorded = self.sample.predict(recorded, recorded.latencies());
        let key = |one: &Predicted| one.percentile.to_string();
        let with_jobs = self.models.iter().filter(|one| one.pool_jobs() > 0);
        Fidelity {
            events: sum(|one| one.events() as u64),
            recorded_ns: recorded
                .iter()
                .map(|one| (key(one), one.latency_ns))
                .collect(),
            off: told.iter().map(|one| (key(one), one.change)).collect(),
            inferred_requests: sum(Model::inferred),
            client_requests: sum(Model::client_waits),
            pool_threads: with_jobs.map(Model::pool_threads).max(),
            truncated_requests: self.coverage.truncated,
            of_requests: self.coverage.requests,
            losses: self.coverage.losses,
            lost_ns: self.coverage.lost_ns,
        }
    }

    fn sensitivity(
        &self,
        unchanged: &Baseline,
    ) -> Result<(Vec<Sensitivity>, Untried), WhatIfError> {
        let (candidates, untried) = candidates(self.models, self.components);
        let each = candidates.into_iter().map(|one| {
            let replayed = self.answered(&one.component, &one.scenario)?;
            let changed = self.sample.sorted(&replayed.latencies_ns);
            let (gain_ns, gain_interval_ns) = self.sample.gain_ns(unchanged, &changed);
            Ok(Sensitivity {
                component: one.component,
                total_ns: one.total_ns,
                gain_ns,
                gain_interval_ns,
            })
        });
        let mut all: Vec<Sensitivity> = each.collect::<Result<_, WhatIfError>>()?;
        all.sort_by(|a, b| {
            b.gain_ns
                .cmp(&a.gain_ns)
                .then(a.component.cmp(&b.component))
        });
        Ok((all, untried))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;
    use crate::model::Action;

    /// Of 40 requests of 5 ms.
    fn model(components: &mut Components) -> Model {
        let request = |n: u32| {
            let (at, id) = (10 * n, n + 1);
            format!(
                "open {id} server
                 {at}ms begin read handle={id} ready={at}ms
                        source {id} \"/x\"
                 {end}ms sink {id} 200
                        end
                        poll for=5ms\n",
                end = at + 5,
            )
        };
        let drawn = bobtail_testkit::draw(&(0..40).map(request).collect::<String>());
        let mut capture = Capture::new(None);
        drawn.records.iter().for_each(|one| capture.push(*one));
        let log = capture.finish().expect("it can be replayed");
        let name = |id| Some(drawn.text(id));
        Model::of(&log, name, components).expect("requests")
    }

    #[test]
    fn a_replay_that_is_off_without_a_change_predicts_nothing() {
        let answer = |longer: u64| {
            let mut components = Components::new();
            let mut model = model(&mut components);
            for request in &mut model.requests {
                request.latency_ns += request.latency_ns * longer / 1_000;
            }
            let telling = Telling {
                tail: 99.9,
                latencies: false,
            };
            what_if(&[model], &Coverage::default(), &components, &[], telling)
        };
        let told = answer(19).expect("less than 2 % is near enough");
        assert!((told.fidelity.off["50"] + 0.019).abs() < 0.001);
        let refused = answer(50).expect_err("5 % is not").to_string();
        let expected = "the replay without a change is -4.8 % off the recorded p";
        assert!(refused.starts_with(expected), "{refused}");
    }

    #[test]
    fn a_replay_in_which_an_answer_never_comes_predicts_nothing() {
        let mut components = Components::new();
        let mut model = model(&mut components);
        let answers = model.steps.iter_mut();
        let mut answers = answers.filter(|step| matches!(step.action, Action::Sink(_)));
        answers.nth(20).expect("a 21st").action = Action::None;
        let telling = Telling {
            tail: 99.9,
            latencies: false,
        };
        let told = what_if(&[model], &Coverage::default(), &components, &[], telling);
        let scenario = UNCHANGED.to_owned();
        let requests = 1;
        assert_eq!(told, Err(WhatIfError::Unanswered { scenario, requests }));
    }
}
