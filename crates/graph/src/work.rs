//! What the loop thread did with a piece of time, by work class.
//!
//! The classes exclude each other and sum to the piece to the nanosecond, because a share can only
//! be read if the others are what is left of it.

use std::ops::AddAssign;

/// Time of the loop thread by work class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Code of the application and of Node: what no other class has.
    pub native_ns: u64,
    pub gc_ns: u64,
    /// Compilation and optimization.
    pub jit_ns: u64,
    /// Inline-cache misses.
    pub ic_ns: u64,
    /// The loop was in the kernel or between events, or history is lost.
    pub loop_ns: u64,
    /// Runnable, but not running: descheduled or throttled.
    pub not_running_ns: u64,
}

impl Work {
    /// The length of the piece.
    pub fn total_ns(&self) -> u64 {
        self.native_ns + self.gc_ns + self.jit_ns + self.ic_ns + self.loop_ns + self.not_running_ns
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.native_ns += other.native_ns;
        self.gc_ns += other.gc_ns;
        self.jit_ns += other.jit_ns;
        self.ic_ns += other.ic_ns;
        self.loop_ns += other.loop_ns;
        self.not_running_ns += other.not_running_ns;
    }
}
