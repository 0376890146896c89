//! Where a machine's settings are: the roots of its kernel file systems, and how they are read.
//!
//! Every path is a root and a path below it, so that tests put a tree of their own there and a
//! journal of what to restore cannot name a file elsewhere.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::ControlError;
use crate::files::{Files, Ownership, RealFiles};
use crate::threads::{RealThreads, Threads};

/// The kernel takes a bound of cpufreq and applies it a little later, on a thread of its own
/// (`cpufreq_notifier_min`, `handle_update`): until then the file says what was before. A file that
/// still says something else after so long says what it will.
const SETTLES_WITHIN: Duration = Duration::from_millis(10);
const SETTLING_LOOK: Duration = Duration::from_micros(50);

/// A root of the kernel's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Root {
    /// `/sys`
    Sys,
    /// `/sys/fs/cgroup`
    Cgroup,
    /// `/proc`
    Proc,
}

/// A file below a root.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    pub root: Root,
    /// Relative, without `..`; checked where it is used.
    pub path: String,
}

impl Place {
    /// A file of `/sys`, by its path below that.
    pub fn sys(path: impl Into<String>) -> Self {
        Self {
            root: Root::Sys,
            path: path.into(),
        }
    }

    /// A file of `/sys/fs/cgroup`, by its path below that.
    pub fn cgroup(path: impl Into<String>) -> Self {
        Self {
            root: Root::Cgroup,
            path: path.into(),
        }
    }

    /// A file of `/proc`, by its path below that.
    pub fn proc(path: impl Into<String>) -> Self {
        Self {
            root: Root::Proc,
            path: path.into(),
        }
    }
}

/// A machine: its roots and its files.
#[derive(Debug, Clone)]
pub struct Host {
    files: Arc<dyn Files>,
    threads: Arc<dyn Threads>,
    sys: PathBuf,
    cgroup: PathBuf,
    proc: PathBuf,
}

impl Default for Host {
    /// This machine.
    fn default() -> Self {
        Self {
            files: Arc::new(RealFiles),
            threads: Arc::new(RealThreads),
            sys: "/sys".into(),
            cgroup: "/sys/fs/cgroup".into(),
            proc: "/proc".into(),
        }
    }
}

impl Host {
    /// A machine whose files are elsewhere: `DIR/sys`, `DIR/sys/fs/cgroup`, `DIR/proc`.
    pub fn below(directory: &Path) -> Self {
        Self::with_files(Arc::new(RealFiles), directory)
    }

    /// Likewise, with files of its own.
    pub fn with_files(files: Arc<dyn Files>, directory: &Path) -> Self {
        Self {
            files,
            threads: Arc::new(RealThreads),
            sys: directory.join("sys"),
            cgroup: directory.join("sys/fs/cgroup"),
            proc: directory.join("proc"),
        }
    }

    /// The same machine with threads of its own.
    pub fn and_threads(mut self, threads: Arc<dyn Threads>) -> Self {
        self.threads = threads;
        self
    }

    /// The calls on threads.
    pub fn threads(&self) -> &dyn Threads {
        &*self.threads
    }

    /// The files themselves.
    pub fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// The full path of a place.
    ///
    /// # Errors
    ///
    /// [`ControlError::Outside`] for one that would leave its root.
    pub fn path(&self, place: &Place) -> Result<PathBuf, ControlError> {
        let root = match place.root {
            Root::Sys => &self.sys,
            Root::Cgroup => &self.cgroup,
            Root::Proc => &self.proc,
        };
        let relative = Path::new(&place.path);
        let stays = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !stays {
            return Err(ControlError::Outside {
                path: relative.to_owned(),
            });
        }
        Ok(root.join(relative))
    }

    /// The text of a file, without the space around it.
    pub fn read(&self, place: &Place) -> Result<String, ControlError> {
        let path = self.path(place)?;
        match self.files.read(&path) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(cause) => Err(ControlError::Read { path, cause }),
        }
    }

    /// The text of a file that was just written, once it is as `is_settled` wants it or has had its
    /// time.
    pub fn read_settled(
        &self,
        place: &Place,
        is_settled: impl Fn(&str) -> bool,
    ) -> Result<String, ControlError> {
        let since = Instant::now();
        loop {
            let text = self.read(place)?;
            if is_settled(&text) || since.elapsed() > SETTLES_WITHIN {
                return Ok(text);
            }
            std::thread::sleep(SETTLING_LOOK);
        }
    }

    /// That a file which was just written says so; `is_same` of what it says.
    ///
    /// # Errors
    ///
    /// [`ControlError::Ignored`] when the kernel took the value and has another one.
    pub(crate) fn expect(
        &self,
        place: &Place,
        wrote: &str,
        is_same: impl Fn(&str) -> bool,
    ) -> Result<(), ControlError> {
        let reads = self.read_settled(place, &is_same)?;
        if is_same(&reads) {
            return Ok(());
        }
        Err(ControlError::Ignored {
            path: self.path(place)?,
            wrote: wrote.to_owned(),
            reads,
        })
    }

    /// As [`read`](Self::read); none where there is no such file.
    pub fn read_if_there(&self, place: &Place) -> Result<Option<String>, ControlError> {
        match self.read(place) {
            Ok(text) => Ok(Some(text)),
            Err(ControlError::Read { cause, .. }) if is_missing(&cause) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The number in a file.
    pub fn read_number<N: std::str::FromStr>(&self, place: &Place) -> Result<N, ControlError> {
        let text = self.read(place)?;
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => Err(ControlError::Malformed {
                path: self.path(place)?,
                value: text,
                expected: "a number in range",
            }),
        }
    }

    /// The names in a directory, in order; none where there is no such directory.
    pub fn list(&self, place: &Place) -> Result<Vec<String>, ControlError> {
        let path = self.path(place)?;
        match self.files.list(&path) {
            Ok(names) => Ok(names),
            Err(cause) if is_missing(&cause) => Ok(Vec::new()),
            Err(cause) => Err(ControlError::Read { path, cause }),
        }
    }

    /// Whose a directory is.
    pub(crate) fn ownership(&self, place: &Place) -> Result<Ownership, ControlError> {
        let path = self.path(place)?;
        let owned = self.files.ownership(&path);
        owned.map_err(|cause| ControlError::Read { path, cause })
    }
}

fn is_missing(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotFound
}
