//! From recording folders to gauges and differences, through every stage.
//!
//! One recording is read after the other and only its sums are kept, so two long recordings need
//! no more memory than two short ones.

use std::path::Path;

use bobtail_breakdown::compare::{
    Diff, DiffSide, Profile, ROUNDS_MAX, diff as compare, diff_page as page_of,
    gauge as gauge_profile, profile, rounds as compare_rounds,
};
use bobtail_breakdown::{Population, TAIL_PERCENTILE, diff_side};

use crate::analysis::{facts, names, open, to_json};
use crate::error::BindingError;
use crate::options::{DiffOptions, GaugeOptions, ReportOptions, RoundsOptions, parse};
use crate::surveyed::Surveyed;

/// Figures of a recording with their intervals, as a JSON array.
pub fn gauge(dir: &Path, options_json: &str) -> Result<String, BindingError> {
    let options: GaugeOptions = parse(options_json)?;
    let percentile = options.percentile;
    ReportOptions { percentile }.check()?;
    let surveyed = Surveyed::of(dir)?;
    let population = surveyed.population(percentile);
    let named: Vec<&str> = options
        .gauges
        .iter()
        .filter_map(|one| one.route.as_deref())
        .collect();
    let profile = surveyed.profile(&population, &named)?;
    to_json(&gauge_profile(&profile, &options.gauges))
}

/// The difference of two recordings as JSON.
pub fn diff(a: &Surveyed, b: &Surveyed, options_json: &str) -> Result<String, BindingError> {
    let (diff, _) = compared(a, b, options_json)?;
    to_json(&diff)
}

/// What the page of a difference shows, as JSON.
pub fn diff_page(a: &Surveyed, b: &Surveyed, options_json: &str) -> Result<String, BindingError> {
    let (diff, [a, b]) = compared(a, b, options_json)?;
    to_json(&page_of(diff, &a, &b))
}

fn compared(
    a: &Surveyed,
    b: &Surveyed,
    options_json: &str,
) -> Result<(Diff, [Profile; 2]), BindingError> {
    let DiffOptions { percentile, routes } = parse(options_json)?;
    ReportOptions { percentile }.check()?;
    let named: Vec<&str> = routes.iter().map(String::as_str).collect();
    // The tail of both begins at the same percentile, which both must support.
    let [of_a, of_b] = [a, b].map(|one| one.population(percentile));
    let percentile = of_a.tail.percentile.min(of_b.tail.percentile);
    let [(side_a, profile_a), (side_b, profile_b)] =
        [a.side(percentile, &named)?, b.side(percentile, &named)?];
    let diff = compare(
        (side_a, &profile_a),
        (side_b, &profile_b),
        percentile,
        &routes,
    );
    Ok((diff, [profile_a, profile_b]))
}

/// The latencies of a recording as JSON.
pub fn latencies(dir: &Path) -> Result<String, BindingError> {
    let surveyed = Surveyed::of(dir)?;
    let population = surveyed.population(TAIL_PERCENTILE);
    let buckets: Vec<(u64, u64)> = population.latencies.buckets().collect();
    to_json(&buckets)
}

/// Two arms of an experiment as JSON.
pub fn rounds(options_json: &str) -> Result<String, BindingError> {
    let options: RoundsOptions = parse(options_json)?;
    match compare_rounds(&options.a, &options.b) {
        Some(diff) => to_json(&diff),
        None => {
            let (a, b) = (options.a.len(), options.b.len());
            let reason =
                format!("{a} and {b} rounds are no pairs, or not from 1 to {ROUNDS_MAX} of them");
            Err(BindingError::Options { reason })
        }
    }
}

impl Surveyed {
    fn profile(&self, population: &Population, named: &[&str]) -> Result<Profile, BindingError> {
        let mut sums = Profile::new(&self.surveys, population).naming(named.iter().copied());
        for (trace, survey) in self.recording.traces.iter().zip(&self.surveys) {
            let reader = open(trace)?;
            let strings = names(&reader);
            profile(&mut sums, reader, &strings, survey).map_err(|error| trace.failure(error))?;
        }
        Ok(sums)
    }

    fn side(&self, percentile: f64, named: &[&str]) -> Result<(DiffSide, Profile), BindingError> {
        let population = self.population(percentile);
        let profile = self.profile(&population, named)?;
        let side = diff_side(facts(&self.recording), &self.surveys, &population);
        Ok((side, profile))
    }
}
