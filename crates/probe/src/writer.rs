//! Puts records into the trace at the place the live block names, and rolls to the next chunk.
//!
//! JavaScript on the same thread writes records too, through the same live block: there is no
//! position in this struct. The position moves after the bytes, so that a reader of a killed
//! process never sees half a record.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

use bobtail_trace::chunk::{self, ChunkStart};
use bobtail_trace::encode::{self, Encoded, LoopBegin, Window};
use bobtail_trace::layout::chunk::HEADER_BYTES as CHUNK_HEADER_BYTES;
use bobtail_trace::layout::{LAST_EVENT, MAX_RECORD_BYTES, limit, live};
use bobtail_trace::record::{LossKind, MarkKind, NotRunningCause};

use crate::not_running::NotRunning;
use crate::ring::Ring;
use crate::v8::LastWork;

/// The live block of one trace.
#[derive(Clone, Copy)]
pub struct Live(*mut u32);

impl Live {
    /// # Safety
    /// `words` are the words of a mapped live block that outlives the value; besides this thread
    /// only readers look at them.
    pub unsafe fn new(words: *mut u32) -> Self {
        Self(words)
    }

    #[inline(always)]
    fn word(&self, index: usize) -> &AtomicU32 {
        debug_assert!(index < live::WORDS);
        // SAFETY: within the block (`new`), aligned.
        unsafe { AtomicU32::from_ptr(self.0.add(index)) }
    }

    #[inline(always)]
    pub fn get(&self, index: usize) -> u32 {
        self.word(index).load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn set(&self, index: usize, value: u32) {
        self.word(index).store(value, Ordering::Relaxed);
    }

    /// Counts a word up and gives the new value.
    #[inline(always)]
    pub fn next(&self, index: usize) -> u32 {
        let value = self.get(index).wrapping_add(1);
        self.set(index, value);
        value
    }

    #[inline(always)]
    fn last_ns_bits(&self) -> &AtomicU64 {
        // SAFETY: words 8 and 9, aligned to 8 bytes by the format.
        unsafe { AtomicU64::from_ptr(self.0.add(live::LAST_NS).cast()) }
    }

    /// Time of the last timed record, relative to the start.
    #[inline(always)]
    pub fn last_ns(&self) -> u64 {
        // Signed, as no time is that late: a conversion to unsigned takes three times as many
        // instructions, and so does one back.
        f64::from_bits(self.last_ns_bits().load(Ordering::Relaxed)) as i64 as u64
    }

    #[inline(always)]
    fn set_last_ns(&self, value: u64) {
        self.last_ns_bits()
            .store((value as i64 as f64).to_bits(), Ordering::Relaxed);
    }

    /// Counts a loss.
    #[inline]
    pub fn lose(&self, kind: LossKind) {
        self.next(live::LOSSES + kind.code() as usize);
    }

    /// Counts several losses.
    #[inline]
    pub fn lose_many(&self, kind: LossKind, count: u32) {
        let word = live::LOSSES + kind.code() as usize;
        self.set(word, self.get(word).saturating_add(count));
    }

    /// Nothing may be recorded now.
    #[inline(always)]
    pub fn is_silent(&self) -> bool {
        self.get(live::PAUSED) | self.get(live::STATE) != 0
    }
}

/// An end of the stream within a chunk: as long as it is the same, nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    position: u32,
    event: u32,
}

/// Where a record begins, and the time it counts from.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    position: u32,
    last_ns: u64,
}

/// Why a record finds no chunk.
const DROPPED: [LossKind; 2] = [LossKind::NoChunk, LossKind::DiskFull];

/// Writes records of one trace; on the loop thread only.
pub struct Writer {
    pub live: Live,
    ring: Arc<Ring>,
    start_ns: u64,
    pub not_running: NotRunning,
    /// The WORK record that may still be the last of the current chunk.
    pub last_work: Option<LastWork>,
    chunk: u64,
    /// How many losses of each kind of `DROPPED` the stream tells.
    told: [u32; DROPPED.len()],
}

