//! A directory of a test's own that goes with its owner.

use std::path::PathBuf;
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
