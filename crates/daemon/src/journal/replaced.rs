//! Replaces a file by one that was written beside it, each step on the disk before the next.
//!
//! The two change names, so that the old one's room is there for what is written next: a disk that
//! fills up while levers are raised would else keep the daemon from writing that they are back. The
//! one beside it, the spare, is written in place, under a lock, since somebody may still read it
//! as what it was before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobtail_control::exchange;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, Flock, FlockArg, fallocate};
use nix::unistd::geteuid;

use crate::lock::is_at;

/// Who reads or writes has the lock for some 10 µs.
const PAUSE: Duration = Duration::from_millis(1);
/// A reader that was stopped must not stop the daemon: its file is left to it.
const WRITE_TRIES: u32 = 20;
const READ_TRIES: u32 = 1000;

pub(super) fn spare_of(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// Opens the file that stands at `path`, which stays as it is until that is dropped.
pub(super) fn open(path: &Path) -> io::Result<Flock<File>> {
    for _ in 0..READ_TRIES {
        let file = OpenOptions::new()
            .read(true)
            // A pipe would be waited for until somebody writes it.
            .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
            .open(path)?;
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(file) if is_at(path, &file) => return Ok(file),
            // It was replaced meanwhile, and may be written by now.
            Ok(_) | Err((_, Errno::EWOULDBLOCK | Errno::EINTR)) => std::thread::sleep(PAUSE),
            Err((_, errno)) => return Err(errno.into()),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Has `text` stand at `path`, in the room of the spare where there is one.
pub(super) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = locked_spare(path)?;
    file.write_all(text)?;
    file.set_len(text.len() as u64)?;
    file.sync_all()?;
    // What stands at `path` is never locked against readers.
    drop(file);
    let spare = spare_of(path);
    if exchange(&spare, path).is_err() {
        // There is none yet, or the file system has no such call: the old one goes.
        fs::rename(&spare, path)?;
    }
    File::open(folder)?.sync_all()
}

/// Makes sure that the spare has room for so much, without a change of what can be read of it.
pub(super) fn reserve(path: &Path, bytes: usize) -> io::Result<()> {
    let file = open_spare(path)?;
    let bytes = bytes as nix::libc::off_t;
    loop {
        match fallocate(&file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, bytes) {
            Err(Errno::EINTR) => {}
            // A file system that promises no room: it is there or not when it is wanted.
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => return Ok(()),
            reserved => return Ok(reserved?),
        }
    }
}

fn locked_spare(path: &Path) -> io::Result<Flock<File>> {
    for _ in 0..WRITE_TRIES {
        match Flock::lock(open_spare(path)?, FlockArg::LockExclusiveNonblock) {
            Ok(file) => return Ok(file),
            Err((_, Errno::EWOULDBLOCK | Errno::EINTR)) => std::thread::sleep(PAUSE),
            Err((_, errno)) => return Err(errno.into()),
        }
    }
    fs::remove_file(spare_of(path))?;
    let made = Flock::lock(open_spare(path)?, FlockArg::LockExclusiveNonblock);
    made.map_err(|(_, errno)| errno.into())
}

/// Only this user's own: what stands there becomes the file itself.
fn open_spare(path: &Path) -> io::Result<File> {
    let spare = spare_of(path);
    let open = || {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(&spare)
    };
    let file = open()?;
    let metadata = file.metadata()?;
    let is_own = metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    if is_own && metadata.nlink() == 1 {
        return Ok(file);
    }
    fs::remove_file(&spare)?;
    open()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::folder::Folder;

    const ROUNDS: usize = 500;

    /// A file's place in a folder of its own.
    fn place() -> (Folder, PathBuf) {
        let folder = Folder::new();
        let file = folder.0.join("journal.json");
        (folder, file)
    }

    fn text_of(file: &File) -> String {
        let mut text = String::new();
        let mut file = file;
        file.read_to_string(&mut text).expect("text");
        text
    }

    /// Of some pages, so that neither is written or read at once.
    fn texts() -> [String; 2] {
        ["a".repeat(50_000), "b".repeat(20_000)]
    }

    #[test]
    fn who_reads_has_one_text_whole_however_often_it_is_replaced() {
        let (_folder, file) = place();
        let texts = texts();
        replace(&file, texts[0].as_bytes()).expect("written");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let mut seen = [0, 0];
                while !is_over.load(Ordering::Relaxed) {
                    let read = text_of(&open(&file).expect("there"));
                    let which = texts.iter().position(|text| *text == read);
                    seen[which.expect("one of both, whole")] += 1;
                }
                seen
            });
            for round in 0..ROUNDS {
                replace(&file, texts[round % 2].as_bytes()).expect("written");
                reserve(&file, texts[round % 2].len()).expect("room");
            }
            is_over.store(true, Ordering::Relaxed);
            let seen = reading.join().expect("no panic");
            assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
        });
    }

    #[test]
    fn a_reader_that_was_stopped_keeps_what_it_reads_and_nobody_from_writing() {
        let (_folder, file) = place();
        let texts = texts();
        replace(&file, texts[0].as_bytes()).expect("written");
        let reading = open(&file).expect("there");
        for text in [&texts[1], &texts[0], &texts[1]] {
            replace(&file, text.as_bytes()).expect("written");
            reserve(&file, text.len()).expect("room");
        }
        assert_eq!(text_of(&reading), texts[0]);
        assert_eq!(text_of(&open(&file).expect("there")), texts[1]);
    }

    #[test]
    fn what_somebody_else_has_by_another_name_is_not_written() {
        let (folder, file) = place();
        let other = folder.0.join("other");
        fs::write(&other, "mine").expect("written");
        fs::hard_link(&other, spare_of(&file)).expect("linked");
        replace(&file, b"text").expect("written");
        assert_eq!(fs::read_to_string(&other).expect("there"), "mine");
        assert_eq!(fs::read_to_string(file).expect("there"), "text");
    }
}
