//! What the HTML page of a difference is given (`spec/diff-html.schema.json`): the answer of
//! `bobtail diff --json`, and both distributions of each of its routes.
//!
//! Apart from the answer, because curves are there to be drawn: whoever reads the JSON wants
//! percentiles, and has them.

use serde::Serialize;

use super::diff::{ALL_ROUTES, Diff};
use super::profile::Profile;

/// The whole of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffPage {
    pub schema: &'static str,
    /// Exactly what `diff --json` answers.
    pub diff: Diff,
    /// One for each of its routes, in their order.
    pub curves: Vec<CurvePair>,
}

/// The latencies of a route in both: steps from bucket to bucket and counts, alternating, as in
/// the page of a report. Empty where it has no requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CurvePair {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
}

/// Puts the page together; the profiles are those that were compared.
pub fn diff_page(diff: Diff, a: &Profile, b: &Profile) -> DiffPage {
    let steps = |profile: &Profile, route: &str| {
        let cells = match route {
            ALL_ROUTES => Some(profile.all()),
            one => profile.route(one),
        };
        cells.map_or_else(Vec::new, |cells| cells.curve().steps())
    };
    let pair = |route: &str| CurvePair {
        a: steps(a, route),
        b: steps(b, route),
    };
    DiffPage {
        schema: "bobtail-diff-html/1",
        curves: diff.routes.iter().map(|one| pair(&one.route)).collect(),
        diff,
    }
}
