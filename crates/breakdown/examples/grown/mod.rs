//! A long trace of a busy server, grown record by record: what both examples measure with.
//!
//! The simulated loop knows nothing of V8 or of the kernel's scheduler, so their records are put
//! between its own here, as often as a warm service has them.

use bobtail_testkit::{Random, Shape, Simulation};
use bobtail_trace::record::{NotRunningCause, Ns, Record};

/// One in so many records of known time is followed by work of V8, or by not having run.
const WORK_ONCE_IN: u64 = 4;
const NOT_RUNNING_ONCE_IN: u64 = 2_000;
/// The writer joins work up to this span.
const SPAN_MAX_NS: u64 = 100_000;

/// An endless trace.
pub struct Grown {
    simulation: Simulation,
    random: Random,
    before_ns: Ns,
    now: Ns,
    next: Option<Record>,
}

impl Grown {
    /// The same each time.
    pub fn new() -> Self {
        // Like a real server: about ten micro events to a loop event, few clock readings.
        let shape = Shape {
            connections: 64,
            chatter: 10,
            work_ns: 20_000,
            ..Shape::default()
        };
        Self {
            simulation: Simulation::new(1, shape),
            random: Random::new(1),
            before_ns: 0,
            now: 0,
            next: None,
        }
    }

    /// The string table so far.
    pub fn strings(&self) -> &[String] {
        self.simulation.strings()
    }

    /// What is told after a record of this time.
    fn interruption(&mut self) -> Option<Record> {
        let span_ns = (self.now - self.before_ns).min(SPAN_MAX_NS);
        if self.random.once_in(NOT_RUNNING_ONCE_IN) {
            return Some(Record::NotRunning {
                at_ns: self.now,
                end_ns: self.now,
                duration_ns: span_ns,
                cause: NotRunningCause::Preempted,
            });
        }
        (span_ns > 0 && self.random.once_in(WORK_ONCE_IN)).then_some(Record::Work {
            end_ns: self.now,
            span_ns,
            jit_ns: span_ns / 16,
            ic_ns: span_ns / 8,
        })
    }
}

impl Iterator for Grown {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if let Some(record) = self.next.take() {
            return Some(record);
        }
        let record = self.simulation.next()?;
        if let Some(now) = time_inside_event(&record) {
            (self.before_ns, self.now) = (self.now.max(self.before_ns), now);
            if matches!(record, Record::LoopBegin { .. }) {
                self.before_ns = now;
            }
            self.next = self.interruption();
        }
        Some(record)
    }
}

/// The time of a record that has one and does not end its event.
fn time_inside_event(record: &Record) -> Option<Ns> {
    match *record {
        Record::LoopBegin { begin_ns, .. } => Some(begin_ns),
        Record::Micro { begin_ns, .. } => begin_ns,
        Record::Register { at_ns, .. } | Record::Write { at_ns, .. } => Some(at_ns),
        _ => None,
    }
}
