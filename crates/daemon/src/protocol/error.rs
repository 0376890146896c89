//! What can be wrong with a frame, with the value that is.
//!
//! A peer that sends such a frame is not asked again: its connection ends.

use thiserror::Error;

/// Why bytes are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameError {
    #[error("a frame of {0} bytes (a header has 8, the largest frame 36)")]
    Size(usize),
    #[error("frame of version {0} (this is 1)")]
    Version(u8),
    #[error("frame kind {0:#04x} is not known")]
    Kind(u8),
    #[error("a frame of kind {kind:#04x} has {found} bytes, not {expected}")]
    Length {
        kind: u8,
        found: usize,
        expected: usize,
    },
    #[error("flags {0:#04x} are not known")]
    Flags(u8),
    #[error("byte {at} is {value:#04x} and must be 0")]
    Reserved { at: usize, value: u8 },
    #[error("HELLO begins with {0:02x?}, not BTLD")]
    Magic([u8; 4]),
    #[error("HELLO offers versions {oldest} to {newest}")]
    Versions { oldest: u8, newest: u8 },
    #[error("lever {0} is not known")]
    Lever(u8),
    #[error("unit {0} is not known")]
    Unit(u8),
    #[error("refusal {0} is not known")]
    Refusal(u16),
}
