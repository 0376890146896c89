//! The system calls that the standard library does not have: all unsafe code of this crate.
//!
//! Plain functions with the kernel's error, so that the levers above them stay safe code.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicU32;

/// File systems whose files are settings: sysfs, cgroup v1 and v2, proc.
const KERNEL_FILE_SYSTEMS: [i64; 4] = [0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x9fa0];

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Takes the file's lock without waiting; false when another process has it.
///
/// # Errors
///
/// The kernel's refusal, other than that.
pub fn lock(file: &File) -> io::Result<bool> {
    // SAFETY: the descriptor is open while `file` is borrowed; flock takes no memory.
    match checked(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Gives the file's lock back.
pub(crate) fn unlock(file: &File) {
    // SAFETY: the descriptor is open while `file` is borrowed; flock takes no memory.
    // Giving back a lock on an open descriptor cannot fail.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}

/// Has two files change their names, each of which is there at any moment.
///
/// # Errors
///
/// NotFound where one of them is not there; InvalidInput of a file system that cannot.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let one = CString::new(one.as_os_str().as_bytes())?;
    let other = CString::new(other.as_os_str().as_bytes())?;
    let here = libc::AT_FDCWD;
    // SAFETY: both paths end with a zero byte and live until the call returns; the rest are
    // numbers.
    let result = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            here,
            one.as_ptr(),
            here,
            other.as_ptr(),
            RENAME_EXCHANGE,
        )
    };
    checked(result as libc::c_int)?;
    Ok(())
}

/// Of `linux/fs.h`, which not every libc has.
const RENAME_EXCHANGE: libc::c_uint = 2;

/// Whether the file is a setting of the kernel rather than a file on a disk.
pub(crate) fn is_kernel_file(file: &File) -> io::Result<bool> {
    // SAFETY: an all-zero statfs is a valid value of that plain struct.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `status` is writable and of the size the call fills.
    checked(unsafe { libc::fstatfs(file.as_raw_fd(), &mut status) })?;
    Ok(KERNEL_FILE_SYSTEMS.contains(&(status.f_type as i64)))
}

/// Lets the calling thread run on these CPUs only.
pub(crate) fn set_affinity(cpus: &[u32]) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as u32) {
        // SAFETY: the index is below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: `set` is readable and of the size told; 0 is the calling thread.
    checked(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) })?;
    Ok(())
}

/// The monotonic clock, in ns.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable. The monotonic clock always exists, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until a time of the monotonic clock, or a signal.
pub(crate) fn sleep_until(until_ns: u64) {
    let time = timespec(until_ns);
    // SAFETY: `time` is readable, and no remainder is asked for. An early return is allowed.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &time,
            std::ptr::null_mut(),
        )
    };
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// Whether this process has the rights of root, as far as its user goes.
pub fn is_root() -> bool {
    effective_user() == 0
}

/// The user whose rights this process has.
pub fn effective_user() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Waits while the word is `expected`, until [`futex_wake`] or a signal, at most this long; without
/// a bound for ever.
pub fn futex_wait(word: &AtomicU32, expected: u32, at_most_ns: Option<u64>) {
    let at_most = at_most_ns.map(timespec);
    // SAFETY: the word lives while it is borrowed, and so does the time, if there is one. Returning
    // early, whatever the reason, is allowed: the caller looks at the word again.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            at_most
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref),
        )
    };
}

/// Wakes all that wait on the word.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the kernel only uses the address, of a word that lives while it is borrowed.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        )
    };
}

/// Makes the calling thread a real-time thread of this priority (1 to 99).
pub(crate) fn become_real_time(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `parameters` is readable; 0 is the calling thread. The flag keeps children ordinary.
    checked(unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters)
    })?;
    Ok(())
}

/// `SO_PEERPIDFD` of `asm-generic/socket.h`, which not every libc has yet.
const PEER_PIDFD: libc::c_int = 77;

/// The process that connected to a socket, as a descriptor that names no other one when its id is
/// used again.
///
/// # Errors
///
/// ENOPROTOOPT before Linux 6.5; ESRCH, as some kernels say it, of a process that is gone.
pub fn peer_process(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut descriptor: libc::c_int = -1;
    let mut size = size_of_val(&descriptor) as libc::socklen_t;
    // SAFETY: the socket is open while it is borrowed; `descriptor` is writable and of the size
    // that `size` tells.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            PEER_PIDFD,
            (&raw mut descriptor).cast(),
            &mut size,
        )
    })?;
    // SAFETY: the call gave the descriptor to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// As many descriptors as one message of a socket can bring (`SCM_MAX_FD`).
