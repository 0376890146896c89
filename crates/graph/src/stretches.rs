//! Stretches: where the loop thread's time was not native, in order, with their running sums.
//!
//! Kinds overlap in the record (a collection inside a compilation, a descheduled thread inside
//! either) and may arrive late, but every nanosecond has one class. So a stretch is cut when it is
//! laid down, once, and not at every question; "how much of each class lies in this interval" is
//! then answered by two searches, however long the interval is.

use bobtail_trace::record::Ns;

use crate::events::Row;
use crate::ring::Ring;
use crate::stretch::{Kind, Stretch, Sums, cut, idle_too, overlap_ns, spread};
use crate::work::Work;

/// Stretches that one that arrives late may be laid among; it loses what lies before them.
const LAID_AGAIN: u32 = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Stretches {
    pub ring: Ring<Stretch>,
    sums: Sums,
    last_end_ns: Ns,
    /// Nothing runs since then; not laid down yet.
    idle_since_ns: Option<Ns>,
    /// Taken up while another is laid among them.
    taken: Vec<Stretch>,
}

impl Stretches {
    pub(crate) fn new(initial: usize, bound: usize) -> Self {
        Self {
            ring: Ring::new(1, initial, bound),
            sums: Sums::default(),
            last_end_ns: 0,
            idle_since_ns: Some(0),
            taken: Vec::new(),
        }
    }

    /// From here on nothing runs.
    pub(crate) fn begin_idle(&mut self, at_ns: Ns) {
        self.idle_since_ns.get_or_insert(at_ns);
    }

    /// Something runs again.
    pub(crate) fn end_idle(&mut self, at_ns: Ns) {
        if let Some(since_ns) = self.idle_since_ns.take() {
            self.lay(since_ns, at_ns, Kind::Idle);
        }
    }

    /// Lays down what is idle so far, so that it is counted.
    pub(crate) fn settle(&mut self, now: Ns) {
        if self.idle_since_ns.is_some() {
            self.end_idle(now);
            self.idle_since_ns = Some(now);
        }
    }

    /// Lays a stretch down. Those it reaches back into are cut, or cut it.
    #[inline]
    pub(crate) fn lay(&mut self, begin_ns: Ns, end_ns: Ns, kind: Kind) {
        if end_ns <= begin_ns {
            return;
        }
        let new = Stretch {
            begin_ns,
            end_ns,
            kind,
            ..Stretch::default()
        };
        if begin_ns >= self.last_end_ns {
            return self.push(spread(new, new.length_ns(), 0, new.length_ns()));
        }
        self.take_from(begin_ns);
        let begin_ns = begin_ns.max(self.last_end_ns);
        self.lay_among(Stretch {
            begin_ns,
            end_ns: end_ns.max(begin_ns),
            ..new
        });
    }

    fn push(&mut self, mut stretch: Stretch) {
        if stretch.end_ns <= stretch.begin_ns {
            return;
        }
        stretch.before = self.sums;
        self.sums = stretch.until(stretch.length_ns());
        self.last_end_ns = stretch.end_ns;
        self.ring.push(stretch);
    }

    /// Takes up the last stretches, down to the first that ends after a moment.
    fn take_from(&mut self, time_ns: Ns) {
        self.taken.clear();
        while self.last_end_ns > time_ns && self.taken.len() < LAID_AGAIN as usize {
            let Some(last) = self.ring.pop() else { break };
            let newest = self.ring.next().wrapping_sub(1);
            self.last_end_ns = self.ring.get(newest).map_or(0, |s| s.end_ns);
            self.sums = last.before;
            self.taken.push(last);
        }
    }

    /// Lays a stretch and those that were taken up, in order of time, each moment to one of them.
    fn lay_among(&mut self, new: Stretch) {
        let taken = std::mem::take(&mut self.taken);
        let mut laying = Laying::new(new, &taken);
        for old in taken.iter().rev() {
            if old.begin_ns >= new.end_ns {
                laying.until(self, new.end_ns);
                self.push(*old);
            } else if old.kind.rank() >= new.kind.rank() {
                laying.until(self, old.begin_ns);
                self.push(idle_too(*old, &new));
                laying.pass(old);
            } else {
                self.push(cut(old, old.begin_ns, new.begin_ns));
                if old.end_ns > new.end_ns {
                    laying.until(self, new.end_ns);
                    self.push(cut(old, new.end_ns, old.end_ns));
                }
            }
        }
        laying.until(self, new.end_ns);
        self.taken = taken;
    }

