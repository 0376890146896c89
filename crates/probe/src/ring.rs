//! A window of addresses through which the loop thread writes chunks of the file one after another.
//!
//! The window stays where it is (JavaScript holds it as one ArrayBuffer); what changes is which
//! part of the file lies behind each of its slots. The mapper thread maps chunks ahead, so that
//! the loop thread goes on to the next one without a system call.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::total_bound::TotalBound;
use crate::trace_file::{self, TraceFile};

/// Chunks kept mapped behind the current one: what a tick of the watchdog can take to notice.
const CHUNKS_AHEAD: u64 = 2;

/// What the loop thread and the mapper share.
pub struct Ring {
    base: *mut u8,
    pub slots: u32,
    pub chunk_bytes: u32,
    /// Highest chunk number that is mapped; set by the mapper.
    mapped: AtomicU64,
    /// Chunk number the loop thread writes; set by the loop thread.
    current: AtomicU64,
    /// The disk was full when the last chunk was wanted.
    disk_full: AtomicBool,
}

// SAFETY: the fields are atomic, and the memory behind `base` is used by number: the loop thread
// only touches chunk `current`, the mapper only slots of chunks that the loop thread has left.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// Reserves the addresses; nothing of a file lies behind them yet.
    pub fn new(slots: u32, chunk_bytes: u32) -> io::Result<Self> {
        let bytes = slots as usize * chunk_bytes as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: base.cast(),
            slots,
            chunk_bytes,
            mapped: AtomicU64::new(0),
            current: AtomicU64::new(0),
            disk_full: AtomicBool::new(false),
        })
    }

    #[inline(always)]
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    pub fn bytes(&self) -> usize {
        self.slots as usize * self.chunk_bytes as usize
    }

    /// The chunk after the current one, if it is mapped. Loop thread.
    #[inline]
    pub fn next(&self) -> Option<u64> {
        let next = self.current.load(Ordering::Relaxed) + 1;
        (next <= self.mapped.load(Ordering::Acquire)).then_some(next)
    }

    /// The loop thread has left all chunks before `number`. Loop thread.
    #[inline]
    pub fn advance(&self, number: u64) {
        self.current.store(number, Ordering::Release);
    }

    /// There is no next chunk because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    /// A slot is free for the mapper, and fewer chunks than `CHUNKS_AHEAD` are waiting.
    pub fn wants_chunk(&self) -> bool {
        let current = self.current.load(Ordering::Acquire).max(1);
        let ahead = u64::from(self.slots - 1).min(CHUNKS_AHEAD);
        self.mapped.load(Ordering::Relaxed) < current + ahead
    }

    /// Chunks mapped and written: for tests and doctor.
    pub fn numbers(&self) -> (u64, u64) {
        (
            self.mapped.load(Ordering::Relaxed),
            self.current.load(Ordering::Relaxed),
        )
    }

    /// Offset in the window of a chunk's slot.
    pub fn offset(&self, number: u64) -> u32 {
        bobtail_trace::layout::ring_offset(number, self.slots, self.chunk_bytes) as u32
    }

    /// Unmaps the window.
    ///
    /// # Safety
    /// Neither the loop thread nor the mapper nor JavaScript use it any more.
    pub unsafe fn unmap(&self) {
        // SAFETY: the mapping of `new`, with or without parts of the file in it.
        unsafe { libc::munmap(self.base.cast(), self.bytes()) };
    }
}

/// The mapper's side: which chunk lies in which slot of the file.
pub struct Slots {
    /// Chunk number by file slot.
    numbers: Vec<u64>,
    max_slots: u32,
    total: TotalBound,
}

impl Slots {
    /// `max_slots` is at least one more than the ring has.
    pub fn new(max_slots: u32, total: TotalBound) -> Self {
        Self {
            numbers: Vec::new(),
            max_slots,
            total,
        }
    }

    /// Maps one more chunk if a slot of the ring is free; tells whether it did.
    ///
    /// # Errors
    /// The file cannot grow or be mapped; the ring then says so to the loop thread.
    pub fn map_next(&mut self, ring: &Ring, file: &TraceFile) -> io::Result<bool> {
        if !ring.wants_chunk() {
            return Ok(false);
        }
        let result = self.map_chunk(ring, file);
        ring.disk_full.store(result.is_err(), Ordering::Relaxed);
        result.map(|()| true)
    }

    fn map_chunk(&mut self, ring: &Ring, file: &TraceFile) -> io::Result<()> {
        let number = ring.mapped.load(Ordering::Relaxed) + 1;
        let bytes = u64::from(file.chunk_bytes);
        self.bound_growth(ring, bytes);
        let slot = self.slot_for_next();
        let offset = file.slots_offset + slot as u64 * bytes;
        if slot == self.numbers.len() {
            trace_file::reserve(file.raw(), offset, bytes)?;
        }
        // SAFETY: the slot of the ring is within it, and free (`wants_chunk`).
        let at = unsafe { ring.base.add(ring.offset(number) as usize) };
        trace_file::map(at, bytes as usize, file.raw(), offset)?;
        if slot == self.numbers.len() {
            self.numbers.push(number);
        } else {
            self.numbers[slot] = number;
        }
        ring.mapped.store(number, Ordering::Release);
        Ok(())
    }

