//! Sequences of records that obey the format, drawn from a plan of small numbers.
//!
//! Records depend on each other (event numbers, time order), so tests draw steps and this turns
//! them into a valid sequence; a shrunken plan is still valid.

use bobtail_trace::record::{
    CodePlace, GcCause, HandleKind, LoopKind, LossKind, MarkKind, MicroKind, NotRunningCause, Ns,
    Ready, ReadyQuality, Record,
};

use crate::support::START_NS;

/// One record to be: which kind, the time since the last one, and numbers for its fields.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub kind: u8,
    pub dt: u64,
    pub a: u32,
    pub b: u32,
    pub wide: u64,
    pub flag: bool,
}

impl Step {
    /// Moves the clock and reads it.
    fn time(&self, now: &mut Ns) -> Ns {
        *now += self.dt;
        *now
    }
}

/// The records of a plan, as a reader must give them back.
pub fn records(plan: &[Step]) -> Vec<Record> {
    let mut now = START_NS;
    let mut event = 0;
    plan.iter()
        .map(|step| record(step, &mut now, &mut event))
        .collect()
}

fn record(step: &Step, now: &mut Ns, event: &mut u32) -> Record {
    let Step {
        a, b, wide, flag, ..
    } = *step;
    let mut time = || step.time(now);
    match step.kind % 17 {
        0 => {
            let begin_ns = time();
            let kind = pick(LoopKind::ALL, a);
            let ready = flag.then(|| Ready {
                at_ns: begin_ns - wide % (begin_ns - START_NS + 1),
                quality: pick(ReadyQuality::ALL, b),
            });
            let run_ns = if flag && kind == LoopKind::Pool {
                wide
            } else {
                0
            };
            *event += 1;
            Record::LoopBegin {
                event: *event,
                kind,
                begin_ns,
                ready,
                handle: b,
                op: a,
                run_ns,
            }
        }
        1 => Record::LoopEnd { end_ns: time() },
        2 => {
            let registrar = a % (*event + 1);
            *event += 1;
            let kind = pick(MicroKind::ALL, b);
            Record::Micro {
                event: *event,
                kind,
                registrar,
                begin_ns: flag.then(time),
            }
        }
        3 => Record::Resume {
            event: a % (*event + 1),
            at_ns: flag.then(time),
        },
        4 => {
            let enter_ns = time();
            Record::Poll {
                enter_ns,
                leave_ns: enter_ns + wide,
                ready_count: a,
            }
        }
        _ => fact(step, now),
    }
}

/// A record that is no event's begin or end.
fn fact(step: &Step, now: &mut Ns) -> Record {
    let Step {
        a, b, wide, flag, ..
    } = *step;
    match step.kind % 17 {
        5 => {
            let at_ns = step.time(now);
            let due_ns = flag.then_some(at_ns + wide);
            Record::Register {
                op: a,
                kind: pick(LoopKind::ALL, b),
                at_ns,
                resource: b,
                due_ns,
            }
        }
        6 => Record::Write {
            handle: a,
            at_ns: step.time(now),
            bytes: wide,
            unsent: if flag { u64::from(b) } else { 0 },
        },
        7 => {
            let kind = pick(HandleKind::ALL, b);
            Record::HandleOpen {
                handle: a,
                kind,
                at_ns: step.time(now),
                name: b,
            }
        }
        8 => Record::HandleClose {
            handle: a,
            at_ns: step.time(now),
        },
        9 => Record::Source {
            request: a,
            at_ns: step.time(now),
            name: b,
        },
        10 => Record::Sink {
            request: a,
            at_ns: step.time(now),
            route: b,
            status: a,
        },
        11 => {
            let end_ns = step.time(now);
            let known = b % 3 == 0;
            Record::Gc {
                kind: a,
                cause: pick(GcCause::ALL, b),
                caller: CodePlace {
                    function: if known { a } else { 0 },
                    file: if known { b.max(1) } else { 0 },
                    line: if known { a.rotate_left(9) } else { 0 },
                    column: if known { b.rotate_left(9) } else { 0 },
                },
                begin_ns: end_ns - wide % START_NS,
                end_ns,
            }
        }
        12 => Record::Location {
            at_ns: step.time(now),
            place: CodePlace {
                function: a,
                file: b,
                line: a.rotate_left(7),
                column: b.rotate_left(7),
            },
        },
        13 => Record::Mark {
            kind: pick(MarkKind::ALL, a),
            at_ns: step.time(now),
            text: b,
        },
        14 => {
            let end_ns = step.time(now);
            Record::Work {
                end_ns,
                span_ns: wide % START_NS,
                jit_ns: u64::from(a),
                ic_ns: if flag { u64::from(b) } else { 0 },
            }
        }
        15 => {
            let at_ns = step.time(now);
            Record::NotRunning {
                at_ns,
                end_ns: at_ns,
                duration_ns: wide % START_NS,
                cause: pick(NotRunningCause::ALL, a),
            }
        }
        _ => Record::Loss {
            kind: pick(LossKind::ALL, a),
            count: wide,
            events: b,
        },
    }
}

fn pick<T: Copy>(all: &[T], index: u32) -> T {
    all[index as usize % all.len()]
}
