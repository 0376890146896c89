//! Any bytes as a trace file: reading ends with records or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "the other target uses the rest")]
#[path = "../../crates/trace/tests/support/any_bytes.rs"]
mod any_bytes;

fuzz_target!(|bytes: &[u8]| any_bytes::trace_read(bytes));