    /// Beyond what the recording may take, the trace grows no more and overwrites itself.
    fn bound_growth(&mut self, ring: &Ring, bytes: u64) {
        let used = self.numbers.len() as u32;
        if (ring.slots + 1..self.max_slots).contains(&used) && !self.total.has_room(bytes) {
            self.max_slots = used;
        }
    }

    /// A new slot, or when the file may not grow the one with the lowest number.
    fn slot_for_next(&self) -> usize {
        if self.numbers.len() < self.max_slots as usize {
            return self.numbers.len();
        }
        let oldest = self
            .numbers
            .iter()
            .enumerate()
            .min_by_key(|(_, number)| **number);
        oldest.map_or(0, |(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::not_running::NotRunning;
    use crate::switches::Switches;
    use crate::trace_file::Description;
    use crate::writer::{Live, Writer};
    use bobtail_trace::encode;
    use bobtail_trace::layout::live;
    use bobtail_trace::reader::{OnDamage, TraceReader};
    use bobtail_trace::record::Record;
    use std::cell::Cell;
    use std::os::unix::fs::MetadataExt;
    use std::sync::Arc;

    /// Writes `count` records, mapping ahead before each as `maps` says; gives what a reader sees.
    fn write(name: &str, max_slots: u32, count: u64, maps: impl Fn(u64) -> bool) -> Vec<Record> {
        write_as(&Description::for_test(name, max_slots), count, maps)
    }

    fn write_as(description: &Description, count: u64, maps: impl Fn(u64) -> bool) -> Vec<Record> {
        let file = TraceFile::create(description).expect("creates");
        let ring = Arc::new(Ring::new(4, 4096).expect("reserves"));
        let mut slots = Slots::new(description.max_slots, description.total_bound());
        // SAFETY: both are mapped until the end of the test.
        let mut writer = unsafe {
            Writer::new(
                Live::new(file.live()),
                ring.clone(),
                0,
                NotRunning::new(Switches::none()),
            )
        };
        for at_ns in 1..=count {
            while maps(at_ns) && slots.map_next(&ring, &file).expect("maps") {}
            writer.put(|out, last_ns| encode::write(out, last_ns, at_ns, at_ns as u32, 1, 0));
        }
        let lost = writer.live.get(live::LOSSES);
        let bytes = std::fs::read(&description.path).expect("readable");
        std::fs::remove_file(&description.path).expect("is there");
        let reader = TraceReader::open(bytes, OnDamage::Fail).expect("opens");
        assert_eq!(reader.losses().map(|(_, count)| count).sum::<u32>(), lost);
        reader.map(|record| record.expect("decodes")).collect()
    }

    fn handles(records: &[Record]) -> Vec<u32> {
        let handle = |record: &Record| match record {
            Record::Write { handle, .. } => Some(*handle),
            _ => None,
        };
        records.iter().filter_map(handle).collect()
    }

    #[test]
    fn rolls_from_chunk_to_chunk() {
        let records = write("rolls", 100, 20_000, |_| true);
        assert_eq!(handles(&records), (1..=20_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_bounded_file_keeps_the_newest() {
        let records = write("bounded", 5, 20_000, |_| true);
        let kept = handles(&records);
        assert!(kept.len() < 5_000, "{}", kept.len());
        let first = kept[0];
        assert_eq!(kept, (first..=20_000).collect::<Vec<_>>());
        assert!(
            matches!(records[0], Record::Loss { .. }),
            "{:?}",
            records[0]
        );
    }

    #[test]
    fn a_bounded_recording_keeps_the_newest() {
        const MAX_BYTES: u64 = 64 << 10;
        let mut description = Description::for_test("recording", 100);
        let folder = std::env::temp_dir().join(format!("bobtail-total-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("is new");
        description.path = folder.join("1-0.trace").to_string_lossy().into_owned();
        description.max_total_bytes = MAX_BYTES;
        let biggest = Cell::new(0);
        let kept = handles(&write_as(&description, 40_000, |_| {
            let file = std::fs::metadata(&description.path).expect("is there");
            biggest.set(biggest.get().max(file.blocks() * 512));
            true
        }));
        std::fs::remove_dir(folder).expect("is empty");
        // A file with holes may take one more, in which the file system says where they are.
        let block_bytes = 4 << 10;
        assert!(
            (48 << 10..=MAX_BYTES + block_bytes).contains(&biggest.get()),
            "{biggest:?} bytes"
        );
        let first = kept[0];
        assert!(first > 1);
        assert_eq!(kept, (first..=40_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_late_mapper_loses_and_says_so() {
        let records = write("late", 100, 20_000, |at_ns| {
            !(100..=15_000).contains(&at_ns)
        });
        let kept = handles(&records);
        assert!(kept.contains(&1) && kept.contains(&20_000) && !kept.contains(&14_000));
        let lost = records.iter().find_map(|record| match record {
            Record::Loss { count, .. } => Some(*count as usize),
            _ => None,
        });
        assert_eq!(lost, Some(20_000 - kept.len()));
    }
}
