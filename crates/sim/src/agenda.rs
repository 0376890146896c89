//! The agenda: what is going to be ready, and when.
//!
//! What comes from outside is known from the start and lies in one sorted row; only what events
//! bring about themselves goes through a heap, which stays as small as what is under way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bobtail_trace::record::Ns;

use crate::model::EventIx;

/// An event with the moment from which it stands in line.
pub(crate) type Due = (Ns, EventIx);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// In order.
    arrivals: Vec<Due>,
    next_arrival: usize,
    waiting: BinaryHeap<Reverse<Due>>,
    /// Jobs of the pool that will be done.
    done: BinaryHeap<Reverse<Due>>,
    timers: BinaryHeap<Reverse<Due>>,
    pub immediates: Vec<EventIx>,
    pub closing: Vec<EventIx>,
}

impl Agenda {
    pub(crate) fn new(mut arrivals: Vec<Due>) -> Self {
        arrivals.sort_unstable();
        Self {
            arrivals,
            ..Self::default()
        }
    }

    pub(crate) fn wait(&mut self, due: Due) {
        self.waiting.push(Reverse(due));
    }

    pub(crate) fn be_done(&mut self, due: Due) {
        self.done.push(Reverse(due));
    }

    /// Takes the next job that is done by then.
    pub(crate) fn take_done(&mut self, until_ns: Ns) -> Option<Due> {
        let is_done = self.done.peek().is_some_and(|due| due.0.0 <= until_ns);
        if is_done {
            return self.done.pop().map(|due| due.0);
        }
        None
    }

    pub(crate) fn set_timer(&mut self, due: Due) {
        self.timers.push(Reverse(due));
    }

    /// Nothing is left for this turn.
    pub(crate) fn is_idle(&self) -> bool {
        self.immediates.is_empty() && self.closing.is_empty()
    }

    /// The next event of the poll to stand in line.
    pub(crate) fn first(&self) -> Option<Due> {
        let arrival = self.arrivals.get(self.next_arrival).copied();
        let waiting = self.waiting.peek().map(|due| due.0);
        let done = self.done.peek().map(|due| due.0);
        arrival.into_iter().chain(waiting).chain(done).min()
    }

    /// When it will.
    pub(crate) fn next_ns(&self) -> Option<Ns> {
        self.first().map(|due| due.0)
    }

    /// When the next timer is due.
    pub(crate) fn next_timer_ns(&self) -> Option<Ns> {
        self.timers.peek().map(|due| due.0.0)
    }

    /// Takes the next event of the poll that is in line by then.
    #[inline]
    pub(crate) fn take(&mut self, until_ns: Ns) -> Option<Due> {
        let arrival = self.arrivals.get(self.next_arrival);
        let arrival = arrival.copied().filter(|due| due.0 <= until_ns);
        let waiting = self.waiting.peek().map(|due| due.0);
        let waiting = waiting.filter(|due| due.0 <= until_ns);
        match (arrival, waiting) {
            (Some(one), other) if other.is_none_or(|other| one < other) => {
                self.next_arrival += 1;
                Some(one)
            }
            (_, Some(_)) => self.waiting.pop().map(|due| due.0),
            _ => None,
        }
    }

    /// Takes the next timer that is due by then.
    pub(crate) fn take_timer(&mut self, until_ns: Ns) -> Option<Due> {
        let is_due = self
            .next_timer_ns()
            .is_some_and(|due_ns| due_ns <= until_ns);
        if is_due {
            return self.timers.pop().map(|due| due.0);
        }
        None
    }
}