const FILES_MAX: usize = 253;

/// Receives one message of a Unix socket and the files that came with it, without waiting; its
/// length, 0 at the end.
///
/// # Errors
///
/// WouldBlock where there is none yet; ENOTSOCK of a pipe.
pub fn receive_with_files(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    files: &mut Vec<File>,
) -> io::Result<usize> {
    // In u64, so that it is aligned as the kernel's header wants it; with room for both.
    let mut control = [0_u64; FILES_MAX / 2 + 8];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: an all-zero msghdr is a valid value of that plain struct.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the socket is open while it is borrowed; `message` names memory that is writable, of
    // the sizes told, and lives until the call returns.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, flags) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has filled `control` with as many bytes as `message` says by now.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&message) };
    while !header.is_null() {
        // SAFETY: a header that is not null lies within `control`, whole and aligned.
        let (level, kind, bytes) = unsafe {
            (
                (*header).cmsg_level,
                (*header).cmsg_type,
                (*header).cmsg_len as usize,
            )
        };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: computes a size, without any memory.
            let before = unsafe { libc::CMSG_LEN(0) } as usize;
            for index in 0..bytes.saturating_sub(before) / size_of::<libc::c_int>() {
                // SAFETY: that many descriptors follow the header, and the kernel gave each to
                // this call alone.
                files.push(unsafe {
                    let data = libc::CMSG_DATA(header).cast::<libc::c_int>();
                    File::from_raw_fd(data.add(index).read_unaligned())
                });
            }
        }
        // SAFETY: `message` is as the kernel left it, and `header` one of its headers.
        header = unsafe { libc::CMSG_NXTHDR(&message, header) };
    }
    Ok(length)
}

/// What `sched_getattr` and `sched_setattr` take, up to the clamps (`struct sched_attr`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

const KEEP_POLICY_AND_PARAMETERS: u64 = 0x08 | 0x10;
const CLAMP_MIN_AND_MAX: u64 = 0x20 | 0x40;

/// The utilization clamps of a thread, of 1024; 0 is the calling thread.
pub(crate) fn clamps(thread: i32) -> io::Result<(u32, u32)> {
    let mut attributes = SchedulingAttributes::default();
    let size = size_of_val(&attributes);
    // SAFETY: `attributes` is writable and of the size told.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            thread,
            &mut attributes,
            size,
            0_u32,
        )
    };
    checked(result as libc::c_int)?;
    Ok((attributes.util_min, attributes.util_max))
}

/// Sets them, and leaves everything else of the thread's scheduling as it is.
pub(crate) fn set_clamps(thread: i32, min: u32, max: u32) -> io::Result<()> {
    let attributes = SchedulingAttributes {
        size: size_of::<SchedulingAttributes>() as u32,
        flags: KEEP_POLICY_AND_PARAMETERS | CLAMP_MIN_AND_MAX,
        util_min: min,
        util_max: max,
        ..SchedulingAttributes::default()
    };
    // SAFETY: `attributes` is readable and tells its own size.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &attributes, 0_u32) };
    checked(result as libc::c_int)?;
    Ok(())
}

/// What `perf_event_open` takes (`struct perf_event_attr` as of its first version).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct CounterAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

/// Counts an event of a CPU, whoever runs there, in a counter that reads as 8 bytes.
pub(crate) fn count(kind: u32, config: u64, cpu: u32) -> io::Result<File> {
    let attributes = CounterAttributes {
        kind,
        size: size_of::<CounterAttributes>() as u32,
        config,
        ..CounterAttributes::default()
    };
    // SAFETY: `attributes` is readable and tells its own size; the other arguments are numbers.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &attributes,
            -1,
            cpu as libc::c_int,
            -1,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    let descriptor = checked(descriptor as libc::c_int)?;
    // SAFETY: the call gave the descriptor to nobody else.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// Keeps signals of the process away from the calling thread.
pub(crate) fn block_signals() {
    // SAFETY: an all-zero set is valid, and filled before it is used; the old mask is not asked
    // for. Neither call can fail with these arguments.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}
