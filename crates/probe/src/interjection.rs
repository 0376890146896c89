//! What V8 makes the probe say in the middle of JavaScript: collections, its work, and locations.
//!
//! V8 collects garbage or serves an interrupt wherever JavaScript allocates or loops, also inside
//! the agent's own encoder. A record written then would share bytes with the one that JavaScript
//! has begun, so it waits until that one is whole; the agent asks for it right after.

use bobtail_trace::encode;
use bobtail_trace::layout::live;
use bobtail_trace::record::{CodePlace, LossKind};

use crate::loop_state::LoopState;
use crate::v8::WorkSpan;
use crate::writer::Writer;

/// Interjections kept during one record of JavaScript's; a record takes less than a microsecond.
const KEPT_MAX: usize = 8;

/// One such fact; times relative to the start of the trace.
#[derive(Debug, Clone, Copy)]
pub enum Interjection {
    Collection { end_ns: u64, fields: encode::Gc },
    Location { at_ns: u64, place: CodePlace },
    Work(WorkSpan),
}

/// Interjections that wait.
#[derive(Default)]
pub struct Deferred {
    kept: [Option<Interjection>; KEPT_MAX],
    count: usize,
    /// Those for which there was no place.
    lost: u32,
}

impl Deferred {
    /// Keeps a fact behind the others; false, and counted, when there is no place.
    fn keep(&mut self, fact: Interjection) -> bool {
        if self.join(fact) {
            return true;
        }
        let place = self.kept.get_mut(self.count);
        match place {
            Some(place) => {
                *place = Some(fact);
                self.count += 1;
                true
            }
            None => {
                self.lost += 1;
                false
            }
        }
    }

    /// Adds work to that which was kept last, if that is possible.
    fn join(&mut self, fact: Interjection) -> bool {
        let last = self.count.checked_sub(1).map(|last| &mut self.kept[last]);
        if let (Some(Some(Interjection::Work(last))), Interjection::Work(next)) = (last, fact)
            && let Some(both) = last.joined(next)
        {
            *last = both;
            return true;
        }
        false
    }
}

impl Interjection {
    fn write(self, writer: &mut Writer) {
        match self {
            Self::Collection { end_ns, fields } => {
                writer.put(|out, last_ns| encode::gc(out, last_ns, end_ns, &fields))
            }
            Self::Location { at_ns, place } => {
                writer.put(|out, last_ns| encode::location(out, last_ns, at_ns, place))
            }
            Self::Work(span) => {
                span.write(writer);
                true
            }
        };
    }
}

impl LoopState {
    /// Writes a fact now, or keeps it while JavaScript is in the middle of a record.
    #[cold]
    pub fn interject(&mut self, fact: Interjection) {
        let live = self.writer.live;
        if live.get(live::BUSY) == 0 {
            fact.write(&mut self.writer);
            return;
        }
        if self.deferred.keep(fact) {
            live.set(live::DEFERRED, 1);
        } else {
            live.lose(LossKind::Interjections);
        }
    }

    /// Writes what was kept, in order.
    pub fn write_deferred(&mut self) {
        self.writer.live.set(live::DEFERRED, 0);
        let kept = std::mem::take(&mut self.deferred);
        for fact in kept.kept.into_iter().flatten() {
            fact.write(&mut self.writer);
        }
        if kept.lost > 0 {
            let lost = u64::from(kept.lost);
            let kind = LossKind::Interjections;
            self.writer
                .put(|out, last_ns| encode::loss(out, last_ns, kind, lost, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_place_is_counted_and_the_first_stay() {
        let mut deferred = Deferred::default();
        let fact = |at_ns| Interjection::Location {
            at_ns,
            place: CodePlace::default(),
        };
        let kept = (0..KEPT_MAX as u64 + 3).filter(|&at_ns| deferred.keep(fact(at_ns)));
        assert_eq!(kept.count(), KEPT_MAX);
        assert_eq!(deferred.lost, 3);
        let times = deferred.kept.iter().map(|fact| match fact {
            Some(Interjection::Location { at_ns, .. }) => Some(*at_ns),
            _ => None,
        });
        assert!(times.eq((0..KEPT_MAX as u64).map(Some)));
    }
}
