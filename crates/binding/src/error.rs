//! What can be wrong with a recording, with a code that stays the same across the border.
//!
//! The code is the first word of the message, since an error of an asynchronous napi task carries
//! nothing but its message; the command line maps codes to exit codes.

use std::io;
use std::path::{Path, PathBuf};

use bobtail_trace::TraceError;
use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindingError {
    #[error("not a recording: {reason} ({})", path.display())]
    NotRecording { path: PathBuf, reason: String },
    #[error("written by a newer Bobtail: {reason} ({})", path.display())]
    Newer { path: PathBuf, reason: String },
    #[error("{error} ({})", path.display())]
    Trace { path: PathBuf, error: TraceError },
    #[error("cannot read: {} ({})", reason(error), path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("damaged: {reason} ({})", path.display())]
    Json { path: PathBuf, reason: String },
    #[error("no finished request was recorded ({})", path.display())]
    NothingRecorded { path: PathBuf },
    #[error(
        "damaged: no finished request is left, {reason}{} ({})",
        others(*places),
        path.display()
    )]
    AllLost {
        path: PathBuf,
        reason: String,
        /// Chunks left out, wholly or from a record on.
        places: u64,
    },
    #[error("no such request ({id})")]
    UnknownRequest { id: String },
    #[error("overwritten while it was read, the recording goes on too fast ({id})")]
    Overwritten { id: String },
    #[error("{error}")]
    Change { error: bobtail_sim::ExpressionError },
    #[error("cannot be replayed: {reason} ({})", path.display())]
    NotReplayable { path: PathBuf, reason: String },
    #[error("options: {reason}")]
    Options { reason: String },
    #[error("{} ({})", cannot_write(error), path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("the analysis failed: {reason}")]
    Internal { reason: String },
}

impl BindingError {
    /// Stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotRecording { .. } => "BOBTAIL_NOT_A_RECORDING",
            Self::Newer { .. } => "BOBTAIL_NEWER_FORMAT",
            Self::Trace { error, .. } => match error {
                TraceError::Newer { .. } => "BOBTAIL_NEWER_FORMAT",
                TraceError::NotATrace { .. } => "BOBTAIL_NOT_A_RECORDING",
                TraceError::Read { .. } => "BOBTAIL_READ",
                _ => "BOBTAIL_DAMAGED",
            },
            Self::Read { .. } => "BOBTAIL_READ",
            Self::Json { .. } | Self::AllLost { .. } => "BOBTAIL_DAMAGED",
            Self::NothingRecorded { .. } => "BOBTAIL_NOTHING_RECORDED",
            Self::UnknownRequest { .. } | Self::Overwritten { .. } => "BOBTAIL_UNKNOWN_REQUEST",
            Self::Options { .. } | Self::Change { .. } => "BOBTAIL_OPTIONS",
            Self::NotReplayable { .. } => "BOBTAIL_NOT_REPLAYABLE",
            Self::Write { error, .. } if is_disk_full(error) => "BOBTAIL_DISK_FULL",
            Self::Write { .. } => "BOBTAIL_WRITE",
            Self::Internal { .. } => "BOBTAIL_INTERNAL",
        }
    }

    /// The failure of writing `path`.
    pub fn write(path: &Path, error: io::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            error,
        }
    }

    /// The failure of reading `path`.
    pub fn read(path: &Path, error: io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            error,
        }
    }
}

impl From<BindingError> for napi::Error {
    fn from(error: BindingError) -> Self {
        napi::Error::from_reason(format!("{}: {error}", error.code()))
    }
}

/// How much more damage there is than the first.
fn others(places: u64) -> String {
    match places {
        0 | 1 => String::new(),
        _ => format!(", {places} damaged chunks in all"),
    }
}

fn is_disk_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

fn cannot_write(error: &io::Error) -> String {
    if is_disk_full(error) {
        return "disk full".to_owned();
    }
    format!("cannot write: {}", reason(error))
}

/// The system's message without Rust's `(os error 2)`.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((message, _)) => message.to_lowercase(),
        None => text,
    }
}