    /// The work up to a moment, as running sums. `at` is where the search begins; it moves there.
    fn until(&self, time_ns: Ns, at: &mut Row) -> Sums {
        *at = self.ring.partition_point_from(*at, |s| s.end_ns <= time_ns);
        match self.ring.get(*at) {
            Some(stretch) => stretch.until(time_ns.saturating_sub(stretch.begin_ns)),
            None => self.sums,
        }
    }

    /// What the loop thread did in an interval. `at` remembers where the last one ended, so that
    /// intervals in order of time cost little.
    pub(crate) fn work(&self, from_ns: Ns, to_ns: Ns, at: &mut Row) -> Work {
        let mut left_ns = to_ns.saturating_sub(from_ns);
        if from_ns >= self.last_end_ns {
            return Work {
                native_ns: left_ns,
                ..Work::default()
            };
        }
        let (from, to) = (self.until(from_ns, at), self.until(to_ns, at));
        // Shares are rounded down at both ends, so they may take a nanosecond too many.
        let mut take = |from: u64, to: u64| {
            let part_ns = to.saturating_sub(from).min(left_ns);
            left_ns -= part_ns;
            part_ns
        };
        Work {
            not_running_ns: take(from.not_running_ns, to.not_running_ns),
            gc_ns: take(from.gc_ns, to.gc_ns),
            loop_ns: take(from.loop_ns, to.loop_ns),
            jit_ns: take(from.jit_ns, to.jit_ns),
            ic_ns: take(from.ic_ns, to.ic_ns),
            native_ns: left_ns,
        }
    }

    /// Where a search for a moment begins.
    pub(crate) fn find(&self, time_ns: Ns) -> Row {
        if time_ns >= self.last_end_ns {
            return self.ring.next();
        }
        self.ring.partition_point(|s| s.end_ns <= time_ns)
    }

    /// From this row on, everything that may still be asked about a time after `time_ns` is there,
    /// even if stretches that end later are laid again.
    pub(crate) fn needed_from(&self, time_ns: Ns) -> Row {
        self.find(time_ns).wrapping_sub(LAID_AGAIN)
    }

    /// The stretches in an interval, with their times clipped to it.
    pub(crate) fn each(&self, from_ns: Ns, to_ns: Ns) -> impl Iterator<Item = (Kind, Ns, Ns)> {
        let first = self.find(from_ns);
        (0..)
            .map_while(move |i: u32| self.ring.get(first.wrapping_add(i)))
            .take_while(move |s| s.begin_ns < to_ns)
            .map(move |s| (s.kind, s.begin_ns.max(from_ns), s.end_ns.min(to_ns)))
    }
}

/// A stretch on its way down among others.
struct Laying {
    new: Stretch,
    /// Everything before is laid, or somebody else's.
    at_ns: Ns,
    /// Work of V8 lies evenly in so much of it: where no collection is, and no earlier work. What
    /// of that is not running is nobody's, and so the share of the work there is lost.
    whole_ns: u64,
    /// How much is laid.
    passed_ns: u64,
}

impl Laying {
    fn new(new: Stretch, among: &[Stretch]) -> Self {
        let held = |old: &&Stretch| {
            old.kind.rank() >= new.kind.rank() && !matches!(old.kind, Kind::NotRunning(_))
        };
        let held_ns: u64 = among
            .iter()
            .filter(held)
            .map(|old| overlap_ns(old, &new))
            .sum();
        Self {
            new,
            at_ns: new.begin_ns,
            whole_ns: new.length_ns().saturating_sub(held_ns),
            passed_ns: 0,
        }
    }

    /// Lays the part of it that ends at a moment.
    fn until(&mut self, all: &mut Stretches, end_ns: Ns) {
        let end_ns = end_ns.min(self.new.end_ns);
        if end_ns <= self.at_ns {
            return;
        }
        let before_ns = self.passed_ns;
        self.passed_ns += end_ns - self.at_ns;
        let part = Stretch {
            begin_ns: self.at_ns,
            end_ns,
            ..self.new
        };
        all.push(spread(part, self.whole_ns, before_ns, self.passed_ns));
        self.at_ns = end_ns;
    }

