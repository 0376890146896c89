//! Measures how many records a second a reader decodes on one core: the best of ten passes, since
//! other work on the machine only ever slows one down.
//!
//! `cargo run --release -p bobtail-trace --example decode_speed`

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use bobtail_trace::record::{LoopKind, MicroKind, Ready, ReadyQuality, Record};
use bobtail_trace::{Detail, Header, OnDamage, TraceReader, TraceWriter};

const START_NS: u64 = 5_000_000_000_000;
const PASSES: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    measure("micro, untimed", 20_000_000, |index, event, _| {
        Record::Micro {
            event,
            kind: MicroKind::Promise,
            registrar: event.saturating_sub(1 + index % 300),
            begin_ns: None,
        }
    })?;
    measure(
        "micro, every fourth timed",
        20_000_000,
        |index, event, now| Record::Micro {
            event,
            kind: MicroKind::Promise,
            registrar: event.saturating_sub(1 + index % 300),
            begin_ns: (index % 4 == 0).then_some(now),
        },
    )?;
    measure(
        "loop begin and end, ready known",
        10_000_000,
        |index, event, now| match index % 2 {
            0 => Record::LoopBegin {
                event,
                kind: LoopKind::Read,
                begin_ns: now,
                ready: Some(Ready {
                    at_ns: now - 40_000,
                    quality: ReadyQuality::Exact,
                }),
                handle: 1 + index % 500,
                op: 0,
                run_ns: 0,
            },
            _ => Record::LoopEnd { end_ns: now },
        },
    )?;
    Ok(())
}

fn measure(
    name: &str,
    count: u32,
    make: impl Fn(u32, u32, u64) -> Record,
) -> Result<(), Box<dyn Error>> {
    let mut writer = TraceWriter::new(Header {
        version: 1,
        strings_bytes: 4096,
        chunk_bytes: 256 << 10,
        ring_slots: 8,
        max_slots: 1 << 16,
        pid: 1,
        thread: 0,
        detail: Detail::Full,
        start_ns: START_NS,
        start_realtime_ns: 0,
        node: String::new(),
        arch: String::new(),
    })?;
    let mut event = 1;
    for index in 0..count {
        let now = START_NS + 1_000_000 + u64::from(index) * 900;
        let record = make(index, event, now);
        writer.push(&record)?;
        event += u32::from(!matches!(record, Record::LoopEnd { .. }));
    }
    let bytes = writer.close();
    let mut reader = TraceReader::open(&bytes[..], OnDamage::Fail)?;
    let mut seconds = f64::INFINITY;
    for _ in 0..PASSES {
        reader.rewind();
        let begin = Instant::now();
        while let Some(record) = reader.next_record()? {
            black_box(&record);
        }
        seconds = seconds.min(begin.elapsed().as_secs_f64());
    }
    let rate = f64::from(count) / seconds / 1e6;
    let size = bytes.len() as f64 / f64::from(count);
    println!("{name}: {rate:.0} million records/s, {size:.1} bytes per record");
    Ok(())
}
