//! Decodes one record after another from the bytes of a chunk, resolving every delta.
//!
//! The state lives apart from the bytes, so that a reader can carry it from chunk to chunk and
//! replace it from a chunk header after a gap.

use crate::chunk::ChunkStart;
use crate::error::Damage;
use crate::fields::{Fields, known, range};
use crate::layout::tag;
use crate::record::{
    CodePlace, EventId, GcCause, HandleKind, LoopKind, LossKind, MarkKind, MicroKind,
    NotRunningCause, Ns, Ready, ReadyQuality, Record,
};

/// State of the stream after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamState {
    /// Time of the last timed record, absolute.
    pub last_ns: Ns,
    /// Last event number given out.
    pub event: EventId,
    /// The event that registrations are charged to; 0 outside events.
    pub current: EventId,
    /// The loop event that is open; 0 when none.
    pub loop_event: EventId,
}

impl StreamState {
    /// The state that a chunk header tells.
    pub(crate) fn at_chunk(start: &ChunkStart, start_ns: Ns) -> Result<Self, Damage> {
        let last_ns = start_ns.checked_add(start.base_ns).ok_or(Damage::Range {
            field: "base_ns",
            value: start.base_ns,
        })?;
        Ok(Self {
            last_ns,
            event: start.first_event,
            current: start.current,
            loop_event: start.loop_event,
        })
    }

    /// Decodes the record at `*at` and moves `*at` behind it. On damage, `*at` is undefined but
    /// within the bytes.
    #[inline]
    pub(crate) fn decode(&mut self, bytes: &[u8], at: &mut usize) -> Result<Record, Damage> {
        let tag = *bytes.get(*at).ok_or(Damage::End)?;
        if tag & tag::KIND_BITS != tag::MICRO {
            return self.decode_other(tag, bytes, at);
        }
        let mut fields = Fields {
            bytes,
            at: *at + 1,
            state: self,
        };
        let record = fields.micro(tag);
        *at = fields.at;
        record
    }

    /// Apart, so that the position of the frequent MICRO stays in a register.
    #[inline(never)]
    fn decode_other(&mut self, tag: u8, bytes: &[u8], at: &mut usize) -> Result<Record, Damage> {
        let mut fields = Fields {
            bytes,
            at: *at + 1,
            state: self,
        };
        let record = fields.other(tag);
        *at = fields.at;
        record
    }
}