    /// Leaves out what another has.
    fn pass(&mut self, other: &Stretch) {
        self.at_ns = self.at_ns.max(other.end_ns);
    }
}

#[cfg(test)]
mod tests {
    use bobtail_trace::record::NotRunningCause;
    use proptest::prelude::*;

    use super::*;

    const AWAY: Kind = Kind::NotRunning(NotRunningCause::Preempted);
    const GC: Kind = Kind::Collection { row: 1 };

    fn engine(jit_ns: u32, ic_ns: u32) -> Kind {
        let idle = false;
        Kind::Engine {
            jit_ns,
            ic_ns,
            idle,
        }
    }

    fn laid(all: &[(Ns, Ns, Kind)]) -> Stretches {
        let mut stretches = Stretches::new(256, 256);
        stretches.end_idle(0);
        for &(begin_ns, end_ns, kind) in all {
            stretches.lay(begin_ns, end_ns, kind);
        }
        stretches
    }

    /// native, gc, jit, ic, loop, not running
    fn work(stretches: &Stretches, from_ns: Ns, to_ns: Ns) -> [u64; 6] {
        let work = stretches.work(from_ns, to_ns, &mut stretches.find(from_ns));
        assert_eq!(work.total_ns(), to_ns - from_ns);
        [
            work.native_ns,
            work.gc_ns,
            work.jit_ns,
            work.ic_ns,
            work.loop_ns,
            work.not_running_ns,
        ]
    }

    #[test]
    fn work_lies_around_a_collection_inside_its_span() {
        let all = laid(&[(40, 60, GC), (0, 100, engine(60, 20))]);
        assert_eq!(work(&all, 0, 100), [0, 20, 60, 20, 0, 0]);
        assert_eq!(work(&all, 0, 40), [0, 0, 30, 10, 0, 0]);
        assert_eq!(work(&all, 50, 80), [0, 10, 15, 5, 0, 0]);
    }

    #[test]
    fn not_running_takes_its_share_of_whatever_was_told_there() {
        for all in [
            laid(&[(0, 100, engine(40, 20)), (50, 100, AWAY)]),
            laid(&[(50, 100, AWAY), (0, 100, engine(40, 20))]),
        ] {
            assert_eq!(work(&all, 0, 100), [20, 0, 20, 10, 0, 50]);
        }
        for all in [
            laid(&[(0, 100, GC), (20, 30, AWAY)]),
            laid(&[(20, 30, AWAY), (0, 100, GC)]),
        ] {
            assert_eq!(work(&all, 0, 100), [0, 90, 0, 0, 0, 10]);
            assert_eq!(work(&all, 25, 40), [0, 10, 0, 0, 0, 5]);
        }
    }

    #[test]
    fn a_cut_through_a_span_splits_it_in_proportion() {
        let all = laid(&[(0, 100, engine(10, 30))]);
        assert_eq!(work(&all, 0, 50), [30, 0, 5, 15, 0, 0]);
        assert_eq!(work(&all, 50, 100), [30, 0, 5, 15, 0, 0]);
    }

    #[test]
    fn what_runs_while_the_loop_is_idle_is_not_idle() {
        let mut all = laid(&[]);
        all.begin_idle(0);
        all.lay(10, 20, GC);
        all.lay(40, 60, engine(8, 4));
        all.lay(70, 75, AWAY);
        all.end_idle(100);
        assert_eq!(work(&all, 0, 120), [20, 10, 8, 4, 73, 5]);
        assert_eq!(work(&all, 40, 50), [0, 0, 4, 2, 4, 0]);
    }

    #[test]
    fn idle_time_is_counted_while_it_goes_on() {
        let mut all = laid(&[]);
        all.begin_idle(10);
        all.settle(30);
        assert_eq!(work(&all, 0, 30), [10, 0, 0, 0, 20, 0]);
        all.end_idle(50);
        assert_eq!(work(&all, 0, 60), [20, 0, 0, 0, 40, 0]);
    }

