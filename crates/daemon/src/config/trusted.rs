//! Reads a configuration's text from a file that only its administrator may write.
//!
//! Root's daemon does what the file says, so that who may write it has every lever. What counts is
//! the file that was opened, whatever links led to it and whatever its name stands for by now.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::ConfigError;

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// `/dev/null`, major 1 and minor 3 on every Linux: anybody may write it, and nothing comes out.
const NULL_DEVICE: u64 = 0x103;

pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |cause: io::Error| ConfigError::Unreadable {
        path: path.to_owned(),
        cause: cause.to_string(),
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !is_null(&metadata) {
        check(path, metadata.uid(), metadata.mode())?;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn is_null(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == NULL_DEVICE
}

/// An access list of more users shows in the group's bits.
fn check(path: &Path, uid: u32, mode: u32) -> Result<(), ConfigError> {
    let path = path.to_owned();
    if uid != 0 && uid != nix::unistd::geteuid().as_raw() {
        return Err(ConfigError::Foreign { path, uid });
    }
    if mode & (GROUP_WRITES | OTHERS_WRITE) != 0 {
        let mode = mode & 0o7777;
        return Err(ConfigError::Writable { path, mode });
    }
    Ok(())
}

/// Beside its owner.
pub(super) fn who_may_write(mode: u32) -> &'static str {
    match (mode & GROUP_WRITES != 0, mode & OTHERS_WRITE != 0) {
        (true, false) => "those of its group",
        _ => "others",
    }
}
