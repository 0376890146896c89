//! From a recording folder to what the HTML page shows (`spec/html.schema.json`).
//!
//! The report comes out of the same passes, so that the page and `report --json` cannot differ; one
//! more pass explains the requests that are shown in full.

use bobtail_breakdown::{Aggregate, Page, Tally, aggregate_and, report as put_together};

use crate::analysis::{facts, names, open, to_json, trace_info};
use crate::error::BindingError;
use crate::options::{ReportOptions, parse};
use crate::surveyed::Surveyed;

/// What the page shows, as JSON.
pub fn page(surveyed: &Surveyed, options_json: &str) -> Result<String, BindingError> {
    let options: ReportOptions = parse(options_json)?;
    options.check()?;
    let Surveyed { recording, surveys } = surveyed;
    let population = surveyed.population(options.percentile);
    let mut sums = Aggregate::new();
    let mut tally = Tally::new(&population, surveys.len());
    for (index, (trace, survey)) in recording.traces.iter().zip(surveys).enumerate() {
        let reader = open(trace)?;
        let strings = names(&reader);
        let mut counting = tally.of_trace(index, &strings, survey);
        aggregate_and(&mut sums, reader, &strings, survey, &population, |path| {
            counting.see(path);
        })
        .map_err(|error| trace.failure(error))?;
    }
    let report = put_together(facts(recording), surveys, &population, &sums);
    let mut page = Page::of(tally, surveys, &sums);
    for (index, trace) in recording.traces.iter().enumerate() {
        if page.wants(index) {
            let reader = open(trace)?;
            let strings = names(&reader);
            let info = trace_info(recording, trace, &reader);
            page.show(index, &info, reader, &strings)
                .map_err(|error| trace.failure(error))?;
        }
    }
    to_json(&page.finish(report))
}
