//! From traces to reports and explanations.

mod diffs;
mod explanations;
mod findings;
mod page;
mod pauses;
mod quality;
mod recordings;
mod schema;
mod sources;
mod support;
mod work;
