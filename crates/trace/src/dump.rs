//! A line of text per record, for people and for the expected files of the golden vectors.
//!
//! Fixed order of fields and nothing left out, so that two dumps are equal exactly when the traces
//! are. Times are nanoseconds since the start of the trace.

use std::fmt::Write as _;

use crate::error::TraceError;
use crate::header::Header;
use crate::read_at::ReadAt;
use crate::reader::TraceReader;
use crate::record::{CodePlace, Ns, Record, StringId};
use crate::strings::Strings;

/// The whole rest of a trace: header, strings, records and losses. An error ends the text with a
/// line of its own, so damaged traces have a dump, too.
pub fn dump<S: ReadAt>(reader: &mut TraceReader<S>) -> String {
    let mut text = head(reader.header(), reader.strings());
    loop {
        let line = match reader.next_record() {
            Ok(Some(record)) => line(&record, reader.header().start_ns, reader.strings()),
            Ok(None) => break,
            Err(error) => {
                text.push_str(&error_line(&error));
                break;
            }
        };
        text.push_str(&line);
        text.push('\n');
    }
    for (kind, count) in reader.losses() {
        push(&mut text, format_args!("lost {} {count}\n", kind.word()));
    }
    let end = if reader.live().is_closed() {
        "closed\n"
    } else {
        "open\n"
    };
    text.push_str(end);
    text
}

/// The line of an error, as it ends a dump.
pub fn error_line(error: &TraceError) -> String {
    format!("error {} {error}\n", error.code())
}

fn head(header: &Header, strings: &Strings) -> String {
    let mut text = format!(
        "trace version={} pid={} thread={} detail={} node={} arch={}\n\
         layout strings={} chunk={} ring={} slots={}\nstart {} realtime={}\n",
        header.version,
        header.pid,
        header.thread,
        header.detail.word(),
        header.node,
        header.arch,
        header.strings_bytes,
        header.chunk_bytes,
        header.ring_slots,
        header.max_slots,
        header.start_ns,
        header.start_realtime_ns,
    );
    for (id, string) in strings.iter() {
        push(&mut text, format_args!("string {id} {string:?}\n"));
    }
    text
}

/// One record, without a line end.
pub fn line(record: &Record, start_ns: Ns, strings: &Strings) -> String {
    let text = Text { start_ns, strings };
    match record {
        Record::LoopBegin { .. }
        | Record::LoopEnd { .. }
        | Record::Micro { .. }
        | Record::Resume { .. }
        | Record::Poll { .. } => text.event(record),
        Record::Register { .. }
        | Record::Write { .. }
        | Record::HandleOpen { .. }
        | Record::HandleClose { .. } => text.cause(record),
        Record::Gc { .. } | Record::Work { .. } | Record::NotRunning { .. } => text.cost(record),
        Record::Source { .. }
        | Record::Sink { .. }
        | Record::Location { .. }
        | Record::Mark { .. }
        | Record::Loss { .. } => text.moment(record),
    }
}

/// What the numbers of a record stand for. Each function knows the kinds that `line` gives it.
struct Text<'a> {
    start_ns: Ns,
    strings: &'a Strings,
}

