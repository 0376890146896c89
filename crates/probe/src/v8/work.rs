//! Turns what the hooks see into WORK records, and keeps counts for tests.
//!
//! A record per miss would be most of a trace, so neighbours share one: as long as nothing else was
//! written, the last record is written anew with the sums of both. At each miss and in its place,
//! not once at the end of the stretch: JavaScript writes the next record without asking, and a
//! kill must lose nothing. Hence its fixed width (`encode::growing_work`).

use bobtail_trace::encode;
use bobtail_trace::layout::live;

use super::accounting::{Accounting, CLASSES, Class, Opener, Piece};
use super::collections::Collections;
use super::ticks::Ticks;
use super::wrappers::WRAPPERS_MAX;
use crate::interjection::Interjection;
use crate::loop_state::LoopState;
use crate::writer::{Begin, Place, Writer};

/// A record of several pieces spans no more than this: what a reader cuts in proportion is wrong
/// by less.
const SPAN_MAX_NS: u64 = 100_000;
/// First guess of what an inline-cache miss takes.
const USUAL_MISS_NS: u64 = 2_000;

/// What V8 does on one thread.
pub struct Work {
    pub ticks: Ticks,
    pub accounting: Accounting,
    pub collections: Collections,
    /// Calls by number of the function.
    pub calls: [u32; WRAPPERS_MAX],
}

/// Compilation and inline-cache misses in a span of time; relative to the start of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkSpan {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub jit_ns: u64,
    pub ic_ns: u64,
}

/// The WORK that was written last, and where.
#[derive(Debug, Clone, Copy)]
pub struct LastWork {
    span: WorkSpan,
    from: Begin,
    to: Place,
}

impl Work {
    pub fn new() -> Self {
        let ticks = Ticks::new();
        let accounting = Accounting::new(ticks.now(), ticks.ticks_in(USUAL_MISS_NS));
        Self {
            ticks,
            accounting,
            collections: Collections::default(),
            calls: [0; WRAPPERS_MAX],
        }
    }

    /// Nanoseconds per class since the start of the recording.
    pub fn sums_ns(&mut self) -> [u64; CLASSES] {
        let now = self.ticks.now();
        let ticks = &self.ticks;
        self.accounting.sums(now).map(|sum| ticks.duration_ns(sum))
    }
}

impl WorkSpan {
    /// This and what follows it as one; `None` when that spans too much.
    #[inline(always)]
    pub fn joined(self, next: Self) -> Option<Self> {
        let spans_ns = next.end_ns.saturating_sub(self.begin_ns);
        (next.begin_ns >= self.end_ns && spans_ns <= SPAN_MAX_NS).then_some(Self {
            begin_ns: self.begin_ns,
            end_ns: next.end_ns,
            jit_ns: self.jit_ns + next.jit_ns,
            ic_ns: self.ic_ns + next.ic_ns,
        })
    }

    /// Writes it, into the last record where that is possible.
    #[inline(always)]
    pub fn write(self, writer: &mut Writer) {
        if !self.join_last(writer) {
            self.write_new(writer);
        }
    }

    /// Adds it to the last record; false where that is none of work, or it would span too much.
    #[inline(always)]
    fn join_last(self, writer: &mut Writer) -> bool {
        let Some(last) = &writer.last_work else {
            return false;
        };
        if last.to != writer.place() || writer.live.is_silent() {
            return false;
        }
        let Some(span) = last.span.joined(self) else {
            return false;
        };
        let from = last.from;
        // What fits now did when it was less: the record has this form.
        let is_written = writer.write_anew(
            from,
            #[inline(always)]
            |out, last_ns| span.grown(out, last_ns),
        );
        if let (true, Some(last)) = (is_written, &mut writer.last_work) {
            last.span = span;
        }
        is_written
    }

    #[inline(never)]
    fn write_new(self, writer: &mut Writer) {
        let from = writer.put_placed(|out, last_ns| {
            self.grown(out, last_ns).unwrap_or_else(|| {
                let span_ns = self.span_ns();
                encode::work(out, last_ns, self.end_ns, span_ns, self.jit_ns, self.ic_ns)
            })
        });
        let (span, to) = (self, writer.place());
        writer.last_work = from.map(|from| LastWork { span, from, to });
    }

    #[inline(always)]
    fn span_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    /// Encodes it so that it can grow.
    #[inline(always)]
    fn grown(self, out: &mut encode::Window, last_ns: u64) -> Option<encode::Encoded> {
        let span_ns = self.span_ns();
        encode::growing_work(out, last_ns, self.end_ns, span_ns, self.jit_ns, self.ic_ns)
    }
}

impl LoopState {
    /// Work begins; gives the depth for `end_work`.
    #[inline(always)]
    pub fn begin_work(&mut self, class: Class, opener: Opener) -> usize {
        let work = &mut self.work;
        let now = work.ticks.now();
        work.ticks.keep_fresh(now);
        work.accounting.enter(class, opener, now)
    }

    /// The work that began at that depth ends, with all within it.
    #[inline(always)]
    pub fn end_work(&mut self, depth: usize) {
        let now = self.work.ticks.now();
        if !self.work.accounting.is_innermost(depth) {
            self.end_unbalanced_work(depth, now);
        } else if let Some(piece) = self.work.accounting.leave_inner(depth, now) {
            self.write_work(piece);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_unbalanced_work(&mut self, depth: usize, now: u64) {
        if let Some(piece) = self.work.accounting.leave(depth, now) {
            self.write_work(piece);
        }
    }

    /// The innermost work of that opener ends.
    #[inline]
    pub fn end_innermost_work(&mut self, opener: Opener) {
        let now = self.work.ticks.now();
        if let Some(piece) = self.work.accounting.leave_innermost(opener, now) {
            self.write_work(piece);
        }
    }

    /// The loop waits: whatever V8 began is over.
    #[inline]
    pub fn settle_work(&mut self) {
        if self.work.accounting.is_working() {
            let now = self.work.ticks.now();
            self.work.accounting.settle(now);
        }
    }

    #[inline(always)]
    fn write_work(&mut self, piece: Piece) {
        if piece.jit == 0 && piece.ic == 0 {
            return;
        }
        let ticks = &self.work.ticks;
        let span_ns = ticks.duration_ns(piece.end - piece.begin);
        let end_ns = self.writer.relative(ticks.monotonic_ns(piece.end));
        let span = WorkSpan {
            begin_ns: end_ns.saturating_sub(span_ns),
            end_ns,
            jit_ns: ticks.duration_ns(piece.jit),
            ic_ns: ticks.duration_ns(piece.ic),
        };
        // `interject` asks the same, out of line: nothing is written as often as misses are.
        if self.writer.live.get(live::BUSY) != 0 {
            self.interject(Interjection::Work(span));
        } else {
            span.write(&mut self.writer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin_ns: u64, end_ns: u64, ic_ns: u64) -> WorkSpan {
        WorkSpan {
            begin_ns,
            end_ns,
            jit_ns: 0,
            ic_ns,
        }
    }

    #[test]
    fn joins_what_is_near() {
        let both = span(1_000, 2_000, 900).joined(span(50_000, 60_000, 9_000));
        assert_eq!(both, Some(span(1_000, 60_000, 9_900)));
        assert_eq!(span(0, 10, 10).joined(span(99_000, 100_001, 1)), None);
        assert_eq!(span(0, 10, 10).joined(span(5, 20, 1)), None);
    }
}
