//! What can be wrong with a trace, with the offending value and the byte where it stands.
//!
//! Damage inside a chunk is a type of its own, because a lenient reader skips it while every other
//! error ends the reading.

use thiserror::Error;

use crate::read_at::ReadError;

/// Why a trace cannot be read (further).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    #[error("not a Bobtail trace: it starts with {}", hex(found))]
    NotATrace { found: Vec<u8> },
    #[error("trace version {found} is newer than {newest}, the newest this release reads (byte 8)")]
    Newer { found: u32, newest: u32 },
    #[error("trace ends at byte {offset}, inside {inside}")]
    Truncated { offset: u64, inside: &'static str },
    #[error("trace header field {field} is {value} (byte {offset})")]
    Header {
        field: &'static str,
        value: u64,
        offset: u64,
    },
    #[error("string table: {damage} (byte {offset})")]
    Strings { damage: Damage, offset: u64 },
    #[error("chunk {chunk} is damaged: {damage} (byte {offset})")]
    Damaged {
        chunk: u64,
        offset: u64,
        damage: Damage,
    },
    #[error("trace cannot be read at byte {offset}: {cause}")]
    Read { offset: u64, cause: ReadError },
}

impl TraceError {
    /// Stable name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotATrace { .. } => "BOBTAIL_TRACE_NOT_A_TRACE",
            Self::Newer { .. } => "BOBTAIL_TRACE_NEWER",
            Self::Truncated { .. } => "BOBTAIL_TRACE_TRUNCATED",
            Self::Header { .. } => "BOBTAIL_TRACE_HEADER",
            Self::Strings { .. } => "BOBTAIL_TRACE_STRINGS",
            Self::Damaged { .. } => "BOBTAIL_TRACE_DAMAGED",
            Self::Read { .. } => "BOBTAIL_TRACE_READ",
        }
    }
}

/// What exactly does not follow the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    #[error("tag byte {0:#04x} is no record")]
    Tag(u8),
    #[error("it ends inside an entry")]
    End,
    #[error("a number takes more than 64 bits")]
    Varint,
    #[error("{field} has the unknown code {value}")]
    Code { field: &'static str, value: u64 },
    #[error("{field} {value} is out of range")]
    Range { field: &'static str, value: u64 },
    #[error("chunk magic is {0:#010x}")]
    Magic(u32),
    #[error("another slot has the same number")]
    Twice,
    #[error("it was never sealed, but a later chunk exists")]
    Unsealed,
    #[error("string {0} is not UTF-8")]
    Utf8(u32),
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}
