//! One trace as every exporter needs it: facts, names, clock, and the paths of chosen requests.

use std::cell::Cell;
use std::io;

use bobtail_breakdown::{CodeLocation, Strings, TraceInfo, shown_place};
use bobtail_graph::{Graph, Options, RequestPath, Resource, Walks, Window};
use bobtail_trace::record::{CodePlace, Ns, Record, StringId};

use crate::chosen::{Chosen, is_warmup};
use crate::error::ExportError;

/// A trace and what of it is wanted.
#[derive(Debug)]
pub struct Source<'a, S: ?Sized> {
    /// With the end of warm-up as the first pass found it.
    pub trace: &'a TraceInfo,
    /// The start of the trace on `CLOCK_REALTIME`.
    pub start_realtime_ns: u64,
    pub strings: &'a S,
    pub chosen: &'a Chosen,
    /// Culprits are listed for requests of at least this latency; see `Options` of the graph.
    pub culprits_from_ns: u64,
}

impl<'a, S: Strings + ?Sized> Source<'a, S> {
    pub(crate) fn text(&self, id: StringId) -> Option<&'a str> {
        self.strings.get(id)
    }

    /// The time of day of a moment of the trace, in nanoseconds since 1970.
    pub(crate) fn unix_ns(&self, at_ns: Ns) -> u64 {
        let since_ns = at_ns as i64 - self.trace.start_ns as i64;
        self.start_realtime_ns.saturating_add_signed(since_ns)
    }

    /// Where code is, in its source where that is known.
    pub(crate) fn location(&self, place: CodePlace) -> Option<CodeLocation> {
        shown_place(place, self.strings)
    }

    /// What an `io` segment or an event waited for.
    pub(crate) fn resource(&self, resource: Resource) -> Option<&'a str> {
        match resource {
            Resource::Unnamed => None,
            Resource::Client => Some("client"),
            Resource::Named(id) => self.text(id),
        }
    }

    /// Hands on every request after warm-up, chosen or not, in the order of their ends; only the
    /// chosen ones are walked.
    pub(crate) fn each_request<E>(
        &self,
        records: impl IntoIterator<Item = Result<Record, E>>,
        each: impl FnMut(&RequestPath, Window<'_>) -> io::Result<()>,
    ) -> Result<(), ExportError<E>> {
        self.each_of(self.chosen.walks(), records, each)
    }

    /// Hands on the chosen requests, in the order of their ends; none is walked.
    pub(crate) fn each_latency<E>(
        &self,
        records: impl IntoIterator<Item = Result<Record, E>>,
        mut each: impl FnMut(&RequestPath) -> io::Result<()>,
    ) -> Result<(), ExportError<E>> {
        self.each_of(Walks::None, records, |path, _| {
            if self.chosen.has(path.id) {
                each(path)
            } else {
                Ok(())
            }
        })
    }

    fn each_of<E>(
        &self,
        walks: Walks,
        records: impl IntoIterator<Item = Result<Record, E>>,
        mut each: impl FnMut(&RequestPath, Window<'_>) -> io::Result<()>,
    ) -> Result<(), ExportError<E>> {
        let mut graph = Graph::new(Options {
            walks,
            culprits_from_ns: self.culprits_from_ns,
            ..Options::default()
        });
        let failed = Cell::new(None);
        let mut finished = |path: &RequestPath, window: Window<'_>| {
            if !is_warmup(self.trace, path)
                && let Err(error) = each(path, window)
            {
                failed.set(Some(error));
            }
        };
        for record in records {
            graph.push(record.map_err(ExportError::Read)?, &mut finished);
            if let Some(error) = failed.take() {
                return Err(error.into());
            }
        }
        graph.finish(&mut finished);
        failed.take().map_or(Ok(()), |error| Err(error.into()))
    }
}
