//! Encodes one record at a time into a fixed window, inside the observed process.
//!
//! No allocation, no panic, no bounds checks to fail: a record always fits the 64-byte window that
//! the chunk's `limit` guarantees, and indices are masked to it. That is why this is a set of
//! functions over `&mut Window` and not a serializer over `io::Write`.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::layout::{MAX_RECORD_BYTES, tag};
use crate::record::{
    CodePlace, EventId, GcCause, HandleId, HandleKind, LoopKind, LossKind, MarkKind, MicroKind,
    NotRunningCause, OpId, ReadyQuality, RequestId, StringId,
};

/// The bytes from `position` on; `position <= limit` guarantees that they lie in the chunk.
pub type Window = [u8; MAX_RECORD_BYTES];

/// What a record took: its length, and the new `last_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoded {
    pub bytes: usize,
    /// New value of the live block's `last_ns`, relative to the start.
    pub last_ns: u64,
}

/// Fields of LOOP_BEGIN; times relative to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopBegin {
    pub kind: LoopKind,
    pub begin_ns: u64,
    /// When what the event waited for was complete; a time after `begin_ns` counts as `begin_ns`.
    pub ready: Option<(u64, ReadyQuality)>,
    /// 0 none.
    pub handle: HandleId,
    /// 0 none.
    pub op: OpId,
    /// Duration of the job on its pool thread, ending at ready. Only written for kind pool with a
    /// known `ready`.
    pub run_ns: u64,
}

/// Opens the next event number. The caller counts `event` up and sets `current` and `loop_event`.
#[inline]
pub fn loop_begin(out: &mut Window, last_ns: u64, fields: &LoopBegin) -> Encoded {
    let mut flags = 0;
    if fields.ready.is_some() {
        flags |= tag::FLAG_A;
    }
    if fields.op != 0 {
        flags |= tag::FLAG_B;
    }
    let mut cursor = Cursor::new(out, tag::LOOP_BEGIN | flags, last_ns);
    cursor.time(fields.begin_ns);
    cursor.put32(fields.kind.code());
    cursor.put32(fields.handle);
    if fields.op != 0 {
        cursor.put32(fields.op);
    }
    if let Some((ready_ns, quality)) = fields.ready {
        cursor.put(cursor.last_ns.saturating_sub(ready_ns));
        cursor.put32(quality.code());
        if fields.kind == LoopKind::Pool {
            cursor.put(fields.run_ns);
        }
    }
    cursor.done()
}

/// Ends the open loop event. The caller sets `current` and `loop_event` to 0.
#[inline]
pub fn loop_end(out: &mut Window, last_ns: u64, end_ns: u64) -> Encoded {
    let mut cursor = Cursor::new(out, tag::LOOP_END, last_ns);
    cursor.time(end_ns);
    cursor.done()
}

/// Opens `event`, which must be the next event number. `registrar` 0 is unknown.
#[inline]
pub fn micro(
    out: &mut Window,
    last_ns: u64,
    kind: MicroKind,
    event: EventId,
    registrar: EventId,
    begin_ns: Option<u64>,
) -> Encoded {
    let known = registrar != 0 && registrar < event;
    let mut flags = 0;
    if begin_ns.is_some() {
        flags |= tag::FLAG_A;
    }
    if known {
        flags |= tag::FLAG_B;
    }
    let mut cursor = Cursor::new(out, tag::MICRO | flags, last_ns);
    cursor.put32(kind.code());
    if let Some(begin_ns) = begin_ns {
        cursor.time(begin_ns);
    }
    if known {
        cursor.put32(event.wrapping_sub(registrar));
    }
    cursor.done()
}

/// `event` (0 none) goes on; `last_event` is the last event number given out.
#[inline]
pub fn resume(
    out: &mut Window,
    last_ns: u64,
    last_event: EventId,
    event: EventId,
    at_ns: Option<u64>,
) -> Encoded {
    let flags = if at_ns.is_some() { tag::FLAG_A } else { 0 };
    let mut cursor = Cursor::new(out, tag::RESUME | flags, last_ns);
    cursor.put32(if event == 0 {
        u32::MAX
    } else {
        last_event.wrapping_sub(event)
    });
    if let Some(at_ns) = at_ns {
        cursor.time(at_ns);
    }
    cursor.done()
}

/// The loop waited in the kernel; `last_ns` becomes `enter_ns`. Ends the open loop event.
#[inline]
pub fn poll(
    out: &mut Window,
    last_ns: u64,
    enter_ns: u64,
    leave_ns: u64,
    ready_count: u32,
) -> Encoded {
    let mut cursor = Cursor::new(out, tag::POLL, last_ns);
    cursor.time(enter_ns);
    cursor.put(leave_ns.saturating_sub(cursor.last_ns));
    cursor.put32(ready_count);
    cursor.done()
}

