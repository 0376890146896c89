//! What may be asked, as JSON from the command line.
//!
//! Unknown names are refused: a misspelt option that is ignored gives a wrong answer silently.

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
