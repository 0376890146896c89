//! The daemon's configuration: who may raise which lever, where and how far.
//!
//! Read key by key from the parsed document instead of through serde, because an administrator who
//! mistypes a right must be told the file, the line and the key, and an unknown key must never
//! pass for a restriction that holds.

mod files;
mod read;
mod trusted;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bobtail_control::{Asked, LeverKind};
use thiserror::Error;

/// What is wrong with a configuration; one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    #[error("{}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: String },
    #[error(
        "{} belongs to user {uid}, neither root nor the user of this bobtaild: its owner can grant \
         himself every lever",
        path.display()
    )]
    Foreign { path: PathBuf, uid: u32 },
    #[error(
        "{} has mode {mode:04o}: {} can grant themselves every lever by it",
        path.display(),
        trusted::who_may_write(*mode)
    )]
    Writable { path: PathBuf, mode: u32 },
    #[error("{}:{line}: {key}: {what}", path.display())]
    Wrong {
        path: PathBuf,
        line: usize,
        key: String,
        what: String,
    },
    #[error("{}:{line}: {what}", path.display())]
    Syntax {
        path: PathBuf,
        line: usize,
        what: String,
    },
}

/// A sound configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect.
    pub socket: PathBuf,
    /// File mode of the socket.
    pub socket_mode: u32,
    /// Group of the socket; the daemon's own if none.
    pub socket_group: Option<u32>,
    /// What must be put back, should the daemon not be able to.
    pub journal: PathBuf,
    /// A client with claims that is not heard of for so long loses them.
    pub heartbeat_timeout: Duration,
    pub max_clients: usize,
    pub max_clients_per_user: usize,
    pub max_claims: u32,
    /// More from one client end its connection.
    pub requests_per_second: u32,
    /// Base, peak and bounds of each lever, for all clients together.
    pub levers: Vec<(LeverKind, Asked)>,
    /// Rights; what no rule gives is refused.
    pub allow: Vec<Rule>,
    /// Levers that do nothing on this machine: found out at the start, not read.
    pub without_effect: Vec<LeverKind>,
}

/// One `[[allow]]`: these users and groups may raise these levers there, so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    pub users: Vec<u32>,
    pub groups: Vec<u32>,
    pub levers: Vec<LeverKind>,
    /// None means all; only for levers of CPUs.
    pub cpus: Option<Vec<u32>>,
    /// Groups, with all below them, by their paths without the leading `/`; none means all. Only
    /// for levers of groups.
    pub cgroups: Option<Vec<String>>,
    /// Claims are clamped to these, in the lever's unit.
    pub lowest: Option<u32>,
    pub highest: Option<u32>,
}

impl Config {
    /// Reads a configuration file that nobody can have written but its administrator.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its line and key; or who else may write the file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(path, &trusted::read(path)?)
    }

    /// Likewise from its text; `path` is only for the error.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        read::config(path, text)
    }

    /// What is configured for a lever.
    pub fn asked(&self, lever: LeverKind) -> Asked {
        let found = self.levers.iter().find(|(kind, _)| *kind == lever);
        found.map_or_else(Asked::default, |(_, asked)| *asked)
    }
}

impl Default for Config {
    /// Nobody may do anything.
    fn default() -> Self {
        Self {
            socket: "/run/bobtail/bobtaild.sock".into(),
            socket_mode: 0o660,
            socket_group: None,
            journal: "/run/bobtail/journal.json".into(),
            heartbeat_timeout: Duration::from_secs(1),
            max_clients: 64,
            max_clients_per_user: 16,
            max_claims: 64,
            requests_per_second: 5000,
            levers: Vec::new(),
            allow: Vec::new(),
            without_effect: Vec::new(),
        }
    }
}
