//! The writer's part for one record: absolute numbers and times to what the encoder takes.
//!
//! Apart from the layout of the file, because this is a table of seventeen kinds and nothing else.

use super::{TraceWriter, WriteError};
use crate::encode::{self, Encoded, LoopBegin, Window};
use crate::layout::{bound, live};
use crate::record::{EventId, Ns, Record};

impl TraceWriter {
    /// Whether event numbers and times fit the stream.
    pub(super) fn check(&self, record: &Record) -> Result<(), WriteError> {
        let last = self.event;
        match *record {
            Record::LoopBegin { event, .. } | Record::Micro { event, .. }
                if Some(event) != last.checked_add(1) =>
            {
                return Err(WriteError::EventOrder {
                    expected: last.saturating_add(1),
                    found: event,
                });
            }
            Record::Resume { event: found, .. } if found > last => {
                return Err(WriteError::EventUnknown { found, last });
            }
            Record::Micro {
                registrar: found, ..
            } if found > last => {
                return Err(WriteError::EventUnknown { found, last });
            }
            _ => {}
        }
        Ok(())
    }

    /// The record's bytes, by the encoder.
    pub(super) fn encode(&self, out: &mut Window, record: &Record) -> Result<Encoded, WriteError> {
        match record {
            Record::LoopBegin { .. }
            | Record::LoopEnd { .. }
            | Record::Micro { .. }
            | Record::Resume { .. }
            | Record::Poll { .. } => self.encode_event(out, record),
            Record::Register { .. }
            | Record::Write { .. }
            | Record::HandleOpen { .. }
            | Record::HandleClose { .. } => self.encode_cause(out, record),
            Record::Gc { .. } | Record::Work { .. } | Record::NotRunning { .. } => {
                self.encode_cost(out, record)
            }
            Record::Source { .. }
            | Record::Sink { .. }
            | Record::Location { .. }
            | Record::Mark { .. }
            | Record::Loss { .. } => self.encode_moment(out, record),
        }
    }

    /// Events and what lies between them.
    fn encode_event(&self, out: &mut Window, record: &Record) -> Result<Encoded, WriteError> {
        let last_ns = self.last_ns;
        let at = |ns| self.relative(ns);
        let optional = |ns: Option<Ns>| ns.map(at).transpose();
        Ok(match *record {
            Record::LoopBegin {
                kind,
                begin_ns,
                ready,
                handle,
                op,
                run_ns,
                ..
            } => {
                let ready = match ready {
                    Some(ready) => Some((at(ready.at_ns)?, ready.quality)),
                    None => None,
                };
                let begin_ns = at(begin_ns)?;
                let fields = LoopBegin {
                    kind,
                    begin_ns,
                    ready,
                    handle,
                    op,
                    run_ns,
                };
                encode::loop_begin(out, last_ns, &fields)
            }
            Record::LoopEnd { end_ns } => encode::loop_end(out, last_ns, at(end_ns)?),
            Record::Micro {
                event,
                kind,
                registrar,
                begin_ns,
            } => encode::micro(out, last_ns, kind, event, registrar, optional(begin_ns)?),
            Record::Resume { event, at_ns } => {
                encode::resume(out, last_ns, self.event, event, optional(at_ns)?)
            }
            Record::Poll {
                enter_ns,
                leave_ns,
                ready_count,
            } => encode::poll(out, last_ns, at(enter_ns)?, at(leave_ns)?, ready_count),
            _ => unreachable!("{record:?} is of another group"),
        })
    }

