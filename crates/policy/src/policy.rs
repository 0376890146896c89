//! A policy as a user names it: text in, text out, and the beginning of its work.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::arguments::Arguments;
use crate::combined::{self, Combined};
use crate::deadline::{self, Deadline};
use crate::decision::{Decider, LeverFacts};
use crate::error::{PolicyError, Problem};
use crate::gc_boost::{self, GcBoost};
use crate::in_turns::{self, InTurns};
use crate::queue_boost::{self, QueueBoost};
use crate::static_speed::{self, StaticSpeed};

/// A policy with its settings; reads and writes as `name:key=value,…`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Policy {
    Static(StaticSpeed),
    GcBoost(GcBoost),
    QueueBoost(QueueBoost),
    Combined(Combined),
    Deadline(Deadline),
    /// Of these several, to compare them on one loop.
    InTurns(InTurns),
}

type Parse = fn(Arguments<'_>) -> Result<Policy, PolicyError>;

/// Every policy that one would keep, by its name.
const POLICIES: [(&str, Parse); 5] = [
    (static_speed::NAME, |text| {
        StaticSpeed::parse(text).map(Policy::Static)
    }),
    (gc_boost::NAME, |text| {
        GcBoost::parse(text).map(Policy::GcBoost)
    }),
    (queue_boost::NAME, |text| {
        QueueBoost::parse(text).map(Policy::QueueBoost)
    }),
    (combined::NAME, |text| {
        Combined::parse(text).map(Policy::Combined)
    }),
    (deadline::NAME, |text| {
        Deadline::parse(text).map(Policy::Deadline)
    }),
];

/// Schemes of `crates/sim` that are no policies: they need to know requests, or turn some away.
const REPLAY_ONLY: [&str; 4] = ["oracle", "adrenaline", "rubik", "gci"];

impl Policy {
    /// The names there are, but for `in-turns`, which only compares others.
    pub fn names() -> impl Iterator<Item = &'static str> {
        POLICIES.into_iter().map(|(name, _)| name)
    }

    /// Begins to decide for one loop; the only part that allocates.
    pub fn start(&self, lever: &LeverFacts) -> Box<dyn Decider> {
        match self {
            Self::Static(policy) => Box::new(*policy),
            Self::GcBoost(policy) => Box::new(policy.start(lever)),
            Self::QueueBoost(policy) => Box::new(policy.start()),
            Self::Combined(policy) => Box::new(policy.start(lever)),
            Self::Deadline(policy) => Box::new(policy.start(lever)),
            Self::InTurns(policy) => Box::new(policy.start(lever)),
        }
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let arguments = Arguments::of(text);
        match POLICIES.iter().find(|(name, _)| *name == arguments.name) {
            Some((_, parse)) => parse(arguments),
            None if arguments.name == in_turns::NAME => InTurns::parse(text).map(Self::InTurns),
            None => {
                let name = arguments.name.to_owned();
                let known = Self::names().collect::<Vec<_>>().join(", ");
                let problem = if REPLAY_ONLY.contains(&arguments.name) {
                    Problem::ReplayOnly { name, known }
                } else {
                    Problem::UnknownPolicy { name, known }
                };
                Err(arguments.error(0, problem))
            }
        }
    }
}

impl TryFrom<String> for Policy {
    type Error = PolicyError;

    fn try_from(text: String) -> Result<Self, PolicyError> {
        text.parse()
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> Self {
        policy.to_string()
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(policy) => policy.fmt(f),
            Self::GcBoost(policy) => policy.fmt(f),
            Self::QueueBoost(policy) => policy.fmt(f),
            Self::Combined(policy) => policy.fmt(f),
            Self::Deadline(policy) => policy.fmt(f),
            Self::InTurns(policy) => policy.fmt(f),
        }
    }
}
