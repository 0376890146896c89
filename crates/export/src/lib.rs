//! From a recording to the files of tools that people already use.
//!
//! Bobtail's own report answers its own questions; a team that lives in Perfetto or a tracing
//! backend wants the same facts there. Every exporter is a pass over the records of a trace that
//! writes as it reads, so memory depends on what is under way at a time and not on the length of a
//! recording.
//!
//! ```text
//! for each trace:  choose(trace, records, wanted)        which requests    -> Vec<Candidate>
//! once:            pick(candidates, wanted)              over all traces   -> Vec<Chosen>
//! for each trace:  Perfetto::add(source, records, …)     writes its part
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `chosen` | which requests are exported |
//! | `source` | one trace, as all exporters need it; its paths |
//! | `ids` | numbers that are unique and the same every time |
//! | `segment` | what a segment is called |
//! | `perfetto` | a time line for ui.perfetto.dev |
//! | `otlp` | spans for a tracing backend |
//! | `pprof` | a profile of latency |
//! | `hdr` | distributions of latencies |
//! | `rows` | rows of tables |

#![forbid(unsafe_code)]

mod chosen;
mod error;
mod hdr;
mod ids;
mod otlp;
mod perfetto;
mod pprof;
mod rows;
mod segment;
mod source;

pub use chosen::{Candidate, Chosen, Rank, Wanted, choose, pick};
pub use error::ExportError;
pub use hdr::Hdr;
pub use otlp::{Encoding, Otlp};
pub use perfetto::{Perfetto, Windows};
pub use pprof::Pprof;
pub use rows::Rows;
pub use source::Source;
