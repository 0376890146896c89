//! Where libuv keeps what the probe reads and swaps, and the check that this is still so.
//!
//! libuv has no interface for these fields. Their offsets are the same in the public headers of
//! libuv 1.46, 1.51 and 1.52; they are verified against the running libuv before anything is
//! written, and the probe refuses to start when they differ.

use std::ffi::{c_int, c_void};

use crate::napi::find_symbol;

/// `uv_loop_t`.
pub mod uv_loop {
    pub const BACKEND_FD: usize = 64;
    pub const WATCHERS: usize = 104;
    pub const WATCHERS_COUNT: usize = 112;
    pub const WORK_QUEUE: usize = 120;
    pub const WORK_MUTEX: usize = 136;
    pub const ASYNC_WATCHER: usize = 456;
    pub const TIME: usize = 544;
    pub const SIGNAL_WATCHER: usize = 560;
    pub const BYTES: usize = 848;
}
/// `uv_handle_t`.
pub mod handle {
    pub const LOOP: usize = 8;
    pub const TYPE: usize = 16;
    pub const FLAGS: usize = 88;
    pub const FLAG_ACTIVE: u32 = 4;
    pub const TYPE_CHECK: c_int = 2;
    pub const TYPE_IDLE: c_int = 6;
    pub const TYPE_PIPE: c_int = 7;
    pub const TYPE_TCP: c_int = 12;
    pub const TYPE_TIMER: c_int = 13;
    pub const TYPE_TTY: c_int = 14;
    use std::ffi::c_int;
}
/// `uv_stream_t`.
pub mod stream {
    /// Public in uv.h: bytes that were to be written and that the kernel has not taken.
    pub const WRITE_QUEUE_SIZE: usize = 96;
    pub const READ_CB: usize = 112;
    pub const CONNECT_REQUEST: usize = 120;
    pub const WATCHER: usize = 136;
    pub const CONNECTION_CB: usize = 224;
}
/// `uv__io_t`.
pub mod watcher {
    pub const FD: usize = 48;
}
/// `uv_timer_t`, `uv_check_t`.
pub mod timer {
    pub const CALLBACK: usize = 96;
    pub const TIMEOUT: usize = 128;
    pub const BYTES: usize = 152;
    pub const CHECK_BYTES: usize = 120;
}
/// Requests: `uv_connect_t`, `uv_fs_t`, `uv_work_t`, `uv_getaddrinfo_t`.
pub mod request {
    pub const TYPE: usize = 8;
    pub const TYPE_FS: c_int = 6;
    pub const TYPE_WORK: c_int = 7;
    pub const TYPE_GETADDRINFO: c_int = 8;
    pub const CONNECT_CB: usize = 64;
    pub const FS_TYPE: usize = 64;
    pub const FS_RESULT: usize = 88;
    pub const FS_PATH: usize = 104;
    pub const FS_FILE: usize = 280;
    pub const FS_WORK: usize = 336;
    pub const WORK_CB: usize = 72;
    pub const WORK_WORK: usize = 88;
    pub const ADDRINFO_WORK: usize = 72;
    pub const ADDRINFO_HOST: usize = 128;
    use std::ffi::c_int;
}
/// `struct uv__work`.
pub mod work {
    pub const DONE: usize = 8;
    pub const LOOP: usize = 16;
    pub const LINK: usize = 24;
}

/// Reads a field.
///
/// # Safety
/// `object + offset` is a live, aligned field of type `T`.
#[inline(always)]
pub unsafe fn get<T: Copy>(object: usize, offset: usize) -> T {
    // SAFETY: by the caller.
    unsafe { ((object + offset) as *const T).read() }
}

/// Writes a field.
///
/// # Safety
/// As `get`, and the thread owns the object.
#[inline(always)]
pub unsafe fn set<T: Copy>(object: usize, offset: usize, value: T) {
    // SAFETY: by the caller.
    unsafe { ((object + offset) as *mut T).write(value) }
}

/// Last element of a libuv queue, `None` when empty. A queue is {next, previous}, circular.
///
/// # Safety
/// `queue` is a live queue head and its lock, if any, is held.
#[inline(always)]
pub unsafe fn queue_tail(queue: usize) -> Option<usize> {
    // SAFETY: by the caller.
    let tail = unsafe { get::<usize>(queue, 8) };
    (tail != queue && tail != 0).then_some(tail)
}

/// The `uv__io_t` that watches `fd`; 0 none.
///
/// # Safety
/// On the loop's thread.
#[inline]
pub unsafe fn watcher_of(uv_loop: usize, fd: c_int) -> usize {
    // SAFETY: the loop's table of watchers has that many entries.
    unsafe {
        if fd < 0 || fd as u32 >= get::<u32>(uv_loop, uv_loop::WATCHERS_COUNT) {
            return 0;
        }
        let table = get::<usize>(uv_loop, uv_loop::WATCHERS);
        if table == 0 {
            0
        } else {
            get::<usize>(table, fd as usize * 8)
        }
    }
}

