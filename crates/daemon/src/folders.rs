//! The folders of journal and socket, made where they are missing: who starts bobtaild by hand has
//! no service manager that does.
//!
//! Only the last folder, and only as root or where the one above is this user's: a path that was
//! mistyped must not grow a tree.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// As the unit has it: clients must come to the socket.
const MODE: u32 = 0o755;

/// Folders that were made; dropped, they are removed again unless something is in them.
#[derive(Debug, Default)]
pub(crate) struct Folders(Vec<PathBuf>);

impl Folders {
    /// Makes the folders of these files.
    ///
    /// # Errors
    ///
    /// Which could not be made, and why not.
    pub(crate) fn of(files: [&Path; 2]) -> Result<Self, (PathBuf, io::Error)> {
        let mut made = Self::default();
        for folder in files.into_iter().filter_map(Path::parent) {
            if folder.exists() || !may_make_in(folder.parent()) {
                continue;
            }
            make(folder).map_err(|cause| (folder.to_owned(), cause))?;
            made.0.push(folder.to_owned());
        }
        Ok(made)
    }

    /// They are wanted.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // Only an empty one can be.
            drop(fs::remove_dir(folder));
        }
    }
}

/// False also where it is not there: whoever wants the file says that of it.
fn may_make_in(above: Option<&Path>) -> bool {
    let own = geteuid();
    let found = above.and_then(|above| fs::metadata(above).ok());
    found.is_some_and(|found| own.is_root() || found.uid() == own.as_raw())
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    // What this process makes is for itself alone, unless it is told. By the opened folder, which
    // nobody can have put another one in the place of.
    let flags = nix::libc::O_DIRECTORY | nix::libc::O_NOFOLLOW;
    let made = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(folder)?;
    give_mode(&made)
}

fn give_mode(made: &File) -> io::Result<()> {
    if made.metadata()?.uid() != geteuid().as_raw() {
        return Err(io::Error::other("somebody else has made it meanwhile"));
    }
    made.set_permissions(Permissions::from_mode(MODE))
}
