//! Reads from memory when the kernel took this thread off its processor and put it back.
//!
//! A software event of `perf_event_open` that counts nothing and only records context switches, on
//! the clock of the trace: it needs no privilege beyond `perf_event_paranoid` 2. Its descriptor is
//! closed at once, because the mapping keeps the event and the process' descriptors are its own.

use std::ffi::c_int;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use crate::clock::monotonic_ns;

/// Pages of the ring: the first size that is granted. 64 hold 8192 times off the processor, each
/// with 16 bytes for leaving and 16 for the return: those of an event of 100 ms, of which nothing
/// is read before it writes or ends, on a core that another thread takes every 12 µs. A user's
/// locked memory is bounded (`perf_event_mlock_kb`, 516 kB a processor): many threads get less.
const RING_PAGES: [usize; 2] = [64, 8];
/// The first kernel that tells whether a thread that leaves its processor could still run.
const KERNEL_MIN: (u32, u32) = (4, 17);

/// `struct perf_event_attr` as of Linux 4.1.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    unused: [u32; 10],
    clock: i32,
}

const TYPE_SOFTWARE: u32 = 1;
const COUNT_NOTHING: u64 = 9;
const SAMPLE_TIME: u64 = 1 << 2;
/// exclude_kernel, exclude_hv, watermark, sample_id_all, use_clockid, context_switch.
const FLAGS: u64 = 1 << 5 | 1 << 6 | 1 << 14 | 1 << 18 | 1 << 25 | 1 << 26;
const CLOSE_ON_EXEC: u64 = 1 << 3;

/// Sleeps that must show, until one does. Where a hypervisor holds the processor back, a short one
/// is over before the thread has left its processor, and leaves no trace.
const SLEEPS_US: [u64; 5] = [20, 20, 200, 2_000, 20_000];

/// Offsets in the control page.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

const TYPE_LOST: u32 = 2;
const TYPE_SWITCH: u32 = 14;
const MISC_OUT: u64 = 1 << 13;
const MISC_OUT_RUNNABLE: u64 = 1 << 14;

/// One thing that happened to the thread. Times of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It left its processor: `runnable` when it could have gone on.
    Left { at_ns: u64, runnable: bool },
    /// It runs again.
    Returned { at_ns: u64 },
    /// The ring was full.
    Lost { count: u64 },
}

/// Stands for the control page where there is no ring.
static NOTHING: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The kernel's ring of one thread; on that thread only.
pub struct Switches {
    /// Where the kernel writes next, in bytes since the start.
    head: *const AtomicU64,
    /// Up to where was read.
    tail: u64,
    /// The control page and the ring behind it; null when there is none.
    pages: *mut u8,
    page_bytes: usize,
    ring_bytes: usize,
}

impl Switches {
    /// A ring that stays empty.
    pub fn none() -> Self {
        Self {
            head: &raw const NOTHING[0],
            tail: 0,
            pages: null_mut(),
            page_bytes: 0,
            ring_bytes: 0,
        }
    }

    /// Follows the thread that calls, and makes sure that the kernel tells its switches.
    ///
    /// # Errors
    /// A reason in words.
    pub fn follow() -> Result<Self, String> {
        check_kernel()?;
        let mut switches = Self::open()?;
        match SLEEPS_US.iter().any(|&us| switches.tells_sleep_of(us)) {
            true => Ok(switches),
            false => Err("the kernel records no context switches".into()),
        }
    }

    /// To sleep is to leave the processor and to return to it: whether that was recorded.
    fn tells_sleep_of(&mut self, us: u64) -> bool {
        let before_ns = monotonic_ns();
        std::thread::sleep(Duration::from_micros(us));
        let after_ns = monotonic_ns();
        let mut told = false;
        while let Some(switch) = self.next() {
            told |= matches!(switch, Switch::Left { at_ns, .. }
                if (before_ns..after_ns).contains(&at_ns));
        }
        told
    }

    /// Follows the thread that calls, where that was found to work.
    ///
    /// # Errors
    /// A reason in words.
    pub fn open() -> Result<Self, String> {
        Self::open_with(&RING_PAGES)
    }

