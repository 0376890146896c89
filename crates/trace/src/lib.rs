//! The trace format: what the probe writes and every reader reads (`spec/trace-format.md`).
//!
//! No I/O and no clock: bytes come from a `ReadAt` and times through the records.

#![forbid(unsafe_code)]

pub mod chunk;
pub mod code;
pub mod encode;
pub mod header;
pub mod layout;
pub mod record;
