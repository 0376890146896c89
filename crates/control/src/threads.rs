//! The kernel's calls on single threads, behind a trait like its files are.
//!
//! Most kernels have no utilization clamps, this project's machines among them, so that only a
//! model of one can show that the lever works.

use std::io;

use crate::error::ControlError;
use crate::host::{Host, Place};
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

/// When a thread or process started, in ticks since boot: field 22 of its `stat`. With its id it
/// names one for good, since ids are used again.
///
/// # Errors
///
/// When there is no such thread.
pub fn start_of(host: &Host, thread: i32) -> Result<u64, ControlError> {
    // Not `/proc/N/stat`, for which the kernel adds up all threads of the process (`do_task_stat`).
    let place = Place::proc(format!("{thread}/task/{thread}/stat"));
    let text = host.read(&place)?;
    // The name, field 2, is in brackets and may hold anything.
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = after_name.split_whitespace().nth(19);
    match field.and_then(|field| field.parse().ok()) {
        Some(started) => Ok(started),
        None => Err(ControlError::Malformed {
            path: host.path(&place)?,
            value: text,
            expected: "the state of a thread",
        }),
    }
}
