//! From a recording folder to a file of another tool.
//!
//! The file is written under the name it is told, whole or not at all being the caller's business:
//! only the command line knows how to clean up when it is interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};

use bobtail_breakdown::{Population, Survey};
use bobtail_export::{
    Candidate, Chosen, Encoding, ExportError, Hdr, Otlp, Perfetto, Pprof, Rank, Rows, Source,
    Wanted, Windows, choose, pick,
};
use bobtail_trace::TraceError;
use bobtail_trace::record::{Ns, RequestId};
use serde::Serialize;

use crate::analysis::{find, names, open, to_json};
use crate::error::BindingError;
use crate::options::{ExportOptions, Format, parse};
use crate::recording::Recording;
use crate::sources::Names;
use crate::surveyed::Surveyed;

const BUFFER_BYTES: usize = 1 << 18;

/// What was exported.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Exported {
    requests: u64,
    /// Records lost while recording, by word: what there is has gaps.
    losses: BTreeMap<String, u64>,
}

/// Writes the file and says what is in it, as JSON.
pub fn export(surveyed: &Surveyed, options_json: &str) -> Result<String, BindingError> {
    run(surveyed, options_json, |job, picked| job.write(picked))
}

/// Hands on rows of tables, and at last says what is in them, as JSON.
pub fn rows(
    surveyed: &Surveyed,
    options_json: &str,
    sink: &mut dyn FnMut(String) -> io::Result<()>,
) -> Result<String, BindingError> {
    run(surveyed, options_json, |job, picked| job.rows(picked, sink))
}

fn run(
    surveyed: &Surveyed,
    options_json: &str,
    write: impl FnOnce(&Job<'_>, &[Picked]) -> Result<u64, BindingError>,
) -> Result<String, BindingError> {
    let options: ExportOptions = parse(options_json)?;
    options.check()?;
    let Surveyed { recording, surveys } = surveyed;
    let population = surveyed.population(options.percentile());
    let job = Job {
        wanted: wanted(&options, surveys, &population),
        tail_from_ns: population.tail.threshold_ns,
        recording,
        surveys,
        options,
    };
    let mut exported = Exported {
        requests: write(&job, &job.picked()?)?,
        ..Exported::default()
    };
    for (word, count) in job.surveys.iter().flat_map(|survey| &survey.losses) {
        *exported.losses.entry(word.clone()).or_default() += count;
    }
    exported.losses.retain(|_, count| *count > 0);
    to_json(&exported)
}

/// Times of the options count from the start of the recording.
fn wanted(options: &ExportOptions, surveys: &[Survey], population: &Population) -> Wanted {
    let starts = surveys.iter().map(|survey| survey.trace.start_ns);
    let start_ns = starts.min().unwrap_or(0);
    let rank = match options.slowest {
        Some(count) => Rank::Slowest(count),
        None if options.is_of_all() => Rank::All,
        None => Rank::From(population.tail.threshold_ns),
    };
    Wanted {
        rank,
        route: options.route.clone(),
        from_ns: options.from_ns.map(|ns| start_ns.saturating_add(ns)),
        to_ns: options.to_ns.map(|ns| start_ns.saturating_add(ns)),
    }
}

/// One export under way.
struct Job<'a> {
    options: ExportOptions,
    wanted: Wanted,
    recording: &'a Recording,
    surveys: &'a [Survey],
    tail_from_ns: u64,
}

/// The chosen requests of one trace, and when they were under way.
struct Picked {
    chosen: Chosen,
    times_ns: Vec<(Ns, Ns)>,
}