/// The current event started operation `op`, which will cause a loop event of `kind`.
/// A `due_ns` before the registration counts as due at once.
#[inline]
pub fn register(
    out: &mut Window,
    last_ns: u64,
    at_ns: u64,
    op: OpId,
    kind: LoopKind,
    resource: StringId,
    due_ns: Option<u64>,
) -> Encoded {
    let flags = if due_ns.is_some() { tag::FLAG_A } else { 0 };
    let mut cursor = Cursor::new(out, tag::REGISTER | flags, last_ns);
    cursor.time(at_ns);
    cursor.put32(op);
    cursor.put32(kind.code());
    cursor.put32(resource);
    if let Some(due_ns) = due_ns {
        cursor.put(due_ns.saturating_sub(cursor.last_ns));
    }
    cursor.done()
}

/// The current event handed `bytes` to the kernel; `unsent` bytes still wait in the process.
#[inline]
pub fn write(
    out: &mut Window,
    last_ns: u64,
    at_ns: u64,
    handle: HandleId,
    bytes: u64,
    unsent: u64,
) -> Encoded {
    let flags = if unsent != 0 { tag::FLAG_A } else { 0 };
    let mut cursor = Cursor::new(out, tag::WRITE | flags, last_ns);
    cursor.time(at_ns);
    cursor.put32(handle);
    cursor.put(bytes);
    if unsent != 0 {
        cursor.put(unsent);
    }
    cursor.done()
}

/// A descriptor came to be or was first seen.
#[inline]
pub fn handle_open(
    out: &mut Window,
    last_ns: u64,
    at_ns: u64,
    handle: HandleId,
    kind: HandleKind,
    name: StringId,
) -> Encoded {
    let mut cursor = Cursor::new(out, tag::HANDLE_OPEN, last_ns);
    cursor.time(at_ns);
    cursor.put32(handle);
    cursor.put32(kind.code());
    cursor.put32(name);
    cursor.done()
}

/// A descriptor was closed.
#[inline]
pub fn handle_close(out: &mut Window, last_ns: u64, at_ns: u64, handle: HandleId) -> Encoded {
    let mut cursor = Cursor::new(out, tag::HANDLE_CLOSE, last_ns);
    cursor.time(at_ns);
    cursor.put32(handle);
    cursor.done()
}

/// The current event received `request`.
#[inline]
pub fn source(
    out: &mut Window,
    last_ns: u64,
    at_ns: u64,
    request: RequestId,
    name: StringId,
) -> Encoded {
    let mut cursor = Cursor::new(out, tag::SOURCE, last_ns);
    cursor.time(at_ns);
    cursor.put32(request);
    cursor.put32(name);
    cursor.done()
}

/// The current event handed over the last of the response to `request`.
#[inline]
pub fn sink(
    out: &mut Window,
    last_ns: u64,
    at_ns: u64,
    request: RequestId,
    route: StringId,
    status: u32,
) -> Encoded {
    let mut cursor = Cursor::new(out, tag::SINK, last_ns);
    cursor.time(at_ns);
    cursor.put32(request);
    cursor.put32(route);
    cursor.put32(status);
    cursor.done()
}

/// Fields of GC beside its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gc {
    pub duration_ns: u64,
    /// V8's `GCType`.
    pub kind: u32,
    pub cause: GcCause,
    /// The code that asked for it; without a file where it is unknown.
    pub caller: CodePlace,
}

/// A collection that ended at `end_ns`.
#[inline]
pub fn gc(out: &mut Window, last_ns: u64, end_ns: u64, fields: &Gc) -> Encoded {
    let mut flags = 0;
    if fields.cause != GcCause::Heap {
        flags |= tag::FLAG_A;
    }
    if fields.caller.file != 0 {
        flags |= tag::FLAG_B;
    }
    let mut cursor = Cursor::new(out, tag::GC | flags, last_ns);
    cursor.time(end_ns);
    cursor.put(fields.duration_ns);
    cursor.put32(fields.kind);
    if fields.cause != GcCause::Heap {
        cursor.put32(fields.cause.code());
    }
    if fields.caller.file != 0 {
        cursor.place(fields.caller);
    }
    cursor.done()
}

/// Compilation and inline-cache misses of the `span_ns` until `end_ns`, each exclusive.
#[inline]
pub fn work(
    out: &mut Window,
    last_ns: u64,
    end_ns: u64,
    span_ns: u64,
    jit_ns: u64,
    ic_ns: u64,
) -> Encoded {
    let mut flags = 0;
    if jit_ns != 0 {
        flags |= tag::FLAG_A;
    }
    if ic_ns != 0 {
        flags |= tag::FLAG_B;
    }
    let mut cursor = Cursor::new(out, tag::WORK | flags, last_ns);
    cursor.time(end_ns);
    cursor.put(span_ns);
    for class_ns in [jit_ns, ic_ns] {
        if class_ns != 0 {
            cursor.put(class_ns);
        }
    }
    cursor.done()
}

/// What a WORK takes that can grow: its tag, four bytes of `dt`, three of each other number.
pub const GROWING_WORK_BYTES: usize = 14;

