//! Writes a recording of a trace that is drawn as text, for tests of what is made of a recording.
//!
//! `cargo run --release -p bobtail-breakdown --example draw_recording DRAWING FOLDER`, where the
//! drawing is a file in the notation of `bobtail_testkit`. Its texts are percent-decoded, so that
//! any text can stand in it: that of a hostile client, with quotes and control characters.

mod folder;

use std::error::Error;
use std::fs;
use std::path::Path;

use bobtail_testkit::{ORIGIN_NS, draw};
use bobtail_trace::TraceWriter;
use bobtail_trace::record::{LossKind, Ns, Record};

/// Before time 0 of the drawing, which may tell of what was before.
const START_NS: Ns = ORIGIN_NS / 2;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [drawing, folder] = &arguments[..] else {
        return Err("DRAWING FOLDER".into());
    };
    let drawn = draw(&fs::read_to_string(drawing)?);
    let mut writer = TraceWriter::new(folder::header(START_NS))?;
    for text in &drawn.strings {
        writer.intern(&decoded(text)?);
    }
    for record in &drawn.records {
        match *record {
            // A writer that lost events goes on in a new chunk, with their numbers given out.
            Record::Loss {
                kind: LossKind::NoChunk,
                count,
                events,
            } => writer.lose(count, events)?,
            _ => writer.push(record)?,
        }
    }
    folder::write(Path::new(folder), &writer.close())?;
    Ok(())
}

/// `%3C` is `<`.
fn decoded(text: &str) -> Result<String, Box<dyn Error>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'%' {
            let (digits, after) = rest.split_at_checked(2).ok_or("a % without two digits")?;
            bytes.push(u8::from_str_radix(str::from_utf8(digits)?, 16)?);
            rest = after;
        } else {
            bytes.push(first);
        }
    }
    Ok(String::from_utf8(bytes)?)
}