impl Fields<'_> {
    #[inline(always)]
    fn micro(&mut self, tag: u8) -> Result<Record, Damage> {
        let code = self.number("micro kind")?;
        let kind = known(MicroKind::from_code(code), "micro kind", code)?;
        let begin_ns = if tag & tag::FLAG_A != 0 {
            Some(self.time()?)
        } else {
            None
        };
        let event = self.next_event()?;
        let registrar = if tag & tag::FLAG_B != 0 {
            let back = self.number("registrar")?;
            match event.checked_sub(back) {
                Some(registrar) if registrar != 0 && back != 0 => registrar,
                _ => return Err(range("registrar", u64::from(back))),
            }
        } else {
            0
        };
        self.open(event);
        Ok(Record::Micro {
            event,
            kind,
            registrar,
            begin_ns,
        })
    }

    fn other(&mut self, tag: u8) -> Result<Record, Damage> {
        match tag {
            tag::LOOP_END => {
                let end_ns = self.time()?;
                self.close();
                Ok(Record::LoopEnd { end_ns })
            }
            tag::POLL => self.poll(),
            tag::HANDLE_OPEN => self.handle_open(),
            tag::HANDLE_CLOSE => {
                let at_ns = self.time()?;
                Ok(Record::HandleClose {
                    handle: self.number("handle")?,
                    at_ns,
                })
            }
            tag::SOURCE => {
                let at_ns = self.time()?;
                let request = self.number("request")?;
                Ok(Record::Source {
                    request,
                    at_ns,
                    name: self.number("string")?,
                })
            }
            tag::SINK => self.sink(),
            tag::LOCATION => {
                let at_ns = self.time()?;
                let place = self.place()?;
                Ok(Record::Location { at_ns, place })
            }
            tag::MARK => {
                let at_ns = self.time()?;
                let code = self.number("mark kind")?;
                let kind = known(MarkKind::from_code(code), "mark kind", code)?;
                Ok(Record::Mark {
                    kind,
                    at_ns,
                    text: self.number("string")?,
                })
            }
            tag::LOSS => self.loss(),
            tag::NOT_RUNNING => self.not_running(),
            _ => match tag & tag::KIND_BITS {
                tag::LOOP_BEGIN => self.loop_begin(tag),
                tag::RESUME if tag & tag::FLAG_B == 0 => self.resume(tag),
                tag::REGISTER if tag & tag::FLAG_B == 0 => self.register(tag),
                tag::WRITE if tag & tag::FLAG_B == 0 => self.write(tag),
                tag::GC => self.gc(tag),
                tag::WORK => self.work(tag),
                _ => Err(Damage::Tag(tag)),
            },
        }
    }

    fn loop_begin(&mut self, tag: u8) -> Result<Record, Damage> {
        let begin_ns = self.time()?;
        let kind = self.loop_kind()?;
        let handle = self.number("handle")?;
        let op = if tag & tag::FLAG_B != 0 {
            self.number("op")?
        } else {
            0
        };
        let mut ready = None;
        let mut run_ns = 0;
        if tag & tag::FLAG_A != 0 {
            let wait_ns = self.take()?;
            let at_ns = begin_ns
                .checked_sub(wait_ns)
                .ok_or(range("begin - ready", wait_ns))?;
            let code = self.number("quality")?;
            let quality = known(ReadyQuality::from_code(code), "quality", code)?;
            ready = Some(Ready { at_ns, quality });
            if kind == LoopKind::Pool {
                run_ns = self.take()?;
            }
        }
        let event = self.next_event()?;
        self.open(event);
        self.state.loop_event = event;
        Ok(Record::LoopBegin {
            event,
            kind,
            begin_ns,
            ready,
            handle,
            op,
            run_ns,
        })
    }

    fn resume(&mut self, tag: u8) -> Result<Record, Damage> {
        let back = self.number("event resumed")?;
        let event = if back == u32::MAX {
            0
        } else {
            self.state
                .event
                .checked_sub(back)
                .ok_or(range("last event - event resumed", u64::from(back)))?
        };
        let at_ns = if tag & tag::FLAG_A != 0 {
            Some(self.time()?)
        } else {
            None
        };
        self.state.current = event;
        Ok(Record::Resume { event, at_ns })
    }

    fn poll(&mut self) -> Result<Record, Damage> {
        let enter_ns = self.time()?;
        let blocked_ns = self.take()?;
        let leave_ns = enter_ns
            .checked_add(blocked_ns)
            .ok_or(range("blocked", blocked_ns))?;
        let ready_count = self.number("ready count")?;
        self.close();
        Ok(Record::Poll {
            enter_ns,
            leave_ns,
            ready_count,
        })
    }

    fn register(&mut self, tag: u8) -> Result<Record, Damage> {
        let at_ns = self.time()?;
        let op = self.number("op")?;
        let kind = self.loop_kind()?;
        let resource = self.number("string")?;
        let due_ns = if tag & tag::FLAG_A != 0 {
            let delay_ns = self.take()?;
            Some(
                at_ns
                    .checked_add(delay_ns)
                    .ok_or(range("due - time", delay_ns))?,
            )
        } else {
            None
        };
        Ok(Record::Register {
            op,
            kind,
            at_ns,
            resource,
            due_ns,
        })
    }

    fn write(&mut self, tag: u8) -> Result<Record, Damage> {
        let at_ns = self.time()?;
        let handle = self.number("handle")?;
        let bytes = self.take()?;
        let unsent = match tag & tag::FLAG_A {
            0 => 0,
            _ => self.take()?,
        };
        Ok(Record::Write {
            handle,
            at_ns,
            bytes,
            unsent,
        })
    }

    fn work(&mut self, tag: u8) -> Result<Record, Damage> {
        let end_ns = self.time()?;
        let span_ns = self.take()?;
        end_ns.checked_sub(span_ns).ok_or(range("span", span_ns))?;
        let mut class_ns = |flag| match tag & flag {
            0 => Ok(0),
            _ => self.take(),
        };
        let jit_ns = class_ns(tag::FLAG_A)?;
        let ic_ns = class_ns(tag::FLAG_B)?;
        Ok(Record::Work {
            end_ns,
            span_ns,
            jit_ns,
            ic_ns,
        })
    }

    fn not_running(&mut self) -> Result<Record, Damage> {
        let at_ns = self.time()?;
        let ago_ns = self.take()?;
        let end_ns = at_ns
            .checked_sub(ago_ns)
            .ok_or(range("time - end", ago_ns))?;
        let duration_ns = self.take()?;
        end_ns
            .checked_sub(duration_ns)
            .ok_or(range("duration", duration_ns))?;
        let code = self.number("cause")?;
        Ok(Record::NotRunning {
            at_ns,
            end_ns,
            duration_ns,
            cause: known(NotRunningCause::from_code(code), "cause", code)?,
        })
    }

    fn handle_open(&mut self) -> Result<Record, Damage> {
        let at_ns = self.time()?;
        let handle = self.number("handle")?;
        let code = self.number("handle kind")?;
        let kind = known(HandleKind::from_code(code), "handle kind", code)?;
        Ok(Record::HandleOpen {
            handle,
            kind,
            at_ns,
            name: self.number("string")?,
        })
    }

    fn sink(&mut self) -> Result<Record, Damage> {
        let at_ns = self.time()?;
        let request = self.number("request")?;
        let route = self.number("string")?;
        Ok(Record::Sink {
            request,
            at_ns,
            route,
            status: self.number("status")?,
        })
    }

    fn gc(&mut self, tag: u8) -> Result<Record, Damage> {
        let end_ns = self.time()?;
        let duration_ns = self.take()?;
        let begin_ns = end_ns
            .checked_sub(duration_ns)
            .ok_or(range("duration", duration_ns))?;
        let kind = self.number("gc kind")?;
        let cause = match tag & tag::FLAG_A {
            0 => GcCause::Heap,
            _ => {
                let code = self.number("gc cause")?;
                known(GcCause::from_code(code), "gc cause", code)?
            }
        };
        let caller = match tag & tag::FLAG_B {
            0 => CodePlace::default(),
            _ => self.place()?,
        };
        Ok(Record::Gc {
            kind,
            cause,
            caller,
            begin_ns,
            end_ns,
        })
    }

    fn place(&mut self) -> Result<CodePlace, Damage> {
        Ok(CodePlace {
            function: self.number("string")?,
            file: self.number("string")?,
            line: self.number("line")?,
            column: self.number("column")?,
        })
    }

    fn loss(&mut self) -> Result<Record, Damage> {
        let code = self.number("loss kind")?;
        let kind = known(LossKind::from_code(code), "loss kind", code)?;
        let count = self.take()?;
        Ok(Record::Loss {
            kind,
            count,
            events: self.number("events")?,
        })
    }

    fn loop_kind(&mut self) -> Result<LoopKind, Damage> {
        let code = self.number("loop kind")?;
        known(LoopKind::from_code(code), "loop kind", code)
    }
}
