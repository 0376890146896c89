//! A trace file as the reader wants it: positioned reads.
//!
//! Not a memory map: a trace may be cut short while it is read, and a read can fail where a map
//! would raise SIGBUS.

use std::fs::File;
use std::io;

use bobtail_trace::{ReadAt, ReadError};

/// An open trace.
#[derive(Debug)]
pub struct TraceFile(pub File);

impl ReadAt for TraceFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while filled < buf.len() {
            match read_once(&self.0, offset + filled as u64, &mut buf[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(ReadError {
                        message: error.to_string(),
                    });
                }
            }
        }
        Ok(filled)
    }
}

#[cfg(unix)]
fn read_once(file: &File, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(windows)]
fn read_once(file: &File, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}