impl Job<'_> {
    /// The requests of each trace that are exported; an error when there are none.
    fn picked(&self) -> Result<Vec<Picked>, BindingError> {
        if self.wanted == Wanted::ALL && self.options.requests.is_none() {
            let all = self.surveys.iter().map(|_| Picked {
                chosen: Chosen::All,
                times_ns: Vec::new(),
            });
            return Ok(all.collect());
        }
        let named = self.named()?;
        let traces = self.recording.traces.iter().zip(self.surveys).enumerate();
        let candidates: Result<Vec<_>, BindingError> = traces
            .map(|(index, (trace, survey))| {
                let reader = open(trace)?;
                let strings = names(&reader);
                let mut fitting = choose(&survey.trace, reader, &strings, &self.wanted)
                    .map_err(|error| trace.failure(error))?;
                if let Some(named) = &named {
                    fitting.retain(|one| named.contains(&(index, one.request.0)));
                }
                Ok(fitting)
            })
            .collect();
        let picked = pick(candidates?, &self.wanted);
        self.check(&picked)?;
        Ok(picked.into_iter().map(Picked::of).collect())
    }

    /// The requests that were asked for by id.
    fn named(&self) -> Result<Option<BTreeSet<(usize, RequestId)>>, BindingError> {
        let Some(ids) = &self.options.requests else {
            return Ok(None);
        };
        let found = ids.iter().map(|id| find(self.recording, id));
        found.collect::<Result<_, _>>().map(Some)
    }

    /// Refuses what nothing fits: every id, and the rest together.
    fn check(&self, picked: &[Vec<Candidate>]) -> Result<(), BindingError> {
        for id in self.options.requests.iter().flatten() {
            let (index, request) = find(self.recording, id)?;
            if !picked[index].iter().any(|one| one.request.0 == request) {
                return Err(BindingError::UnknownRequest { id: id.clone() });
            }
        }
        if picked.iter().any(|some| !some.is_empty()) {
            return Ok(());
        }
        let id = match &self.options.route {
            Some(route) => format!("route {route}"),
            None => "in this time".to_owned(),
        };
        Err(BindingError::UnknownRequest { id })
    }

    fn write(&self, picked: &[Picked]) -> Result<u64, BindingError> {
        let error = |error| BindingError::write(&self.options.out, error);
        let file = File::create(&self.options.file).map_err(error)?;
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
        let count = match self.options.format {
            Format::Perfetto => self.perfetto(&mut out, picked)?,
            Format::Pprof => self.pprof(&mut out, picked)?,
            Format::Hdr => self.hdr(&mut out, picked)?,
            Format::Rows => {
                let reason = "rows are read by RowReader".to_owned();
                return Err(BindingError::Options { reason });
            }
            Format::OtlpJson => self.otlp(&mut out, picked, Encoding::Json)?,
            Format::OtlpProtobuf => self.otlp(&mut out, picked, Encoding::Protobuf)?,
        };
        out.flush().map_err(error)?;
        Ok(count)
    }

    fn perfetto(&self, out: impl Write, picked: &[Picked]) -> Result<u64, BindingError> {
        let windows = if self.options.is_selective() {
            Windows::around(picked.iter().flat_map(|one| one.times_ns.iter().copied()))
        } else {
            Windows::ALL
        };
        let mut perfetto = Perfetto::new(out, &self.recording.run.command, windows);
        self.each_trace(picked, |source, readers| {
            let [for_requests, for_events] = readers;
            perfetto.add(source, for_requests, for_events)
        })
    }

    fn otlp(
        &self,
        out: impl Write,
        picked: &[Picked],
        encoding: Encoding,
    ) -> Result<u64, BindingError> {
        let mut otlp = Otlp::new(out, encoding, &self.options.service);
        let count = self.each_trace(picked, |source, [records]| otlp.add(source, records))?;
        otlp.finish()
            .map_err(|error| BindingError::write(&self.options.out, error))?;
        Ok(count)
    }

    fn pprof(&self, out: impl Write, picked: &[Picked]) -> Result<u64, BindingError> {
        let mut pprof = Pprof::default();
        let count = self.each_trace(picked, |source, [records]| pprof.add(source, records))?;
        pprof
            .write(out, self.duration_ns())
            .map_err(|error| BindingError::write(&self.options.out, error))?;
        Ok(count)
    }

    fn hdr(&self, out: impl Write, picked: &[Picked]) -> Result<u64, BindingError> {
        let mut hdr = Hdr::new();
        let count = self.each_trace(picked, |source, [records]| hdr.add(source, records))?;
        hdr.write(out, self.duration_ns())
            .map_err(|error| BindingError::write(&self.options.out, error))?;
        Ok(count)
    }

    fn rows(
        &self,
        picked: &[Picked],
        sink: &mut dyn FnMut(String) -> io::Result<()>,
    ) -> Result<u64, BindingError> {
        let mut rows = Rows::new(self.start_ns(), self.tail_from_ns, sink);
        let count = self.each_trace(picked, |source, [records]| rows.add(source, records))?;
        rows.finish()
            .map_err(|error| BindingError::write(&self.options.out, error))?;
        Ok(count)
    }

    /// In tables of all requests, culprits are told of the tail: an overload in which thousands
    /// queue behind thousands would make millions of rows otherwise.
    fn culprits_from_ns(&self) -> u64 {
        match self.options.format {
            Format::Rows if self.wanted == Wanted::ALL => self.tail_from_ns,
            _ => 0,
        }
    }

    fn start_ns(&self) -> Ns {
        let starts = self.surveys.iter().map(|survey| survey.trace.start_ns);
        starts.min().unwrap_or(0)
    }

    /// Of the recording, as the report has it.
    fn duration_ns(&self) -> u64 {
        let ends = self.surveys.iter().map(|survey| survey.end_ns);
        ends.max().unwrap_or(0).saturating_sub(self.start_ns())
    }

    /// Runs an exporter over every trace with as many readers as it takes; sums what it returns.
    fn each_trace<const N: usize>(
        &self,
        picked: &[Picked],
        mut one: impl FnMut(&Source<'_, Names>, [Reader; N]) -> Written,
    ) -> Result<u64, BindingError> {
        let mut count = 0;
        let traces = self.recording.traces.iter().zip(self.surveys);
        for ((trace, survey), picked) in traces.zip(picked) {
            let first = open(trace)?;
            let source = Source {
                trace: &survey.trace,
                start_realtime_ns: first.header().start_realtime_ns,
                strings: &names(&first),
                chosen: &picked.chosen,
                culprits_from_ns: self.culprits_from_ns(),
            };
            let mut readers = vec![first];
            while readers.len() < N {
                readers.push(open(trace)?);
            }
            let Ok(readers) = readers.try_into() else {
                let reason = "an exporter reads a trace at least once".to_owned();
                return Err(BindingError::Internal { reason });
            };
            count += one(&source, readers).map_err(|error| match error {
                ExportError::Read(error) => trace.failure(error),
                ExportError::Write(error) => BindingError::write(&self.options.out, error),
            })?;
        }
        Ok(count)
    }
}

impl Picked {
    fn of(candidates: Vec<Candidate>) -> Self {
        let times = candidates
            .iter()
            .map(|one| (one.begin_ns, one.begin_ns.saturating_add(one.latency_ns)));
        Self {
            times_ns: times.collect(),
            chosen: Chosen::Only(candidates.iter().map(|one| one.request.0).collect()),
        }
    }
}

/// How many requests an exporter wrote.
type Written = Result<u64, ExportError<TraceError>>;
type Reader = bobtail_trace::TraceReader<crate::trace_file::TraceFile>;
