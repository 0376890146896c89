//! The frames between bobtaild and its clients: `spec/bobtaild-protocol.md` in code.
//!
//! One frame is one datagram of a `SOCK_SEQPACKET` socket and has one length for each kind, so that
//! there is no partial frame to wait for, no length to believe and nothing to allocate.

mod answer;
mod codes;
mod error;
mod frame;
mod request;

pub use answer::{Answer, Offer, Refusal};
pub use error::FrameError;
pub use frame::{Frame, MAX_FRAME_BYTES};
pub use request::{Request, Want};

/// The version this release writes; the oldest it understands is the same.
pub const VERSION: u8 = 1;
/// First bytes of the body of HELLO.
pub const MAGIC: [u8; 4] = *b"BTLD";
