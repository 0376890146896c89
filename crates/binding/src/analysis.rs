//! From a recording folder to the answers, through every stage.
//!
//! Each pass opens the traces anew instead of keeping them open, so that a recording of hundreds of
//! processes needs one descriptor and one chunk of memory at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bobtail_breakdown::{
    Aggregate, Explain, RunFacts, Survey, TraceInfo, aggregate, explain as explain_requests,
    report as put_together, slowest, survey,
};
use bobtail_trace::record::{LossKind, RequestId};
use bobtail_trace::{OnDamage, TraceReader};
use serde::Serialize;

use crate::error::BindingError;
use crate::options::{ExplainManyOptions, ExplainOptions, ReportOptions, parse};
use crate::recording::{Recording, TracePath};
use crate::sources::Names;
use crate::surveyed::Surveyed;
use crate::trace_file::TraceFile;

/// The report as JSON.
pub fn report(surveyed: &Surveyed, options_json: &str) -> Result<String, BindingError> {
    let options: ReportOptions = parse(options_json)?;
    options.check()?;
    let Surveyed { recording, surveys } = surveyed;
    let population = surveyed.population(options.percentile);
    let mut sums = Aggregate::new();
    for (trace, survey) in recording.traces.iter().zip(surveys) {
        let reader = open(trace)?;
        let strings = names(&reader);
        aggregate(&mut sums, reader, &strings, survey, &population)
            .map_err(|error| trace.failure(error))?;
    }
    to_json(&put_together(facts(recording), surveys, &population, &sums))
}

/// How often the slowest is looked for again in a recording that overwrites it meanwhile.
const LOOKS: u32 = 8;

/// One request as JSON.
pub fn explain(dir: &Path, options_json: &str) -> Result<String, BindingError> {
    let options: ExplainOptions = parse(options_json)?;
    match (options.slowest, options.request) {
        // Between finding it and explaining it, a recording under way may overwrite it; then
        // another one is the slowest of what there is.
        (Some(rank), None) => {
            for _ in 1..LOOKS {
                match explain_slowest(dir, rank) {
                    Err(BindingError::Overwritten { .. }) => {}
                    answer => return answer,
                }
            }
            explain_slowest(dir, rank)
        }
        (None, Some(id)) => {
            let recording = Recording::open(dir)?;
            let (index, request) = find(&recording, &id)?;
            match explain_one(&recording, index, request)? {
                Some(answer) => to_json(&answer),
                None => Err(BindingError::UnknownRequest { id }),
            }
        }
        _ => {
            let reason = "exactly one of slowest and request is needed".to_owned();
            Err(BindingError::Options { reason })
        }
    }
}

fn explain_slowest(dir: &Path, rank: u64) -> Result<String, BindingError> {
    let recording = Recording::open(dir)?;
    let (index, request) = nth_slowest(&recording, rank)?;
    match explain_one(&recording, index, request)? {
        Some(answer) => to_json(&answer),
        None => {
            let id = recording.traces[index].request_name(request);
            Err(BindingError::Overwritten { id })
        }
    }
}

fn explain_one(
    recording: &Recording,
    index: usize,
    request: RequestId,
) -> Result<Option<Explain>, BindingError> {
    let wanted = BTreeMap::from([(index, BTreeSet::from([request]))]);
    Ok(explain_wanted(recording, &wanted)?.into_iter().next())
}

/// Several requests as a JSON array, slowest first.
pub fn explain_many(dir: &Path, options_json: &str) -> Result<String, BindingError> {
    let options: ExplainManyOptions = parse(options_json)?;
    let recording = Recording::open(dir)?;
    let mut wanted = Wanted::new();
    match (&options.ids, options.all) {
        (Some(ids), false) => {
            for id in ids {
                let (index, request) = find(&recording, id)?;
                wanted.entry(index).or_default().insert(request);
            }
        }
        (None, true) => {
            let surveys = survey_all(&recording, usize::MAX)?;
            let all = slowest(&surveys, usize::MAX);
            if let (true, Some(lost)) = (all.is_empty(), all_lost(&recording, &surveys)) {
                return Err(lost);
            }
            for (index, request) in all {
                wanted.entry(index).or_default().insert(request);
            }
        }
        _ => {
            let reason = "exactly one of ids and all is needed".to_owned();
            return Err(BindingError::Options { reason });
        }
    }
    let answers = explain_wanted(&recording, &wanted)?;
    let known: BTreeSet<&str> = answers.iter().map(|answer| answer.id.as_str()).collect();
    let mut ids = options.ids.iter().flatten();
    // Of all, those that a growing recording has overwritten meanwhile are gone; none was named.
    match ids.find(|id| !known.contains(id.as_str())) {
        Some(id) => Err(BindingError::UnknownRequest { id: id.clone() }),
        None => to_json(&answers),
    }
}

/// Requests by index of their trace.
type Wanted = BTreeMap<usize, BTreeSet<RequestId>>;

/// Those of the wanted that there are, slowest first; one pass over each trace concerned.
fn explain_wanted(recording: &Recording, wanted: &Wanted) -> Result<Vec<Explain>, BindingError> {
    let mut answers: Vec<(Reverse<u64>, usize, RequestId, Explain)> = Vec::new();
    for (&index, requests) in wanted {
        let trace = &recording.traces[index];
        let reader = open(trace)?;
        let strings = names(&reader);
        let info = trace_info(recording, trace, &reader);
        let found = explain_requests(&info, reader, &strings, requests)
            .map_err(|error| trace.failure(error))?;
        let mut by_id: BTreeMap<String, Explain> =
            found.into_iter().map(|one| (one.id.clone(), one)).collect();
        for &request in requests {
            if let Some(answer) = by_id.remove(&trace.request_name(request)) {
                answers.push((Reverse(answer.latency_ns), index, request, answer));
            }
        }
    }
    answers.sort_by_key(|&(latency_ns, index, request, _)| (latency_ns, index, request));
    Ok(answers.into_iter().map(|(.., answer)| answer).collect())
}

