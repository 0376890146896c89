//! bobtaild: raises levers that need root for processes that have no rights, and puts every one
//! back, whatever happens to the process, to the daemon or to the lever.
//!
//! A library, so that the client half is used elsewhere and tests can drive the parts alone. What
//! decides (`service`, `claims`, `rights`) reads no clock and no socket; `server` does both.

#![forbid(unsafe_code)]

pub mod claims;
pub mod client;
pub mod config;
pub mod guard;
pub mod holdings;
pub mod journal;
mod levers;
pub mod lock;
pub mod log;
pub mod protocol;
pub mod restore;
pub mod rights;
pub mod server;
pub mod service;
mod session;
mod socket;
