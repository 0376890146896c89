//! What would it bring: the replay of a recorded event dependency graph under a change.
//!
//! A recording says when work arrived, what each callback did, and what it waited for. The replay
//! keeps these and lets the event loop run again, so that a change of one thing (collections, a
//! query, the load) has its effect on everything that waits behind it. Nothing is fitted and
//! nothing is drawn at random: without a change the replay gives the recorded latencies back.
//!
//! ```text
//! for each trace:  Capture::push(record) …, finish()      what a replay needs   -> Log
//!                  Model::of(&log, names, &mut components)   who waits for whom  -> Model
//! of all traces:   Coverage::of(&log) …, sum(), check()     enough, or a refusal  -> Coverage
//! for each change: Scenario                                  factors by component
//!                  replay(&model, &scenario)                 the loop runs again -> Replayed
//! once:            what_if(models, scenarios, …)             percentiles, sensitivity -> WhatIf
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `capture` | records in, everything that had the loop out |
//! | `model`, `build` | the dependencies, as the loop will run them |
//! | `triggers`, `gates`, `turns` | what makes an event ready; what an `await` waits for; order |
//! | `answers` | a read that brought answers to several requests, cut into one part for each |
//! | `steps` | what an event does, cut where something depends on it |
//! | `pool` | the threads of libuv |
//! | `components`, `scenario` | what can be changed, and by how much |
//! | `expression`, `expression_error`, `sweep` | the language of changes |
//! | `times` | how long everything takes under a scenario, and what comes when |
//! | `replay`, `agenda`, `uses` | the loop runs again, and how much of its time it would need |
//! | `prediction`, `blocked`, `policy_outcome`, `sensitivity` | what came of it, how sure that is |
//! | `disturbed`, `overload` | what the host disturbed is in no percentile; too much load |
//! | `what_if`, `notes` | the answer, and what is said beside it |
//! | `shedding` | requests are turned away while a collection is due |
//! | `scheme`, `pace`, `gear`, `domain`, `ledger` | a policy drives a lever, and what it takes |
//! | `ahead`, `follower`, `foresight`, `rubik` | schemes that decide by requests |
//! | `frontier` | which schemes no other beats in both tail and energy |
//! | `coverage`, `refusal` | recordings that cannot be replayed, and why |

#![forbid(unsafe_code)]

mod agenda;
mod ahead;
mod answers;
mod blocked;
mod build;
mod capture;
mod components;
mod coverage;
mod disturbed;
mod domain;
mod expression;
mod expression_error;
mod follower;
mod foresight;
mod frontier;
mod gates;
mod gear;
mod glance;
#[cfg(test)]
mod invariants;
mod ledger;
mod model;
mod notes;
mod overload;
mod pace;
#[cfg(test)]
mod paced;
mod policy_outcome;
mod pool;
mod prediction;
mod refusal;
mod replay;
mod rubik;
mod scenario;
mod scheme;
mod sensitivity;
mod shedding;
mod steps;
mod sweep;
mod times;
mod triggers;
mod turns;
mod uses;
mod what_if;

pub use ahead::{Aim, Since, TypeChance};
pub use capture::{Capture, Log};
pub use components::Components;
pub use coverage::Coverage;
pub use disturbed::{Disturbed, LeftOut};
pub use expression::parse;
pub use expression_error::ExpressionError;
pub use frontier::{Frontier, FrontierPoint};
pub use ledger::{AtSpeed, Boost, Ledger};
pub use model::Model;
pub use policy_outcome::{PolicyOutcome, Target, TypeOutcome};
pub use prediction::Predicted;
pub use refusal::Refusal;
pub use replay::{AllReplayed, Ran, Replayed, replay, replay_all, replay_told};
pub use scenario::{Scenario, WorkFactors};
pub use scheme::{ALL_LOOPS, Drive, ReplayedLever, Scheme};
pub use sensitivity::Sensitivity;
pub use shedding::{Closed, Shedding};
pub use sweep::parse_each;
pub use what_if::{Fidelity, Outcome, Saturated, Shed, Telling, WhatIf, WhatIfError, what_if};
