//! The files that a daemon makes: which they are, and that no two of them are one.
//!
//! Beside socket and journal stand their locks, and a journal is written as another file first. A
//! daemon whose socket is one of its own others would delete the one for the other.

use std::path::{Path, PathBuf};

use super::Config;
use crate::{journal, lock};

impl Config {
    /// Which of the files depends on where this process happens to be, and that it must not.
    pub fn relative(&self) -> Option<(&'static str, String)> {
        let files = [("socket", &self.socket), ("journal", &self.journal)];
        let (key, path) = files.into_iter().find(|(_, path)| !path.is_absolute())?;
        Some((key, format!("{path:?} is not an absolute path")))
    }

    /// Which two of the files are one; none where all differ.
    pub fn clash(&self) -> Option<String> {
        let Self {
            socket, journal, ..
        } = self;
        let written = journal::written_first(journal);
        if is_same(&written, journal) {
            return Some(format!(
                "{journal:?} is what a journal is written as before it is one"
            ));
        }
        let of_journal = [journal.clone(), written, lock::path_of(journal)];
        let of_socket = [socket.clone(), lock::path_of(socket)];
        let is_of_journal = |file: &&PathBuf| of_journal.iter().any(|other| is_same(file, other));
        let file = of_socket.iter().find(is_of_journal)?;
        Some(format!(
            "the journal {journal:?} and the socket {socket:?} want the same file {file:?}"
        ))
    }
}

/// Also by another way to the same folder, such as `/var/run` for `/run`.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || real(one) == real(other)
}

fn real(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
