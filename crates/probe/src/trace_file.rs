//! Creates a trace file and maps its header page and string table.
//!
//! Blocks are reserved before anything is mapped: a store to a mapped hole of a full disk is a
//! bus error in the observed process, an unreserved block only an error code here.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use bobtail_trace::layout::{self, HEADER_BYTES, header, live};

use crate::total_bound::TotalBound;

/// What the header says, and where the file is.
#[derive(Debug, Clone)]
pub struct Description {
    pub path: String,
    pub pid: u32,
    pub thread: u32,
    /// 0 full, 1 loop.
    pub detail: u32,
    /// The kernel is asked to record each switch of the thread.
    pub follows_switches: bool,
    pub node: String,
    pub arch: String,
    pub start_ns: u64,
    pub start_realtime_ns: u64,
    pub strings_bytes: u32,
    pub chunk_bytes: u32,
    pub ring_slots: u32,
    pub max_slots: u32,
    /// Bound of all traces of the recording together, in bytes; 0 none.
    pub max_total_bytes: u64,
}

impl Description {
    /// The bound of the recording it is part of. A trace overwrites itself from one chunk more
    /// than the ring has.
    pub fn total_bound(&self) -> TotalBound {
        let chunks = u64::from(self.ring_slots + 1) * u64::from(self.chunk_bytes);
        let trace_bytes = HEADER_BYTES as u64 + u64::from(self.strings_bytes) + chunks;
        TotalBound::of(&self.path, self.max_total_bytes, trace_bytes)
    }

    /// A small trace in the folder for temporary files.
    #[cfg(test)]
    pub fn for_test(name: &str, max_slots: u32) -> Self {
        let path = std::env::temp_dir().join(format!("{name}-{}.trace", std::process::id()));
        Self {
            path: path.to_string_lossy().into_owned(),
            pid: 1,
            thread: 0,
            detail: 0,
            follows_switches: false,
            node: "v0".into(),
            arch: "x64".into(),
            start_ns: 0,
            start_realtime_ns: 0,
            strings_bytes: 4096,
            chunk_bytes: 4096,
            ring_slots: 4,
            max_slots,
            max_total_bytes: 0,
        }
    }
}

/// Why a trace file cannot be written.
#[derive(Debug)]
pub enum Error {
    Create(String, io::Error),
    Reserve(String, io::Error),
    Map(String, io::Error),
}

impl Error {
    /// The `code` JavaScript sees.
    pub fn code(&self) -> &'static str {
        let (Self::Create(_, error) | Self::Reserve(_, error) | Self::Map(_, error)) = self;
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => "BOBTAIL_DISK_FULL",
            _ => "BOBTAIL_OUTPUT",
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Create(path, error) => write!(f, "cannot create {path}: {error}"),
            Self::Reserve(path, error) => write!(f, "cannot reserve space in {path}: {error}"),
            Self::Map(path, error) => write!(f, "cannot map {path}: {error}"),
        }
    }
}

/// An open trace file with its head mapped.
pub struct TraceFile {
    file: OwnedFd,
    head: *mut u8,
    head_bytes: usize,
    /// Offset of the first chunk slot.
    pub slots_offset: u64,
    pub chunk_bytes: u32,
}

// SAFETY: the mapping belongs to the value; who may touch which bytes is the writer's matter.
unsafe impl Send for TraceFile {}

impl TraceFile {
    /// Creates or empties the file and writes the header page.
    pub fn create(description: &Description) -> Result<Self, Error> {
        let path = description.path.clone();
        let name = CString::new(path.clone())
            .map_err(|_| Error::Create(path.clone(), io::ErrorKind::InvalidInput.into()))?;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        // SAFETY: a C string; the mode is given. 0600: names of requests may be private.
        let fd = unsafe { libc::open(name.as_ptr(), flags, 0o600) };
        if fd < 0 {
            return Err(Error::Create(path, io::Error::last_os_error()));
        }
        // SAFETY: a fresh descriptor that nobody else closes.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let head_bytes = HEADER_BYTES + description.strings_bytes as usize;
        let head = reserve(fd, 0, head_bytes as u64)
            .map_err(|error| Error::Reserve(path.clone(), error))
            .and_then(|()| {
                map(std::ptr::null_mut(), head_bytes, fd, 0)
                    .map_err(|error| Error::Map(path.clone(), error))
            })
            .inspect_err(|_| remove(fd, &name))?;
        let file = Self {
            file,
            head,
            head_bytes,
            slots_offset: head_bytes as u64,
            chunk_bytes: description.chunk_bytes,
        };
        file.write_header(description);
        Ok(file)
    }

