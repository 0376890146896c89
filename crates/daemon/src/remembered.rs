//! What a guard remembers of the journal, for when the journal itself is gone.
//!
//! A command takes its folder along when it ends, and nobody hinders others from deleting a file:
//! the journal may be gone while what it told of is still raised. So the guard reads it whenever
//! it is replaced, and not only when it is needed.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use bobtail_control::{Host, SavedState};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use crate::journal;
use crate::lent::{Lent, Said};
use crate::restore::put_all_back;

/// How often the journal is read where the kernel does not tell that it was replaced, in ms.
const LOOK_MS: u16 = 1000;

/// The journal as it was when it was last there.
#[derive(Debug)]
pub struct Remembered {
    path: PathBuf,
    /// Of daemons whose journal it is; that of another is another guard's.
    owners: Vec<String>,
    entries: Vec<SavedState>,
    /// The locks that the daemon has shared.
    pub lent: Lent,
    /// Tells of replacements; none where the user has no more of these to be had.
    watch: Option<Inotify>,
}

impl Remembered {
    /// Remembers the journal at `path`, of the daemon `owner` and of the one before it.
    ///
    /// # Errors
    ///
    /// When the journal of the one before cannot be read.
    pub fn of(host: &Host, path: &Path, owner: &str) -> Result<Self, journal::JournalError> {
        // Before it is read, so that no replacement is missed.
        let watch = watch(path).ok();
        let before = journal::read(path, host)?;
        let mut remembered = Self {
            path: path.to_owned(),
            owners: vec![owner.to_owned()],
            entries: vec![],
            lent: Lent::default(),
            watch,
        };
        // Until the daemon has written its first journal, that of the one before counts as its own.
        if let Some(before) = before {
            remembered.owners.push(before.owner);
            remembered.entries = before.entries;
        }
        Ok(remembered)
    }

    /// The daemons whose journal it is.
    pub fn owners(&self) -> Vec<&str> {
        self.owners.iter().map(String::as_str).collect()
    }

    /// Waits until stdin ends, and reads the journal whenever it is replaced; whether the daemon
    /// said before that nothing is left to be done.
    pub fn watch_until_stdin_ends(&mut self, host: &Host) -> bool {
        let stdin = io::stdin();
        loop {
            let mut fds = vec![PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            let mut timeout = PollTimeout::from(LOOK_MS);
            if let Some(watch) = &self.watch {
                fds.push(PollFd::new(watch.as_fd(), PollFlags::POLLIN));
                timeout = PollTimeout::NONE;
            }
            let is_read = poll(&mut fds, timeout).is_ok();
            let is_said = is_read && fds[0].revents().is_some_and(|events| !events.is_empty());
            drop(fds);
            // What it was, and of which file, the journal itself tells.
            while matches!(&self.watch, Some(watch) if watch.read_events().is_ok()) {}
            self.look(host);
            if !is_said {
                continue;
            }
            match self.lent.listen(&stdin) {
                Said::Nothing => {}
                Said::GoHome => return true,
                Said::End => {
                    // Written while there was more to listen to.
                    self.look(host);
                    return false;
                }
            }
        }
    }

    /// Puts back what the journal told when it was last there; how much could not be.
    pub fn put_back(&mut self, host: &Host) -> usize {
        self.entries = put_all_back(host, std::mem::take(&mut self.entries), &mut self.lent);
        self.entries.len()
    }

    fn look(&mut self, host: &Host) {
        if let Ok(Some(content)) = journal::read(&self.path, host)
            && self.owners.contains(&content.owner)
        {
            self.entries = content.entries;
        }
    }
}

/// The journal is replaced by a rename within its folder.
fn watch(path: &Path) -> nix::Result<Inotify> {
    let watch = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    watch.add_watch(folder, AddWatchFlags::IN_MOVED_TO)?;
    Ok(watch)
}