fn nth_slowest(recording: &Recording, rank: u64) -> Result<(usize, RequestId), BindingError> {
    let Some(index) = usize::try_from(rank).unwrap_or(usize::MAX).checked_sub(1) else {
        let reason = "slowest counts from 1".to_owned();
        return Err(BindingError::Options { reason });
    };
    let count = index.saturating_add(1);
    let surveys = survey_all(recording, count)?;
    let ranked = slowest(&surveys, count);
    match ranked.get(index) {
        Some(&found) => Ok(found),
        None if ranked.is_empty() => Err(why_nothing(recording, &surveys)),
        None => {
            let id = format!("slowest {rank} of {}", ranked.len());
            Err(BindingError::UnknownRequest { id })
        }
    }
}

/// Why there is no finished request.
pub(crate) fn why_nothing(recording: &Recording, surveys: &[Survey]) -> BindingError {
    all_lost(recording, surveys).unwrap_or_else(|| BindingError::NothingRecorded {
        path: recording.dir.clone(),
    })
}

/// The damage that may have taken what was recorded: of the first trace that has any.
fn all_lost(recording: &Recording, surveys: &[Survey]) -> Option<BindingError> {
    let mut traces = recording.traces.iter().zip(surveys);
    traces.find_map(|(trace, survey)| {
        let told = survey.losses.get(LossKind::Damaged.word());
        let places = told.copied().unwrap_or(0);
        let reason = first_damage(trace, places > 0)?;
        Some(BindingError::AllLost {
            path: trace.path.clone(),
            reason,
            places,
        })
    })
}

/// Where a strict reader stops; it goes through the records only where damage is known.
fn first_damage(trace: &TracePath, known: bool) -> Option<String> {
    let file = match trace.open() {
        Ok(file) => file,
        Err(error) => return Some(error.to_string()),
    };
    let mut reader = match TraceReader::open(file, OnDamage::Fail) {
        Ok(reader) => reader,
        Err(error) => return Some(error.to_string()),
    };
    if !known {
        return None;
    }
    let stopped = reader.find_map(Result::err);
    Some(stopped.map_or_else(
        || "events that it counts are in none of its chunks".to_owned(),
        |error| error.to_string(),
    ))
}

/// The trace and number of the request called `<pid>-<thread>:<request>`.
pub(crate) fn find(recording: &Recording, id: &str) -> Result<(usize, RequestId), BindingError> {
    let unknown = || BindingError::UnknownRequest { id: id.to_owned() };
    let (process, number) = id.split_once(':').ok_or_else(unknown)?;
    let number: RequestId = number.parse().map_err(|_| unknown())?;
    let index = recording
        .traces
        .iter()
        .position(|trace| format!("{}-{}", trace.pid, trace.thread) == process)
        .ok_or_else(unknown)?;
    Ok((index, number))
}

pub(crate) fn survey_all(
    recording: &Recording,
    slowest: usize,
) -> Result<Vec<Survey>, BindingError> {
    recording
        .traces
        .iter()
        .map(|trace| {
            let reader = open(trace)?;
            let counters: Vec<_> = reader.losses().collect();
            let info = trace_info(recording, trace, &reader);
            let mut survey = survey(&info, reader, slowest).map_err(|e| trace.failure(e))?;
            survey.add_counters(counters);
            Ok(survey)
        })
        .collect()
}

/// Leniently: what a damaged chunk hides is counted as a loss, the rest is still worth reading.
pub(crate) fn open(trace: &TracePath) -> Result<TraceReader<TraceFile>, BindingError> {
    TraceReader::open(trace.open()?, OnDamage::Skip).map_err(|error| trace.failure(error))
}

/// The names of a trace.
pub(crate) fn names(reader: &TraceReader<TraceFile>) -> Names {
    Names::new(reader.strings())
}

pub(crate) fn trace_info(
    recording: &Recording,
    trace: &TracePath,
    reader: &TraceReader<TraceFile>,
) -> TraceInfo {
    let header = reader.header();
    let warmup_ns = recording.run.warmup_ns;
    let listening_ns = recording.listening_ns.unwrap_or(header.start_ns);
    TraceInfo {
        pid: trace.pid,
        thread: trace.thread,
        node: header.node.clone(),
        start_ns: header.start_ns,
        warmup_end_ns: (warmup_ns > 0).then(|| listening_ns.saturating_add(warmup_ns)),
        measured: recording.measured(trace.pid, trace.thread),
        heap: recording.heap(trace.pid, trace.thread),
        throttled: recording.throttled(trace.pid, trace.thread),
        stolen: recording.stolen(),
        taken_by_v8: recording.taken_by_v8(trace.pid, trace.thread),
    }
}

pub(crate) fn facts(recording: &Recording) -> RunFacts {
    let run = &recording.run;
    RunFacts {
        command: run.command.clone(),
        started_at: run.started_at.clone(),
        detail: run.detail.clone(),
        warmup_ns: run.warmup_ns,
        outcome: run.outcome.clone(),
        unavailable: recording.unavailable(),
        refused_loops: recording.refused_loops,
    }
}

pub(crate) fn to_json(answer: &impl Serialize) -> Result<String, BindingError> {
    serde_json::to_string(answer).map_err(|error| BindingError::Internal {
        reason: error.to_string(),
    })
}
