//! What is wrong with an expression, where in it, and what was probably meant.
//!
//! Positions count characters, not bytes: they are for people who look at their command line.

use thiserror::Error;

/// Names that an error suggests.
pub(crate) const SUGGESTED: usize = 3;

/// What is wrong with an expression. Positions count characters from 1.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    #[error("a change is missing at position {at} of `{text}`")]
    Empty { text: String, at: usize },
    #[error("`{change}` has no value at position {at} of `{text}`: write {change}={example}")]
    NoValue {
        text: String,
        at: usize,
        change: String,
        /// A value that it could have.
        example: &'static str,
    },
    #[error(
        "unknown component `{name}` at position {at} of `{text}`{}",
        nearest(suggestions)
    )]
    Unknown {
        text: String,
        at: usize,
        name: String,
        suggestions: Vec<String>,
    },
    #[error(
        "`{name}` at position {at} of `{text}` is the name of several: {}",
        candidates.join(", ")
    )]
    Ambiguous {
        text: String,
        at: usize,
        name: String,
        candidates: Vec<String>,
    },
    #[error("`{value}` at position {at} of `{text}` is not {wanted}")]
    Value {
        text: String,
        at: usize,
        value: String,
        wanted: String,
    },
    #[error("{problem}, at position {at} of `{text}`{}", nearest(suggestions))]
    Policy {
        text: String,
        at: usize,
        problem: String,
        suggestions: Vec<String>,
    },
    #[error("`{name}` is changed twice, again at position {at} of `{text}`")]
    Twice {
        text: String,
        at: usize,
        name: String,
    },
}

impl ExpressionError {
    /// The same of the text that another was written for: what is beyond this position of the
    /// other is so many characters further on in this one.
    pub(crate) fn in_text(mut self, whole: &str, beyond: usize, further: usize) -> Self {
        let (Self::Empty { text, at }
        | Self::NoValue { text, at, .. }
        | Self::Unknown { text, at, .. }
        | Self::Ambiguous { text, at, .. }
        | Self::Value { text, at, .. }
        | Self::Policy { text, at, .. }
        | Self::Twice { text, at, .. }) = &mut self;
        whole.clone_into(text);
        if *at > beyond {
            *at += further;
        }
        self
    }
}

/// What is said of the nearest names.
fn nearest(suggestions: &[String]) -> String {
    if suggestions.is_empty() {
        return String::new();
    }
    format!("; nearest: {}", suggestions.join(", "))
}

/// The names most like a wrong one.
pub(crate) fn nearest_of(wrong: &str, all: &[String]) -> Vec<String> {
    let wrong = wrong.to_lowercase();
    let mut by_distance: Vec<(f64, &String)> = all
        .iter()
        .map(|one| (strsim::jaro_winkler(&wrong, &one.to_lowercase()), one))
        .collect();
    by_distance.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near = by_distance.into_iter().take(SUGGESTED);
    near.map(|(_, one)| one.clone()).collect()
}
