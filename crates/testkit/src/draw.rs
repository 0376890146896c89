//! Drawn traces: text in, records out.

use std::collections::HashMap;

use bobtail_trace::record::{
    CodePlace, EventId, GcCause, HandleKind, LoopKind, LossKind, MarkKind, MicroKind,
    NotRunningCause, Ns, Ready, ReadyQuality, Record, StringId,
};

use crate::line::Line;

/// Time 0 of a drawn trace: a second, so that drawn times may be negative.
pub const ORIGIN_NS: Ns = 1_000_000_000;

/// A trace as its readers would hand it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    pub records: Vec<Record>,
    /// The string table; the first entry has id 1 and is `(other)`, as in the format.
    pub strings: Vec<String>,
}

impl Drawn {
    /// The string with this id; empty for none.
    pub fn text(&self, id: StringId) -> &str {
        (id as usize)
            .checked_sub(1)
            .and_then(|i| self.strings.get(i))
            .map_or("", String::as_str)
    }
}

/// Reads the notation described at the top of the crate.
///
/// # Panics
///
/// On a line it does not understand, showing it.
pub fn draw(text: &str) -> Drawn {
    let mut drawing = Drawing {
        records: Vec::new(),
        strings: Table::new(),
        now: ORIGIN_NS,
        event: 0,
    };
    for line in text.lines().filter_map(Line::parse) {
        drawing.line(line);
    }
    Drawn {
        records: drawing.records,
        strings: drawing.strings.texts,
    }
}

/// A string table in the making.
#[derive(Debug)]
pub(crate) struct Table {
    pub texts: Vec<String>,
    ids: HashMap<String, StringId>,
}

impl Table {
    pub(crate) fn new() -> Self {
        let mut table = Self {
            texts: Vec::new(),
            ids: HashMap::new(),
        };
        table.id("(other)");
        table
    }

    pub(crate) fn id(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        self.texts.push(text.into());
        let id = self.texts.len() as StringId;
        self.ids.insert(text.into(), id);
        id
    }
}

struct Drawing {
    records: Vec<Record>,
    strings: Table,
    now: Ns,
    event: EventId,
}

impl Drawing {
    fn line(&mut self, mut line: Line<'_>) {
        let timed = line.time_ns;
        self.now = timed.unwrap_or(self.now);
        let at_ns = self.now;
        let record = match line.word() {
            "open" => Record::HandleOpen {
                handle: line.number(),
                kind: line.known(HandleKind::from_word),
                at_ns,
                name: self.string(&mut line),
            },
            "close" => Record::HandleClose {
                handle: line.number(),
                at_ns,
            },
            "begin" => self.begin(&mut line),
            "end" => Record::LoopEnd { end_ns: at_ns },
            "micro" => Record::Micro {
                event: self.next_event(&mut line),
                kind: line.known(MicroKind::from_word),
                registrar: line.field_number("from").unwrap_or(0),
                begin_ns: timed,
            },
            "resume" => Record::Resume {
                event: line.number(),
                at_ns: timed,
            },
            "poll" => self.poll(&mut line),
            "register" => self.register(&mut line),
            "write" => Record::Write {
                handle: line.number(),
                at_ns,
                bytes: line.field_number("bytes").unwrap_or(1).into(),
                unsent: line.field_number("unsent").unwrap_or(0).into(),
            },
            "source" => Record::Source {
                request: line.number(),
                at_ns,
                name: self.string(&mut line),
            },
            "sink" => Record::Sink {
                request: line.number(),
                at_ns,
                status: line.number(),
                route: self.string(&mut line),
            },
            "gc" => self.gc(&mut line),
            "work" => Record::Work {
                end_ns: at_ns,
                span_ns: line.field_duration("span").expect("work span=duration"),
                jit_ns: line.field_duration("jit").unwrap_or(0),
                ic_ns: line.field_duration("ic").unwrap_or(0),
            },
            "not-running" => self.not_running(&mut line),
            "at" => Record::Location {
                at_ns,
                place: {
                    let text = line.string().expect("at \"function file:line:column\"");
                    self.code_place(text)
                },
            },
            "mark" => Record::Mark {
                kind: line.known(MarkKind::from_word),
                at_ns,
                text: self.string(&mut line),
            },
            "loss" => self.loss(&mut line),
            other => panic!("no fact is called {other}"),
        };
        self.records.push(record);
        line.finish();
    }

