//! bobtaild: raises levers that need root for processes that have no rights, and puts every one
//! back, whatever happens to the process, to the daemon or to the lever.
//!
//! A library, so that the client half is used elsewhere and tests can drive the parts alone. What
//! decides (`service`, `claims`, `rights`) reads no clock and no socket; `server` does both.

#![forbid(unsafe_code)]

#[cfg(feature = "server")]
mod begun;
mod changes;
pub mod claimed;
#[cfg(feature = "server")]
pub mod claims;
pub mod client;
#[cfg(feature = "server")]
pub mod config;
#[cfg(feature = "server")]
mod descriptors;
#[cfg(feature = "server")]
pub mod examination;
#[cfg(all(test, feature = "server"))]
#[path = "../tests/support/folder.rs"]
mod folder;
#[cfg(feature = "server")]
mod folders;
#[cfg(feature = "server")]
pub mod guard;
#[cfg(feature = "server")]
pub mod holdings;
#[cfg(feature = "server")]
pub mod journal;
#[cfg(feature = "server")]
pub mod keeper;
#[cfg(feature = "server")]
pub mod lent;
#[cfg(feature = "server")]
pub mod levers;
#[cfg(feature = "server")]
pub mod lock;
#[cfg(feature = "server")]
pub mod log;
#[cfg(feature = "server")]
pub mod owner;
pub mod protocol;
#[cfg(feature = "server")]
pub mod proving;
#[cfg(feature = "server")]
mod remembered;
#[cfg(feature = "server")]
pub mod restore;
#[cfg(feature = "server")]
pub mod rights;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod service;
#[cfg(feature = "server")]
mod session;
mod socket;
#[cfg(feature = "server")]
mod status;
pub mod tied;
