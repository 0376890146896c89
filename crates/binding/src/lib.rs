//! The analysis as a Node.js addon: recording folder in, JSON out.
//!
//! Text and not objects crosses the border, because the JSON is the contract anyway
//! (`spec/*.schema.json`) and one string costs less than a million property stores. All reading of
//! files of a recording is here; the stages behind it see bytes only. Every analysis takes
//! `originalsJson`: what is known of the sources of the [`places`] in it, or nothing.

mod analysis;
mod comparison;
pub mod energy;
mod error;
mod export;
mod options;
mod page;
pub mod policy;
mod recording;
mod rows;
mod sources;
mod surveyed;
mod task;
mod trace_file;
mod what_if;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::surveyed::{FirstPass, SurveyedHandle};
use crate::task::Analysis;

/// `places(dir)`: where code was seen running, as a JSON array of `{"function", "file", "line",
/// "column", "recordedMs"}`. A pass of its own: `survey` tells them for nothing. Rejects like
/// `report`.
#[napi]
pub fn places(dir: String) -> AsyncTask<Analysis> {
    Analysis::of(None, move || sources::places(dir.as_ref()))
}

/// `survey(dir)`: the first pass over a recording, for the analyses that take it; its `places` are
/// those of `places`. Rejects like `report`.
#[napi(ts_return_type = "Promise<Surveyed>")]
pub fn survey(dir: String) -> AsyncTask<FirstPass> {
    FirstPass::over(dir)
}

/// `report(surveyed, optionsJson, originalsJson)`: the answer of `bobtail report --json`, as text.
///
/// Options: `{"percentile": 99.9}`. Rejects with `BOBTAIL_<CODE>: <message>`.
#[napi]
pub fn report(
    survey: &SurveyedHandle,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    Analysis::of_surveyed(survey, options_json, originals_json, analysis::report)
}

/// `explain(dir, optionsJson, originalsJson)`: the answer of `bobtail explain --json`, as text.
///
/// Options: `{"slowest": 1}` or `{"request": "4121-0:17"}`. Rejects like `report`.
#[napi]
pub fn explain(
    dir: String,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    Analysis::of_folder(dir, options_json, originals_json, analysis::explain)
}

/// `explainMany(dir, optionsJson, originalsJson)`: a JSON array of such answers, slowest first.
///
/// Options: `{"ids": ["4121-0:17", …]}` or `{"all": true}`. Reads each trace once however many are
/// asked for; all of a long recording do not fit into a string. Rejects like `report`.
#[napi]
pub fn explain_many(
    dir: String,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    Analysis::of_folder(dir, options_json, originals_json, analysis::explain_many)
}

/// `exportTo(surveyed, optionsJson, originalsJson)`: writes a file of another tool; what is in it,
/// as text.
///
/// Options: `{"format": "perfetto", "file": …, "out": …}` and which requests (`ExportOptions`).
/// Rejects like `report`; what was written until then stays.
#[napi]
pub fn export_to(
    survey: &SurveyedHandle,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    Analysis::of_surveyed(survey, options_json, originals_json, export::export)
}

/// `page(surveyed, optionsJson, originalsJson)`: what the HTML page shows, with the report in it,
/// as text.
///
/// Options and rejections as of `report`.
#[napi]
pub fn page(
    survey: &SurveyedHandle,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    Analysis::of_surveyed(survey, options_json, originals_json, page::page)
}

/// `gauge(dir, optionsJson, originalsJson)`: a JSON array with one answer for each wanted figure.
///
/// Options: `{"percentile": 99.9, "gauges": [{"route": "GET /x", "figure": {"percentile": 99}}]}`;
/// a figure is `"mean"`, `"tail"`, `{"percentile": P}` or `{"tailCause": "gc"}`. Rejects like
/// `report`.
#[napi]
pub fn gauge(
    dir: String,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    Analysis::of_folder(dir, options_json, originals_json, comparison::gauge)
}

/// `diff(surveyedA, surveyedB, optionsJson, originalsJson)`: the answer of `bobtail diff --json`,
/// as text.
///
/// Options: `{"percentile": 99.9}`. Rejects like `report`.
#[napi]
pub fn diff(
    survey_a: &SurveyedHandle,
    survey_b: &SurveyedHandle,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    let [a, b] = [survey_a.surveyed(), survey_b.surveyed()];
    Analysis::of(originals_json, move || {
        comparison::diff(&a, &b, &options_json)
    })
}

/// `diffPage(surveyedA, surveyedB, optionsJson, originalsJson)`: what the HTML page of a
/// difference shows, with the difference in it, as text.
///
/// Options and rejections as of `diff`.
#[napi]
pub fn diff_page(
    survey_a: &SurveyedHandle,
    survey_b: &SurveyedHandle,
    options_json: String,
    originals_json: Option<String>,
) -> AsyncTask<Analysis> {
    let [a, b] = [survey_a.surveyed(), survey_b.surveyed()];
    Analysis::of(originals_json, move || {
        comparison::diff_page(&a, &b, &options_json)
    })
}

/// `whatIf(dir, optionsJson)`: the answer of `bobtail whatif --json`, as text.
///
/// Options: `{"percentile": 99.9, "scenarios": ["gc=0.7,pool=8", …]}`. Rejects like `report`, and
/// with `BOBTAIL_NOT_REPLAYABLE` where the recording lacks what a replay needs.
#[napi]
pub fn what_if(dir: String, options_json: String) -> AsyncTask<Analysis> {
    Analysis::of_folder(dir, options_json, None, what_if::what_if)
}

/// `latencies(dir)`: the latencies of a recording after warm-up, as a JSON array of
/// `[latencyNs, requests]`, ascending and to three digits. Rejects like `report`.
#[napi]
pub fn latencies(dir: String) -> AsyncTask<Analysis> {
    Analysis::of(None, move || comparison::latencies(dir.as_ref()))
}

/// `rounds(optionsJson)`: two arms of an experiment that ran in turns, and how sure their ratios
/// are, as JSON.
///
/// Options: `{"a": [{"latencies": [[latencyNs, requests], …], "measures": [1.5, …]}, …], "b": …}`.
/// Rejects like `report`.
#[napi]
pub fn rounds(options_json: String) -> AsyncTask<Analysis> {
    Analysis::of(None, move || comparison::rounds(&options_json))
}

/// Version of the addon.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