    /// As `open`, with the first of these sizes that is granted.
    fn open_with(ring_pages: &[usize]) -> Result<Self, String> {
        // SAFETY: sysconf takes a number.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let attributes = Attributes {
            kind: TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: COUNT_NOTHING,
            sample_type: SAMPLE_TIME,
            flags: FLAGS,
            // Nobody waits for the ring, so that no wake-up is sent.
            wakeup_watermark: (ring_pages[0] * page_bytes) as u32,
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        let (this_thread, any_cpu, no_group): (c_int, c_int, c_int) = (0, -1, -1);
        // SAFETY: valid attributes of the size they tell.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        } as c_int;
        if fd < 0 {
            return Err(refusal(&io::Error::last_os_error()));
        }
        let mapped = map_largest(fd, page_bytes, ring_pages);
        // SAFETY: opened above and known to nobody else.
        unsafe { libc::close(fd) };
        let (pages, ring_bytes) = mapped?;
        Ok(Self {
            // SAFETY: within the control page, aligned.
            head: unsafe { pages.add(HEAD) }.cast(),
            tail: 0,
            pages,
            page_bytes,
            ring_bytes,
        })
    }

    /// Something was written that was not read.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        // SAFETY: a word of the mapped control page, or the static.
        unsafe { (*self.head).load(Ordering::Acquire) != self.tail }
    }

    /// Reads the next switch.
    pub fn next(&mut self) -> Option<Switch> {
        while self.has_news() {
            let header = self.word(0);
            let (kind, misc) = (header as u32, header >> 32);
            let bytes = header >> 48;
            let read = match kind {
                TYPE_SWITCH if misc & MISC_OUT != 0 => Some(Switch::Left {
                    at_ns: self.word(1),
                    runnable: misc & MISC_OUT_RUNNABLE != 0,
                }),
                TYPE_SWITCH => Some(Switch::Returned {
                    at_ns: self.word(1),
                }),
                TYPE_LOST => Some(Switch::Lost {
                    count: self.word(2),
                }),
                _ => None,
            };
            self.advance(bytes);
            if read.is_some() {
                return read;
            }
        }
        None
    }

    /// A word of the record at `tail`.
    fn word(&self, index: usize) -> u64 {
        let offset = (self.tail as usize + index * 8) % self.ring_bytes;
        // SAFETY: within the ring, which follows the control page; records are multiples of 8.
        unsafe {
            self.pages
                .add(self.page_bytes + offset)
                .cast::<u64>()
                .read()
        }
    }

    /// Gives what was read back to the kernel.
    fn advance(&mut self, bytes: u64) {
        // A length of 0 would never end; the kernel writes none.
        self.tail += bytes.max(8);
        fence(Ordering::Release);
        // SAFETY: a word of the control page that only the reader writes.
        unsafe { (*self.pages.add(TAIL).cast::<AtomicU64>()).store(self.tail, Ordering::Release) };
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        if !self.pages.is_null() {
            // SAFETY: the mapping of `open`; it is the last that keeps the event.
            unsafe { libc::munmap(self.pages.cast(), self.page_bytes + self.ring_bytes) };
        }
    }
}

/// Maps the control page and the largest ring that is granted; gives the bytes of the ring, too.
fn map_largest(
    fd: c_int,
    page_bytes: usize,
    ring_pages: &[usize],
) -> Result<(*mut u8, usize), String> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    for ring_bytes in ring_pages.iter().map(|pages| pages * page_bytes) {
        let bytes = page_bytes + ring_bytes;
        // SAFETY: a fresh shared mapping of the event's descriptor.
        let pages = unsafe { libc::mmap(null_mut(), bytes, protection, libc::MAP_SHARED, fd, 0) };
        if pages != libc::MAP_FAILED {
            return Ok((pages.cast(), ring_bytes));
        }
    }
    let error = io::Error::last_os_error();
    Err(format!(
        "the kernel's ring cannot be mapped: {error} (perf_event_mlock_kb)"
    ))
}

fn refusal(error: &io::Error) -> String {
    let told = match error.raw_os_error() {
        Some(libc::EPERM) => "a container's seccomp profile or perf_event_paranoid",
        Some(libc::EACCES) => "perf_event_paranoid is above 2",
        Some(libc::ENOSYS) => "the kernel was built without it, or a sandbox stands for it",
        _ => "the kernel does not take it",
    };
    format!("perf_event_open: {error}: {told}")
}