    #[test]
    fn more_work_than_time_is_cut_to_the_time() {
        let all = laid(&[(0, 10, engine(7, u32::MAX))]);
        assert_eq!(work(&all, 0, 10), [0, 0, 7, 3, 0, 0]);
    }

    #[test]
    fn what_arrives_too_late_loses_what_lies_too_far_back() {
        let mut many: Vec<_> = (0..100).map(|i| (10 * i, 10 * i + 5, GC)).collect();
        many.push((0, 1000, AWAY));
        let [_, gc_ns, .., away_ns] = work(&laid(&many), 0, 1000);
        assert_eq!((gc_ns, away_ns), (36 * 5, 1000 - 355));
    }

    #[test]
    fn what_is_needed_stays_when_fewer_are_laid_again() {
        let mut all = Stretches::new(8, 256);
        all.end_idle(0);
        for i in 0..6 {
            all.lay(10 * i, 10 * i + 5, GC);
        }
        all.ring.need_from(Some(all.needed_from(51)));
        all.lay(3, 58, AWAY);
        for i in 6..40 {
            all.lay(10 * i, 10 * i + 5, GC);
        }
        let [_, gc_ns, .., away_ns] = work(&all, 51, 400);
        assert_eq!((gc_ns, away_ns), (34 * 5, 7));
    }

    #[derive(Debug, Clone, Copy)]
    struct Told {
        begin_ns: Ns,
        end_ns: Ns,
        kind: Kind,
    }

    fn told() -> impl Strategy<Value = Told> {
        let kind = prop_oneof![
            Just(Kind::Idle),
            Just(GC),
            Just(AWAY),
            (0..60u32, 0..60u32).prop_map(|(jit_ns, ic_ns)| engine(jit_ns, ic_ns)),
        ];
        (0..300u64, 0..80u64, kind).prop_map(|(begin_ns, length_ns, kind)| Told {
            begin_ns,
            end_ns: begin_ns + length_ns,
            kind,
        })
    }

    /// Nanosecond by nanosecond: the highest rank told there; `None` is native.
    fn painted(all: &[Told], from_ns: Ns, to_ns: Ns) -> [u64; 5] {
        let mut sums = [0; 5];
        for at in from_ns..to_ns {
            let here = all.iter().filter(|t| (t.begin_ns..t.end_ns).contains(&at));
            let rank = here.map(|t| usize::from(t.kind.rank()) + 1).max();
            sums[rank.unwrap_or(0)] += 1;
        }
        sums
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// In whatever order they come and however they overlap: each nanosecond has the class of
        /// the highest rank there, work of V8 never takes more than its span has, and pieces sum
        /// to the whole.
        #[test]
        fn every_nanosecond_has_one_class(
            all in prop::collection::vec(told(), 0..40),
            from in 0..300u64,
            lengths in prop::collection::vec(0..60u64, 1..8),
        ) {
            let tuples: Vec<_> = all.iter().map(|t| (t.begin_ns, t.end_ns, t.kind)).collect();
            let stretches = laid(&tuples);
            let mut sums = [0; 6];
            let (mut at, mut row) = (from, stretches.find(from));
            for length in lengths {
                let piece = stretches.work(at, at + length, &mut row);
                prop_assert_eq!(piece.total_ns(), length);
                let piece = [piece.native_ns, piece.gc_ns, piece.jit_ns, piece.ic_ns, piece.loop_ns,
                    piece.not_running_ns];
                let [native, idle, engine, gc, away] = painted(&all, at, at + length);
                prop_assert_eq!((piece[1], piece[5]), (gc, away));
                // A part of a span is rounded, at both ends.
                prop_assert!(piece[2] + piece[3] <= engine + 2, "{:?}", piece);
                prop_assert!(piece[4] <= idle + engine, "{:?}", piece);
                prop_assert!(piece[0] + 2 >= native, "{:?}", piece);
                sums.iter_mut().zip(piece).for_each(|(sum, part)| *sum += part);
                at += length;
            }
            let whole = work(&stretches, from, at);
            for (sum, whole) in sums.iter().zip(whole) {
                prop_assert!(sum.abs_diff(whole) <= 16, "{:?} {:?}", sums, whole);
            }
        }
    }
}
