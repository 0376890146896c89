//! Rows for tables: requests, their segments, who was in the way, and collections
//! (`spec/tables.md`).
//!
//! The rows are handed on in pieces instead of being written, because the file format has a small
//! writer in the language of the command line, while the one for Rust would double the build.
//!
//! | file | concept |
//! |---|---|
//! | `table` | pieces of a table |

#[cfg(test)]
mod invariants;
mod table;

use std::cell::RefCell;
use std::io;

use bobtail_breakdown::{Strings, culprit_word};
use bobtail_graph::{Collection, Culprit, RequestPath, Segment, SegmentKind, Work};
use bobtail_trace::record::{Ns, Record};

use crate::error::ExportError;
use crate::source::Source;
use table::{Sink, Table, Value};

/// A row, in the order of the columns.
type Row = Vec<(&'static str, Value)>;

/// Tables that grow trace by trace.
pub struct Rows<'a> {
    tables: RefCell<Tables<'a>>,
    /// The start of the recording, from which times count.
    start_ns: Ns,
    /// Requests of at least this latency are the tail.
    tail_from_ns: u64,
}

struct Tables<'a> {
    requests: Table,
    segments: Table,
    culprits: Table,
    gc: Table,
    sink: &'a mut Sink<'a>,
}

impl Tables<'_> {
    fn hand_on_full(&mut self) -> io::Result<()> {
        let all = [
            &mut self.requests,
            &mut self.segments,
            &mut self.culprits,
            &mut self.gc,
        ];
        all.into_iter()
            .filter(|table| table.is_full())
            .try_for_each(|table| table.hand_on(self.sink))
    }

    fn hand_on_all(&mut self) -> io::Result<()> {
        let all = [
            &mut self.requests,
            &mut self.segments,
            &mut self.culprits,
            &mut self.gc,
        ];
        all.into_iter()
            .try_for_each(|table| table.hand_on(self.sink))
    }
}

impl<'a> Rows<'a> {
    /// Empty tables, whose pieces go to `sink` as JSON.
    pub fn new(
        start_ns: Ns,
        tail_from_ns: u64,
        sink: &'a mut (dyn FnMut(String) -> io::Result<()> + 'a),
    ) -> Self {
        let tables = Tables {
            requests: Table::new("requests"),
            segments: Table::new("segments"),
            culprits: Table::new("culprits"),
            gc: Table::new("gc"),
            sink,
        };
        Self {
            tables: RefCell::new(tables),
            start_ns,
            tail_from_ns,
        }
    }

    /// Adds one trace: its chosen requests, and every collection after warm-up. Returns how many
    /// requests there were.
    ///
    /// # Errors
    ///
    /// Those of the iterator and of the sink.
    pub fn add<E, S: Strings + ?Sized>(
        &mut self,
        source: &Source<'_, S>,
        records: impl IntoIterator<Item = Result<Record, E>>,
    ) -> Result<u64, ExportError<E>> {
        let mut collection = 0;
        let seen = records.into_iter().inspect(|record| {
            let told = record.as_ref().ok().and_then(Collection::told_by);
            if let Some(whole) = told {
                collection += 1;
                let warmup_end_ns = source.trace.warmup_end_ns.unwrap_or(0);
                if whole.begin_ns >= warmup_end_ns {
                    let row = self.collection(source, collection, &whole);
                    self.tables.borrow_mut().gc.row(row);
                }
            }
        });
        let mut count = 0;
        source.each_request(seen, |path, _| {
            if !path.walked {
                return Ok(());
            }
            count += 1;
            self.request(source, path);
            self.tables.borrow_mut().hand_on_full()
        })?;
        self.tables.borrow_mut().hand_on_full()?;
        Ok(count)
    }

    /// Hands on what is left.
    ///
    /// # Errors
    ///
    /// Those of the sink.
    pub fn finish(self) -> io::Result<()> {
        self.tables.borrow_mut().hand_on_all()
    }

    fn collection<S: Strings + ?Sized>(
        &self,
        source: &Source<'_, S>,
        number: u32,
        whole: &Collection,
    ) -> Row {
        let Collection {
            begin_ns, end_ns, ..
        } = *whole;
        vec![
            ("pid", source.trace.pid.into()),
            ("thread", source.trace.thread.into()),
            ("collection", number.into()),
            ("kind", whole.as_culprit().word().into()),
            ("start_ns", begin_ns.saturating_sub(self.start_ns).into()),
            ("duration_ns", end_ns.saturating_sub(begin_ns).into()),
        ]
    }

    fn request<S: Strings + ?Sized>(&self, source: &Source<'_, S>, path: &RequestPath) {
        let mut tables = self.tables.borrow_mut();
        let id = source.trace.request_name(path.id);
        tables.requests.row(self.request_row(source, path, &id));
        for (place, segment) in path.segments.iter().enumerate() {
            let place = place as u64;
            tables
                .segments
                .row(segment_row(source, path, segment, (&id, place)));
            for culprit in path.culprits_of(segment) {
                tables
                    .culprits
                    .row(culprit_row(source, culprit, (&id, place)));
            }
        }
    }

    fn request_row<S: Strings + ?Sized>(
        &self,
        source: &Source<'_, S>,
        path: &RequestPath,
        id: &str,
    ) -> Row {
        let [io_ns, queue_ns, exec_ns, unattributed_ns] = [
            SegmentKind::Io,
            SegmentKind::Queue,
            SegmentKind::Exec,
            SegmentKind::Unattributed,
        ]
        .map(|kind| path.total_ns(kind));
        let mut row: Row = vec![
            ("request", id.into()),
            ("pid", source.trace.pid.into()),
            ("thread", source.trace.thread.into()),
            ("route", source.text(path.route).into()),
            ("name", source.text(path.name).into()),
            ("status", path.status.into()),
            // As text: JavaScript has no number that is exact.
            (
                "start_unix_ns",
                source
                    .unix_ns(path.source_ready_ns)
                    .to_string()
                    .as_str()
                    .into(),
            ),
            (
                "start_ns",
                path.source_ready_ns.saturating_sub(self.start_ns).into(),
            ),
            ("latency_ns", path.latency_ns.into()),
            ("io_ns", io_ns.into()),
            ("queue_ns", queue_ns.into()),
            ("exec_ns", exec_ns.into()),
            ("unattributed_ns", unattributed_ns.into()),
        ];
        row.extend(work_row(source, queue_ns + exec_ns, &path.work()));
        row.extend([
            ("tail", (path.latency_ns >= self.tail_from_ns).into()),
            ("complete", path.complete().into()),
            ("inferred_hops", path.inferred_hops.into()),
        ]);
        row
    }
}

