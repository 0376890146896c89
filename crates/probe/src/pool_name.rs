//! Says what a thread-pool job works on: `fs.read /data/a`, `dns.lookup example.org`,
//! `crypto.pbkdf2`, `zlib`.
//!
//! From the request the job is part of, recognised by the callback it ends in; nothing is asked of
//! JavaScript.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering::Relaxed;

use crate::fd_table::{self, Kind};
use crate::job_name::JobClass;
use crate::job_path;
use crate::libuv::{self, request};
use crate::loop_state::LoopState;
use crate::symbols::{Symbols, symbols};

/// Longest path in a resource, in bytes.
pub const PATH_BYTES_MAX: usize = 120;
const OPEN: c_int = 1;
const MKSTEMP: c_int = 35;

/// By `uv_fs_type`.
const FS_NAMES: [&str; 37] = [
    "custom",
    "open",
    "close",
    "read",
    "write",
    "sendfile",
    "stat",
    "lstat",
    "fstat",
    "ftruncate",
    "utime",
    "futime",
    "access",
    "chmod",
    "fchmod",
    "fsync",
    "fdatasync",
    "unlink",
    "rmdir",
    "mkdir",
    "mkdtemp",
    "rename",
    "readdir",
    "link",
    "symlink",
    "readlink",
    "chown",
    "fchown",
    "realpath",
    "copyfile",
    "lchown",
    "opendir",
    "dir.read",
    "dir.close",
    "statfs",
    "mkstemp",
    "lutime",
];
/// Operations on a descriptor instead of a path, a bit each.
const ON_FILE: u64 = bits(&[2, 3, 4, 5, 8, 9, 11, 14, 15, 16, 27]);

const fn bits(numbers: &[u32]) -> u64 {
    let mut all = 0;
    let mut at = 0;
    while at < numbers.len() {
        all |= 1 << numbers[at];
        at += 1;
    }
    all
}

/// What names begin with, for `RecentNames`: operations of files by path, and on descriptors,
/// look-ups, and classes of jobs.
const BY_PATH: u32 = 1 << 8;
const BY_FILE: u32 = 2 << 8;
const BY_LOOKUP: u32 = 3 << 8;
const BY_CLASS: u32 = 4 << 8;

/// Id of the resource of a job that ends in `done`; 0 unknown.
///
/// # Safety
/// The job was submitted by this thread and not called back yet.
pub unsafe fn resource(state: &mut LoopState, work: usize, done: usize, opened: u32) -> u32 {
    let Ok(symbols) = symbols() else {
        return 0;
    };
    // SAFETY: by the caller.
    unsafe {
        if done == symbols.fs_done {
            file(state, work - request::FS_WORK, opened)
        } else if done == symbols.getaddrinfo_done {
            lookup(state, work - request::ADDRINFO_WORK)
        } else if done == symbols.getnameinfo_done {
            state.intern(&[b"dns.lookupService"])
        } else if done == symbols.queue_done {
            queued(state, symbols, work - request::WORK_WORK)
        } else {
            state.intern(&[b"pool"])
        }
    }
}

/// SAFETY: `request` is a live `uv_fs_t`.
unsafe fn file(state: &mut LoopState, request: usize, opened: u32) -> u32 {
    // SAFETY: by the caller; the path lives as long as the request.
    let (operation, path) = unsafe {
        if libuv::get::<c_int>(request, request::TYPE) != request::TYPE_FS {
            return 0;
        }
        let operation = libuv::get::<c_int>(request, request::FS_TYPE);
        match is_on_file(operation) {
            true => (operation, &[][..]),
            false => (operation, text(libuv::get(request, request::FS_PATH))),
        }
    };
    let Some(name) = FS_NAMES.get(operation as usize) else {
        return state.intern(&[b"fs"]);
    };
    let name = name.as_bytes();
    if !is_on_file(operation) {
        return with_subject(state, BY_PATH | operation as u32, &[b"fs.", name], path);
    }
    let prefix = BY_FILE | operation as u32;
    if let Some(id) = state.recent_names.find_of(prefix, opened) {
        return id;
    }
    // The table's own bytes are an argument of the table, so they are copied.
    let mut path = [0; PATH_BYTES_MAX];
    let bytes = state.strings.bytes(opened);
    let start = bytes
        .iter()
        .position(|&byte| byte == b' ')
        .map_or(bytes.len(), |at| at + 1);
    let length = (bytes.len() - start).min(PATH_BYTES_MAX);
    path[..length].copy_from_slice(&bytes[start..start + length]);
    let id = with_subject(state, prefix, &[b"fs.", name], &path[..length]);
    state.recent_names.put_of(prefix, opened, id);
    id
}

/// Id of `name`, a space and the subject; without a subject, of `name`.
fn with_subject(state: &mut LoopState, prefix: u32, name: &[&[u8]; 2], subject: &[u8]) -> u32 {
    if subject.is_empty() {
        return state.intern(name);
    }
    let found = state.recent_names.find(&state.strings, prefix, subject);
    found.unwrap_or_else(|| {
        let id = state.intern(&[name[0], name[1], b" ", subject]);
        let prefix_bytes = name[0].len() + name[1].len() + 1;
        state.recent_names.put(prefix, prefix_bytes, subject, id);
        id
    })
}

