//! An HdrHistogram log: the distribution of all latencies, then that of each route as its tag.
//!
//! One interval that is the whole recording: tails need all the requests there are, and tools add
//! intervals up but cannot take them apart by cause anyway. Values are nanoseconds to three digits,
//! as in the report, so percentiles agree.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use bobtail_breakdown::Strings;
use bobtail_trace::record::Record;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use hdrhistogram::serialization::{V2DeflateSerializeError, V2DeflateSerializer};

use crate::error::ExportError;
use crate::source::Source;

/// Routes with a distribution of their own; what comes after shares one.
const ROUTES: usize = 1000;
const OTHER: &str = "(other)";
const SIGNIFICANT_DIGITS: u8 = 3;
/// A longer latency counts as this one, as in the report: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;
/// Tools show the maximum in milliseconds.
const NS_PER_MS: f64 = 1e6;

/// Distributions in the making.
#[derive(Debug)]
pub struct Hdr {
    all: Histogram<u64>,
    routes: BTreeMap<String, Histogram<u32>>,
    start_realtime_ns: Option<u64>,
}

impl Hdr {
    /// Of nothing yet.
    #[allow(
        clippy::new_without_default,
        reason = "an empty distribution is no default value"
    )]
    pub fn new() -> Self {
        Self {
            all: Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are allowed"),
            routes: BTreeMap::new(),
            start_realtime_ns: None,
        }
    }

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
        let start_ns = source.start_realtime_ns;
        let first_ns = self.start_realtime_ns.unwrap_or(start_ns).min(start_ns);
        self.start_realtime_ns = Some(first_ns);
        let before = self.all.len();
        source.each_latency(records, |path| {
            let route = source.text(path.route).unwrap_or(OTHER);
            self.count(route, path.latency_ns)
        })?;
        Ok(self.all.len() - before)
    }

    fn count(&mut self, route: &str, latency_ns: u64) -> io::Result<()> {
        let latency_ns = latency_ns.min(LONGEST_NS);
        let full = self.routes.len() >= ROUTES && !self.routes.contains_key(route);
        let route = if full { OTHER } else { route };
        if !self.routes.contains_key(route) {
            let empty = Histogram::new(SIGNIFICANT_DIGITS).map_err(io::Error::other)?;
            self.routes.insert(route.to_owned(), empty);
        }
        self.all.record(latency_ns).map_err(io::Error::other)?;
        match self.routes.get_mut(route) {
            Some(histogram) => histogram.record(latency_ns).map_err(io::Error::other),
            None => Ok(()),
        }
    }

    /// Writes the log; it was recorded for so long.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write(self, mut out: impl Write, duration_ns: u64) -> io::Result<()> {
        let mut serializer = V2DeflateSerializer::new();
        let start = Duration::from_nanos(self.start_realtime_ns.unwrap_or(0));
        let duration = Duration::from_nanos(duration_ns);
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment("[Latency in nanoseconds, written by bobtail export]")
            .with_start_time(UNIX_EPOCH + start)
            .with_max_value_divisor(NS_PER_MS)
            .begin_log_with(&mut out, &mut serializer)?;
        let zero = Duration::ZERO;
        log.write_histogram(&self.all, zero, duration, None)
            .map_err(cannot_write)?;
        for (route, histogram) in &self.routes {
            let tag = tag_of(route);
            log.write_histogram(histogram, zero, duration, Tag::new(&tag))
                .map_err(cannot_write)?;
        }
        Ok(())
    }
}

fn cannot_write(error: IntervalLogWriterError<V2DeflateSerializeError>) -> io::Error {
    match error {
        IntervalLogWriterError::IoError(error) => error,
        IntervalLogWriterError::SerializeError(error) => io::Error::other(format!("{error:?}")),
    }
}

/// A route as a tag, which may hold no space, comma or end of line: those, other control characters
/// and the percent sign are percent-encoded as in a URL.
fn tag_of(route: &str) -> String {
    let mut tag = String::with_capacity(route.len());
    for character in route.chars() {
        if character.is_control() || matches!(character, ' ' | ',' | '%') {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                tag.push_str(&format!("%{byte:02X}"));
            }
        } else {
            tag.push(character);
        }
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_becomes_a_tag_without_what_ends_it() {
        assert_eq!(tag_of("GET /a,b\n%20ü"), "GET%20/a%2Cb%0A%2520ü");
        assert!(Tag::new(&tag_of("\r\n, ")).is_some());
    }

    #[test]
    fn routes_beyond_the_bound_are_together() {
        let mut hdr = Hdr::new();
        for number in 0..ROUTES + 5 {
            hdr.count(&format!("GET /{number}"), 10).expect("in bounds");
        }
        assert_eq!(hdr.routes.len(), ROUTES + 1);
        assert_eq!(hdr.routes[OTHER].len(), 5);
        assert_eq!(hdr.all.len() as usize, ROUTES + 5);
    }
}
