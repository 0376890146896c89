//! Decides how fast an event-loop thread shall run: a reading in, a decision out.
//!
//! Pure (no clock, file, randomness or thread), so that the simulator replays recordings under
//! exactly the code that runs live.

#![forbid(unsafe_code)]

mod speed;

pub use speed::Speed;
