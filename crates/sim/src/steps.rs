//! Steps: what an event does, cut wherever something else depends on how far it is.
//!
//! Between two cuts only sums matter, so a step is a few numbers, however much happened in it. A
//! cut inside work that was told as a sum splits it in proportion, like everywhere else.

use bobtail_graph::{EndedPiece, Work};
use bobtail_policy::CollectionKind;
use bobtail_trace::record::{Ns, RequestId};

use crate::capture::Log;
use crate::gates::Awaiting;
use crate::model::{Action, CLASSES, EventIx, NO_GATE, NO_REQUEST, Step};

/// Something that happens in an event, at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub event: EventIx,
    pub at_ns: Ns,
    pub action: Action,
}

/// The steps of all events so far.
#[derive(Debug)]
pub(crate) struct Steps {
    pub all: Vec<Step>,
    /// Of each of them.
    pub work_ns: Vec<[u64; CLASSES]>,
    /// Not yet a step.
    open_ns: [u64; CLASSES],
    request: u32,
    gate: u32,
    /// The end of the collection that is under way: whatever interrupts it, it is one.
    collecting_until_ns: Option<Ns>,
}

/// An event to be cut.
pub(crate) struct Whole<'a> {
    pub begin_ns: Ns,
    pub pieces: &'a [EndedPiece],
    /// In order of time.
    pub points: &'a [Point],
    /// Gates in it, with the number of the first.
    pub gates: &'a [Awaiting],
    pub first_gate: u32,
    pub log: &'a Log,
}

impl Steps {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            all: Vec::new(),
            work_ns: Vec::new(),
            open_ns: [0; CLASSES],
            request: NO_REQUEST,
            gate: NO_GATE,
            collecting_until_ns: None,
        }
    }

    /// Adds the steps of an event. `number_of` tells the number of a request.
    pub(crate) fn add(&mut self, whole: &Whole<'_>, number_of: impl Fn(RequestId) -> u32) {
        let mut points = whole.points.iter().peekable();
        let mut start_ns = whole.begin_ns;
        let mut marked = vec![false; whole.gates.len()];
        (self.request, self.gate) = (NO_REQUEST, NO_GATE);
        for piece in whole.pieces {
            let gate = whole.gate_of(piece.request, start_ns);
            let number = gate.map_or(NO_GATE, |gate| whole.first_gate + gate as u32);
            if gate.is_some_and(|gate| !std::mem::replace(&mut marked[gate], true)) {
                self.go_on(NO_REQUEST, NO_GATE);
                self.close(Action::Gate(number));
            }
            self.go_on(number_of(piece.request), number);
            let mut left = *piece;
            if left.work.gc_ns > 0 {
                self.collect(whole.log, start_ns, piece.end_ns);
            }
            while let Some(point) = points.next_if(|point| point.at_ns <= piece.end_ns) {
                let before = cut(&mut left, start_ns, point.at_ns);
                start_ns = start_ns.max(point.at_ns);
                self.work(before);
                self.close(point.action);
            }
            self.work(left.work);
            start_ns = piece.end_ns;
            self.collected_by(start_ns);
        }
        self.collected_by(Ns::MAX);
        self.end_step();
        (self.request, self.gate) = (NO_REQUEST, NO_GATE);
        points.for_each(|point| self.close(point.action));
    }

    /// Work in which there is a part of a collection: it begins, unless it did before.
    fn collect(&mut self, log: &Log, start_ns: Ns, end_ns: Ns) {
        if self.collecting_until_ns.is_none()
            && let Some(one) = log.collection_in(start_ns, end_ns)
        {
            self.close(Action::Collect(CollectionKind::from_v8(one.kind)));
            self.collecting_until_ns = Some(one.end_ns);
        }
    }

    /// The collection under way is over, if it ends by then.
    fn collected_by(&mut self, at_ns: Ns) {
        if self
            .collecting_until_ns
            .take_if(|end_ns| *end_ns <= at_ns)
            .is_some()
        {
            self.close(Action::Collected);
        }
    }

    fn work(&mut self, work: Work) {
        let classes = [
            work.native_ns,
            work.gc_ns,
            work.jit_ns,
            work.ic_ns,
            work.not_running_ns,
            work.loop_ns,
        ];
        let sums = self.open_ns.iter_mut().zip(classes);
        sums.for_each(|(sum, part)| *sum += part);
    }

    /// What follows is for this request and behind this gate.
    fn go_on(&mut self, request: u32, gate: u32) {
        if self.gate != gate {
            // What is behind a gate may run later than what is before it.
            self.collected_by(Ns::MAX);
        }
        if self.request != request || self.gate != gate {
            self.end_step();
            (self.request, self.gate) = (request, gate);
        }
    }

    /// Nothing depends on where it ends.
    fn end_step(&mut self) {
        if self.open_ns != [0; CLASSES] {
            self.close(Action::None);
        }
    }

    fn close(&mut self, action: Action) {
        self.work_ns.push(std::mem::take(&mut self.open_ns));
        self.all.push(Step {
            request: self.request,
            gate: self.gate,
            action,
        });
    }
}

