//! From traces to reports and explanations.

mod explanations;
mod findings;
mod recordings;
mod schema;
mod support;
mod work;
