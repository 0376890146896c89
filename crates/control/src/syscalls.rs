//! The system calls that the standard library does not have: all unsafe code of this crate.
//!
//! Plain functions with the kernel's error, so that the levers above them stay safe code.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// File systems whose files are settings: sysfs, cgroup v1 and v2, proc.
const KERNEL_FILE_SYSTEMS: [i64; 4] = [0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x9fa0];

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Takes the file's lock without waiting; false when another process has it.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
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

/// Whether the file is a setting of the kernel rather than a file on a disk.
pub(crate) fn is_kernel_file(file: &File) -> io::Result<bool> {
    // SAFETY: an all-zero statfs is a valid value of that plain struct.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `status` is writable and of the size the call fills.
    checked(unsafe { libc::fstatfs(file.as_raw_fd(), &mut status) })?;
    Ok(KERNEL_FILE_SYSTEMS.contains(&(status.f_type as i64)))
}

/// The CPUs on which the calling thread may run, ascending.
pub(crate) fn affinity() -> io::Result<Vec<u32>> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is writable and of the size told; 0 is the calling thread.
    checked(unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) })?;
    // SAFETY: the index is below CPU_SETSIZE.
    let has = |cpu: &u32| unsafe { libc::CPU_ISSET(*cpu as usize, &set) };
    Ok((0..libc::CPU_SETSIZE as u32).filter(has).collect())
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
