//! Tells when the loop thread could run but did not: another thread had its processor, or its
//! group had used up its quota.
//!
//! From the kernel's record of each switch, and not from `/proc/thread-self/schedstat`: that is a
//! system call per look, and a sum of waits without their times. A thread that waits for a file or
//! a lock is not runnable; that is part of what its event does.

use crate::switches::{Switch, Switches};

/// Shorter interruptions are not told apart from the switch itself.
const SHORTEST_NS: u64 = 1_000;
/// Interruptions kept until they can be written.
const PENDING_MAX: usize = 64;

/// The thread was runnable and did not run. CLOCK_MONOTONIC.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    pub begin_ns: u64,
    pub end_ns: u64,
}

/// Interruptions of one thread that were not written yet; on that thread only.
pub struct NotRunning {
    switches: Switches,
    /// When the thread left its processor, runnable; 0 when it runs or had nothing to do.
    left_ns: u64,
    /// In the order of time.
    pending: [Interruption; PENDING_MAX],
    count: usize,
    lost: u64,
}

impl NotRunning {
    /// Reads from `switches`, from now on.
    pub fn new(switches: Switches) -> Self {
        Self {
            switches,
            left_ns: 0,
            pending: [Interruption::default(); PENDING_MAX],
            count: 0,
            lost: 0,
        }
    }

    /// Something may have to be written.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.switches.has_news() || self.count != 0
    }

    /// From `since_ns` until now the loop had nothing to do: who had its processor is no matter.
    #[inline]
    pub fn forget_since(&mut self, since_ns: u64) {
        if self.has_news() {
            self.read();
            // Never more than a few before a poll: each event that ends has them written.
            while self.switches.next().is_some() {
                self.lost += 1;
            }
            while let Some(last) = self.pending[..self.count].last_mut() {
                if last.begin_ns < since_ns {
                    last.end_ns = last.end_ns.min(since_ns);
                    break;
                }
                self.count -= 1;
            }
        }
    }

    /// Takes the first interruption, if it ended by `until_ns`.
    pub fn take(&mut self, until_ns: u64) -> Option<Interruption> {
        self.read();
        let first = *self.pending[..self.count].first()?;
        if first.end_ns > until_ns {
            return None;
        }
        self.pending.copy_within(1..self.count, 0);
        self.count -= 1;
        Some(first)
    }

    /// How many switches were lost since this was asked last.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    #[cold]
    #[inline(never)]
    fn read(&mut self) {
        while self.count < PENDING_MAX {
            let Some(switch) = self.switches.next() else {
                return;
            };
            self.note(switch);
        }
    }

    fn note(&mut self, switch: Switch) {
        match switch {
            Switch::Left { at_ns, runnable } => self.left_ns = if runnable { at_ns } else { 0 },
            Switch::Returned { at_ns } => {
                let begin_ns = std::mem::take(&mut self.left_ns);
                if begin_ns != 0 && at_ns.saturating_sub(begin_ns) >= SHORTEST_NS {
                    self.pending[self.count] = Interruption {
                        begin_ns,
                        end_ns: at_ns,
                    };
                    self.count += 1;
                }
            }
            Switch::Lost { count } => {
                self.lost += count;
                self.left_ns = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(switches: &[Switch]) -> NotRunning {
        let mut not_running = NotRunning::new(Switches::none());
        for &switch in switches {
            not_running.note(switch);
        }
        not_running
    }

    fn left(at_ns: u64, runnable: bool) -> Switch {
        Switch::Left { at_ns, runnable }
    }

    const fn returned(at_ns: u64) -> Switch {
        Switch::Returned { at_ns }
    }

    #[test]
    fn only_a_runnable_thread_was_interrupted() {
        let switches = [
            left(10_000, false),
            returned(20_000),
            left(30_000, true),
            returned(40_000),
            left(50_000, true),
            returned(50_999),
        ];
        let mut not_running = noted(&switches);
        let expected = Interruption {
            begin_ns: 30_000,
            end_ns: 40_000,
        };
        assert_eq!(not_running.take(39_999), None, "did not end by then");
        assert_eq!(not_running.take(40_000), Some(expected));
        assert_eq!(not_running.take(u64::MAX), None);
        assert!(!not_running.has_news());
    }

    #[test]
    fn what_falls_into_a_poll_is_forgotten() {
        let switches = [
            left(10_000, true),
            returned(20_000),
            left(30_000, true),
            returned(40_000),
            left(50_000, true),
            returned(60_000),
        ];
        let mut not_running = noted(&switches);
        not_running.forget_since(39_990);
        let ends = std::iter::from_fn(|| not_running.take(u64::MAX)).map(|it| it.end_ns);
        assert_eq!(ends.collect::<Vec<_>>(), [20_000, 39_990]);
    }

    #[test]
    fn nothing_is_measured_across_a_gap() {
        let gap = Switch::Lost { count: 3 };
        let mut not_running = noted(&[left(10_000, true), gap, returned(90_000)]);
        assert_eq!(not_running.take(u64::MAX), None);
        assert_eq!(not_running.take_lost(), 3);
        assert_eq!(not_running.take_lost(), 0);
    }
}
