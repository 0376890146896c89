//! Charges every moment of a thread to one class of work, the innermost.
//!
//! A stack of what is under way instead of a duration per hook, because the hooks nest: a
//! collection inside the compilation of a getter that an inline-cache miss ran is a collection.
//! Times are ticks of one clock; this module knows neither the clock nor V8.

/// What a thread works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    Native,
    Gc,
    Jit,
    Ic,
}

/// Number of classes.
pub const CLASSES: usize = 4;
/// What is nested deeper is charged to what it is nested in.
const DEPTH: usize = 64;
/// An inline-cache miss that took this many times the usual ran something else.
const UNUSUAL: u64 = 8;

/// Who opened an entry, and so who will close it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// A function that generated code calls; closed by depth.
    Function,
    /// An event of V8's own log, by the address of its name.
    Event(usize),
    Collection,
    /// A callback of the probe's own.
    Callback,
}

#[derive(Clone, Copy)]
struct Entry {
    opener: Opener,
    /// What goes on when this is over.
    beneath: Class,
}

/// Work from the outermost begin to the outermost end, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub begin: u64,
    pub end: u64,
    pub jit: u64,
    pub ic: u64,
}

/// The work of one thread.
pub struct Accounting {
    class: Class,
    /// Everything before is charged.
    charged_to: u64,
    depth: usize,
    stack: [Entry; DEPTH],
    sums: [u64; CLASSES],
    piece_begin: u64,
    /// `worked` when it began.
    piece_sums: [u64; 2],
    /// Ticks that an inline-cache miss takes without running anything.
    usual_miss: u64,
    /// Openings that were never closed, or closed twice.
    pub unbalanced: u64,
}

impl Accounting {
    /// `usual_miss` is a first guess of what an inline-cache miss takes.
    pub fn new(now: u64, usual_miss: u64) -> Self {
        Self {
            class: Class::Native,
            charged_to: now,
            depth: 0,
            stack: [Entry {
                opener: Opener::Callback,
                beneath: Class::Native,
            }; DEPTH],
            sums: [0; CLASSES],
            piece_begin: now,
            piece_sums: [0; 2],
            usual_miss,
            unbalanced: 0,
        }
    }

    #[inline(always)]
    fn charge(&mut self, now: u64) {
        self.sums[self.class as usize] += now.saturating_sub(self.charged_to);
        self.charged_to = now;
    }

    /// Begins work. Gives the depth to give to `leave`.
    #[inline(always)]
    pub fn enter(&mut self, class: Class, opener: Opener, now: u64) -> usize {
        if self.depth == 0 {
            self.piece_begin = now;
            self.piece_sums = self.worked();
        } else if opener == Opener::Function && self.is_in_function() {
            self.found_javascript(now);
        }
        self.charge(now);
        let depth = self.depth;
        if let Some(entry) = self.stack.get_mut(depth) {
            let beneath = self.class;
            *entry = Entry { opener, beneath };
            self.class = class;
        }
        self.depth = depth + 1;
        depth
    }

    fn is_in_function(&self) -> bool {
        let top = self.stack.get(self.depth - 1);
        top.is_some_and(|top| top.opener == Opener::Function) && self.class != Class::Native
    }

    /// Only generated code calls these functions, so one inside another proves that the outer one
    /// ran JavaScript (a getter). When it began is unknown; the outer one had its usual share.
    #[cold]
    fn found_javascript(&mut self, now: u64) {
        let stretch = now.saturating_sub(self.charged_to);
        let share = stretch.min(self.usual_miss);
        self.sums[self.class as usize] += share;
        self.sums[Class::Native as usize] += stretch - share;
        self.charged_to = now.max(self.charged_to);
        self.class = Class::Native;
    }

    /// The work at that depth is the innermost.
    #[inline(always)]
    pub fn is_innermost(&self, depth: usize) -> bool {
        depth + 1 == self.depth
    }

    /// Ends the work that began at that depth and all within it.
    pub fn leave(&mut self, depth: usize, now: u64) -> Option<Piece> {
        if self.is_innermost(depth) {
            return self.leave_inner(depth, now);
        }
        if depth >= self.depth {
            self.unbalanced += 1;
            return None;
        }
        self.unbalanced += (self.depth - depth - 1) as u64;
        self.leave_to(depth, now)
    }

    /// Ends the innermost work, which began at that depth.
    #[inline(always)]
    pub fn leave_inner(&mut self, depth: usize, now: u64) -> Option<Piece> {
        if self.class == Class::Ic {
            let took = now.saturating_sub(self.charged_to);
            if took < UNUSUAL * self.usual_miss {
                self.usual_miss = (7 * self.usual_miss + took) / 8;
            }
        }
        self.leave_to(depth, now)
    }

    #[inline(always)]
    fn leave_to(&mut self, depth: usize, now: u64) -> Option<Piece> {
        self.charge(now);
        self.depth = depth;
        if let Some(entry) = self.stack.get(depth) {
            self.class = entry.beneath;
        }
        (depth == 0).then(|| self.piece(now))
    }