fn segment_row<S: Strings + ?Sized>(
    source: &Source<'_, S>,
    path: &RequestPath,
    segment: &Segment,
    (id, place): (&str, u64),
) -> Row {
    let mut row: Row = vec![
        ("request", id.into()),
        ("segment", place.into()),
        ("kind", segment.kind.word().into()),
        (
            "start_ns",
            segment.start_ns.saturating_sub(path.source_ready_ns).into(),
        ),
        ("duration_ns", segment.duration_ns.into()),
        ("event", segment.event.into()),
        ("event_type", segment.event_kind.word().into()),
        ("resource", source.resource(segment.resource).into()),
        ("part", segment.part.map(|part| part.word()).into()),
        ("exact", (segment.exact && !segment.inferred).into()),
        ("inferred", segment.inferred.into()),
        ("shared", segment.shared.into()),
    ];
    let works = matches!(segment.kind, SegmentKind::Queue | SegmentKind::Exec);
    let worked_ns = if works { segment.duration_ns } else { 0 };
    row.extend(work_row(source, worked_ns, &segment.work));
    row
}

/// What the loop thread did in so long; null is "not measured".
fn work_row<S: Strings + ?Sized>(source: &Source<'_, S>, total_ns: u64, work: &Work) -> Row {
    let work = source.trace.measured.work(total_ns, work);
    vec![
        ("native_ns", work.native_ns.into()),
        ("gc_ns", work.gc_ns.into()),
        ("jit_ns", work.jit_ns.into()),
        ("ic_ns", work.ic_ns.into()),
        ("loop_ns", work.loop_ns.into()),
        ("not_running_ns", work.not_running_ns.into()),
    ]
}

fn culprit_row<S: Strings + ?Sized>(
    source: &Source<'_, S>,
    culprit: &Culprit,
    (id, place): (&str, u64),
) -> Row {
    let other = (culprit.request != 0).then(|| source.trace.request_name(culprit.request));
    let location = source.location(culprit.location).map(|at| at.to_string());
    vec![
        ("request", id.into()),
        ("segment", place.into()),
        (
            "type",
            culprit_word(culprit, source.strings).as_str().into(),
        ),
        ("duration_ns", culprit.duration_ns.into()),
        (
            "event",
            (culprit.event != 0).then_some(culprit.event).into(),
        ),
        ("culprit_request", other.as_deref().into()),
        ("route", source.text(culprit.route).into()),
        ("location", location.as_deref().into()),
        (
            "collection",
            (culprit.collection != 0)
                .then_some(culprit.collection)
                .into(),
        ),
    ]
}
