//! Writes a recording with a trace of so many events, for measuring the analysis from end to end.
//!
//! `cargo run --release -p bobtail-breakdown --example grow_recording EVENTS FOLDER`
//! The trace is laid out in memory by the writer of the tests, so this takes as much of it.

#![allow(clippy::print_stdout, reason = "an example that prints what it wrote")]

mod folder;
mod grown;

use std::error::Error;
use std::path::Path;

use bobtail_testkit::ORIGIN_NS;
use bobtail_trace::TraceWriter;
use bobtail_trace::record::Record;

use crate::grown::Grown;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [events, folder] = &arguments[..] else {
        return Err("EVENTS FOLDER".into());
    };
    let (records, bytes) = trace(events.parse()?)?;
    folder::write(Path::new(folder), &bytes)?;
    println!(
        "{{\"events\":{events},\"records\":{records},\"bytes\":{}}}",
        bytes.len()
    );
    Ok(())
}

/// The number of records, and the file.
fn trace(events: u64) -> Result<(u64, Vec<u8>), Box<dyn Error>> {
    let mut writer = TraceWriter::new(folder::header(ORIGIN_NS))?;
    let mut grown = Grown::new();
    let (mut strings, mut written, mut records) = (0, 0, 0);
    while written < events {
        let Some(record) = grown.next() else { break };
        for text in &grown.strings()[strings..] {
            writer.intern(text);
        }
        strings = grown.strings().len();
        writer.push(&record)?;
        records += 1;
        let opens = matches!(record, Record::LoopBegin { .. } | Record::Micro { .. });
        written += u64::from(opens);
    }
    Ok((records, writer.close()))
}
