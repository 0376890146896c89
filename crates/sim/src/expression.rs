//! The language of changes: `gc=0.7`, `route:/export.exec=0.5,pool=8`.
//!
//! A misspelt component that changed nothing would give the answer "this brings nothing", so every
//! name must be known, and an error says where it is and what is nearest.

use std::ops::RangeInclusive;

use crate::components::Components;
use crate::expression_error::{ExpressionError, nearest_of};
use crate::scenario::Scenario;
use crate::scheme::{Drive, ReplayedLever, Scheme};
use crate::shedding::{self, Shedding};

use change::Change;
use cut::{PolicyPlace, before_policy, changes};
use names::{misnamed, policies};

pub(crate) use cut::policy_place;

/// Factors of time that are taken.
const FACTORS: RangeInclusive<f64> = 0.0..=100.0;
/// Factors of load.
const RATES: RangeInclusive<f64> = 0.01..=100.0;
/// Threads of the pool: libuv takes no more.
const THREADS: RangeInclusive<f64> = 1.0..=1024.0;

const NAMES: [&str; 8] = [
    "native",
    "gc",
    "jit",
    "ic",
    "exec",
    "not-running",
    "io",
    "rate",
];
const POOL: &str = "pool";
/// Its text has commas and equal signs of its own, so it goes on to the end.
const POLICY: &str = "policy";
const LATENCY: &str = "latency";
const DOMAIN: &str = "domain";
const BUDGET: &str = "budget";
const LOOK: &str = "look";
/// Mostly waking up for it: 3 to 33 µs (`docs/design/acting.md`), the upper half of it in virtual
/// machines.
const LOOK_DEFAULT_NS: u64 = 15_000;
/// Of looks that are taken.
const LOOKS_NS: RangeInclusive<u64> = 100..=1_000_000;
/// As of `boost --budget`.
const BUDGET_DEFAULT: f64 = 0.01;
/// Per cent that are taken.
const BUDGETS: RangeInclusive<f64> = 0.001..=100.0;
const SHARED: &str = "shared";
const OWN: &str = "own";
const NONE: &str = "none";
/// Loops that have a lever together.
const LOOPS: RangeInclusive<u32> = 1..=1024;
/// Latencies of levers that are taken.
const LATENCIES_NS: RangeInclusive<u64> = 0..=1_000_000_000;
const ROUTE: &str = "route:";
const RESOURCE: &str = "resource:";
const OF_ROUTE: [&str; 5] = ["exec", "native", "gc", "jit", "ic"];

/// Reads the changes of one scenario, with commas between them.
///
/// # Errors
///
/// What is unknown, out of range or said twice, with its place in the text.
pub fn parse(text: &str, components: &Components) -> Result<Scenario, ExpressionError> {
    let mut scenario = Scenario::unchanged();
    let mut seen: Vec<String> = Vec::new();
    let mut lever = ReplayedLever::default();
    let (mut budget, mut look_ns) = (Some(BUDGET_DEFAULT), LOOK_DEFAULT_NS);
    let policy = policy_place(text);
    let driver = policy
        .as_ref()
        .map(|place| name_of(&text[place.value_from..]));
    for (from, change) in before_policy(text, policy).into_iter().flat_map(changes) {
        let parse = Change::of(text, from, change).map_err(|error| misnamed(error, components))?;
        let mut changed = vec![parse.name.to_owned()];
        match parse.name {
            LATENCY => lever.latency_ns = parse.latency_ns(driver)?,
            DOMAIN => lever.domain_loops = parse.domain_loops(driver)?,
            BUDGET => budget = parse.budget(driver)?,
            LOOK => look_ns = parse.look_ns(driver)?,
            _ => changed = parse.apply(&mut scenario, components)?,
        }
        if changed.iter().any(|one| seen.contains(one)) {
            return Err(parse.twice());
        }
        seen.extend(changed);
    }
    if let Some(PolicyPlace { value_from, .. }) = policy {
        let policy = &text[value_from..];
        let from = value_from + policy.len() - policy.trim_start().len();
        let policy = policy.trim();
        only_policy(text, from)?;
        let (name, settings) = policy.split_once(':').unwrap_or((policy, ""));
        if name == shedding::NAME {
            let own = Shedding::parse(settings);
            let own = own.map_err(|(at, problem)| (name.len() + 1 + at, problem));
            scenario.shedding = Some(own.map_err(|error| of_policy(text, from, error))?);
            return Ok(scenario);
        }
        let scheme = scheme(text, from, policy)?;
        scenario.drive = Some(Drive {
            scheme,
            lever,
            budget,
            look_ns,
        });
    }
    Ok(scenario)
}

/// The name of a policy with its settings.
fn name_of(policy: &str) -> &str {
    policy.split(':').next().unwrap_or("").trim()
}

/// That no second policy follows the one that begins at this byte.
fn only_policy(text: &str, from: usize) -> Result<(), ExpressionError> {
    let policy = &text[from..];
    let names = policies();
    let is_policy = |part: &str| {
        let part = part.trim_start();
        let name = part.split([':', '=', ',']).next().unwrap_or("").trim();
        names.iter().any(|one| one == name) || name == POLICY && part.contains('=')
    };
    let mut commas = policy.match_indices(',').map(|(at, _)| at);
    let Some(at) = commas.find(|at| is_policy(&policy[at + 1..])) else {
        return Ok(());
    };
    let problem = "a scenario has one policy: give each its own (--policy combined --policy \
                   deadline)";
    Err(of_policy(text, from, (at + 1, problem.to_owned())))
}

fn scheme(text: &str, from: usize, policy: &str) -> Result<Scheme, ExpressionError> {
    Scheme::parse(policy).map_err(|error| {
        if !error.is_unknown {
            return of_policy(text, from, (error.at, error.problem));
        }
        let name = name_of(policy);
        if let Some((first, rest)) = name.split_once(',') {
            let problem = format!("a policy comes last: write {rest},{POLICY}={first}");
            return of_policy(text, from, (first.len(), problem));
        }
        let suggestions = nearest_of(name, &policies());
        ExpressionError::Policy {
            text: text.to_owned(),
            at: policy_at(text, from, error.at),
            problem: format!("unknown policy `{name}`"),
            suggestions,
        }
    })
}

/// What is wrong with the settings of a policy, at a byte of it.
fn of_policy(text: &str, from: usize, (at, problem): (usize, String)) -> ExpressionError {
    ExpressionError::Policy {
        text: text.to_owned(),
        at: policy_at(text, from, at),
        problem,
        suggestions: Vec::new(),
    }
}

/// The position in the whole text of a byte of the policy, which begins at `from`.
fn policy_at(text: &str, from: usize, byte: usize) -> usize {
    text[..from + byte].chars().count() + 1
}

mod change;
mod cut;
mod names;
#[cfg(test)]
mod tests;
