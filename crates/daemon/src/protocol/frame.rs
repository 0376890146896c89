//! The bytes of one frame: a header of 8 bytes and a body whose length follows from the kind.
//!
//! Reading and writing goes through a cursor that cannot leave the frame; all integers are
//! little-endian.

use super::{FrameError, VERSION};

/// No frame of any version is longer.
pub const MAX_FRAME_BYTES: usize = 36;
/// Bytes before the body: version, kind, flags, reserved, sequence.
pub const HEADER_BYTES: usize = 8;
/// Flag of a request: answer only to refuse.
pub const SILENT: u8 = 1;

/// An encoded frame, ready to be sent as one datagram.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    bytes: [u8; MAX_FRAME_BYTES],
    used: usize,
}

impl Frame {
    /// The bytes to send.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub(super) fn new(kind: u8, flags: u8, sequence: u32) -> Self {
        let mut frame = Self {
            bytes: [0; MAX_FRAME_BYTES],
            used: 0,
        };
        frame.put(&[VERSION, kind, flags, 0]);
        frame.put(&sequence.to_le_bytes());
        frame
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.used..][..bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }
}

/// A received frame whose header is sound; the body is still to be read.
pub(super) struct Parts<'a> {
    pub kind: u8,
    pub flags: u8,
    pub sequence: u32,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Parts<'a> {
    /// Takes the header off `bytes`, one whole datagram.
    pub fn of(bytes: &'a [u8]) -> Result<Self, FrameError> {
        if bytes.len() < HEADER_BYTES || bytes.len() > MAX_FRAME_BYTES {
            return Err(FrameError::Size(bytes.len()));
        }
        let mut parts = Self {
            kind: bytes[1],
            flags: bytes[2],
            sequence: 0,
            bytes,
            at: 3,
        };
        if bytes[0] != VERSION {
            return Err(FrameError::Version(bytes[0]));
        }
        parts.zeros(1)?;
        parts.sequence = u32::from_le_bytes(parts.take());
        Ok(parts)
    }

    /// Holds the frame to the one length of its kind; every later read is then inside.
    pub fn expect_body(&self, body_bytes: usize) -> Result<(), FrameError> {
        let expected = HEADER_BYTES + body_bytes;
        if self.bytes.len() == expected {
            return Ok(());
        }
        Err(FrameError::Length {
            kind: self.kind,
            found: self.bytes.len(),
            expected,
        })
    }

    /// Next `N` bytes; those beyond the end of the frame read as 0.
    pub fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        for (to, from) in taken.iter_mut().zip(self.bytes.iter().skip(self.at)) {
            *to = *from;
        }
        self.at += N;
        taken
    }

    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.take())
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    /// Holds the next `count` bytes to be 0, so that a later version may give them a meaning.
    pub fn zeros(&mut self, count: usize) -> Result<(), FrameError> {
        for _ in 0..count {
            let at = self.at;
            match self.u8() {
                0 => {}
                value => return Err(FrameError::Reserved { at, value }),
            }
        }
        Ok(())
    }
}