/// The stream that watches `fd`; 0 when something else does.
///
/// # Safety
/// On the loop's thread, where `fd` was just dispatched.
#[inline]
pub unsafe fn stream_of(uv_loop: usize, fd: c_int) -> usize {
    // SAFETY: on the loop's thread; a watcher that lies in the loop itself is no stream's, and
    // every other watcher whose descriptor libuv reads or accepts on lies in a stream.
    unsafe {
        let watcher = watcher_of(uv_loop, fd);
        let inside_loop = watcher.wrapping_sub(uv_loop) < uv_loop::BYTES;
        if watcher == 0 || inside_loop || get::<c_int>(watcher, watcher::FD) != fd {
            return 0;
        }
        let stream = watcher - stream::WATCHER;
        let kind = get::<c_int>(stream, handle::TYPE);
        let is_stream = matches!(
            kind,
            handle::TYPE_TCP | handle::TYPE_PIPE | handle::TYPE_TTY
        );
        if is_stream && get::<usize>(stream, handle::LOOP) == uv_loop {
            stream
        } else {
            0
        }
    }
}

type Walk = unsafe extern "C" fn(usize, unsafe extern "C" fn(usize, *mut c_void), *mut c_void);

/// Calls `visit` for each handle of the loop.
pub fn each_handle(uv_loop: usize, mut visit: impl FnMut(usize)) {
    unsafe extern "C" fn call(handle: usize, data: *mut c_void) {
        // SAFETY: `data` is the closure below, alive during uv_walk.
        unsafe { (*data.cast::<&mut dyn FnMut(usize)>())(handle) }
    }
    let Some(walk) = find_symbol(b"uv_walk\0") else {
        return;
    };
    let mut visit: &mut dyn FnMut(usize) = &mut visit;
    // SAFETY: uv_walk of uv.h; on the loop's thread.
    unsafe { std::mem::transmute::<usize, Walk>(walk)(uv_loop, call, (&raw mut visit).cast()) }
}

/// Makes sure that the offsets above are those of the running libuv.
///
/// # Errors
/// The first field that is not where it is expected.
pub fn check(uv_loop: usize) -> Result<(), String> {
    let call = |name: &'static str, argument: usize| -> Result<u64, String> {
        let address = find_symbol(format!("{name}\0").as_bytes())
            .ok_or_else(|| format!("{name} is not exported"))?;
        // SAFETY: each of the functions below takes at most one word and returns one.
        let function =
            unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(usize) -> u64>(address) };
        // SAFETY: as above; the loop is live and this is its thread.
        Ok(unsafe { function(argument) })
    };
    let equal = |what: &str, expected: u64, actual: u64| {
        if expected == actual {
            Ok(())
        } else {
            Err(format!("libuv: {what} is {actual}, expected {expected}"))
        }
    };
    let version = call("uv_version", 0)? as u32;
    let minor = version >> 8 & 0xff;
    if version >> 16 != 1 || !(46..=59).contains(&minor) {
        return Err(format!("libuv 1.{minor} is not known"));
    }
    equal(
        "size of a loop",
        uv_loop::BYTES as u64,
        call("uv_loop_size", 0)?,
    )?;
    equal(
        "size of a TCP handle",
        248,
        call("uv_handle_size", handle::TYPE_TCP as usize)?,
    )?;
    equal(
        "size of a pipe handle",
        264,
        call("uv_handle_size", handle::TYPE_PIPE as usize)?,
    )?;
    let timer_bytes = call("uv_handle_size", handle::TYPE_TIMER as usize)?;
    equal("size of a timer", timer::BYTES as u64, timer_bytes)?;
    // UV_FS is request type 6.
    equal("size of a file request", 440, call("uv_req_size", 6)?)?;
    // SAFETY: fields of a live loop, sizes verified above.
    let (backend_fd, time) = unsafe {
        (
            get::<c_int>(uv_loop, uv_loop::BACKEND_FD),
            get::<u64>(uv_loop, uv_loop::TIME),
        )
    };
    equal(
        "backend descriptor",
        backend_fd as u64,
        call("uv_backend_fd", uv_loop)? as u32 as u64,
    )?;
    equal("loop time", time, call("uv_now", uv_loop)?)?;
    let async_fd = async_fd(uv_loop);
    // SAFETY: the table has the loop's own async watcher at its descriptor.
    let watcher = unsafe { watcher_of(uv_loop, async_fd) };
    equal(
        "async watcher",
        (uv_loop + uv_loop::ASYNC_WATCHER) as u64,
        watcher as u64,
    )
}

/// Descriptor the loop waits on.
pub fn backend_fd(uv_loop: usize) -> c_int {
    // SAFETY: a field of a live loop.
    unsafe { get::<c_int>(uv_loop, uv_loop::BACKEND_FD) }
}

/// The time that the loop keeps (`uv_now`), in ms of CLOCK_MONOTONIC.
pub fn now_ms(uv_loop: usize) -> u64 {
    // SAFETY: a field of a live loop.
    unsafe { get::<u64>(uv_loop, uv_loop::TIME) }
}

/// Descriptor other threads wake the loop with.
pub fn async_fd(uv_loop: usize) -> c_int {
    // SAFETY: fields of a live loop.
    unsafe { get::<c_int>(uv_loop, uv_loop::ASYNC_WATCHER + watcher::FD) }
}
