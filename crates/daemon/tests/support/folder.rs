//! A directory of a test's own that goes with its owner.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);
static NUMBER: AtomicU32 = AtomicU32::new(0);

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bobtaild-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A file in it that nobody else may write, whatever this user lets others by default.
    #[allow(dead_code, reason = "not every test has files of its own")]
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        path
    }

    /// What is in it, in order.
    #[allow(dead_code, reason = "not every test looks")]
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }
}

/// The program that is tested, run by nobody, who gets a copy in this folder: where the tests are
/// built may be no place for him. One that goes on is ended. None where nobody can become him; in
/// CI that must be.
#[allow(dead_code, reason = "not every test is of another user")]
pub fn as_nobody(program: &str, folder: &Path) -> Option<Command> {
    if !nix::unistd::geteuid().is_root() {
        assert!(
            std::env::var_os("CI").is_none(),
            "only root is somebody else"
        );
        return None;
    }
    let copy = folder.join("bobtaild");
    std::fs::copy(program, &copy).unwrap();
    let mut command = Command::new("timeout");
    command.args(["20", "setpriv", "--reuid", "65534", "--regid", "65534"]);
    command.args(["--clear-groups", "--"]).arg(copy);
    Some(command)
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A guard that still ends may write into it meanwhile.
        for _ in 0..TRIES {
            drop(std::fs::remove_dir_all(&self.0));
            if !self.0.exists() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}
