//! Prints a trace file, one line per record; damaged chunks are left out.
//!
//! `cargo run -p bobtail-trace --example dump -- FILE`

#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;

use bobtail_trace::{OnDamage, ReadAt, ReadError, TraceReader, dump};

struct TraceFile(File);

impl ReadAt for TraceFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let mut got = 0;
        while got < buf.len() {
            match self.0.read_at(&mut buf[got..], offset + got as u64) {
                Ok(0) => break,
                Ok(bytes) => got += bytes,
                Err(error) => {
                    return Err(ReadError {
                        message: error.to_string(),
                    });
                }
            }
        }
        Ok(got)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("which file?")?;
    let mut reader = TraceReader::open(TraceFile(File::open(path)?), OnDamage::Skip)?;
    print!("{}", dump::dump(&mut reader));
    Ok(())
}
