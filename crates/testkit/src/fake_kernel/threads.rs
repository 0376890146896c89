//! Threads of a kernel with utilization clamps, which most kernels have not.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bobtail_control::threads::Threads;

/// Threads and their clamps; clones are the same threads.
#[derive(Debug, Clone, Default)]
pub struct FakeThreads(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    clamps: BTreeMap<i32, (u32, u32)>,
    ignores: bool,
    refuses: bool,
}

const EPERM: i32 = 1;
const ESRCH: i32 = 3;
const EINVAL: i32 = 22;

impl FakeThreads {
    /// Adds a thread, or sets the clamps of one.
    pub fn put(&self, thread: i32, min: u32, max: u32) {
        self.state().clamps.insert(thread, (min, max));
    }

    /// Ends a thread.
    pub fn end(&self, thread: i32) {
        self.state().clamps.remove(&thread);
    }

    /// Makes the kernel take clamps and forget them.
    pub fn ignore(&self) {
        self.state().ignores = true;
    }

    /// Makes the kernel refuse to set clamps, or take them again.
    pub fn refuse(&self, refuses: bool) {
        self.state().refuses = refuses;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads for FakeThreads {
    fn clamps(&self, thread: i32) -> io::Result<(u32, u32)> {
        let state = self.state();
        let clamps = state.clamps.get(&thread).copied();
        clamps.ok_or_else(|| io::Error::from_raw_os_error(ESRCH))
    }

    fn set_clamps(&self, thread: i32, min: u32, max: u32) -> io::Result<()> {
        let mut state = self.state();
        if !state.clamps.contains_key(&thread) {
            return Err(io::Error::from_raw_os_error(ESRCH));
        }
        if min > max || max > 1024 {
            return Err(io::Error::from_raw_os_error(EINVAL));
        }
        if state.refuses {
            return Err(io::Error::from_raw_os_error(EPERM));
        }
        if !state.ignores {
            state.clamps.insert(thread, (min, max));
        }
        Ok(())
    }
}
