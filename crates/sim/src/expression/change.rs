//! One change of an expression: which component it names, and by how much that changes.

use std::ops::RangeInclusive;

use bobtail_policy::parse_duration_ns;

use super::names::{all_names, example};
use super::{
    BUDGETS, FACTORS, LATENCIES_NS, LOOKS_NS, LOOPS, NAMES, NONE, OF_ROUTE, OWN, POOL, RATES,
    RESOURCE, ROUTE, SHARED, THREADS,
};
use crate::components::Components;
use crate::expression_error::{ExpressionError, SUGGESTED, nearest_of};
use crate::scenario::{Scenario, WorkFactors};
use crate::scheme::ALL_LOOPS;
use crate::shedding;

/// One change, not understood yet.
pub(super) struct Change<'t> {
    text: &'t str,
    pub(super) name: &'t str,
    name_at: usize,
    value: &'t str,
    value_at: usize,
}

impl<'t> Change<'t> {
    pub(super) fn of(text: &'t str, from: usize, change: &'t str) -> Result<Self, ExpressionError> {
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
                    example: example(&change),
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

    /// Changes what it says; what that is, whichever of its names was written.
    pub(super) fn apply(
        &self,
        scenario: &mut Scenario,
        components: &Components,
    ) -> Result<Vec<String>, ExpressionError> {
        if self.name == POOL {
            let threads = self.number(&THREADS, "a number of threads from 1 to 1024")?;
            if threads.fract() != 0.0 {
                return Err(self.bad_value("a whole number of threads"));
            }
            scenario.pool = Some(threads as u32);
            return Ok(vec![POOL.to_owned()]);
        }
        if self.name == "rate" {
            scenario.rate = self.number(&RATES, "a factor of load from 0.01 to 100")?;
            return Ok(vec![self.name.to_owned()]);
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
        Ok(vec![self.name.to_owned()])
    }

    fn of_route(
        &self,
        rest: &str,
        scenario: &mut Scenario,
        components: &Components,
    ) -> Result<Vec<String>, ExpressionError> {
        let (name, class) = match rest.rsplit_once('.') {
            Some((name, class)) if OF_ROUTE.contains(&class) => (name, class),
            _ => (rest, "exec"),
        };
        let routes = components.routes();
        let found = routes_named(name, routes);
        if found.is_empty() {
            if let Some((name, class)) = rest.rsplit_once('.')
                && NAMES.contains(&class)
                && !OF_ROUTE.contains(&class)
                && !routes_named(name, routes).is_empty()
            {
                return Err(self.bad_name("work of a route: exec, native, gc, jit or ic"));
            }
            let all: Vec<String> = routes[1..]
                .iter()
                .map(|one| format!("{ROUTE}{one}"))
                .collect();
            return Err(self.unknown(name, &all));
        }
        let factor = self.factor()?;
        for route in &found {
            multiply(scenario.of_route(*route), class, factor);
        }
        let each = found.iter().map(|route| format!("{ROUTE}{route}.{class}"));
        Ok(each.collect())
    }

    fn of_resource(
        &self,
        rest: &str,
        scenario: &mut Scenario,
        components: &Components,
    ) -> Result<Vec<String>, ExpressionError> {
        let resources = components.resources();
        let exactly = |name: &str| resources[1..].iter().position(|one| one == name);
        let short = rest.strip_suffix(".io").unwrap_or(rest);
        let number = match exactly(rest).or_else(|| exactly(short)) {
            Some(at) => at as u32 + 1,
            None => self.resource_with(short, resources)?,
        };
        *scenario.of_resource(number) *= self.factor()?;
        Ok(vec![format!("{RESOURCE}{number}")])
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

    /// What is said of a lever takes a policy that moves one.
    fn takes_lever(&self, policy: Option<&str>) -> Result<(), ExpressionError> {
        let name = self.name;
        let problem = match policy {
            None => format!("`{name}` is of a policy, and there is no policy"),
            Some(shedding::NAME) => {
                format!("`{name}` is of a lever, and {} moves none", shedding::NAME)
            }
            Some(_) => return Ok(()),
        };
        Err(ExpressionError::Policy {
            text: self.text.to_owned(),
            at: self.name_at,
            problem,
            suggestions: Vec::new(),
        })
    }

    /// How many loops have a lever together.
    pub(super) fn domain_loops(&self, policy: Option<&str>) -> Result<u32, ExpressionError> {
        self.takes_lever(policy)?;
        match self.value {
            SHARED => Ok(ALL_LOOPS),
            OWN => Ok(1),
            text => {
                let loops = text.parse().ok().filter(|loops| LOOPS.contains(loops));
                loops.ok_or_else(|| {
                    self.bad_value("shared, own, or by how many loops one has it (1 to 1024)")
                })
            }
        }
    }

    /// What looking may cost, as a share; in per cent, as `boost --budget` has it.
    pub(super) fn budget(&self, policy: Option<&str>) -> Result<Option<f64>, ExpressionError> {
        self.takes_lever(policy)?;
        if self.value == NONE {
            return Ok(None);
        }
        let number = self.value.strip_suffix('%').unwrap_or(self.value);
        let percent = number.trim_end().parse::<f64>().ok();
        let percent = percent.filter(|percent| BUDGETS.contains(percent));
        let wanted = "none, or per cent from 0.001 to 100";
        Ok(Some(percent.ok_or_else(|| self.bad_value(wanted))? / 100.0))
    }

    /// CPU time of a look.
    pub(super) fn look_ns(&self, policy: Option<&str>) -> Result<u64, ExpressionError> {
        self.takes_lever(policy)?;
        self.duration_ns(&LOOKS_NS, "a duration from 100ns to 1ms, such as 15us")
    }

    /// Of the lever of a policy.
    pub(super) fn latency_ns(&self, policy: Option<&str>) -> Result<u64, ExpressionError> {
        self.takes_lever(policy)?;
        self.duration_ns(&LATENCIES_NS, "a duration from 0ns to 1s, such as 20us")
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

    pub(super) fn twice(&self) -> ExpressionError {
        ExpressionError::Twice {
            text: self.text.to_owned(),
            at: self.name_at,
            name: self.name.to_owned(),
        }
    }

    fn bad_name(&self, wanted: &str) -> ExpressionError {
        ExpressionError::Value {
            text: self.text.to_owned(),
            at: self.name_at,
            value: self.name.to_owned(),
            wanted: wanted.to_owned(),
        }
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

/// Numbers of the routes of this name; the same path with several methods is one, too.
fn routes_named(name: &str, routes: &[String]) -> Vec<u32> {
    let named = |is: &dyn Fn(&str) -> bool| -> Vec<u32> {
        let numbered = (1u32..).zip(&routes[1..]);
        let found = numbered.filter(|(_, route)| is(route));
        found.map(|(number, _)| number).collect()
    };
    let found = named(&|route| route == name);
    if !found.is_empty() {
        return found;
    }
    named(&|route| route.split_once(' ').is_some_and(|(_, path)| path == name))
}

pub(super) fn multiply(work: &mut WorkFactors, class: &str, factor: f64) {
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