    /// What an event causes: operations, and bytes on handles.
    fn encode_cause(&self, out: &mut Window, record: &Record) -> Result<Encoded, WriteError> {
        let last_ns = self.last_ns;
        let at = |ns| self.relative(ns);
        let optional = |ns: Option<Ns>| ns.map(at).transpose();
        Ok(match *record {
            Record::Register {
                op,
                kind,
                at_ns,
                resource,
                due_ns,
            } => encode::register(
                out,
                last_ns,
                at(at_ns)?,
                op,
                kind,
                resource,
                optional(due_ns)?,
            ),
            Record::Write {
                handle,
                at_ns,
                bytes,
                unsent,
            } => encode::write(out, last_ns, at(at_ns)?, handle, bytes, unsent),
            Record::HandleOpen {
                handle,
                kind,
                at_ns,
                name,
            } => encode::handle_open(out, last_ns, at(at_ns)?, handle, kind, name),
            Record::HandleClose { handle, at_ns } => {
                encode::handle_close(out, last_ns, at(at_ns)?, handle)
            }
            _ => unreachable!("{record:?} is of another group"),
        })
    }

    /// Where the thread's time went.
    fn encode_cost(&self, out: &mut Window, record: &Record) -> Result<Encoded, WriteError> {
        let last_ns = self.last_ns;
        let at = |ns| self.relative(ns);
        Ok(match *record {
            Record::Gc {
                kind,
                cause,
                caller,
                begin_ns,
                end_ns,
            } => {
                let fields = encode::Gc {
                    duration_ns: end_ns.saturating_sub(begin_ns),
                    kind,
                    cause,
                    caller,
                };
                encode::gc(out, last_ns, at(end_ns)?, &fields)
            }
            Record::Work {
                end_ns,
                span_ns,
                jit_ns,
                ic_ns,
            } => encode::work(out, last_ns, at(end_ns)?, span_ns, jit_ns, ic_ns),
            Record::NotRunning {
                at_ns,
                end_ns,
                duration_ns,
                cause,
            } => encode::not_running(out, last_ns, at(at_ns)?, at(end_ns)?, duration_ns, cause),
            _ => unreachable!("{record:?} is of another group"),
        })
    }

    /// Requests, and what is told of a moment.
    fn encode_moment(&self, out: &mut Window, record: &Record) -> Result<Encoded, WriteError> {
        let last_ns = self.last_ns;
        let at = |ns| self.relative(ns);
        Ok(match *record {
            Record::Source {
                request,
                at_ns,
                name,
            } => encode::source(out, last_ns, at(at_ns)?, request, name),
            Record::Sink {
                request,
                at_ns,
                route,
                status,
            } => encode::sink(out, last_ns, at(at_ns)?, request, route, status),
            Record::Location { at_ns, place } => encode::location(out, last_ns, at(at_ns)?, place),
            Record::Mark { kind, at_ns, text } => {
                encode::mark(out, last_ns, at(at_ns)?, kind, text)
            }
            Record::Loss {
                kind,
                count,
                events,
            } => encode::loss(out, last_ns, kind, count, events),
            _ => unreachable!("{record:?} is of another group"),
        })
    }

    /// Moves the state of the stream, and the numbers given out, past a record.
    pub(super) fn follow(&mut self, record: &Record) {
        match *record {
            Record::LoopBegin {
                event, handle, op, ..
            } => {
                self.open(event);
                self.loop_event = event;
                self.raise(live::HANDLE, handle);
                self.raise(live::OP, op);
            }
            Record::Micro { event, .. } => self.open(event),
            Record::Resume { event, .. } => self.current = event,
            Record::LoopEnd { .. } | Record::Poll { .. } => {
                self.current = 0;
                self.loop_event = 0;
            }
            Record::Register { op, .. } => self.raise(live::OP, op),
            Record::HandleOpen { handle, .. } => self.raise(live::HANDLE, handle),
            Record::Source { request, .. } => self.raise(live::REQUEST, request),
            _ => {}
        }
    }

    fn open(&mut self, event: EventId) {
        self.event = event;
        self.current = event;
    }

    /// A time relative to the start.
    fn relative(&self, found: Ns) -> Result<u64, WriteError> {
        let start = self.header.start_ns;
        match found.checked_sub(start) {
            None => Err(WriteError::BeforeStart { found, start }),
            Some(ns) if ns >= bound::MAX_RELATIVE_NS => Err(WriteError::TooLate { found, start }),
            Some(ns) => Ok(ns),
        }
    }
}
