//! Any bytes as a frame of bobtaild's protocol: an error, or the only spelling of what it says.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "the other target uses the rest")]
#[path = "../../crates/daemon/tests/support/any_frames.rs"]
mod any_frames;
#[allow(dead_code, reason = "the daemon's own tests use the rest")]
#[path = "../../crates/daemon/tests/support/desk.rs"]
mod desk;
#[path = "../../crates/daemon/tests/support/folder.rs"]
mod folder;

fuzz_target!(|bytes: &[u8]| {
    any_frames::frame(bytes);
});
