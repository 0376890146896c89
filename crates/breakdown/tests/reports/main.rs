//! From traces to reports and explanations.

mod diffs;
mod disturbed;
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
