//! Says what a thread-pool job works on: `fs.read /data/a`, `dns.lookup example.org`,
//! `crypto.pbkdf2`, `zlib`.
//!
//! From the request the job is part of, recognised by the callback it ends in; nothing is asked of
//! JavaScript.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering::Relaxed;

use crate::fd_table::{self, Kind};
use crate::libuv::{self, request};
use crate::loop_state::LoopState;
use crate::symbols::{Symbols, symbols};
use crate::trampoline;

/// Longest path in a resource, in bytes.
const PATH_BYTES_MAX: usize = 120;
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
/// Operations on a descriptor instead of a path.
const ON_FILE: [c_int; 11] = [2, 3, 4, 5, 8, 9, 11, 14, 15, 16, 27];

/// Id of the resource of a hooked job; 0 unknown.
///
/// # Safety
/// The job was submitted by this thread and not called back yet.
pub unsafe fn resource(state: &mut LoopState, work: usize, opened: u32) -> u32 {
    let Ok(symbols) = symbols() else {
        return 0;
    };
    // SAFETY: by the caller.
    unsafe {
        let done = trampoline::original_of_work(work);
        if done == 0 {
            0
        } else if done == symbols.fs_done {
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
    unsafe {
        if libuv::get::<c_int>(request, request::TYPE) != request::TYPE_FS {
            return 0;
        }
        let operation = libuv::get::<c_int>(request, request::FS_TYPE);
        let Some(name) = FS_NAMES.get(operation as usize) else {
            return state.intern(&[b"fs"]);
        };
        let name = name.as_bytes();
        if !ON_FILE.contains(&operation) {
            let path = text(libuv::get(request, request::FS_PATH));
            return match path.is_empty() {
                true => state.intern(&[b"fs.", name]),
                false => state.intern(&[b"fs.", name, b" ", path]),
            };
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
        match length {
            0 => state.intern(&[b"fs.", name]),
            _ => state.intern(&[b"fs.", name, b" ", &path[..length]]),
        }
    }
}

/// String that the file was opened as which a job works on; 0 when it works on none.
///
/// # Safety
/// The job was submitted by this thread, and no pool thread has taken it.
pub unsafe fn opened_as(state: &LoopState, work: usize) -> u32 {
    // SAFETY: by the caller; a job that ends in `fs_done` is part of a `uv_fs_t`.
    let fd = unsafe {
        let done = trampoline::original_of_work(work);
        if done == 0 || symbols().map_or(0, |symbols| symbols.fs_done) != done {
            return 0;
        }
        let request = work - request::FS_WORK;
        if !ON_FILE.contains(&libuv::get::<c_int>(request, request::FS_TYPE)) {
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
    if (operation == OPEN || operation == MKSTEMP) && result >= 0 {
        if let Some(entry) = fd_table::entry(result as c_int) {
            entry.clear();
            entry.set_kind(Kind::Ignored);
            entry.owner.store(state.owner(), Relaxed);
            entry.name.store(resource, Relaxed);
        }
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
    match host.is_empty() {
        true => state.intern(&[b"dns.lookup"]),
        false => state.intern(&[b"dns.lookup ", host]),
    }
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
    let job = symbols
        .job_tables
        .iter()
        .find(|(from, to, _)| (*from..*to).contains(&table));
    match job {
        Some((_, _, mangled)) => {
            let mut name = [0; 64];
            let length = job_name(mangled, &mut name);
            state.intern(&[&name[..length]])
        }
        None => state.intern(&[b"pool"]),
    }
}

/// `_ZTVN4node6crypto13DeriveBitsJobINS0_12PBKDF2TraitsEEE` → `crypto.pbkdf2`.
fn job_name(mangled: &str, name: &mut [u8; 64]) -> usize {
    let mut length = 0;
    let mut put = |text: &str| {
        for byte in text.bytes() {
            if length < name.len() {
                name[length] = byte.to_ascii_lowercase();
                length += 1;
            }
        }
    };
    if mangled.contains("uvimpl4Work") {
        put("napi.work");
    } else if let Some(at) = mangled.find("CompressionStream") {
        let rest = &mangled[at..];
        let kind = ["Brotli", "Zstd"]
            .into_iter()
            .find(|kind| rest.contains(kind));
        put(kind.unwrap_or("zlib"));
    } else {
        put("crypto.");
        // The innermost of the traits says what is computed.
        match mangled.rfind("Traits") {
            Some(end) => {
                let head = &mangled[..end];
                let digit = |byte: u8| byte.is_ascii_digit();
                // Names may hold digits (PBKDF2Traits); the length in front of them tells where
                // they begin.
                let start = (0..head.len())
                    .rev()
                    .find(|&at| {
                        let bytes = mangled.as_bytes();
                        let from = at + 1;
                        let number = head[..from].rfind(|c: char| !digit(c as u8));
                        let number = number.map_or("", |before| &head[before + 1..from]);
                        digit(bytes[at]) && number.parse() == Ok(end + 6 - from)
                    })
                    .map_or(end, |at| at + 1);
                put(&mangled[start..end]);
            }
            None => put("job"),
        }
    }
    length
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

    fn name(mangled: &str) -> String {
        let mut name = [0; 64];
        let length = job_name(mangled, &mut name);
        String::from_utf8_lossy(&name[..length]).into_owned()
    }

    #[test]
    fn names_jobs_after_what_they_compute() {
        for (mangled, expected) in [
            (
                "_ZTVN4node6crypto13DeriveBitsJobINS0_12PBKDF2TraitsEEE",
                "crypto.pbkdf2",
            ),
            (
                "_ZTVN4node6crypto13DeriveBitsJobINS0_12ScryptTraitsEEE",
                "crypto.scrypt",
            ),
            (
                "_ZTVN4node6crypto13DeriveBitsJobINS0_17RandomBytesTraitsEEE",
                "crypto.randombytes",
            ),
            (
                "_ZTVN4node6crypto9CipherJobINS0_15AESCipherTraitsEEE",
                "crypto.aescipher",
            ),
            (
                "_ZTVN4node6crypto9KeyGenJobINS0_16KeyPairGenTraitsINS0_15RsaKeyGenTraitsEEEEE",
                "crypto.rsakeygen",
            ),
            (
                "_ZTVN4node12_GLOBAL__N_117CompressionStreamINS0_11ZlibContextEEE",
                "zlib",
            ),
            (
                "_ZTVN4node12_GLOBAL__N_123BrotliCompressionStreamINS0_20BrotliEncoderContextEEE",
                "brotli",
            ),
            ("_ZTVN12_GLOBAL__N_16uvimpl4WorkE", "napi.work"),
            ("_ZTVN4node6crypto17KEMEncapsulateJobE", "crypto.job"),
        ] {
            assert_eq!(name(mangled), expected);
        }
    }

    #[test]
    fn operations_on_files_are_those_without_a_path() {
        let names = ON_FILE.map(|operation| FS_NAMES[operation as usize]);
        assert_eq!(
            names,
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
