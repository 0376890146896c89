//! Answers: a read that brought answers to several requests, as a part for each of them.
//!
//! On a connection that many requests ask over (Redis), everything that came while the loop was
//! busy comes with one read. A loop that is done earlier reads the first answer while the last is
//! not even asked for. Taken for one event, ready with its last byte, such a read kept requests
//! waiting in every replay for as long as the recorded loop had been busy.

use bobtail_trace::record::{Ns, RequestId};

use crate::capture::{Hopped, Log, Seen, is_answer};
use crate::triggers::Index;

/// An answer that came with a read.
#[derive(Debug, Clone, Copy)]
struct Answer {
    request: RequestId,
    asked_ns: Ns,
    /// Where its request goes on, among the pieces of the read.
    piece: usize,
    ready_ns: Ns,
}

impl Log {
    /// Cuts reads that brought several answers into one part for each.
    pub(crate) fn part_answers(&mut self) {
        let hops = self.hops_of_reads();
        if hops.is_empty() {
            return;
        }
        let mut hops = hops.into_iter().peekable();
        let mut parted = Vec::with_capacity(self.events.len());
        for (ix, seen) in self.events.iter().enumerate() {
            let of_read = std::iter::from_fn(|| hops.next_if(|(read, _)| *read == ix));
            let asked: Vec<Hopped> = of_read.map(|(_, hop)| hop).collect();
            let answers = self.answers(ix, &asked);
            if answers.len() < 2 {
                parted.push(*seen);
                continue;
            }
            self.part(ix, &answers, &mut parted);
        }
        self.events = parted;
    }

    /// What was asked for and came with a read from somebody who is no client, by read.
    fn hops_of_reads(&self) -> Vec<(usize, Hopped)> {
        let index = Index::new(&self.events);
        let of_read = self.hops.iter().filter_map(|hop| {
            let ix = index.containing(hop.event)? as usize;
            let ended = &self.events[ix].ended;
            let is_asked = !hop.shared && hop.register_ns < ended.ready_ns?;
            (is_answer(ended) && is_asked).then_some((ix, *hop))
        });
        let mut hops: Vec<_> = of_read.collect();
        // Of a request that asked twice the first time, and what was seen before what was deduced.
        hops.sort_by_key(|(ix, hop)| (*ix, hop.request, hop.inferred, hop.register_ns));
        hops.dedup_by_key(|(ix, hop)| (*ix, hop.request));
        hops
    }

    /// The answers that a read brought, in the order in which their requests went on.
    fn answers(&self, ix: usize, asked: &[Hopped]) -> Vec<Answer> {
        if asked.len() < 2 {
            return Vec::new();
        }
        let first = asked.iter().min_by_key(|hop| hop.register_ns);
        let first = first.map_or(0, |hop| hop.request);
        let answers = asked.iter().filter_map(|hop| {
            Some(Answer {
                request: hop.request,
                asked_ns: hop.register_ns,
                piece: self.goes_on(ix, hop.request, first)?,
                ready_ns: 0,
            })
        });
        let mut answers: Vec<Answer> = answers.collect();
        answers.sort_by_key(|one| (one.asked_ns, one.piece));
        let read = &self.events[ix];
        let is_told = |one: &Answer| read.polled_ns == 0 || one.asked_ns <= read.polled_ns;
        let (Some(stamp_ns), true) = (read.ended.ready_ns, answers.first().is_some_and(is_told))
        else {
            // What it was told for is not known.
            return Vec::new();
        };
        self.came(read, stamp_ns, &mut answers);
        answers.sort_by_key(|one| one.piece);
        answers
    }

    /// The first of the pieces in which the request is worked for longest; others of it before and
    /// after them (an answer is handed over first, and gone on with later) stay where they are.
    /// Before anything for the request that asked first comes the read itself, which counts for
    /// whoever asked last.
    fn goes_on(&self, ix: usize, request: RequestId, first: RequestId) -> Option<usize> {
        let mut longest: Option<(u64, usize)> = None;
        let (mut run_ns, mut from) = (0, 0);
        let pieces = self.pieces_of(ix).iter().enumerate();
        for (at, piece) in pieces.skip_while(|(_, piece)| piece.request != first) {
            if piece.request != request {
                (run_ns, from) = (0, at + 1);
                continue;
            }
            run_ns += piece.work.total_ns();
            if longest.is_none_or(|(ns, _)| run_ns > ns) {
                longest = Some((run_ns, from));
            }
        }
        let first = self.events[ix].first_piece as usize;
        longest.map(|(_, from)| first + from)
    }

    /// When each of them, in the order of asking, was there: the stamp is that of the last byte.
    ///
    /// Answers on one connection come in the order of the questions, so the other end is taken for
    /// one that needs the same time for each, one after the other: the longest with which the last
    /// is there by the stamp. None was there at the kernel's answer before, and none while the loop
    /// slept for it.
    fn came(&self, read: &Seen, stamp_ns: Ns, answers: &mut [Answer]) {
        let count = answers.len() as u64;
        let each = answers.iter().zip(0..);
        let each = each.map(|(one, before)| (stamp_ns - one.asked_ns) / (count - before));
        let each_ns = each.min().unwrap_or(0);
        let told_ns = match read.polled_ns {
            0 => stamp_ns,
            polled_ns => polled_ns.min(stamp_ns),
        };
        let earliest_ns = if self.slept(read, stamp_ns) {
            told_ns
        } else {
            (read.polled_before_ns.max(read.read_before_ns) + 1).min(told_ns)
        };
        let mut done_ns = 0;
        for one in answers.iter_mut() {
            done_ns = one.asked_ns.max(done_ns) + each_ns;
            one.ready_ns = done_ns.max(earliest_ns).min(stamp_ns);
        }
        // Else the kernel would not have told it.
        if let Some(first) = answers.first_mut() {
            first.ready_ns = first.ready_ns.min(told_ns);
        }
    }

    /// Nothing that the kernel told with this read was ready when the loop asked it.
    fn slept(&self, read: &Seen, stamp_ns: Ns) -> bool {
        let from = self.events.partition_point(|one| one.turn < read.turn);
        let of_turn = self.events[from..].iter();
        let mut of_turn = of_turn.take_while(|one| one.turn == read.turn);
        let free_ns = self.events[from].free_ns;
        let was_ready = |one: &Seen| {
            let own = one.ended.event == read.ended.event;
            let ready_ns = one.ended.ready_ns.filter(|_| !own);
            ready_ns.is_some_and(|ready_ns| ready_ns <= free_ns)
        };
        stamp_ns > free_ns && !of_turn.any(was_ready)
    }

    /// The parts of a read: each goes on to where the next begins.
    fn part(&self, ix: usize, answers: &[Answer], parted: &mut Vec<Seen>) {
        let read = &self.events[ix];
        let mut begin_ns = read.ended.begin_ns;
        for (number, answer) in answers.iter().enumerate() {
            let mut seen = *read;
            let next = answers.get(number + 1);
            let end_ns = next.map_or(read.ended.end_ns, |next| self.pieces[next.piece - 1].end_ns);
            (seen.ended.begin_ns, seen.ended.end_ns) = (begin_ns, end_ns);
            seen.ended.ready_ns = Some(answer.ready_ns);
            seen.answers = answer.request;
            if number > 0 {
                seen.joins = true;
                (seen.free_ns, seen.taken_ns) = (begin_ns, begin_ns);
                (seen.lead_gc_ns, seen.accepted_ns) = (0, None);
                seen.first_piece = answer.piece as u32;
            }
            parted.push(seen);
            begin_ns = end_ns;
        }
    }
}
