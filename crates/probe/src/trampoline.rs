//! Swaps libuv callbacks for functions that call the original and mark the end of the event.
//!
//! One function per distinct original instead of a table of originals per object: Node has a
//! handful of them, and a swapped callback can then never lose its original, whatever happens to
//! the object. Where there are more than fit, the callback is left alone and the event ends at the
//! next boundary.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use bobtail_trace::layout::live;

use crate::fd_table;
use crate::libuv::{self, request, stream, watcher};
use crate::thread::state;
use crate::{pool, timers};

const COUNT: usize = 8;

/// The originals of one kind of callback; 0 is free.
struct Originals([AtomicUsize; COUNT]);

impl Originals {
    const fn new() -> Self {
        Self([const { AtomicUsize::new(0) }; COUNT])
    }

    #[inline(always)]
    fn get(&self, index: usize) -> usize {
        self.0[index].load(Ordering::Relaxed)
    }

    /// The number of an original that was seen before. A load and not an exchange, which would
    /// lock the bus: it is tried first.
    #[inline(always)]
    fn known(&self, original: usize) -> Option<usize> {
        let is_it = |slot: &AtomicUsize| slot.load(Ordering::Relaxed) == original;
        self.0.iter().position(is_it).filter(|_| original != 0)
    }

    /// The number of an original; `None` when there are too many.
    fn number(&self, original: usize) -> Option<usize> {
        self.0.iter().position(|slot| {
            let taken = slot.compare_exchange(0, original, Ordering::AcqRel, Ordering::Acquire);
            match taken {
                Ok(_) => true,
                Err(other) => other == original,
            }
        })
    }
}

macro_rules! table {
    ($function:ident) => {
        [
            $function::<0>,
            $function::<1>,
            $function::<2>,
            $function::<3>,
            $function::<4>,
            $function::<5>,
            $function::<6>,
            $function::<7>,
        ]
    };
}

type StreamCallback = unsafe extern "C" fn(usize, isize, usize);
type StatusCallback = unsafe extern "C" fn(usize, c_int);
type HandleCallback = unsafe extern "C" fn(usize);

static READS: Originals = Originals::new();
static READ: [StreamCallback; COUNT] = table!(read);
static CONNECTIONS: Originals = Originals::new();
static CONNECTION: [StatusCallback; COUNT] = table!(connection);
static CONNECTS: Originals = Originals::new();
static CONNECT: [StatusCallback; COUNT] = table!(connect);
static WORKS: Originals = Originals::new();
static WORK: [StatusCallback; COUNT] = table!(work);
static TIMERS: Originals = Originals::new();
static TIMER: [HandleCallback; COUNT] = table!(timer);
static CHECKS: Originals = Originals::new();
static CHECK: [HandleCallback; COUNT] = table!(check);

/// Puts the function for the callback at `object + offset` in its place.
///
/// # Safety
/// The field is a callback of that kind or null, and this thread owns the object.
unsafe fn swap<const N: usize>(
    object: usize,
    offset: usize,
    originals: &Originals,
    ours: [usize; N],
) -> bool {
    // SAFETY: by the caller.
    let current = unsafe { libuv::get::<usize>(object, offset) };
    if current == 0 {
        return false;
    }
    if ours.contains(&current) {
        return true;
    }
    let known = originals.known(current);
    let Some(number) = known.or_else(|| originals.number(current)) else {
        return false;
    };
    // SAFETY: by the caller.
    unsafe { libuv::set(object, offset, ours[number]) };
    true
}

macro_rules! addresses {
    ($table:ident) => {
        $table.map(|function| function as usize)
    };
}

/// Hooks the callbacks of the stream that was just dispatched.
#[inline]
pub fn hook_stream(uv_loop: usize, fd: c_int) {
    // SAFETY: on the loop's thread, inside the dispatch of `fd`.
    unsafe {
        let stream = libuv::stream_of(uv_loop, fd);
        if stream != 0 {
            swap(stream, stream::READ_CB, &READS, addresses!(READ));
            swap(
                stream,
                stream::CONNECTION_CB,
                &CONNECTIONS,
                addresses!(CONNECTION),
            );
        }
    }
}

/// Hooks the callback of the connect request of the stream that was just dispatched.
pub fn hook_connect(uv_loop: usize, fd: c_int) {
    // SAFETY: as above; the stream holds its request until the callback was called.
    unsafe {
        let stream = libuv::stream_of(uv_loop, fd);
        if stream != 0 {
            let connect = libuv::get::<usize>(stream, stream::CONNECT_REQUEST);
            if connect != 0 {
                swap(connect, request::CONNECT_CB, &CONNECTS, addresses!(CONNECT));
            }
        }
    }
}

