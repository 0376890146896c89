//! The kernel's calls on single threads, behind a trait like its files are.
//!
//! Most kernels have no utilization clamps, this project's machines among them, so that only a
//! model of one can show that the lever works.

use std::io;

use crate::syscalls;

/// Calls on threads.
pub trait Threads: std::fmt::Debug + Send + Sync {
    /// The utilization clamps of a thread, of 1024, as (minimum, maximum).
    fn clamps(&self, thread: i32) -> io::Result<(u32, u32)>;
    /// Sets them.
    fn set_clamps(&self, thread: i32, min: u32, max: u32) -> io::Result<()>;
}

/// The threads of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealThreads;

impl Threads for RealThreads {
    fn clamps(&self, thread: i32) -> io::Result<(u32, u32)> {
        syscalls::clamps(thread)
    }

    fn set_clamps(&self, thread: i32, min: u32, max: u32) -> io::Result<()> {
        syscalls::set_clamps(thread, min, max)
    }
}
