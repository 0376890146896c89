//! A recording folder around a trace that was made up: what a recorder writes beside the trace.

use std::path::Path;
use std::{fs, io};

use bobtail_breakdown::Measured;
use bobtail_trace::record::Ns;
use bobtail_trace::{Detail, Header};

const RUN: &str = r#"{"schema":"bobtail-run/1","command":["grown"],"detail":"full","warmupNs":0,
"startedAt":"2026-01-01T00:00:00.000Z","outcome":{"exitCode":0,"signal":null}}"#;

/// The header of its only trace, which starts then.
pub fn header(start_ns: Ns) -> Header {
    Header {
        version: 1,
        strings_bytes: 1 << 20,
        chunk_bytes: 256 << 10,
        ring_slots: 8,
        max_slots: 1 << 16,
        pid: 1,
        thread: 0,
        detail: Detail::Full,
        start_ns,
        start_realtime_ns: 0,
        node: "v24.21.0".to_owned(),
        arch: "x64".to_owned(),
    }
}

/// Writes the folder.
pub fn write(folder: &Path, trace: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("run.json"), RUN)?;
    fs::write(folder.join("process-1-0.json"), process())?;
    fs::write(folder.join("1-0.trace"), trace)
}

fn process() -> String {
    let measured = Measured::MECHANISMS.map(|name| format!(r#"{{"name":"{name}","ok":true}}"#));
    let mechanisms = measured.join(",");
    format!(r#"{{"pid":1,"thread":0,"mechanisms":[{mechanisms}]}}"#)
}
