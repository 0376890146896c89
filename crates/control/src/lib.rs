//! Moves the speed of CPUs, threads and groups, and puts everything back: the levers of a host.
//!
//! `actuator` is the one interface; each lever is a file. No allocation, lock or thread on the way
//! from a decision to a lever that is held, so that the observed process can drive one itself.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod actuator;
pub mod cpufreq;
pub mod emulated;
pub mod energy;
pub mod energy_preference;
pub mod error;
pub mod files;
pub mod gauge;
pub mod group;
mod held;
pub mod host;
pub mod intel_min_perf;
mod knob;
pub mod latency;
pub mod lever;
pub mod plain_setting;
pub mod saved;
pub mod several;
pub mod survey;
mod syscalls;
pub mod threads;
pub mod topology;
pub mod uclamp;

pub use actuator::{Actuator, Applied, Outcome, SelfTest};
pub use error::ControlError;
pub use held::Lock;
pub use host::{Host, Place, Root};
pub use lever::{Asked, Domain, Lever, LeverKind, Range, Unit};
pub use saved::{Restored, SavedSetting, SavedState};
pub use syscalls::{exchange, futex_wait, futex_wake, lock, peer_process, receive_with_files};