impl Whole<'_> {
    /// The gate before a piece of this request, by its place among the gates of the event.
    fn gate_of(&self, request: RequestId, start_ns: Ns) -> Option<usize> {
        let gate = self
            .gates
            .binary_search_by_key(&request, |gate| gate.request)
            .ok()?;
        let begun = self.gates[gate]
            .begin_ns
            .is_none_or(|begin_ns| start_ns >= begin_ns);
        begun.then_some(gate)
    }
}

/// Takes the part up to a moment off a piece that starts at `start_ns`.
fn cut(piece: &mut EndedPiece, start_ns: Ns, at_ns: Ns) -> Work {
    let whole_ns = piece.end_ns.saturating_sub(start_ns);
    let part_ns = at_ns.saturating_sub(start_ns);
    let mut missing_ns = part_ns;
    let mut take = |left: &mut u64| {
        let share = u128::from(*left) * u128::from(part_ns) / u128::from(whole_ns.max(1));
        let taken = (share as u64).min(missing_ns);
        missing_ns -= taken;
        *left -= taken;
        taken
    };
    let left = &mut piece.work;
    let mut part = Work {
        gc_ns: take(&mut left.gc_ns),
        jit_ns: take(&mut left.jit_ns),
        ic_ns: take(&mut left.ic_ns),
        loop_ns: take(&mut left.loop_ns),
        not_running_ns: take(&mut left.not_running_ns),
        native_ns: take(&mut left.native_ns),
    };
    // Shares are rounded down; what is missing is taken wherever there is any.
    for (left, part) in [
        (&mut left.native_ns, &mut part.native_ns),
        (&mut left.gc_ns, &mut part.gc_ns),
        (&mut left.jit_ns, &mut part.jit_ns),
        (&mut left.ic_ns, &mut part.ic_ns),
        (&mut left.loop_ns, &mut part.loop_ns),
        (&mut left.not_running_ns, &mut part.not_running_ns),
    ] {
        let more_ns = missing_ns.min(*left);
        *left -= more_ns;
        *part += more_ns;
        missing_ns -= more_ns;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loop_does_is_not_told_as_not_running() {
        let mut steps = Steps::new();
        steps.work(Work {
            native_ns: 1,
            loop_ns: 5,
            not_running_ns: 7,
            ..Work::default()
        });
        steps.end_step();
        assert_eq!(steps.work_ns[0], [1, 0, 0, 0, 7, 5]);
    }

    #[test]
    fn a_piece_is_cut_without_losing_anything() {
        let work = Work {
            native_ns: 3,
            gc_ns: 0,
            jit_ns: 3,
            ic_ns: 1,
            loop_ns: 0,
            not_running_ns: 0,
        };
        for at_ns in 0..=7 {
            let mut piece = EndedPiece {
                end_ns: 107,
                request: 0,
                work,
            };
            let part = cut(&mut piece, 100, 100 + at_ns);
            assert_eq!(part.total_ns(), at_ns);
            assert_eq!(part.total_ns() + piece.work.total_ns(), 7);
        }
    }
}
