//! The agenda: what is going to be ready, and when.
//!
//! What comes from outside is known from the start and lies in one sorted row; only what events
//! bring about themselves goes through a heap, which stays as small as what is under way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use bobtail_trace::record::Ns;

use crate::model::EventIx;

/// An event with the moment from which it stands in line.
pub(crate) type Due = (Ns, EventIx);

/// What comes from outside.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// In order.
    arrivals: Vec<Due>,
    timers: Vec<Due>,
    /// Jobs of the pool that will be done.
    done: Vec<Due>,
}

impl Planned {
    pub(crate) fn new(mut arrivals: Vec<Due>, timers: Vec<Due>, done: Vec<Due>) -> Self {
        // They nearly are, which a stable sort makes use of.
        arrivals.sort();
        Self {
            arrivals,
            timers,
            done,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    planned: Arc<Planned>,
    next_arrival: usize,
    waiting: BinaryHeap<Reverse<Due>>,
    /// Jobs of the pool that will be done.
    done: BinaryHeap<Reverse<Due>>,
    timers: BinaryHeap<Reverse<Due>>,
    /// Answers by the connections on which they come, where one read may bring several. They stand
    /// in line with what waits, too, so that the kernel tells of them.
    answers: Vec<BinaryHeap<Reverse<Due>>>,
    /// Those in line that a read brought before it was their turn.
    read: HashSet<EventIx>,
    pub immediates: Vec<EventIx>,
    pub closing: Vec<EventIx>,
}

impl Agenda {
    pub(crate) fn new(planned: Arc<Planned>, connections: usize) -> Self {
        Self {
            answers: vec![BinaryHeap::new(); connections],
            timers: planned.timers.iter().copied().map(Reverse).collect(),
            done: planned.done.iter().copied().map(Reverse).collect(),
            planned,
            ..Self::default()
        }
    }

    pub(crate) fn wait(&mut self, due: Due) {
        self.waiting.push(Reverse(due));
    }

    /// An answer will be there on a connection on which one read may bring several.
    pub(crate) fn wait_for_answer(&mut self, due: Due, connection: u32) {
        self.answers[connection as usize].push(Reverse(due));
        self.waiting.push(Reverse(due));
    }

    /// Takes all that a read of a connection then brings into a row of them. Up to `told_ns` all of
    /// it is out of the line already.
    pub(crate) fn read(
        &mut self,
        connection: u32,
        until_ns: Ns,
        told_ns: Ns,
        there: &mut Vec<Due>,
    ) {
        let answers = &mut self.answers[connection as usize];
        while let Some(due) = take_due(answers, until_ns) {
            if due.0 > told_ns {
                self.read.insert(due.1);
            }
            there.push(due);
        }
        self.forget_read();
    }

    fn forget_read(&mut self) {
        while !self.read.is_empty()
            && let Some(Reverse((_, event))) = self.waiting.peek()
            && self.read.remove(event)
        {
            self.waiting.pop();
        }
    }

    pub(crate) fn be_done(&mut self, due: Due) {
        self.done.push(Reverse(due));
    }

    /// Takes the next job that is done by then.
    pub(crate) fn take_done(&mut self, until_ns: Ns) -> Option<Due> {
        take_due(&mut self.done, until_ns)
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
        let arrival = self.planned.arrivals.get(self.next_arrival).copied();
        let waiting = self.waiting.peek().map(|due| due.0);
        let done = self.done.peek().map(|due| due.0);
        sooner(sooner(arrival, waiting), done)
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
        let arrival = self.planned.arrivals.get(self.next_arrival);
        let arrival = arrival.copied().filter(|due| due.0 <= until_ns);
        let waiting = self.waiting.peek().map(|due| due.0);
        let waiting = waiting.filter(|due| due.0 <= until_ns);
        match (arrival, waiting) {
            (Some(one), other) if other.is_none_or(|other| one < other) => {
                self.next_arrival += 1;
                Some(one)
            }
            (_, Some(_)) => {
                let due = self.waiting.pop();
                self.forget_read();
                due.map(|due| due.0)
            }
            _ => None,
        }
    }

    /// Takes the next timer that is due by then.
    pub(crate) fn take_timer(&mut self, until_ns: Ns) -> Option<Due> {
        take_due(&mut self.timers, until_ns)
    }
}

/// The first of two, of which there may be one or none.
#[inline]
pub(crate) fn sooner<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn take_due(line: &mut BinaryHeap<Reverse<Due>>, until_ns: Ns) -> Option<Due> {
    let is_due = line.peek().is_some_and(|due| due.0.0 <= until_ns);
    is_due.then(|| line.pop())?.map(|due| due.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_read_brought_is_not_told_again() {
        let planned = Planned::new(vec![(6, 0)], Vec::new(), Vec::new());
        let mut agenda = Agenda::new(Arc::new(planned), 2);
        agenda.wait_for_answer((1, 1), 0);
        agenda.wait_for_answer((5, 2), 0);
        agenda.wait_for_answer((5, 3), 1);
        agenda.wait_for_answer((7, 4), 0);
        assert_eq!(agenda.take(2), Some((1, 1)));
        assert_eq!(agenda.take(2), None);
        // Told at 2 and read at 5: of the same connection one more.
        let mut there = Vec::new();
        agenda.read(0, 5, 2, &mut there);
        assert_eq!(there, [(1, 1), (5, 2)]);
        let left: Vec<Due> = std::iter::from_fn(|| agenda.take(9)).collect();
        assert_eq!(left, [(5, 3), (6, 0), (7, 4)]);
    }
}