/// A WORK that can be written anew in the same place with later and larger numbers, by the same
/// call: it has both flags, and its varints are padded to a fixed width. `None`, and nothing
/// written, where a number does not fit (`dt` 2^28 ns, the others 2^21).
///
/// Two stores, the time and the span before what was done in it: a writer killed between them
/// leaves a whole record, whose parts do not exceed its span.
#[inline(always)]
pub fn growing_work(
    out: &mut Window,
    last_ns: u64,
    end_ns: u64,
    span_ns: u64,
    jit_ns: u64,
    ic_ns: u64,
) -> Option<Encoded> {
    let end_ns = end_ns.max(last_ns);
    let dt_ns = end_ns - last_ns;
    if dt_ns >> 28 != 0 || (span_ns | jit_ns | ic_ns) >> 21 != 0 {
        return None;
    }
    let when = dt_ns | span_ns << 32;
    let when = groups(when, 0x0000_007f_0000_007f, 4) | 0x0000_8080_0080_8080;
    let what = jit_ns | ic_ns << 24;
    let what = groups(what, 0x0000_0000_7f00_007f, 3) | 0x0000_0080_8000_8080;
    let tag = u64::from(tag::WORK | tag::FLAG_A | tag::FLAG_B);
    out[..8].copy_from_slice(&(when << 8 | tag).to_le_bytes());
    compiler_fence(Ordering::Release);
    out[8..16].copy_from_slice(&what.to_le_bytes());
    Some(Encoded {
        bytes: GROWING_WORK_BYTES,
        last_ns: end_ns,
    })
}

/// Spreads numbers to seven bits a byte, all at once: `lowest` has the first seven bits of each
/// set, and the longest takes `bytes` of them.
#[inline(always)]
fn groups(numbers: u64, lowest: u64, bytes: u32) -> u64 {
    (0..bytes).fold(0, |all, index| {
        all | (numbers & lowest << (7 * index)) << index
    })
}

/// The thread could have run but did not, for `duration_ns` until `end_ns`; told at `at_ns`.
#[inline]
pub fn not_running(
    out: &mut Window,
    last_ns: u64,
    at_ns: u64,
    end_ns: u64,
    duration_ns: u64,
    cause: NotRunningCause,
) -> Encoded {
    let mut cursor = Cursor::new(out, tag::NOT_RUNNING, last_ns);
    cursor.time(at_ns);
    cursor.put(cursor.last_ns.saturating_sub(end_ns));
    cursor.put(duration_ns);
    cursor.put32(cause.code());
    cursor.done()
}

/// What the current event was executing at `at_ns`.
#[inline]
pub fn location(out: &mut Window, last_ns: u64, at_ns: u64, place: CodePlace) -> Encoded {
    let mut cursor = Cursor::new(out, tag::LOCATION, last_ns);
    cursor.time(at_ns);
    cursor.place(place);
    cursor.done()
}

/// A moment of the run.
#[inline]
pub fn mark(out: &mut Window, last_ns: u64, at_ns: u64, kind: MarkKind, text: StringId) -> Encoded {
    let mut cursor = Cursor::new(out, tag::MARK, last_ns);
    cursor.time(at_ns);
    cursor.put32(kind.code());
    cursor.put32(text);
    cursor.done()
}

/// `count` facts were lost, and `events` event numbers with them.
#[inline]
pub fn loss(out: &mut Window, last_ns: u64, kind: LossKind, count: u64, events: u32) -> Encoded {
    let mut cursor = Cursor::new(out, tag::LOSS, last_ns);
    cursor.put32(kind.code());
    cursor.put(count);
    cursor.put32(events);
    cursor.done()
}

struct Cursor<'a> {
    out: &'a mut Window,
    used: usize,
    last_ns: u64,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn new(out: &'a mut Window, tag: u8, last_ns: u64) -> Self {
        out[0] = tag;
        Self {
            out,
            used: 1,
            last_ns,
        }
    }

    /// The longest record takes 47 bytes, so the mask never changes an index.
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.out[self.used & (MAX_RECORD_BYTES - 1)] = byte;
        self.used += 1;
    }

    #[inline(always)]
    fn put(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    #[inline(always)]
    fn put32(&mut self, value: u32) {
        self.put(u64::from(value));
    }

    #[inline(always)]
    fn place(&mut self, place: CodePlace) {
        self.put32(place.function);
        self.put32(place.file);
        self.put32(place.line);
        self.put32(place.column);
    }

    /// `dt`: a time before the last one is written as the last one.
    #[inline(always)]
    fn time(&mut self, at_ns: u64) {
        let at_ns = at_ns.max(self.last_ns);
        self.put(at_ns - self.last_ns);
        self.last_ns = at_ns;
    }

    #[inline(always)]
    fn done(self) -> Encoded {
        Encoded {
            bytes: self.used,
            last_ns: self.last_ns,
        }
    }
}
