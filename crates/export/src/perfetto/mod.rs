//! A time line for ui.perfetto.dev: loop events, pauses, pool jobs, queue length, requests, and
//! arrows along the critical paths of chosen requests.
//!
//! Each trace is read twice: once for the requests, because an arrow has to be known before the
//! events are drawn that it goes through, and once for the events. The viewer sorts by time, so
//! the order in the file does not matter, and nothing is held back to be sorted here.
//!
//! | file | concept |
//! |---|---|
//! | `messages` | the messages of the format |
//! | `packets` | slices, counters and tracks as packets |
//! | `tracks` | which track a slice is on |
//! | `windows` | which times are drawn |
//! | `requests`, `timeline`, `loop_event`, `queue_length` | what is drawn |

#[cfg(test)]
mod invariants;
mod loop_event;
mod messages;
mod packets;
mod queue_length;
mod requests;
mod timeline;
mod tracks;
mod windows;

use std::io::Write;

use bobtail_breakdown::Strings;
use bobtail_trace::record::Record;

use crate::error::ExportError;
use crate::source::Source;
use packets::Sequence;
use requests::Requests;
use timeline::Timeline;
use tracks::Loop;
pub use windows::Windows;

/// A file that grows trace by trace.
#[derive(Debug)]
pub struct Perfetto<'a, W> {
    out: W,
    /// What was run.
    command: &'a [String],
    windows: Windows,
    traces: u32,
}

impl<'a, W: Write> Perfetto<'a, W> {
    /// An empty file.
    pub fn new(out: W, command: &'a [String], windows: Windows) -> Self {
        Self {
            out,
            command,
            windows,
            traces: 0,
        }
    }

    /// Adds one trace, of which the records are read by two iterators from the same beginning.
    /// Returns how many of the chosen requests there were.
    ///
    /// # Errors
    ///
    /// Those of the iterators, and of writing.
    pub fn add<E, S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        for_requests: impl IntoIterator<Item = Result<Record, E>>,
        for_events: impl IntoIterator<Item = Result<Record, E>>,
    ) -> Result<u64, ExportError<E>> {
        self.traces += 1;
        let mut sequence = Sequence::start(&mut self.out, self.traces)?;
        if self.traces == 1 {
            sequence.clocks(source.trace.start_ns, source.start_realtime_ns)?;
        }
        let process_name = match self.command.join(" ") {
            empty if empty.is_empty() => format!("node {}", source.trace.node),
            command => command,
        };
        Loop::of(source.trace).declare(&mut sequence, &process_name, self.command)?;
        let mut requests = Requests::new(source, &self.windows);
        source.each_request(for_requests, |path, _| requests.draw(&mut sequence, path))?;
        requests.arrows.sort();
        let mut timeline = Timeline::new(source, &self.windows, &requests.arrows);
        for record in for_events {
            timeline.see(&mut sequence, record.map_err(ExportError::Read)?)?;
        }
        timeline.finish(&mut sequence)?;
        Ok(requests.count)
    }

    /// Hands back what was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}