    /// Ends the innermost work of that opener, unless a function lies within it: functions return
    /// in order, so it would not be its own.
    pub fn leave_innermost(&mut self, opener: Opener, now: u64) -> Option<Piece> {
        for depth in (0..self.depth.min(DEPTH)).rev() {
            let found = self.stack[depth].opener;
            if found == opener {
                return self.leave(depth, now);
            }
            if found == Opener::Function {
                break;
            }
        }
        self.unbalanced += 1;
        None
    }

    /// Nothing can be under way any more: the loop waits.
    pub fn settle(&mut self, now: u64) {
        if self.is_working() {
            self.leave(0, now);
            self.unbalanced += 1;
        }
    }

    /// Something is under way.
    #[inline]
    pub fn is_working(&self) -> bool {
        self.depth != 0
    }

    /// A collection is under way.
    pub fn is_collecting(&self) -> bool {
        let entries = &self.stack[..self.depth.min(DEPTH)];
        entries
            .iter()
            .any(|entry| entry.opener == Opener::Collection)
    }

    /// Ticks of compilation and of inline-cache misses: what a piece tells.
    #[inline(always)]
    fn worked(&self) -> [u64; 2] {
        [Class::Jit, Class::Ic].map(|class| self.sums[class as usize])
    }

    #[inline(always)]
    fn piece(&self, end: u64) -> Piece {
        let [jit, ic] = self.worked();
        let [jit_before, ic_before] = self.piece_sums;
        Piece {
            begin: self.piece_begin,
            end,
            jit: jit - jit_before,
            ic: ic - ic_before,
        }
    }

    /// Ticks per class until now; they sum to the time since `new`.
    pub fn sums(&mut self, now: u64) -> [u64; CLASSES] {
        self.charge(now);
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounting() -> Accounting {
        Accounting::new(0, 2)
    }

    #[test]
    fn charges_the_innermost() {
        let mut work = accounting();
        let ic = work.enter(Class::Ic, Opener::Function, 10);
        work.enter(Class::Gc, Opener::Collection, 13);
        assert!(work.is_collecting());
        assert_eq!(work.leave_innermost(Opener::Collection, 20), None);
        let piece = work.leave(ic, 22);
        let expected = Piece {
            begin: 10,
            end: 22,
            jit: 0,
            ic: 5,
        };
        assert_eq!(piece, Some(expected));
        assert_eq!(work.sums(30), [18, 7, 0, 5]);
        assert_eq!(work.unbalanced, 0);
    }

    #[test]
    fn a_function_within_a_miss_proves_javascript() {
        let mut work = accounting();
        let ic = work.enter(Class::Ic, Opener::Function, 0);
        let jit = work.enter(Class::Jit, Opener::Function, 100);
        assert_eq!(work.leave(jit, 110), None);
        let piece = work.leave(ic, 1000).expect("the outermost");
        assert_eq!((piece.jit, piece.ic), (10, 2));
        assert_eq!(work.sums(1000), [988, 0, 10, 2]);
    }

    #[test]
    fn an_event_within_a_function_is_its_own() {
        let mut work = accounting();
        let lazy = work.enter(Class::Jit, Opener::Function, 0);
        work.enter(Class::Jit, Opener::Event(1), 5);
        assert_eq!(work.leave_innermost(Opener::Event(1), 50), None);
        let piece = work.leave(lazy, 60).expect("the outermost");
        assert_eq!(piece.jit, 60);
    }

    #[test]
    fn ends_what_was_never_ended() {
        let mut work = accounting();
        let function = work.enter(Class::Jit, Opener::Function, 0);
        work.enter(Class::Jit, Opener::Event(1), 1);
        work.enter(Class::Gc, Opener::Event(2), 2);
        assert!(work.leave(function, 9).is_some());
        assert_eq!(work.unbalanced, 2);
        assert_eq!(work.leave_innermost(Opener::Event(1), 10), None);
        assert_eq!(work.leave(function, 11), None);
        assert_eq!(work.unbalanced, 4);
        work.enter(Class::Gc, Opener::Event(2), 20);
        work.settle(25);
        assert_eq!(work.sums(30), [16, 12, 2, 0]);
    }

    #[test]
    fn an_end_does_not_reach_beyond_a_function() {
        let mut work = accounting();
        work.enter(Class::Jit, Opener::Event(1), 0);
        let ic = work.enter(Class::Ic, Opener::Function, 1);
        assert_eq!(work.leave_innermost(Opener::Event(1), 2), None);
        assert_eq!(work.leave(ic, 3), None);
        assert!(work.leave_innermost(Opener::Event(1), 4).is_some());
    }

    #[test]
    fn nests_deeper_than_it_remembers() {
        let mut work = accounting();
        for now in 0..200 {
            assert_eq!(work.enter(Class::Jit, Opener::Callback, now), now as usize);
        }
        for depth in (1..200).rev() {
            assert_eq!(work.leave(depth, 400 - depth as u64), None);
        }
        let piece = work.leave(0, 400).expect("the outermost");
        assert_eq!((piece.begin, piece.end, piece.jit), (0, 400, 400));
    }
}
