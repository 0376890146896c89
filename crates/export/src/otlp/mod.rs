//! OTLP: a request body for `/v1/traces`, one trace per request.
//!
//! The recording does not hold the headers of requests, so an incoming `traceparent` is not known
//! and the trace ids are Bobtail's own. The body is written in pieces: in protobuf, concatenated
//! pieces of a message are the message, so no more than one piece is in memory.
//!
//! | file | concept |
//! |---|---|
//! | `messages` | the messages, in protobuf and in JSON |
//! | `spans` | the spans of one request |

#[cfg(test)]
mod invariants;
mod messages;
mod spans;

use std::io::{self, Write};

use bobtail_breakdown::Strings;
use bobtail_trace::record::Record;
use prost::Message;

use crate::error::ExportError;
use crate::source::Source;
use messages::{Resource, ResourceSpans, Scope, ScopeSpans, Span, attribute};
use spans::Spans;

/// Spans of one piece.
const SPANS: usize = 2000;
/// `ExportTraceServiceRequest.resource_spans`, length-delimited.
const RESOURCE_SPANS_TAG: u8 = 0x0a;

/// How the body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Protobuf,
}

/// A body that grows trace by trace.
#[derive(Debug)]
pub struct Otlp<'a, W> {
    out: W,
    encoding: Encoding,
    service: &'a str,
    pieces: u64,
}

impl<'a, W: Write> Otlp<'a, W> {
    /// An empty body; `service` is the `service.name` of all spans.
    pub fn new(out: W, encoding: Encoding, service: &'a str) -> Self {
        Self {
            out,
            encoding,
            service,
            pieces: 0,
        }
    }

    /// Adds the chosen requests of one trace; returns how many there were.
    ///
    /// # Errors
    ///
    /// Those of the iterator, and of writing.
    pub fn add<E, S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        records: impl IntoIterator<Item = Result<Record, E>>,
    ) -> Result<u64, ExportError<E>> {
        let spans = Spans { source };
        let resource = self.resource(source);
        let mut waiting = Vec::new();
        let mut count = 0;
        source.each_request(records, |path, window| {
            if !path.walked {
                return Ok(());
            }
            count += 1;
            waiting.extend(spans.of(path, window));
            if waiting.len() < SPANS {
                return Ok(());
            }
            self.piece(&resource, std::mem::take(&mut waiting))
        })?;
        if !waiting.is_empty() {
            self.piece(&resource, waiting)?;
        }
        Ok(count)
    }

    /// Ends the body.
    pub fn finish(mut self) -> io::Result<W> {
        if self.encoding == Encoding::Json {
            let begin: &[u8] = if self.pieces == 0 {
                b"{\"resourceSpans\":["
            } else {
                b""
            };
            self.out.write_all(begin)?;
            self.out.write_all(b"]}\n")?;
        }
        Ok(self.out)
    }

    fn resource<S: Strings + ?Sized>(&self, source: &Source<'_, S>) -> Resource {
        let trace = source.trace;
        Resource {
            attributes: vec![
                attribute("service.name", self.service),
                attribute("process.pid", u64::from(trace.pid)),
                attribute("thread.id", u64::from(trace.thread)),
                attribute("process.runtime.name", "nodejs"),
                attribute(
                    "process.runtime.version",
                    trace.node.trim_start_matches('v'),
                ),
            ],
        }
    }

    fn piece(&mut self, resource: &Resource, spans: Vec<Span>) -> io::Result<()> {
        let scope = Scope {
            name: "bobtail".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let piece = ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope),
                spans,
            }],
        };
        self.pieces += 1;
        match self.encoding {
            Encoding::Json => {
                let before: &[u8] = if self.pieces == 1 {
                    b"{\"resourceSpans\":["
                } else {
                    b",\n"
                };
                self.out.write_all(before)?;
                serde_json::to_writer(&mut self.out, &piece).map_err(io::Error::from)
            }
            Encoding::Protobuf => {
                let mut bytes = vec![RESOURCE_SPANS_TAG];
                piece.encode_length_delimited(&mut bytes)?;
                self.out.write_all(&bytes)
            }
        }
    }
}