/// Hooks `uv__work.done`; gives the callback that the job will end in, `None` when it was hooked
/// before or cannot be.
///
/// # Safety
/// `work` is a submitted job and the pool's mutex is held.
#[inline]
pub unsafe fn hook_work(work: usize) -> Option<usize> {
    // SAFETY: by the caller.
    let done = unsafe { libuv::get::<usize>(work, libuv::work::DONE) };
    let number = match WORKS.known(done) {
        None if done == 0 || addresses!(WORK).contains(&done) => return None,
        None => WORKS.number(done)?,
        Some(number) => number,
    };
    // SAFETY: by the caller.
    unsafe { libuv::set(work, libuv::work::DONE, WORK[number] as usize) };
    Some(done)
}

/// Hooks a timer's callback.
///
/// # Safety
/// `timer` is a live `uv_timer_t` of this thread's loop.
#[inline]
pub unsafe fn hook_timer(timer: usize) {
    // SAFETY: by the caller.
    unsafe { swap(timer, libuv::timer::CALLBACK, &TIMERS, addresses!(TIMER)) };
}

/// Hooks a check handle's callback; false when it has none.
///
/// # Safety
/// `check` is a live `uv_check_t` of this thread's loop.
pub unsafe fn hook_check(check: usize) -> bool {
    // SAFETY: by the caller.
    unsafe { swap(check, libuv::timer::CALLBACK, &CHECKS, addresses!(CHECK)) }
}

fn end() {
    if let Some(state) = state() {
        state.end();
    }
}

unsafe extern "C" fn read<const I: usize>(stream: usize, bytes: isize, buffer: usize) {
    let request = state().map_or(0, |state| state.writer.live.get(live::REQUEST));
    // SAFETY: the callback this function took the place of, called as libuv calls it.
    unsafe { std::mem::transmute::<usize, StreamCallback>(READS.get(I))(stream, bytes, buffer) };
    let Some(state) = state() else {
        return;
    };
    let last = state.writer.live.get(live::REQUEST);
    if last != request {
        // SAFETY: libuv keeps a handle's memory at least until its close callback, which it
        // calls from the loop.
        let fd = unsafe { libuv::get::<c_int>(stream, stream::WATCHER + watcher::FD) };
        if let Some(entry) = fd_table::entry(fd) {
            entry.request.store(last, Ordering::Relaxed);
        }
    }
    state.end();
}

unsafe extern "C" fn connection<const I: usize>(stream: usize, status: c_int) {
    // SAFETY: the callback this function took the place of.
    unsafe { std::mem::transmute::<usize, StatusCallback>(CONNECTIONS.get(I))(stream, status) };
    end();
}

unsafe extern "C" fn connect<const I: usize>(request: usize, status: c_int) {
    // SAFETY: the callback this function took the place of.
    unsafe { std::mem::transmute::<usize, StatusCallback>(CONNECTS.get(I))(request, status) };
    end();
}

unsafe extern "C" fn work<const I: usize>(work: usize, status: c_int) {
    pool::begin(work, WORKS.get(I), status);
    // SAFETY: the callback this function took the place of.
    unsafe { std::mem::transmute::<usize, StatusCallback>(WORKS.get(I))(work, status) };
    end();
}

unsafe extern "C" fn timer<const I: usize>(timer: usize) {
    timers::begin_timers(timer);
    // SAFETY: the callback this function took the place of.
    unsafe { std::mem::transmute::<usize, HandleCallback>(TIMERS.get(I))(timer) };
    end();
}

unsafe extern "C" fn check<const I: usize>(check: usize) {
    let begun = timers::begin_immediates();
    // SAFETY: the callback this function took the place of.
    unsafe { std::mem::transmute::<usize, HandleCallback>(CHECKS.get(I))(check) };
    let Some(state) = state() else {
        return;
    };
    if begun {
        state.end();
    }
    // The timer list is next, without a poll before it.
    timers::watch(state);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    static CALLS: AtomicU32 = AtomicU32::new(0);

    unsafe extern "C" fn original(_: usize, status: c_int) {
        CALLS.fetch_add(status as u32, Ordering::Relaxed);
    }

    #[test]
    fn calls_the_original_and_swaps_once() {
        let mut object = [original as *const () as usize];
        let at = (&raw mut object) as usize;
        // SAFETY: a local object with one callback.
        unsafe {
            assert!(swap(at, 0, &CONNECTIONS, addresses!(CONNECTION)));
            let swapped = libuv::get::<usize>(at, 0);
            assert_ne!(swapped, original as *const () as usize);
            assert!(swap(at, 0, &CONNECTIONS, addresses!(CONNECTION)));
            assert_eq!(libuv::get::<usize>(at, 0), swapped);
            std::mem::transmute::<usize, StatusCallback>(swapped)(0, 7);
        }
        assert_eq!(CALLS.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn leaves_what_does_not_fit() {
        let originals = Originals::new();
        for number in 1..=COUNT {
            assert_eq!(originals.number(number * 16), Some(number - 1));
        }
        assert_eq!(originals.number(1), None);
        assert_eq!(originals.number(32), Some(1));
    }
}
