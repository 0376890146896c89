//! From a recording folder to the answers, through every stage.

use std::path::Path;

use bobtail_trace::{OnDamage, TraceReader};

use crate::error::BindingError;
use crate::options::{ExplainOptions, ReportOptions, parse};
use crate::recording::Recording;
use crate::trace_file::TraceFile;

/// The report as JSON.
pub fn report(dir: &Path, options_json: &str) -> Result<String, BindingError> {
    let _options: ReportOptions = parse(options_json)?;
    let recording = Recording::open(dir)?;
    let _traces = open_traces(&recording)?;
    Err(BindingError::Internal { reason: "not built yet".to_owned() })
}

/// One request as JSON.
pub fn explain(dir: &Path, options_json: &str) -> Result<String, BindingError> {
    let _options: ExplainOptions = parse(options_json)?;
    let recording = Recording::open(dir)?;
    let _traces = open_traces(&recording)?;
    Err(BindingError::Internal { reason: "not built yet".to_owned() })
}

fn open_traces(recording: &Recording) -> Result<Vec<TraceReader<TraceFile>>, BindingError> {
    recording
        .traces
        .iter()
        .map(|trace| {
            TraceReader::open(trace.open()?, OnDamage::Skip)
                .map_err(|error| BindingError::Trace { path: trace.path.clone(), error })
        })
        .collect()
}
