//! The trace format: what the probe writes and every reader reads (`spec/trace-format.md`).
//!
//! No I/O and no clock: bytes come from a `ReadAt` and times through the records.

#![forbid(unsafe_code)]

mod bytes;
pub mod chunk;
pub mod code;
pub mod decode;
pub mod dump;
pub mod encode;
pub mod error;
mod fields;
pub mod header;
pub mod layout;
pub mod live;
mod load;
mod progress;
pub mod read_at;
pub mod reader;
pub mod record;
mod slots;
pub mod strings;
mod varint;
pub mod writer;

pub use decode::StreamState;
pub use error::{Damage, TraceError};
pub use header::{Detail, Header};
pub use live::LiveBlock;
pub use read_at::{ReadAt, ReadError};
pub use reader::{OnDamage, TraceReader};
pub use record::Record;
pub use strings::Strings;
pub use writer::{TraceWriter, WriteError};
