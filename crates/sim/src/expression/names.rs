//! The names that a change can begin with, and what is said of a word that is none of them.

use super::{BUDGET, DOMAIN, LATENCY, LOOK, NAMES, POLICY, POOL, RESOURCE, ROUTE};
use crate::components::Components;
use crate::expression_error::{ExpressionError, nearest_of};
use crate::scheme::Scheme;
use crate::shedding;

/// The error for a word without a value: what is no component lacks more than a value.
pub(super) fn misnamed(error: ExpressionError, components: &Components) -> ExpressionError {
    let (text, at, name) = match error {
        ExpressionError::NoValue {
            text, at, change, ..
        } => (text, at, change),
        other => return other,
    };
    let is_policy = name == POLICY;
    let all = all_names(components);
    if !is_policy
        && (all.contains(&name) || [ROUTE, RESOURCE].iter().any(|of| name.starts_with(of)))
    {
        return ExpressionError::NoValue {
            text,
            at,
            example: example(&name),
            change: name,
        };
    }
    let problem = match policies().contains(&name) {
        true => format!("`{name}` is a policy: write {POLICY}={name}"),
        false if is_policy => format!("`{name}` has no value: write {POLICY}=gc-boost"),
        false => {
            let suggestions = nearest_of(&name, &all);
            return ExpressionError::Unknown {
                text,
                at,
                name,
                suggestions,
            };
        }
    };
    let suggestions = Vec::new();
    ExpressionError::Policy {
        text,
        at,
        problem,
        suggestions,
    }
}

/// A value that can be had for this name.
pub(super) fn example(name: &str) -> &'static str {
    match name {
        POOL => "8",
        LATENCY => "20us",
        DOMAIN => "shared",
        BUDGET => "1",
        LOOK => "15us",
        _ => "0.9",
    }
}

/// Names of policies.
pub(super) fn policies() -> Vec<String> {
    let all = Scheme::names().chain([shedding::NAME]);
    all.map(str::to_owned).collect()
}

/// Names of components, and of what else a change begins with.
pub(super) fn all_names(components: &Components) -> Vec<String> {
    let others = [&POOL, &LATENCY, &DOMAIN, &BUDGET, &LOOK, &POLICY];
    let fixed = NAMES.iter().chain(others).map(|name| (*name).to_owned());
    let routes = components.routes()[1..]
        .iter()
        .map(|one| format!("{ROUTE}{one}"));
    let resources = components.resources()[1..].iter();
    let resources = resources.map(|one| format!("{RESOURCE}{one}"));
    fixed.chain(routes).chain(resources).collect()
}