impl Text<'_> {
    fn at(&self, ns: Ns) -> Relative {
        Relative {
            ns,
            start_ns: self.start_ns,
        }
    }

    fn optional(&self, ns: Option<Ns>) -> String {
        ns.map_or("-".to_owned(), |ns| self.at(ns).to_string())
    }

    fn name(&self, id: StringId) -> Name<'_> {
        Name {
            id,
            strings: self.strings,
        }
    }

    fn place(&self, place: CodePlace) -> String {
        format!(
            "function={} file={} line={} column={}",
            self.name(place.function),
            self.name(place.file),
            place.line,
            place.column
        )
    }

    /// Events and what lies between them.
    fn event(&self, record: &Record) -> String {
        match *record {
            Record::LoopBegin {
                event,
                kind,
                begin_ns,
                ready,
                handle,
                op,
                run_ns,
            } => {
                let ready = ready.map_or("-".to_owned(), |ready| {
                    format!("{}:{}", self.at(ready.at_ns), ready.quality.word())
                });
                format!(
                    "{} loop-begin event={event} kind={} ready={ready} handle={handle} op={op} \
                 run={run_ns}",
                    self.at(begin_ns),
                    kind.word()
                )
            }
            Record::LoopEnd { end_ns } => format!("{} loop-end", self.at(end_ns)),
            Record::Micro {
                event,
                kind,
                registrar,
                begin_ns,
            } => {
                let begin = self.optional(begin_ns);
                format!(
                    "{begin} micro event={event} kind={} registrar={registrar}",
                    kind.word()
                )
            }
            Record::Resume { event, at_ns } => {
                format!("{} resume event={event}", self.optional(at_ns))
            }
            Record::Poll {
                enter_ns,
                leave_ns,
                ready_count,
            } => {
                format!(
                    "{} poll leave={} ready-count={ready_count}",
                    self.at(enter_ns),
                    self.at(leave_ns)
                )
            }
            _ => unreachable!("{record:?} is of another group"),
        }
    }

    /// What an event causes: operations, and bytes on handles.
    fn cause(&self, record: &Record) -> String {
        match *record {
            Record::Register {
                op,
                kind,
                at_ns,
                resource,
                due_ns,
            } => {
                let (kind, resource, due) =
                    (kind.word(), self.name(resource), self.optional(due_ns));
                format!(
                    "{} register op={op} kind={kind} resource={resource} due={due}",
                    self.at(at_ns)
                )
            }
            Record::Write {
                handle,
                at_ns,
                bytes,
                unsent,
            } => {
                format!(
                    "{} write handle={handle} bytes={bytes} unsent={unsent}",
                    self.at(at_ns)
                )
            }
            Record::HandleOpen {
                handle,
                kind,
                at_ns,
                name: id,
            } => {
                let (kind, name) = (kind.word(), self.name(id));
                format!(
                    "{} handle-open handle={handle} kind={kind} name={name}",
                    self.at(at_ns)
                )
            }
            Record::HandleClose { handle, at_ns } => {
                format!("{} handle-close handle={handle}", self.at(at_ns))
            }
            _ => unreachable!("{record:?} is of another group"),
        }
    }

    /// Where the thread's time went.
    fn cost(&self, record: &Record) -> String {
        match *record {
            Record::Gc {
                kind,
                cause,
                caller,
                begin_ns,
                end_ns,
            } => {
                format!(
                    "{} gc begin={} kind={kind} cause={} caller: {}",
                    self.at(end_ns),
                    self.at(begin_ns),
                    cause.word(),
                    self.place(caller)
                )
            }
            Record::Work {
                end_ns,
                span_ns,
                jit_ns,
                ic_ns,
            } => {
                format!(
                    "{} work span={span_ns} jit={jit_ns} ic={ic_ns}",
                    self.at(end_ns)
                )
            }
            Record::NotRunning {
                at_ns,
                end_ns,
                duration_ns,
                cause,
            } => {
                format!(
                    "{} not-running end={} duration={duration_ns} cause={}",
                    self.at(at_ns),
                    self.at(end_ns),
                    cause.word()
                )
            }
            _ => unreachable!("{record:?} is of another group"),
        }
    }

    /// Requests, and what is told of a moment.
    fn moment(&self, record: &Record) -> String {
        match *record {
            Record::Source {
                request,
                at_ns,
                name: id,
            } => {
                format!(
                    "{} source request={request} name={}",
                    self.at(at_ns),
                    self.name(id)
                )
            }
            Record::Sink {
                request,
                at_ns,
                route,
                status,
            } => {
                let route = self.name(route);
                format!(
                    "{} sink request={request} route={route} status={status}",
                    self.at(at_ns)
                )
            }
            Record::Location { at_ns, place } => {
                format!("{} location {}", self.at(at_ns), self.place(place))
            }
            Record::Mark { kind, at_ns, text } => {
                format!(
                    "{} mark kind={} text={}",
                    self.at(at_ns),
                    kind.word(),
                    self.name(text)
                )
            }
            Record::Loss {
                kind,
                count,
                events,
            } => {
                format!("- loss kind={} count={count} events={events}", kind.word())
            }
            _ => unreachable!("{record:?} is of another group"),
        }
    }
}

struct Relative {
    ns: Ns,
    start_ns: Ns,
}

impl std::fmt::Display for Relative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", i128::from(self.ns) - i128::from(self.start_ns))
    }
}

struct Name<'a> {
    id: StringId,
    strings: &'a Strings,
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.id, self.strings.get(self.id)) {
            (0, _) => f.write_str("-"),
            (_, Some(text)) => write!(f, "{text:?}"),
            (id, None) => write!(f, "#{id}"),
        }
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(arguments);
}
