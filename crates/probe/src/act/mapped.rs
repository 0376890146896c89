//! Numbers that another process reads while this one writes them: a file that is mapped, so that
//! telling costs no system call, and a `kill -9` loses nothing. Nor does it matter who the process
//! has become: a server that gave up its rights may write no file in a folder of root any more.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::null_mut;
use std::slice;
use std::sync::atomic::AtomicU64;

/// A file of 64-bit words in the byte order of the machine.
pub struct Mapped {
    words: &'static [AtomicU64],
}

impl Mapped {
    /// Maps a new file of so many words, all 0, which only its user may read.
    ///
    /// # Errors
    /// There is such a file, or no room for it.
    pub fn create(path: &str, words: usize) -> io::Result<Self> {
        let bytes = words * size_of::<u64>();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // Room for all of it, since a full disk under a mapping ends the process.
        // SAFETY: an open descriptor.
        let refused = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) };
        if refused != 0 {
            // One that is as long as told and has no mark is never asked for again.
            let _ = std::fs::remove_file(path);
            return Err(io::Error::from_raw_os_error(refused));
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (shared, fd) = (libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: a fresh mapping of a file that is as long.
        let at = unsafe { libc::mmap(null_mut(), bytes, protection, shared, fd, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: page-aligned, as long as told, and mapped until it is dropped: it owns the only
        // reference. Zeros are valid, and all words are atomics.
        let words = unsafe { slice::from_raw_parts(at.cast::<AtomicU64>(), words) };
        Ok(Self { words })
    }

    /// The words.
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        self.words
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let at = self.words.as_ptr().cast_mut().cast();
        // SAFETY: the mapping of `create`, which nobody else has a reference to.
        unsafe { libc::munmap(at, size_of_val(self.words)) };
    }
}
