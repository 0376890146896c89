//! Where a reader gets its bytes from: positioned reads, nothing else.
//!
//! Not `std::io`, so that this crate provably does no I/O, and not a whole slice, so that a trace
//! of any length is read with one chunk in memory.

use thiserror::Error;

/// The place behind a [`ReadAt`] refused; the message is the place's own.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ReadError {
    pub message: String,
}

/// Bytes that can be read at any offset.
pub trait ReadAt {
    /// Fills `buf` from `offset` on and returns how many bytes it got. Fewer than asked for means
    /// that the bytes end there.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError>;
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.len());
        let bytes = buf.len().min(self.len() - start);
        buf[..bytes].copy_from_slice(&self[start..start + bytes]);
        Ok(bytes)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        self.as_slice().read_at(offset, buf)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        (**self).read_at(offset, buf)
    }
}
