//! What is wrong with the text of a policy, and where in it.

use thiserror::Error;

/// A policy that cannot be, with its text and the place of the mistake.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("policy \"{text}\", character {}: {problem}", text[..*at].chars().count() + 1)]
pub struct PolicyError {
    /// The whole text as it was given.
    pub text: String,
    /// The byte of `text` where the offending part begins.
    pub at: usize,
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("there is no policy \"{name}\"; there are {known}")]
    UnknownPolicy { name: String, known: String },
    #[error("{name} is for replays only (bobtail whatif --policy {name}); live there are {known}")]
    ReplayOnly { name: String, known: String },
    #[error("{policy} has no setting \"{key}\"; it has {known}")]
    UnknownSetting {
        policy: &'static str,
        key: String,
        known: String,
    },
    #[error("{key} is set twice")]
    Twice { key: String },
    #[error("\"{found}\" is no setting: they read KEY=VALUE")]
    NotASetting { found: String },
    #[error("{key} is \"{value}\", not {expected}")]
    Value {
        key: String,
        value: String,
        expected: String,
    },
    #[error("{policy} takes {expected}")]
    Missing {
        policy: &'static str,
        expected: &'static str,
    },
}
