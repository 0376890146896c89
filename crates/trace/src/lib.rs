//! The trace format: what the probe writes and every reader reads (`spec/trace-format.md`).

pub mod record;
