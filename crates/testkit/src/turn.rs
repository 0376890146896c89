//! Whole turns of the made-up loop: what the kernel tells, immediates, what is closed, timers.
//!
//! A graph can be built of one event at a time. A replay has the loop ask again and order what it
//! is told, so its traces must come from a loop that does so itself: the phases of libuv 1.45 and
//! later (`uv_run` in `src/unix/core.c`), and its one wake-up for all that the pool has done
//! (`uv__work_done` in `src/threadpool.c`).

use std::cmp::Reverse;
use std::collections::VecDeque;

use bobtail_trace::record::Ns;

use crate::simulate::{Happening, Simulation};

/// Where in a turn something runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Poll,
    Check,
    Close,
    Timers,
}

fn phase_of(what: Happening) -> Phase {
    match what {
        Happening::Immediate { .. } => Phase::Check,
        Happening::Closing => Phase::Close,
        Happening::Timer { .. } => Phase::Timers,
        _ => Phase::Poll,
    }
}

/// What runs next, and since when it is ready.
type Due = (Ns, Happening);

impl Simulation {
    /// One turn; the loop sleeps first where nothing is ready.
    pub(crate) fn turn(&mut self) {
        let Some(&Reverse((first_ns, ..))) = self.agenda.peek() else {
            return;
        };
        let enter_ns = self.now;
        self.now = self.now.max(first_ns);
        // What comes while the kernel answers is in the answer, unless that was to be empty. With a
        // wake-up for something else in it, it answers at once: jobs of the pool may come with
        // that, and then no record tells when it was there itself.
        let mut told = self.due(Phase::Poll, self.now);
        if !told.iter().any(|(_, what)| *what == Happening::Wake) {
            self.pass(5_000);
        }
        if !told.is_empty() {
            told.extend(self.due(Phase::Poll, self.now));
        }
        self.poll(enter_ns, told.len() as u32);
        self.run_told(told);
        for phase in [Phase::Check, Phase::Close, Phase::Timers] {
            let mut due = self.due(phase, self.now);
            if phase == Phase::Close {
                // The list of closing handles has the last one first.
                due.reverse();
            }
            for (ready_ns, what) in due {
                self.run(ready_ns, what);
                self.pass(2_000);
            }
        }
    }

    /// What of a phase is ready by then, in order.
    fn due(&mut self, phase: Phase, until_ns: Ns) -> Vec<Due> {
        self.take(until_ns, |what| phase_of(*what) == phase)
    }

    /// What is ready by then and is of some kind, in order; the rest stays.
    fn take(&mut self, until_ns: Ns, is: impl Fn(&Happening) -> bool) -> Vec<Due> {
        let (mut due, mut others) = (Vec::new(), Vec::new());
        while let Some(Reverse((ready_ns, number, what))) = self.agenda.pop() {
            if ready_ns > until_ns {
                others.push(Reverse((ready_ns, number, what)));
                break;
            }
            match is(&what) {
                true => due.push((ready_ns, what)),
                false => others.push(Reverse((ready_ns, number, what))),
            }
        }
        self.agenda.extend(others);
        due
    }

    /// What the kernel told with one answer. All wake-ups are one to it, and a read takes all that
    /// is there on its socket.
    fn run_told(&mut self, told: Vec<Due>) {
        let mut told = VecDeque::from(told);
        while let Some(first) = told.pop_front() {
            let is_alike = |what: &Happening| match (&first.1, what) {
                (Happening::Answer { socket, .. }, Happening::Answer { socket: other, .. }) => {
                    socket == other
                }
                (one, other) => is_wakeup(one) && is_wakeup(other),
            };
            self.pass(2_000);
            let mut all = vec![first];
            let (alike, others): (VecDeque<Due>, _) =
                told.into_iter().partition(|(_, what)| is_alike(what));
            told = others;
            all.extend(alike);
            // What came since the kernel told of the others.
            all.extend(self.take(self.now, is_alike));
            match first.1 {
                Happening::Answer { .. } => self.read(&all),
                Happening::Wake | Happening::Pool { .. } => self.wake_up(&all),
                what => self.run(first.0, what),
            }
        }
    }

    /// One read that brings several answers has the stamp of the last.
    fn read(&mut self, answers: &[Due]) {
        let Some(&(last_ns, what)) = answers.last() else {
            return;
        };
        self.context = 0;
        self.begin(last_ns, what);
        for (_, what) in answers {
            if let Happening::Answer { group, .. } = what {
                self.complete(*group);
            }
        }
        self.end();
    }

    /// The pool's is the first of a loop's wake-ups (`uv_loop_init`), so its jobs come before what
    /// else was to be done, which is then a part of no event.
    fn wake_up(&mut self, all: &[Due]) {
        let (others, jobs): (Vec<&Due>, Vec<&Due>) =
            all.iter().partition(|(_, what)| *what == Happening::Wake);
        self.context = 0;
        self.begin(all[0].0, Happening::Wake);
        if jobs.is_empty() {
            others.iter().for_each(|one| self.wake(one.0));
            return self.end();
        }
        self.end();
        for (ready_ns, what) in jobs {
            self.pass(2_000);
            self.run(*ready_ns, *what);
        }
        others.iter().for_each(|one| self.wake(one.0));
    }
}

fn is_wakeup(what: &Happening) -> bool {
    matches!(what, Happening::Wake | Happening::Pool { .. })
}
