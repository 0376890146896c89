//! When nothing ran on the loop: it was in the kernel or between events.
//!
//! The graph lists what ran for the tail only, because lists cost much more than the walk; how long
//! nothing ran is needed for every request. Stretches with their running sum answer that by two
//! searches, however long the interval is.

use std::collections::VecDeque;

use bobtail_trace::record::{Ns, Record};

/// Stretches remembered; whoever waits for longer than these finds no idle time before.
const STRETCHES: usize = 1 << 18;

#[derive(Debug, Clone, Copy)]
struct Stretch {
    begin_ns: Ns,
    end_ns: Ns,
    /// Idle time before this stretch.
    before_ns: u64,
}

/// Idle time of one loop, without the collections in it.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    stretches: VecDeque<Stretch>,
    sum_ns: u64,
    /// Idle since then.
    since_ns: Option<Ns>,
}

impl Idle {
    /// Takes note of a record, in their order.
    pub(crate) fn see(&mut self, record: &Record) {
        match *record {
            Record::LoopBegin { begin_ns, .. } => self.end(begin_ns),
            Record::Micro {
                begin_ns: Some(at_ns),
                ..
            }
            | Record::Resume {
                event: 1..,
                at_ns: Some(at_ns),
            } => self.end(at_ns),
            Record::LoopEnd { end_ns } => self.begin(end_ns),
            Record::Poll { enter_ns, .. } => self.begin(enter_ns),
            Record::Gc {
                begin_ns, end_ns, ..
            } if self.since_ns.is_some() => {
                self.end(begin_ns);
                self.begin(end_ns);
            }
            _ => {}
        }
    }

    fn begin(&mut self, at_ns: Ns) {
        let known_ns = self.stretches.back().map_or(0, |last| last.end_ns);
        self.since_ns.get_or_insert(at_ns.max(known_ns));
    }

    fn end(&mut self, end_ns: Ns) {
        let Some(begin_ns) = self.since_ns.take().filter(|begin_ns| *begin_ns < end_ns) else {
            return;
        };
        if self.stretches.len() == STRETCHES {
            self.stretches.pop_front();
        }
        self.stretches.push_back(Stretch {
            begin_ns,
            end_ns,
            before_ns: self.sum_ns,
        });
        self.sum_ns += end_ns - begin_ns;
    }

    /// Idle time in an interval that ended before the idle time that is going on.
    pub(crate) fn within_ns(&self, from: Ns, to: Ns) -> u64 {
        self.until_ns(to).saturating_sub(self.until_ns(from))
    }

    fn until_ns(&self, time_ns: Ns) -> u64 {
        let after = self.stretches.partition_point(|s| s.end_ns <= time_ns);
        match self.stretches.get(after) {
            Some(s) => s.before_ns + time_ns.saturating_sub(s.begin_ns),
            None => self.sum_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use bobtail_testkit::{ORIGIN_NS, draw};

    use super::*;

    fn idle(text: &str) -> Idle {
        let mut idle = Idle::default();
        draw(text)
            .records
            .iter()
            .for_each(|record| idle.see(record));
        idle
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn what_lies_between_events_is_idle_but_for_collections() {
        let idle = idle(
            "open 1 server\n\
             0ms begin read handle=1\n2ms end\n\
             5ms begin read handle=1\n6ms end\n\
             6ms gc scavenge for=1ms\n\
             10ms begin read handle=1\n11ms end",
        );
        for (from, to, expected) in [(0, 2, 0), (0, 11, 6), (3, 6, 2), (5, 8, 1), (6, 7, 0)] {
            assert_eq!(
                idle.within_ns(ORIGIN_NS + from * MS, ORIGIN_NS + to * MS),
                expected * MS,
                "{from} {to}"
            );
        }
    }
}