impl Writer {
    /// # Safety
    /// `live` and `ring` are mapped as long as the value is used.
    pub unsafe fn new(live: Live, ring: Arc<Ring>, start_ns: u64, not_running: NotRunning) -> Self {
        Self {
            live,
            ring,
            start_ns,
            not_running,
            last_work: None,
            chunk: 0,
            told: [0; DROPPED.len()],
        }
    }

    /// Time relative to the start.
    #[inline(always)]
    pub fn relative(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.start_ns)
    }

    /// Writes one record with `encode(window, last_ns)`; false when it was lost or silenced.
    #[inline(always)]
    pub fn put(&mut self, encode: impl Fn(&mut Window, u64) -> Encoded) -> bool {
        if self.live.is_silent() {
            return false;
        }
        if self.not_running.has_news() {
            // Only to learn the time of the record: what ended after it must not move it.
            let trial = encode(&mut [0; MAX_RECORD_BYTES], self.live.last_ns());
            self.put_not_running(trial.last_ns);
        }
        self.append(encode)
    }

    /// Writes the interruptions of the thread that ended by `until_ns`.
    #[cold]
    #[inline(never)]
    fn put_not_running(&mut self, until_ns: u64) {
        while let Some(interruption) = self.not_running.take(self.start_ns + until_ns) {
            let end_ns = self.relative(interruption.end_ns);
            let duration_ns = interruption.end_ns - interruption.begin_ns;
            self.append(|out, last_ns| {
                let at_ns = last_ns.max(end_ns);
                let cause = NotRunningCause::Preempted;
                encode::not_running(out, last_ns, at_ns, end_ns, duration_ns, cause)
            });
        }
        let lost = self.not_running.take_lost();
        if lost != 0 {
            self.live.lose_many(LossKind::Switches, lost as u32);
            self.append(|out, last_ns| encode::loss(out, last_ns, LossKind::Switches, lost, 0));
        }
    }

    /// Writes one record behind the last; false when it was lost.
    #[inline(always)]
    fn append(&mut self, encode: impl Fn(&mut Window, u64) -> Encoded) -> bool {
        if self.live.get(live::POSITION) > self.live.get(live::LIMIT) && !self.roll() {
            return false;
        }
        let position = self.live.get(live::POSITION);
        // SAFETY: `position` is at most `limit`, so a whole window of the current chunk is left.
        let window = unsafe { &mut *self.ring.base().add(position as usize).cast::<Window>() };
        let encoded = encode(window, self.live.last_ns());
        compiler_fence(Ordering::Release);
        self.live.set_last_ns(encoded.last_ns);
        self.live
            .set(live::POSITION, position + encoded.bytes as u32);
        true
    }

    /// As `put`; gives where the record begins.
    pub fn put_placed(&mut self, encode: impl Fn(&mut Window, u64) -> Encoded) -> Option<Begin> {
        let (live, begin) = (self.live, Cell::new(None));
        let is_written = self.put(|out, last_ns| {
            let position = live.get(live::POSITION);
            begin.set(Some(Begin { position, last_ns }));
            encode(out, last_ns)
        });
        begin.take().filter(|_| is_written)
    }

    /// Where the stream ends now.
    #[inline(always)]
    pub fn place(&self) -> Place {
        Place {
            position: self.live.get(live::POSITION),
            event: self.live.get(live::EVENT),
        }
    }

    /// Writes the last record anew in as many bytes; it began at `from` in the current chunk.
    /// False, and nothing changed, when `encode` refuses. `encode` leaves a whole record whenever
    /// the process is killed.
    #[inline(always)]
    pub fn write_anew(
        &mut self,
        from: Begin,
        encode: impl FnOnce(&mut Window, u64) -> Option<Encoded>,
    ) -> bool {
        // SAFETY: a record began there, so a whole window of the current chunk is left.
        let window = unsafe {
            let at = self.ring.base().add(from.position as usize);
            &mut *at.cast::<Window>()
        };
        let Some(encoded) = encode(window, from.last_ns) else {
            return false;
        };
        compiler_fence(Ordering::Release);
        self.live.set_last_ns(encoded.last_ns);
        true
    }

    /// Goes on to the next chunk. False when none is mapped: the record is dropped, and counted.
    #[cold]
    #[inline(never)]
    pub fn roll(&mut self) -> bool {
        let Some(next) = self.ring.next() else {
            self.lose_record();
            return false;
        };
        if self.chunk != 0 {
            let used = self.live.get(live::POSITION) - self.ring.offset(self.chunk);
            chunk::seal(self.header(self.chunk), used);
        }
        self.open(next);
        self.ring.advance(next);
        self.tell_losses();
        true
    }

    #[cold]
    fn lose_record(&self) {
        let full = self.ring.is_disk_full();
        self.live.lose(if full {
            LossKind::DiskFull
        } else {
            LossKind::NoChunk
        });
    }

    /// Makes a mapped chunk the current one. The live block points into it before its number is
    /// stored (`bobtail_trace::chunk`).
    fn open(&mut self, number: u64) {
        self.last_work = None;
        let at = self.ring.offset(number);
        self.live.set(live::LIMIT, limit(at, self.ring.chunk_bytes));
        let first = at + CHUNK_HEADER_BYTES as u32;
        self.live.set(live::POSITION, first);
        compiler_fence(Ordering::SeqCst);
        let start = ChunkStart {
            number,
            base_ns: self.live.last_ns(),
            first_event: self.live.get(live::EVENT),
            current: self.live.get(live::CURRENT),
            loop_event: self.live.get(live::LOOP_EVENT),
        };
        chunk::open(self.header(number), &start);
        self.chunk = number;
    }

    fn header(&mut self, number: u64) -> &mut [u8; CHUNK_HEADER_BYTES] {
        let at = self.ring.offset(number) as usize;
        // SAFETY: the header of a mapped chunk, which only this thread touches.
        unsafe { &mut *self.ring.base().add(at).cast::<[u8; CHUNK_HEADER_BYTES]>() }
    }

    /// Writes what was dropped since the last chunk, so that the stream and the counters agree. The
    /// chunk header already carries the event numbers, so the records skip none.
    fn tell_losses(&mut self) {
        for (index, kind) in DROPPED.into_iter().enumerate() {
            let lost = self.live.get(live::LOSSES + kind.code() as usize);
            let untold = lost.wrapping_sub(self.told[index]);
            let tell =
                |out: &mut Window, last_ns| encode::loss(out, last_ns, kind, untold.into(), 0);
            if untold != 0 && self.put(tell) {
                self.told[index] = lost;
            }
        }
    }

    /// Opens a loop event and gives its number; 0 while silent.
    #[inline]
    pub fn loop_begin(&mut self, fields: &LoopBegin) -> u32 {
        if self.live.is_silent() {
            return 0;
        }
        self.put(|out, last_ns| encode::loop_begin(out, last_ns, fields));
        // Counted also when the record was lost: the next chunk header tells the number.
        let event = self.live.next(live::EVENT);
        if event >= LAST_EVENT {
            self.end_numbering(fields.begin_ns);
        }
        self.live.set(live::CURRENT, event);
        self.live.set(live::LOOP_EVENT, event);
        event
    }

    /// The numbers of events end: nothing more can be recorded, and readers are told.
    #[cold]
    fn end_numbering(&mut self, at_ns: u64) {
        self.put(|out, last_ns| encode::mark(out, last_ns, at_ns, MarkKind::Paused, 0));
        self.live.set(live::PAUSED, 1);
    }

    /// Ends the open loop event; nothing when none is open.
    #[inline]
    pub fn loop_end(&mut self, end_ns: u64) {
        if self.live.get(live::LOOP_EVENT) == 0 {
            return;
        }
        let end_ns = self.relative(end_ns);
        self.put(|out, last_ns| encode::loop_end(out, last_ns, end_ns));
        self.close_event();
    }

    /// No event is open any more.
    #[inline]
    pub fn close_event(&self) {
        self.live.set(live::CURRENT, 0);
        self.live.set(live::LOOP_EVENT, 0);
        self.live.set(live::CONTEXT, 0);
    }

    /// Highest chunk mapped, and the current one.
    pub fn chunks(&self) -> (u64, u64) {
        self.ring.numbers()
    }

    /// Marks the trace as closed; nothing is written after.
    pub fn close(&mut self) {
        self.live.set(live::STATE, live::STATE_CLOSED);
    }
}
