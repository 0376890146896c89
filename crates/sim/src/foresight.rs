//! Foresight: requests to boost for, known from a replay of the same at base speed.
//!
//! A live policy cannot know them, so what this reaches bounds what one can.

use bobtail_policy::{Decision, Reasons, Speed};
use bobtail_trace::record::Ns;

use crate::follower::{Follower, Sees};

/// See the module.
#[derive(Debug)]
pub(crate) struct Foresight {
    /// Marked requests as they come.
    arrivals: Vec<(Ns, u32)>,
    next: usize,
    /// Of each request: it is marked and not answered yet.
    is_marked: Vec<bool>,
    /// It came, too.
    has_come: Vec<bool>,
    /// Came, and are not answered.
    open: u32,
    /// [`Sees::Work`]: a boost pauses while the loop sleeps.
    sees: Sees,
}

impl Foresight {
    /// Of each request: when it comes, and whether to boost for it.
    pub(crate) fn of(marked: impl Iterator<Item = (Ns, bool)>, sees: Sees) -> Self {
        let (came_ns, is_marked): (Vec<Ns>, Vec<bool>) = marked.unzip();
        let marked = (0..is_marked.len() as u32).filter(|&one| is_marked[one as usize]);
        let mut arrivals: Vec<(Ns, u32)> = marked.map(|one| (came_ns[one as usize], one)).collect();
        arrivals.sort_unstable();
        Self {
            arrivals,
            next: 0,
            has_come: vec![false; is_marked.len()],
            is_marked,
            open: 0,
            sees,
        }
    }
}

impl Follower for Foresight {
    fn next_ns(&self) -> Ns {
        self.arrivals.get(self.next).map_or(Ns::MAX, |one| one.0)
    }

    fn come(&mut self, now: Ns) -> bool {
        let from = self.next;
        while let Some(&(_, request)) = self.arrivals.get(self.next).filter(|one| one.0 <= now) {
            // One that was answered before it was seen needs nothing any more.
            if self.is_marked[request as usize] {
                self.has_come[request as usize] = true;
                self.open += 1;
            }
            self.next += 1;
        }
        self.next > from
    }

    fn answer(&mut self, request: u32, _now: Ns) -> bool {
        let is_one = std::mem::take(&mut self.is_marked[request as usize]);
        // One may be answered before it was expected; then it does not end the boost of another.
        let is_open = is_one && self.has_come[request as usize];
        self.open -= u32::from(is_open);
        is_open
    }

    fn sees(&self) -> Sees {
        self.sees
    }

    fn decide(&mut self, _now: Ns, is_working: bool) -> Decision {
        let is_boosted = self.open > 0 && (is_working || self.sees == Sees::Requests);
        Decision {
            speed: if is_boosted { Speed::Peak } else { Speed::Base },
            reasons: if is_boosted {
                Reasons::REQUEST
            } else {
                Reasons::default()
            },
            look_again_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_what_did_not_come_ends_no_other_boost() {
        let marked = [(10, true), (20, true)].into_iter();
        let mut foresight = Foresight::of(marked, Sees::Requests);
        assert!(foresight.come(10));
        assert!(!foresight.answer(1, 12), "it is still to come");
        assert_eq!(foresight.decide(12, true).speed, Speed::Peak);
        assert!(foresight.answer(0, 15));
        foresight.come(20);
        assert_eq!(foresight.decide(20, true).speed, Speed::Base);
    }
}
