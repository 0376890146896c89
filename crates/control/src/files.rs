//! The kernel's text files (`/sys`, `/sys/fs/cgroup`, `/proc`), behind a trait.
//!
//! A directory of ordinary files cannot refuse a value with EINVAL or EBUSY, ignore a write, or
//! lose a file while it is open, as the kernel does; so tests put a model of the kernel here.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::syscalls;

/// Whose a directory is, and who else may make something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    pub user: u32,
    /// The bits of rights.
    pub mode: u32,
}

/// Reads, lists and opens the kernel's text files.
pub trait Files: std::fmt::Debug + Send + Sync {
    /// The whole text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
    /// The names in a directory, in order.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Whose a directory is.
    fn ownership(&self, directory: &Path) -> io::Result<Ownership>;
    /// Opens a file for writing; it must exist.
    fn open(&self, path: &Path) -> io::Result<Box<dyn KnobFile>>;
    /// Opens a file that is only to be held, for which the right to read is enough.
    fn open_to_hold(&self, path: &Path) -> io::Result<Box<dyn KnobFile>>;
}

/// An open file of one setting.
pub trait KnobFile: std::fmt::Debug + Send {
    /// Sets the value, in one write at offset 0.
    fn write(&mut self, text: &[u8]) -> io::Result<()>;
    /// Marks the setting as held by this process until the file is closed; false when another
    /// process holds it. The kernel frees the mark when a process dies, however it dies.
    fn hold(&mut self) -> io::Result<bool>;
    /// Takes the mark off.
    fn let_go(&mut self);
    /// What the mark belongs to, for another process to have it too; none where it belongs to no
    /// descriptor.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        File::open(path)?.read_to_string(&mut text)?;
        Ok(text)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = fs::read_dir(path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn ownership(&self, directory: &Path) -> io::Result<Ownership> {
        let metadata = fs::metadata(directory)?;
        Ok(Ownership {
            user: metadata.uid(),
            mode: metadata.mode() & 0o7777,
        })
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn KnobFile>> {
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)?;
        let is_kernels = syscalls::is_kernel_file(&file)?;
        Ok(Box::new(RealKnob { file, is_kernels }))
    }

    fn open_to_hold(&self, path: &Path) -> io::Result<Box<dyn KnobFile>> {
        let file = File::open(path)?;
        let is_kernels = syscalls::is_kernel_file(&file)?;
        Ok(Box::new(RealKnob { file, is_kernels }))
    }
}

#[derive(Debug)]
struct RealKnob {
    file: File,
    is_kernels: bool,
}

impl KnobFile for RealKnob {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        // In the kernel's own files a write replaces the value; in a copy of them on a disk a
        // shorter value would leave the end of the longer one.
        if !self.is_kernels {
            self.file.set_len(0)?;
        }
        let written = self.file.write_at(text, 0)?;
        if written == text.len() {
            return Ok(());
        }
        Err(io::Error::from(io::ErrorKind::WriteZero))
    }

    fn hold(&mut self) -> io::Result<bool> {
        syscalls::lock(&self.file)
    }

    fn let_go(&mut self) {
        syscalls::unlock(&self.file);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}
