//! Writes a recording with a trace of so many events, for measuring the analysis from end to end.
//!
//! `cargo run --release -p bobtail-breakdown --example grow_recording EVENTS FOLDER`
//! The trace is laid out in memory by the writer of the tests, so this takes as much of it.

#![allow(clippy::print_stdout, reason = "an example that prints what it wrote")]

mod grown;

use std::error::Error;
use std::fs;
use std::path::Path;

use bobtail_breakdown::Measured;
use bobtail_testkit::ORIGIN_NS;
use bobtail_trace::record::Record;
use bobtail_trace::{Detail, Header, TraceWriter};

use crate::grown::Grown;

const RUN: &str = r#"{"schema":"bobtail-run/1","command":["grown"],"detail":"full","warmupNs":0,
"startedAt":"2026-01-01T00:00:00.000Z","outcome":{"exitCode":0,"signal":null}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [events, folder] = &arguments[..] else {
        return Err("EVENTS FOLDER".into());
    };
    let (records, bytes) = trace(events.parse()?)?;
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("run.json"), RUN)?;
    fs::write(folder.join("process-1-0.json"), process())?;
    fs::write(folder.join("1-0.trace"), &bytes)?;
    println!(
        "{{\"events\":{events},\"records\":{records},\"bytes\":{}}}",
        bytes.len()
    );
    Ok(())
}

fn process() -> String {
    let measured = Measured::MECHANISMS.map(|name| format!(r#"{{"name":"{name}","ok":true}}"#));
    let mechanisms = measured.join(",");
    format!(r#"{{"pid":1,"thread":0,"mechanisms":[{mechanisms}]}}"#)
}

/// The number of records, and the file.
fn trace(events: u64) -> Result<(u64, Vec<u8>), Box<dyn Error>> {
    let mut writer = TraceWriter::new(Header {
        version: 1,
        strings_bytes: 1 << 20,
        chunk_bytes: 256 << 10,
        ring_slots: 8,
        max_slots: 1 << 16,
        pid: 1,
        thread: 0,
        detail: Detail::Full,
        start_ns: ORIGIN_NS,
        start_realtime_ns: 0,
        node: "v24.21.0".to_owned(),
        arch: "x64".to_owned(),
    })?;
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
