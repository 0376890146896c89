//! A pprof profile of latency: not of where a process used its processor, but of what slow requests
//! waited for.
//!
//! A profile is a sum, so it is kept until the end, and its size depends on how many different
//! causes there are.
//!
//! | file | concept |
//! |---|---|
//! | `messages` | the messages of the format |
//! | `frames`, `stacks` | a latency in stacks |

mod frames;
#[cfg(test)]
mod invariants;
mod messages;
mod stacks;

use std::collections::HashMap;
use std::io::{self, Write};

use bobtail_breakdown::Strings;
use bobtail_trace::record::Record;
use flate2::{Compression, GzBuilder};
use prost::Message;

use crate::error::ExportError;
use crate::source::Source;
use messages::{Function, Line, Location, Profile, Sample, ValueType};
use stacks::Stacks;

/// The values of each sample, and their units; the first is shown unless another is asked for.
const VALUES: [(&str, &str); 2] = [("latency", "nanoseconds"), ("requests", "count")];
const COMMENT: &str = "Latency of requests by route, kind of segment, cause and code location, \
    made by bobtail export; requests: how many had some of it. These are no call stacks.";

/// A profile in the making.
#[derive(Debug, Default)]
pub struct Pprof {
    stacks: Stacks,
    /// The earliest, in nanoseconds since 1970.
    start_ns: Option<u64>,
}

impl Pprof {
    /// Adds the chosen requests of one trace; returns how many there were.
    ///
    /// # Errors
    ///
    /// Those of the iterator.
    pub fn add<E, S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        records: impl IntoIterator<Item = Result<Record, E>>,
    ) -> Result<u64, ExportError<E>> {
        let before = self.stacks.requests;
        let start_ns = source.start_realtime_ns;
        self.start_ns = Some(self.start_ns.map_or(start_ns, |first| first.min(start_ns)));
        source.each_request(records, |path, window| {
            if path.walked {
                self.stacks.add(source, path, window);
            }
            Ok(())
        })?;
        Ok(self.stacks.requests - before)
    }

    /// Writes the profile, compressed as pprof wants it; it was recorded for so long.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write(self, out: impl Write, duration_ns: u64) -> io::Result<()> {
        let profile = self.profile(duration_ns);
        // Without name and time, so that the same profile is the same bytes.
        let mut gzip = GzBuilder::new().write(out, Compression::default());
        gzip.write_all(&profile.encode_to_vec())?;
        gzip.finish()?.flush()
    }

    fn profile(self, duration_ns: u64) -> Profile {
        let mut texts = Texts::default();
        texts.number("");
        let mut profile = Profile {
            time_nanos: self.start_ns.unwrap_or(0) as i64,
            duration_nanos: duration_ns as i64,
            comment: vec![texts.number(COMMENT)],
            default_sample_type: texts.number(VALUES[0].0),
            ..Profile::default()
        };
        let types = VALUES.map(|(word, unit)| ValueType {
            r#type: texts.number(word),
            unit: texts.number(unit),
        });
        profile.sample_type = types.to_vec();
        for (index, frame) in self.stacks.frames.all.iter().enumerate() {
            let id = index as u64 + 1;
            profile.function.push(Function {
                id,
                name: texts.number(&frame.name),
                filename: texts.number(&frame.file),
            });
            let line = Line {
                function_id: id,
                line: frame.line,
            };
            profile.location.push(Location {
                id,
                line: vec![line],
            });
        }
        let samples = self.stacks.sums.iter().map(|(stack, sums)| Sample {
            location_id: stack.iter().rev().map(|frame| u64::from(*frame)).collect(),
            value: vec![sums.latency_ns as i64, sums.requests as i64],
        });
        profile.sample = samples.collect();
        profile.string_table = texts.all;
        profile
    }
}

/// The table of texts; the first is empty, as the format wants it.
#[derive(Debug, Default)]
struct Texts {
    all: Vec<String>,
    known: HashMap<String, i64>,
}

impl Texts {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = self.all.len() as i64;
        self.all.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }
}
