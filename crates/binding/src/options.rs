//! What may be asked, as JSON from the command line.
//!
//! Unknown names are refused: a misspelt option that is ignored gives a wrong answer silently.

use std::path::PathBuf;

use bobtail_breakdown::compare::{Gauge, Round};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::BindingError;

/// Options of `report`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportOptions {
    /// The tail starts at this percentile, when enough requests lie beyond it.
    #[serde(default = "default_percentile")]
    pub percentile: f64,
}

impl ReportOptions {
    /// Refuses what is no percentile.
    pub fn check(&self) -> Result<(), BindingError> {
        if self.percentile > 0.0 && self.percentile < 100.0 {
            return Ok(());
        }
        let reason = format!("percentile {} is not between 0 and 100", self.percentile);
        Err(BindingError::Options { reason })
    }
}

/// Options of `diff`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiffOptions {
    /// As of `report`.
    #[serde(default = "default_percentile")]
    pub percentile: f64,
    /// Routes that are told besides those with most time.
    #[serde(default)]
    pub routes: Vec<String>,
}

/// Options of `gauge`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaugeOptions {
    /// As of `report`.
    #[serde(default = "default_percentile")]
    pub percentile: f64,
    pub gauges: Vec<Gauge>,
}

/// Options of `whatIf`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIfOptions {
    /// As of `report`.
    #[serde(default = "default_percentile")]
    pub percentile: f64,
    /// Changes, each text a scenario of its own.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// Each outcome with its distribution of latencies.
    #[serde(default)]
    pub latencies: bool,
}

/// Options of `rounds`: round `i` of one arm ran beside round `i` of the other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundsOptions {
    pub a: Vec<Round>,
    pub b: Vec<Round>,
}

/// Options of `explain`: exactly one of the two.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainOptions {
    /// Rank by latency, 1 the slowest.
    pub slowest: Option<u64>,
    /// `<pid>-<thread>:<request>`.
    pub request: Option<String>,
}

/// Options of `explainMany`: exactly one of the two.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainManyOptions {
    /// `<pid>-<thread>:<request>` of each.
    pub ids: Option<Vec<String>>,
    /// Every finished request.
    #[serde(default)]
    pub all: bool,
}

/// What a recording is exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A time line for ui.perfetto.dev.
    Perfetto,
    /// Spans for a tracing backend, as JSON.
    OtlpJson,
    /// The same as protobuf.
    OtlpProtobuf,
    /// A profile of latency.
    Pprof,
    /// Distributions of latencies.
    Hdr,
    /// Rows of tables, which are read instead of written.
    Rows,
}

/// Options of `exportTo`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportOptions {
    pub format: Format,
    /// The file to write.
    #[serde(default)]
    pub file: PathBuf,
    /// What it is called in errors.
    pub out: PathBuf,
    /// The tail, and where it begins.
    pub percentile: Option<f64>,
    /// What spans say the service is called.
    #[serde(default = "default_service")]
    pub service: String,
    /// Every request, not only the tail.
    #[serde(default)]
    pub all: bool,
    /// So many of the slowest.
    pub slowest: Option<usize>,
    /// These.
    pub requests: Option<Vec<String>>,
    /// Of this route.
    pub route: Option<String>,
    /// Under way after this time, from the start of the recording.
    pub from_ns: Option<u64>,
    /// Under way before this time.
    pub to_ns: Option<u64>,
}

impl ExportOptions {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), BindingError> {
        let percentile = self.percentile();
        ReportOptions { percentile }.check()?;
        if self.slowest == Some(0) {
            let reason = "slowest counts from 1".to_owned();
            return Err(BindingError::Options { reason });
        }
        Ok(())
    }

    /// Where the tail begins.
    pub fn percentile(&self) -> f64 {
        self.percentile.unwrap_or_else(default_percentile)
    }

    /// A part of the recording was asked for, and not the tail as such.
    pub fn is_selective(&self) -> bool {
        self.slowest.is_some()
            || self.requests.is_some()
            || self.route.is_some()
            || self.from_ns.is_some()
            || self.to_ns.is_some()
    }

    /// All that fit are meant, however fast.
    pub fn is_of_all(&self) -> bool {
        let whole = matches!(self.format, Format::Hdr | Format::Rows) || self.is_selective();
        self.all || (whole && self.percentile.is_none())
    }
}

/// As the semantic conventions of OpenTelemetry have it.
fn default_service() -> String {
    "unknown_service:node".to_owned()
}

fn default_percentile() -> f64 {
    bobtail_breakdown::TAIL_PERCENTILE
}

/// Decodes options; an empty text stands for the defaults.
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, BindingError> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    serde_json::from_str(json).map_err(|error| BindingError::Options {
        reason: error.to_string(),
    })
}
