//! Any bytes as a trace file: reading ends with records or an error.

#![no_main]

use bobtail_trace::dump::line;
use bobtail_trace::{OnDamage, TraceReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for on_damage in [OnDamage::Fail, OnDamage::Skip] {
        let Ok(mut reader) = TraceReader::open(bytes, on_damage) else {
            continue;
        };
        while let Ok(Some(record)) = reader.next_record() {
            line(&record, reader.header().start_ns, reader.strings());
        }
    }
});
