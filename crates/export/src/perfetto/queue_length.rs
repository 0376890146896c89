//! How many events are ready and have not begun, at any time.
//!
//! An event tells that it was ready when it begins, so the length at a moment is known only when
//! all that were ready then have begun. A loop runs everything that is ready before it has asked
//! the kernel twice; what is ready for longer is counted from the time that was told already.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bobtail_trace::record::Ns;

/// Changes of the length that may still be preceded by others.
#[derive(Debug, Default)]
pub(super) struct QueueLength {
    changes: BinaryHeap<Reverse<(Ns, i64)>>,
    length: i64,
    /// Up to here all is told.
    told_ns: Ns,
    last_poll_ns: Ns,
}

impl QueueLength {
    /// An event has begun that was ready since.
    pub fn waited(&mut self, ready_ns: Ns, begin_ns: Ns) {
        let from_ns = ready_ns.max(self.told_ns);
        if from_ns < begin_ns {
            self.changes.push(Reverse((from_ns, 1)));
            self.changes.push(Reverse((begin_ns, -1)));
        }
    }

    /// The loop comes back from the kernel: what was ready the time before has begun.
    pub fn polled(&mut self, leave_ns: Ns) -> Vec<(Ns, i64)> {
        let until_ns = std::mem::replace(&mut self.last_poll_ns, leave_ns);
        self.told(until_ns)
    }

    /// The changes of the length that are certain before a time: when, and to what.
    pub fn told(&mut self, until_ns: Ns) -> Vec<(Ns, i64)> {
        let mut told: Vec<(Ns, i64)> = Vec::new();
        while let Some(&Reverse((at_ns, change))) = self.changes.peek()
            && at_ns < until_ns
        {
            self.changes.pop();
            self.length += change;
            match told.last_mut() {
                Some(last) if last.0 == at_ns => last.1 = self.length,
                _ => told.push((at_ns, self.length)),
            }
        }
        self.told_ns = self.told_ns.max(until_ns);
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_the_number_of_waiting_events() {
        let mut queue = QueueLength::default();
        queue.waited(10, 20);
        queue.waited(12, 40);
        queue.waited(20, 60);
        assert_eq!(queue.told(50), [(10, 1), (12, 2), (20, 2), (40, 1)]);
        assert_eq!(queue.told(Ns::MAX), [(60, 0)]);
    }

    #[test]
    fn what_was_ready_before_what_is_told_counts_from_there() {
        let mut queue = QueueLength::default();
        queue.waited(10, 20);
        assert_eq!(queue.told(30), [(10, 1), (20, 0)]);
        queue.waited(5, 50);
        assert_eq!(queue.told(Ns::MAX), [(30, 1), (50, 0)]);
    }

    #[test]
    fn two_polls_later_it_is_certain() {
        let mut queue = QueueLength::default();
        queue.waited(10, 20);
        assert_eq!(queue.polled(30), []);
        assert_eq!(queue.polled(60), [(10, 1), (20, 0)]);
    }
}
