//! How fast the event-loop thread shall run: what a policy decides and a lever sets.
//!
//! Not a frequency alone: most policies only know slow and fast, and most levers that exist in
//! containers (quota, uclamp) have no frequency.

use serde::{Deserialize, Serialize};

/// A speed, as a policy asks for it; each lever has its own value for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Speed {
    /// The speed without boost.
    Base,
    /// The speed of a boost.
    Peak,
    /// This frequency, in kHz; a lever without frequencies refuses it.
    Khz(u32),
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Base => f.write_str("base"),
            Self::Peak => f.write_str("peak"),
            Self::Khz(khz) => write!(f, "{}", f64::from(*khz) / 1e6),
        }
    }
}
