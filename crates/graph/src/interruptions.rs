//! Recording what interrupts the callbacks: collections, work of V8, time of not running.
//!
//! They belong to no event: what they interrupt is known from the time at which they lie.

use bobtail_trace::record::Record;

use crate::collections::Collection;
use crate::recorder::Recorder;
use crate::stretch::Kind;

impl Recorder {
    pub(crate) fn interruption(&mut self, record: Record) {
        if let Some(whole) = Collection::told_by(&record) {
            self.tick(whole.end_ns);
            let row = self.history.collections.push(whole);
            let kind = Kind::Collection { row };
            self.history
                .stretches
                .lay(whole.begin_ns, whole.end_ns, kind);
        }
        match record {
            Record::Work {
                end_ns,
                span_ns,
                jit_ns,
                ic_ns,
            } => {
                self.tick(end_ns);
                let kind = Kind::Engine {
                    jit_ns: narrow(jit_ns),
                    ic_ns: narrow(ic_ns),
                    idle: false,
                };
                let begin_ns = end_ns.saturating_sub(span_ns);
                self.history.stretches.lay(begin_ns, end_ns, kind);
            }
            Record::NotRunning {
                at_ns,
                end_ns,
                duration_ns,
                cause,
            } => {
                self.tick(at_ns);
                let begin_ns = end_ns.saturating_sub(duration_ns);
                let kind = Kind::NotRunning(cause);
                self.history.stretches.lay(begin_ns, end_ns, kind);
            }
            _ => {}
        }
    }
}

/// No compilation takes the seconds that do not fit.
fn narrow(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}