/// Kernels before told no difference between a thread that waits and one that was interrupted.
fn check_kernel() -> Result<(), String> {
    // SAFETY: zeros are valid; uname fills them with C strings.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        libc::uname(&mut name);
        name
    };
    // SAFETY: as above.
    let release = unsafe { std::ffi::CStr::from_ptr(name.release.as_ptr()) };
    let release = release.to_string_lossy();
    match version(&release) {
        Some(version) if version >= KERNEL_MIN => Ok(()),
        _ => Err(format!("Linux {release} does not tell why a thread stops")),
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kernel_versions() {
        assert_eq!(version("6.18.44-x"), Some((6, 18)));
        assert_eq!(version("5.10-rc1"), Some((5, 10)));
        assert_eq!(version("x"), None);
        assert!(Some((4, 9)) < Some(KERNEL_MIN) && Some((4, 18)) > Some(KERNEL_MIN));
    }

    #[test]
    fn a_ring_that_is_none_is_empty() {
        let mut none = Switches::none();
        assert!(!none.has_news());
        assert_eq!(none.next(), None);
    }

    /// What the kernel says to a thread that asks for the plainest event of all, in a way that has
    /// nothing in common with `open`: a mistake there must not look like a refusal.
    fn kernel_refuses() -> Option<io::Error> {
        let mut attributes = [0_u64; 8];
        attributes[0] = 64 << 32 | u64::from(TYPE_SOFTWARE);
        attributes[1] = COUNT_NOTHING;
        let exclude_kernel_and_hypervisor = 1 << 5 | 1 << 6;
        attributes[5] = exclude_kernel_and_hypervisor;
        // SAFETY: the first version of the attributes, of the size they tell.
        let fd =
            unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) }
                as c_int;
        if fd < 0 {
            return Some(io::Error::last_os_error());
        }
        // SAFETY: just opened.
        unsafe { libc::close(fd) };
        None
    }

    /// Where the kernel refuses, and only there, the reason is all there is to test.
    fn following(test: impl FnOnce(Switches)) {
        match (Switches::follow(), kernel_refuses()) {
            (Ok(switches), None) => test(switches),
            (Err(reason), Some(error)) => {
                assert!(reason.contains(&error.to_string()), "{reason} for {error}");
            }
            (Err(reason), None) => assert!(check_kernel().is_err(), "{reason}"),
            (Ok(_), Some(error)) => panic!("follows what cannot be: {error}"),
        }
    }

    #[test]
    fn sleeping_is_leaving_without_being_runnable() {
        following(sleep_is_seen);
    }

    fn sleep_is_seen(mut switches: Switches) {
        let before_ns = monotonic_ns();
        std::thread::sleep(Duration::from_millis(2));
        let after_ns = monotonic_ns();
        let seen = std::iter::from_fn(|| switches.next()).collect::<Vec<_>>();
        let slept = seen.windows(2).any(|pair| match pair {
            [
                Switch::Left {
                    at_ns,
                    runnable: false,
                },
                Switch::Returned { at_ns: back_ns },
            ] => *at_ns >= before_ns && *back_ns <= after_ns && back_ns - at_ns >= 1_900_000,
            _ => false,
        });
        assert!(slept, "{seen:?}");
        assert!(!switches.has_news());
    }

    /// A sleep of 20 µs was not told 4 times in 10 000 on an idle machine.
    #[test]
    fn no_start_is_refused_by_chance() {
        following(|_| {
            for _ in 0..2_000 {
                drop(Switches::follow().expect("was followed before"));
            }
        });
    }

    #[test]
    fn a_full_ring_tells_what_it_lost_and_goes_on() {
        following(loss_is_told);
    }

    fn loss_is_told(_: Switches) {
        let mut switches = Switches::open_with(&[1]).expect("was granted before");
        // SAFETY: a word of the mapped control page.
        let written = |s: &Switches| unsafe { (*s.head).load(Ordering::Acquire) - s.tail };
        // The kernel leaves one byte free. Some sleeps are over before the thread has left.
        while written(&switches) + 16 < switches.ring_bytes as u64 {
            std::thread::sleep(Duration::from_nanos(1));
        }
        for _ in 0..20 {
            std::thread::sleep(Duration::from_micros(20));
        }
        // It is told before the first that has room again: a switch while this reads, or the sleep.
        let mut told: Vec<_> = std::iter::from_fn(|| switches.next()).collect();
        // Any one sleep may be over before the thread has left.
        for _ in 0..1_000 {
            std::thread::sleep(Duration::from_micros(20));
            if switches.has_news() {
                break;
            }
        }
        told.extend(std::iter::from_fn(|| switches.next()));
        let lost = |one: &Switch| matches!(one, Switch::Lost { count } if *count > 0);
        assert!(told.iter().any(lost), "{told:?}");
        assert!(matches!(told.last(), Some(Switch::Returned { .. })));
    }
}
