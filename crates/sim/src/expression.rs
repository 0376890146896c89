//! The language of changes: `gc=0.7`, `route:/export.exec=0.5,pool=8`.
//!
//! A misspelt component that changed nothing would give the answer "this brings nothing", so every
//! name must be known, and an error says where it is and what is nearest.

use std::ops::RangeInclusive;

use bobtail_policy::parse_duration_ns;

use crate::components::Components;
use crate::expression_error::{ExpressionError, SUGGESTED, nearest_of};
use crate::scenario::{Scenario, WorkFactors};
use crate::scheme::{Drive, ReplayedLever, Scheme};
use crate::shedding::{self, Shedding};

use names::{all_names, misnamed, policies};

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
const POLICY: &str = "policy=";
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
/// Latencies of levers that are taken.
const LATENCIES_NS: RangeInclusive<u64> = 0..=1_000_000_000;
const ROUTE: &str = "route:";
const RESOURCE: &str = "resource:";
const OF_ROUTE: [&str; 5] = ["exec", "native", "gc", "jit", "ic"];

/// Reads the changes of one scenario, with commas between them.
pub fn parse(text: &str, components: &Components) -> Result<Scenario, ExpressionError> {
    let mut scenario = Scenario::unchanged();
    let mut seen: Vec<String> = Vec::new();
    let mut lever = ReplayedLever::default();
    let (mut budget, mut look_ns) = (Some(BUDGET_DEFAULT), LOOK_DEFAULT_NS);
    let policy_from = policy_from(text);
    let (plain, policy) = text.split_at(policy_from.unwrap_or(text.len()));
    let plain = match policy_from {
        Some(0) => None,
        // Without the comma before the policy.
        Some(_) => Some(plain.trim_end().trim_end_matches(',')),
        None => Some(plain),
    };
    for (from, change) in plain.into_iter().flat_map(changes) {
        let parse = Change::of(text, from, change).map_err(|error| misnamed(error, components))?;
        if seen.contains(&parse.name.to_owned()) {
            return Err(ExpressionError::Twice {
                text: text.to_owned(),
                at: parse.name_at,
                name: parse.name.to_owned(),
            });
        }
        seen.push(parse.name.to_owned());
        match parse.name {
            LATENCY => lever.latency_ns = parse.latency_ns(policy_from.is_some())?,
            DOMAIN => lever.is_shared = parse.is_shared(policy_from.is_some())?,
            BUDGET => budget = parse.budget(policy_from.is_some())?,
            LOOK => look_ns = parse.look_ns(policy_from.is_some())?,
            _ => parse.apply(&mut scenario, components)?,
        }
    }
    if let Some(from) = policy_from {
        let policy = &policy[POLICY.len()..];
        let from = from + policy.len() - policy.trim_start().len();
        let policy = policy.trim();
        let (name, settings) = policy.split_once(':').unwrap_or((policy, ""));
        if name == shedding::NAME {
            // It moves no lever, so what is said of one says nothing to it.
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

/// Where the policy begins, which is the last of the changes.
pub(crate) fn policy_from(text: &str) -> Option<usize> {
    let begins = |at: &usize| {
        let before = text[..*at].trim_end();
        before.is_empty() || before.ends_with(',')
    };
    text.match_indices(POLICY).map(|(at, _)| at).find(begins)
}

fn scheme(text: &str, from: usize, policy: &str) -> Result<Scheme, ExpressionError> {
    Scheme::parse(policy).map_err(|error| {
        if !error.is_unknown {
            return of_policy(text, from, (error.at, error.problem));
        }
        let name = policy.split(':').next().unwrap_or("");
        if let Some((first, rest)) = name.split_once(',') {
            let problem = format!("a policy comes last: write {rest},{POLICY}{first}");
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

/// The position in the whole text of a byte of the policy.
fn policy_at(text: &str, from: usize, byte: usize) -> usize {
    text[..from + POLICY.len() + byte].chars().count() + 1
}

/// The changes with the bytes at which they begin. Names of routes and resources have commas of
/// their own, so only one before something that begins a change separates two.
fn changes(text: &str) -> Vec<(usize, &str)> {
    let begins_change = |rest: &str| {
        let rest = rest.trim_start();
        let name = rest.split('=').next().unwrap_or("").trim();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_plain = name.len() < rest.len() && name.chars().all(is_word);
        rest.is_empty() || rest.starts_with(ROUTE) || rest.starts_with(RESOURCE) || is_plain
    };
    let ends_change = |before: &str| {
        let Some((name, value)) = before.rsplit_once('=') else {
            return false;
        };
        let (name, value) = (name.trim_start(), value.trim());
        let is_named = name.starts_with(ROUTE) || name.starts_with(RESOURCE);
        !is_named || !value.contains(['/', '.']) || value.parse::<f64>().is_ok()
    };
    let commas = text.match_indices(',').map(|(at, _)| at);
    let mut start = 0;
    let cuts = commas.filter(|at| {
        let cuts = begins_change(&text[at + 1..]) && ends_change(&text[start..*at]);
        if cuts {
            start = at + 1;
        }
        cuts
    });
    let cuts: Vec<usize> = cuts.collect();
    let mut from = 0;
    let mut all = Vec::new();
    for cut in cuts.into_iter().chain([text.len()]) {
        all.push((from, &text[from..cut]));
        from = cut + 1;
    }
    all
}

/// One change, not understood yet.
struct Change<'t> {
    text: &'t str,
    name: &'t str,
    name_at: usize,
    value: &'t str,
    value_at: usize,
}

impl<'t> Change<'t> {
    fn of(text: &'t str, from: usize, change: &'t str) -> Result<Self, ExpressionError> {
        let at = |byte: usize| text[..byte].chars().count() + 1;
        let indent = change.len() - change.trim_start().len();
        let name_at = at(from + indent);
        let Some((name, value)) = change.rsplit_once('=') else {
            let change = change.trim().to_owned();
            let text = text.to_owned();
            return Err(if change.is_empty() {
                ExpressionError::Empty { text, at: name_at }
            } else {
                ExpressionError::NoValue {
                    text,
                    at: name_at,
                    change,
                }
            });
        };
        let value_from = from + name.len() + 1;
        let value_indent = value.len() - value.trim_start().len();
        Ok(Self {
            text,
            name: name.trim(),
            name_at,
            value: value.trim(),
            value_at: at(value_from + value_indent),
        })
    }

    fn apply(
        &self,
        scenario: &mut Scenario,
        components: &Components,
    ) -> Result<(), ExpressionError> {
        if self.name == POOL {
            let threads = self.number(&THREADS, "a number of threads from 1 to 1024")?;
            if threads.fract() != 0.0 {
                return Err(self.bad_value("a whole number of threads"));
            }
            scenario.pool = Some(threads as u32);
            return Ok(());
        }
        if self.name == "rate" {
            scenario.rate = self.number(&RATES, "a factor of load from 0.01 to 100")?;
            return Ok(());
        }
        if let Some(rest) = self.name.strip_prefix(ROUTE) {
            return self.of_route(rest, scenario, components);
        }
        if let Some(rest) = self.name.strip_prefix(RESOURCE) {
            return self.of_resource(rest, scenario, components);
        }
        let known = NAMES.contains(&self.name);
        if !known {
            return Err(self.unknown(self.name, &all_names(components)));
        }
        let factor = self.factor()?;
        match self.name {
            "io" => scenario.io = factor,
            "not-running" => scenario.work.not_running = factor,
            class => multiply(&mut scenario.work, class, factor),
        }
        Ok(())
    }

    fn of_route(
        &self,
        rest: &str,
        scenario: &mut Scenario,
        components: &Components,
    ) -> Result<(), ExpressionError> {
        let (name, class) = match rest.rsplit_once('.') {
            Some((name, class)) if OF_ROUTE.contains(&class) => (name, class),
            _ => (rest, "exec"),
        };
        let routes = components.routes();
        let is_path = |route: &str| route.split_once(' ').is_some_and(|(_, path)| path == name);
        let numbered = || routes.iter().enumerate().skip(1);
        let mut found: Vec<u32> = numbered()
            .filter(|(_, route)| *route == name)
            .map(|(number, _)| number as u32)
            .collect();
        if found.is_empty() {
            // The same path with several methods is one name.
            let of_path = numbered().filter(|(_, route)| is_path(route));
            found = of_path.map(|(number, _)| number as u32).collect();
        }
        if found.is_empty() {
            let all: Vec<String> = routes[1..]
                .iter()
                .map(|one| format!("{ROUTE}{one}"))
                .collect();
            return Err(self.unknown(name, &all));
        }
        let factor = self.factor()?;
        for route in found {
            multiply(scenario.of_route(route), class, factor);
        }
        Ok(())
    }

    fn of_resource(
        &self,
        rest: &str,
        scenario: &mut Scenario,
        components: &Components,
    ) -> Result<(), ExpressionError> {
        let resources = components.resources();
        let exactly = |name: &str| resources[1..].iter().position(|one| one == name);
        let short = rest.strip_suffix(".io").unwrap_or(rest);
        let number = match exactly(rest).or_else(|| exactly(short)) {
            Some(at) => at as u32 + 1,
            None => self.resource_with(short, resources)?,
        };
        *scenario.of_resource(number) *= self.factor()?;
        Ok(())
    }

    /// The only resource in whose name this is.
    fn resource_with(&self, part: &str, resources: &[String]) -> Result<u32, ExpressionError> {
        let holds = |one: &(usize, &String)| !part.is_empty() && one.1.contains(part);
        let found: Vec<_> = resources.iter().enumerate().skip(1).filter(holds).collect();
        match found.as_slice() {
            [(number, _)] => Ok(*number as u32),
            [] => {
                let names = resources[1..].iter();
                let all: Vec<String> = names.map(|one| format!("{RESOURCE}{one}")).collect();
                Err(self.unknown(part, &all))
            }
            several => Err(ExpressionError::Ambiguous {
                text: self.text.to_owned(),
                at: self.name_at,
                name: part.to_owned(),
                candidates: several
                    .iter()
                    .take(SUGGESTED)
                    .map(|one| one.1.clone())
                    .collect(),
            }),
        }
    }

    /// What is of the lever of a policy takes one.
    fn takes_policy(&self, has_policy: bool) -> Result<(), ExpressionError> {
        if has_policy {
            return Ok(());
        }
        let name = self.name;
        Err(ExpressionError::Policy {
            text: self.text.to_owned(),
            at: self.name_at,
            problem: format!("`{name}` is of a policy, and there is no policy"),
            suggestions: Vec::new(),
        })
    }

    /// Whether all loops have one lever.
    fn is_shared(&self, has_policy: bool) -> Result<bool, ExpressionError> {
        self.takes_policy(has_policy)?;
        match self.value {
            SHARED => Ok(true),
            OWN => Ok(false),
            _ => Err(self.bad_value("shared or own")),
        }
    }

    /// What looking may cost, as a share; in per cent, as `boost --budget` has it.
    fn budget(&self, has_policy: bool) -> Result<Option<f64>, ExpressionError> {
        self.takes_policy(has_policy)?;
        if self.value == NONE {
            return Ok(None);
        }
        let wanted = "none, or per cent from above 0 to 100";
        Ok(Some(self.number(&BUDGETS, wanted)? / 100.0))
    }

    /// CPU time of a look.
    fn look_ns(&self, has_policy: bool) -> Result<u64, ExpressionError> {
        self.takes_policy(has_policy)?;
        self.duration_ns(&LOOKS_NS, "a duration from 100ns to 1ms")
    }

    /// Of the lever of a policy.
    fn latency_ns(&self, has_policy: bool) -> Result<u64, ExpressionError> {
        self.takes_policy(has_policy)?;
        self.duration_ns(&LATENCIES_NS, "a duration from 0ns to 1s")
    }

    fn duration_ns(
        &self,
        range: &RangeInclusive<u64>,
        wanted: &str,
    ) -> Result<u64, ExpressionError> {
        parse_duration_ns(self.value)
            .filter(|ns| range.contains(ns))
            .ok_or_else(|| self.bad_value(wanted))
    }

    fn factor(&self) -> Result<f64, ExpressionError> {
        self.number(&FACTORS, "a factor of time from 0 to 100")
    }

    fn number(&self, range: &RangeInclusive<f64>, wanted: &str) -> Result<f64, ExpressionError> {
        let number = self.value.parse::<f64>().ok();
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.bad_value(wanted))
    }

    fn bad_value(&self, wanted: &str) -> ExpressionError {
        ExpressionError::Value {
            text: self.text.to_owned(),
            at: self.value_at,
            value: self.value.to_owned(),
            wanted: wanted.to_owned(),
        }
    }

    fn unknown(&self, name: &str, all: &[String]) -> ExpressionError {
        ExpressionError::Unknown {
            text: self.text.to_owned(),
            at: self.name_at,
            name: name.to_owned(),
            suggestions: nearest_of(self.name, all),
        }
    }
}

fn multiply(work: &mut WorkFactors, class: &str, factor: f64) {
    let WorkFactors {
        native,
        gc,
        jit,
        ic,
        not_running: _,
    } = work;
    let changed: &mut [&mut f64] = match class {
        "native" => &mut [native],
        "gc" => &mut [gc],
        "jit" => &mut [jit],
        "ic" => &mut [ic],
        _ => &mut [native, gc, jit, ic],
    };
    changed.iter_mut().for_each(|one| **one *= factor);
}

mod names;
#[cfg(test)]
mod tests;
