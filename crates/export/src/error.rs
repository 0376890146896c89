//! Why an export stopped: the recording could not be read, or the output not be written.
//!
//! Two variants and not one, because they end in different exit codes and only one of them is about
//! the recording.

use std::io;

use thiserror::Error;

/// `E` is the error of the iterator that the records come from.
#[derive(Debug, Error)]
pub enum ExportError<E> {
    #[error("{0}")]
    Read(E),
    #[error("{0}")]
    Write(#[from] io::Error),
}