    /// Deletes the file, which nobody wants without its first chunks.
    pub fn remove(&self, path: &str) {
        if let Ok(name) = CString::new(path) {
            remove(self.raw(), &name);
        }
    }

    pub fn raw(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The header page.
    pub fn header(&self) -> *mut u8 {
        self.head
    }

    /// The live block.
    pub fn live(&self) -> *mut u32 {
        // SAFETY: within the header page.
        unsafe { self.head.add(header::LIVE).cast() }
    }

    /// The string table and its size.
    pub fn strings(&self) -> (*mut u8, usize) {
        // SAFETY: the table follows the header page in the mapping.
        (
            unsafe { self.head.add(HEADER_BYTES) },
            self.head_bytes - HEADER_BYTES,
        )
    }

    fn write_header(&self, d: &Description) {
        let put = |offset: usize, bytes: &[u8]| {
            debug_assert!(offset + bytes.len() <= HEADER_BYTES);
            // SAFETY: within the header page, which only this thread knows yet.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.head.add(offset), bytes.len());
            }
        };
        let text = |offset: usize, room: usize, text: &str| {
            put(offset, &text.as_bytes()[..text.len().min(room - 1)]);
        };
        for (offset, value) in [
            (header::VERSION, layout::VERSION),
            (header::HEADER_BYTES, HEADER_BYTES as u32),
            (header::STRINGS_BYTES, d.strings_bytes),
            (header::CHUNK_BYTES, d.chunk_bytes),
            (header::RING_SLOTS, d.ring_slots),
            (header::MAX_SLOTS, d.max_slots),
            (header::PID, d.pid),
            (header::THREAD, d.thread),
            (header::DETAIL, d.detail),
        ] {
            put(offset, &value.to_le_bytes());
        }
        put(header::START_NS, &d.start_ns.to_le_bytes());
        put(
            header::START_REALTIME_NS,
            &d.start_realtime_ns.to_le_bytes(),
        );
        text(header::NODE, header::NODE_BYTES, &d.node);
        text(header::ARCH, header::ARCH_BYTES, &d.arch);
        // No chunk is open yet: a record may start nowhere, so the first one rolls.
        put(live::byte_offset(live::POSITION), &1_u32.to_le_bytes());
        // Last, so that a file without a complete header is no trace.
        put(header::MAGIC, &layout::MAGIC);
    }

    /// Unmaps the head.
    ///
    /// # Safety
    /// Nothing that was given out by `header`, `live` and `strings` is used any more.
    pub unsafe fn unmap(&self) {
        // SAFETY: the mapping of `create`.
        unsafe { libc::munmap(self.head.cast(), self.head_bytes) };
    }
}

/// Deletes a file that was just created; leaves what is no file, such as a device.
fn remove(fd: RawFd, name: &CStr) {
    // SAFETY: zeros are a valid `stat`, and it is only read when fstat filled it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a valid out pointer, and a C string.
    unsafe {
        if libc::fstat(fd, &mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG {
            libc::unlink(name.as_ptr());
        }
    }
}

/// Reserves blocks; the file grows to cover them.
pub fn reserve(fd: RawFd, offset: u64, bytes: u64) -> io::Result<()> {
    loop {
        // SAFETY: only numbers.
        match unsafe { libc::posix_fallocate(fd, offset as i64, bytes as i64) } {
            0 => return Ok(()),
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Maps a part of the file shared and writable, and makes its pages writable without a fault;
/// in place of what is mapped at `at` unless that is null.
pub fn map(at: *mut u8, bytes: usize, fd: RawFd, offset: u64) -> io::Result<*mut u8> {
    let fixed = if at.is_null() { 0 } else { libc::MAP_FIXED };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | fixed;
    // SAFETY: a given address is a range the caller owns and that no thread uses now.
    let mapped = unsafe { libc::mmap(at.cast(), bytes, protection, flags, fd, offset as i64) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    /// Since Linux 5.14; older kernels refuse it and fault on first use instead.
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    // SAFETY: the fresh mapping.
    unsafe { libc::madvise(mapped, bytes, MADV_POPULATE_WRITE) };
    Ok(mapped.cast())
}