fn is_on_file(operation: c_int) -> bool {
    (0..64).contains(&operation) && ON_FILE >> operation & 1 != 0
}

/// String that the file was opened as which a job works on that ends in `done`; 0 when it works on
/// none.
///
/// # Safety
/// The job was submitted by this thread, and no pool thread has taken it.
pub unsafe fn opened_as(state: &LoopState, work: usize, done: usize) -> u32 {
    if symbols().map_or(0, |symbols| symbols.fs_done) != done {
        return 0;
    }
    let request = work - request::FS_WORK;
    // SAFETY: by the caller; a job that ends in `fs_done` is part of a `uv_fs_t`.
    let fd = unsafe {
        if !is_on_file(libuv::get::<c_int>(request, request::FS_TYPE)) {
            return 0;
        }
        libuv::get::<c_int>(request, request::FS_FILE)
    };
    match fd_table::entry(fd) {
        Some(entry) if entry.owner.load(Relaxed) == state.owner() => entry.name.load(Relaxed),
        _ => 0,
    }
}

/// Remembers which path a descriptor was opened as, when this job opened one.
///
/// # Safety
/// The job is about to be called back; `done` is its own callback.
pub unsafe fn remember_opened(state: &LoopState, work: usize, done: usize, resource: u32) {
    let Ok(symbols) = symbols() else {
        return;
    };
    if done != symbols.fs_done || done == 0 || resource == 0 {
        return;
    }
    let request = work - request::FS_WORK;
    // SAFETY: by the caller.
    let (operation, result) = unsafe {
        (
            libuv::get::<c_int>(request, request::FS_TYPE),
            libuv::get::<isize>(request, request::FS_RESULT),
        )
    };
    if (operation == OPEN || operation == MKSTEMP)
        && result >= 0
        && let Some(entry) = fd_table::entry(result as c_int)
    {
        entry.clear();
        entry.set_kind(Kind::Ignored);
        entry.owner.store(state.owner(), Relaxed);
        entry.name.store(resource, Relaxed);
    }
}

/// SAFETY: `request` is a live `uv_getaddrinfo_t`.
unsafe fn lookup(state: &mut LoopState, request: usize) -> u32 {
    // SAFETY: by the caller; the host name lives as long as the request.
    let host = unsafe {
        if libuv::get::<c_int>(request, request::TYPE) != request::TYPE_GETADDRINFO {
            return 0;
        }
        text(libuv::get(request, request::ADDRINFO_HOST))
    };
    with_subject(state, BY_LOOKUP, &[b"dns", b".lookup"], host)
}

/// SAFETY: `request` is a live `uv_work_t`.
unsafe fn queued(state: &mut LoopState, symbols: &Symbols, request: usize) -> u32 {
    // SAFETY: by the caller. A job with Node's own work function is part of a
    // node::ThreadPoolWork: its table pointer lies two words before the request.
    let table = unsafe {
        if libuv::get::<c_int>(request, request::TYPE) != request::TYPE_WORK {
            return 0;
        }
        let callback = libuv::get::<usize>(request, request::WORK_CB);
        let node = callback == symbols.node_work && callback != 0;
        if node {
            libuv::get::<usize>(request - 16, 0)
        } else {
            0
        }
    };
    if table == 0 {
        // An addon's own work function has no name that could be read here.
        return state.intern(&[b"pool addon"]);
    }
    let holds = |(from, to, _): &(usize, usize, JobClass)| (*from..*to).contains(&table);
    let Some(number) = symbols.job_tables.iter().position(holds) else {
        return state.intern(&[b"pool"]);
    };
    let class = &symbols.job_tables[number].2;
    let mut path = [0; PATH_BYTES_MAX];
    let length = match class.has_path {
        // SAFETY: by the caller; jobs of these classes go on behind the node::ThreadPoolWork.
        true => unsafe { job_path::copy(number, request, &mut path) },
        false => 0,
    };
    let name = [class.name.as_bytes(), &[][..]];
    with_subject(state, BY_CLASS + number as u32, &name, &path[..length])
}

/// The first bytes of a C string; empty when there is none.
///
/// SAFETY: `at` is null or a C string that lives long enough.
unsafe fn text<'a>(at: usize) -> &'a [u8] {
    if at == 0 {
        return &[];
    }
    // SAFETY: by the caller.
    let bytes = unsafe { CStr::from_ptr(at as *const c_char) }.to_bytes();
    let mut length = bytes.len().min(PATH_BYTES_MAX);
    // Not in the middle of a character.
    while length < bytes.len() && length > 0 && bytes[length] & 0xc0 == 0x80 {
        length -= 1;
    }
    &bytes[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_on_files_are_those_without_a_path() {
        let on_file = |(operation, name): (usize, &&'static str)| {
            is_on_file(operation as c_int).then_some(*name)
        };
        let names = FS_NAMES.iter().enumerate().filter_map(on_file);
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "close",
                "read",
                "write",
                "sendfile",
                "fstat",
                "ftruncate",
                "futime",
                "fchmod",
                "fsync",
                "fdatasync",
                "fchown"
            ]
        );
    }
}
