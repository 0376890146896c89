//! Decides how fast an event-loop thread shall run: a reading in, a decision out.
//!
//! Pure (no clock, file, randomness or thread), so that the simulator replays recordings under
//! exactly the code that runs live. [`Policy`] is what a user names, [`Decider`] is one in use:
//!
//! ```
//! use bobtail_policy::{Collection, CollectionKind, LeverFacts, Policy, Reading, Speed};
//!
//! let policy: Policy = "gc-boost:hold=1ms".parse()?;
//! let mut decider = policy.start(&LeverFacts { latency_ns: 20_000 });
//! let collection = Collection { kind: CollectionKind::MarkCompact, begin_ns: 5_000 };
//! let reading = Reading { now_ns: 5_000, collection: Some(collection), ..Reading::default() };
//! assert_eq!(decider.decide(&reading).speed, Speed::Peak);
//! # Ok::<(), bobtail_policy::PolicyError>(())
//! ```
//!
//! A new policy is a file, a variant of [`Policy`] and a line in its table of names.

#![forbid(unsafe_code)]

mod ages;
mod allowance;
mod arguments;
mod average;
mod budget;
mod combined;
mod deadline;
mod decision;
mod energy;
mod error;
mod gc_boost;
mod hold;
mod in_turns;
mod looks;
mod pauses;
mod policy;
mod queue_boost;
mod reading;
mod recent_part;
mod shadow;
mod speed;
mod static_speed;

pub use arguments::{duration_text, parse_duration_ns};
pub use budget::Used;
pub use combined::Combined;
pub use deadline::{Collections, Deadline};
pub use decision::{Decider, Decision, LeverFacts, Reasons};
pub use energy::{ModelledEnergy, relative_power};
pub use error::{PolicyError, Problem};
pub use gc_boost::GcBoost;
pub use in_turns::InTurns;
pub use looks::{ASLEEP_NS, IDLE_NS, Idle, Look, Looks, Pause};
pub use policy::Policy;
pub use queue_boost::QueueBoost;
pub use reading::{Collection, CollectionKind, LoopTotals, Reading};
pub use speed::Speed;
pub use static_speed::StaticSpeed;