    /// `"function file:line:column"`; without its function, or its column, where they are unknown.
    fn code_place(&mut self, text: &str) -> CodePlace {
        let (function, place) = text.rsplit_once(' ').unwrap_or(("", text));
        let mut parts = place.splitn(3, ':');
        let file = parts.next().unwrap_or_default();
        let mut number = || parts.next().map_or(0, |n| n.parse().expect("a number"));
        let (line, column) = (number(), number());
        let mut string = |text| match text {
            "" => 0,
            text => self.strings.id(text),
        };
        CodePlace {
            function: string(function),
            file: string(file),
            line,
            column,
        }
    }

    fn register(&mut self, line: &mut Line<'_>) -> Record {
        Record::Register {
            kind: line.known(LoopKind::from_word),
            op: line.field_number("op").expect("register op=n"),
            at_ns: self.now,
            resource: self.string(line),
            due_ns: line.field_time("due"),
        }
    }

    fn begin(&mut self, line: &mut Line<'_>) -> Record {
        let event = self.next_event(line);
        let kind = line.known(LoopKind::from_word);
        let ready = line.field_time("ready").map(|at_ns| Ready {
            at_ns,
            quality: line
                .field_known("quality", ReadyQuality::from_word)
                .unwrap_or(ReadyQuality::Exact),
        });
        Record::LoopBegin {
            event,
            kind,
            begin_ns: self.now,
            ready,
            handle: line.field_number("handle").unwrap_or(0),
            op: line.field_number("op").unwrap_or(0),
            run_ns: line.field_duration("run").unwrap_or(0),
        }
    }

    fn poll(&mut self, line: &mut Line<'_>) -> Record {
        let enter_ns = self.now;
        self.now += line.field_duration("for").unwrap_or(0);
        let ready_count = line.field_number("count").unwrap_or(1);
        Record::Poll {
            enter_ns,
            leave_ns: self.now,
            ready_count,
        }
    }

    fn gc(&mut self, line: &mut Line<'_>) -> Record {
        let kind = line.known(|word| match word {
            "scavenge" => Some(1),
            "minor" => Some(2),
            "mark" => Some(4),
            "incremental" => Some(8),
            "weak" => Some(16),
            _ => None,
        });
        let begin_ns = self.now;
        self.now += line.field_duration("for").expect("gc for=duration");
        let cause = line.field_known("cause", GcCause::from_word);
        let caller = line.string().map(|text| self.code_place(text));
        Record::Gc {
            kind,
            cause: cause.unwrap_or(GcCause::Heap),
            caller: caller.unwrap_or_default(),
            begin_ns,
            end_ns: self.now,
        }
    }

    fn not_running(&mut self, line: &mut Line<'_>) -> Record {
        Record::NotRunning {
            at_ns: self.now,
            end_ns: line.field_time("end").unwrap_or(self.now),
            duration_ns: line
                .field_duration("for")
                .expect("not-running for=duration"),
            cause: line
                .field_known("cause", NotRunningCause::from_word)
                .unwrap_or(NotRunningCause::Preempted),
        }
    }

    fn loss(&mut self, line: &mut Line<'_>) -> Record {
        let events = line.field_number("events").unwrap_or(0);
        self.event += events;
        Record::Loss {
            kind: line.known(LossKind::from_word),
            count: line.field_number("count").unwrap_or(1).into(),
            events,
        }
    }

    fn next_event(&mut self, line: &mut Line<'_>) -> EventId {
        self.event += 1;
        if let Some(label) = line.label() {
            assert_eq!(label, self.event, "the label of {line:?} is not its number");
        }
        self.event
    }

    fn string(&mut self, line: &mut Line<'_>) -> StringId {
        line.string().map_or(0, |text| self.strings.id(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_without_a_time_happen_when_the_one_before_did() {
        let drawn =
            draw("1.5ms begin #1 timer op=3 ready=-2us\n source 1 \"GET /\" // why\n\n end");
        let at = ORIGIN_NS + 1_500_000;
        let ready = Ready {
            at_ns: ORIGIN_NS - 2_000,
            quality: ReadyQuality::Exact,
        };
        assert_eq!(
            drawn.records,
            [
                Record::LoopBegin {
                    event: 1,
                    kind: LoopKind::Timer,
                    begin_ns: at,
                    ready: Some(ready),
                    handle: 0,
                    op: 3,
                    run_ns: 0,
                },
                Record::Source {
                    request: 1,
                    at_ns: at,
                    name: 2
                },
                Record::LoopEnd { end_ns: at },
            ]
        );
        assert_eq!(drawn.text(2), "GET /");
    }

    #[test]
    #[should_panic(expected = "is not its number")]
    fn a_wrong_label_is_told() {
        draw("0ms begin #2 read");
    }

    #[test]
    #[should_panic(expected = "owner was not expected")]
    fn a_word_too_many_is_told() {
        draw("0ms begin read owner=3");
    }
}
