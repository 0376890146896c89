//! From a recording folder to what changes would bring.

use std::collections::BTreeMap;
use std::path::Path;

use bobtail_breakdown::Measured;
use bobtail_sim::{
    Capture, Components, Coverage, Model, Refusal, Scenario, Telling, WhatIf, parse_each,
    what_if as answer_of,
};
use serde::Serialize;

use crate::analysis::{names, open, survey_all, to_json, trace_info, why_nothing};
use crate::error::BindingError;
use crate::options::{ReportOptions, WhatIfOptions, parse};
use crate::recording::Recording;

/// Name and version of the answer.
const SCHEMA: &str = "bobtail-whatif/1";

/// The answer with where it came from.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    schema: &'static str,
    run: Run,
    left_out_requests: Option<u64>,
    #[serde(flatten)]
    what_if: WhatIf,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    command: Vec<String>,
    started_at: String,
}

/// What scenarios would bring, as JSON.
pub fn what_if(dir: &Path, options_json: &str) -> Result<String, BindingError> {
    let options: WhatIfOptions = parse(options_json)?;
    let percentile = options.percentile;
    ReportOptions { percentile }.check()?;
    let recording = Recording::open(dir)?;
    if recording.run.detail == "loop" {
        return Err(refused(
            dir,
            "--detail loop tells nothing of what depends on what; record again without it",
        ));
    }
    let mut components = Components::new();
    let Found {
        models,
        coverage,
        jobs,
    } = found(&recording, &mut components)?;
    let mut scenarios: Vec<(String, Scenario)> = Vec::new();
    for text in &options.scenarios {
        let each = parse_each(text, &components).map_err(|error| BindingError::Change { error })?;
        // One that is asked for twice, as in a range and by itself, has one answer.
        for one in each {
            if !scenarios.iter().any(|(name, _)| *name == one.0) {
                scenarios.push(one);
            }
        }
    }
    if scenarios.iter().any(|(_, one)| one.pool.is_some()) {
        check_pool(&recording, &jobs)?;
    }
    check_measured(&recording, &models, &scenarios)?;
    let mut models: Vec<Model> = models.into_iter().map(|one| one.model).collect();
    let disturbed = recording.disturbed();
    let left_out = disturbed.leave_out(&mut models);
    let telling = Telling {
        tail: percentile,
        latencies: options.latencies,
    };
    let mut what_if =
        answer_of(&models, &coverage, &components, &scenarios, telling).map_err(|error| {
            let more = match left_out.requests() {
                Some(count @ 1..) => format!("; {count} more came {}", disturbed.when()),
                _ => String::new(),
            };
            refused(dir, &format!("{error}{more}"))
        })?;
    what_if
        .notes
        .extend(disturbed.note(left_out, what_if.requests));
    what_if.notes.extend(unrecorded(recording.refused_loops));
    what_if.notes.extend(sharing_pools(&jobs));
    to_json(&Answer {
        schema: SCHEMA,
        run: Run {
            command: recording.run.command.clone(),
            started_at: recording.run.started_at.clone(),
        },
        left_out_requests: left_out.requests(),
        what_if,
    })
}

/// A loop that answered requests.
struct Served {
    /// Which classes of its work were measured.
    measured: Measured,
    model: Model,
}

/// What is to be said of threads that share a pool: each is replayed with all of it.
fn sharing_pools(jobs: &Jobs) -> Option<String> {
    let replayed = |threads: &[PoolUser]| threads.iter().filter(|one| one.is_replayed).count();
    let mut each = jobs
        .iter()
        .map(|(pid, all)| (pid, replayed(&users_of(all))));
    let (pid, threads) = each.find(|(_, threads)| *threads > 1)?;
    Some(format!(
        "{threads} threads of process {pid} share its thread pool, and each is replayed as if it \
         had that for itself: under more load they would wait for each other, too"
    ))
}

/// What is to be said of loops that were not recorded.
fn unrecorded(loops: u64) -> Option<String> {
    let which = match loops {
        0 => return None,
        1 => "1 more event loop was".to_owned(),
        _ => format!("{loops} more event loops were"),
    };
    Some(format!(
        "{which} not recorded: nothing of that is in these figures"
    ))
}

/// Threads of each process with jobs for its pool, by pid.
type Jobs = BTreeMap<u32, Vec<PoolUser>>;

/// A thread that had jobs for the pool of its process.
#[derive(Debug, Clone, Copy)]
struct PoolUser {
    jobs: usize,
    is_replayed: bool,
}

/// One in so many of the jobs of a process says nothing: a thread that read a file as it started.
const JOBS_ONCE_IN: usize = 100;

/// Those that share a pool in earnest.
fn users_of(threads: &[PoolUser]) -> Vec<PoolUser> {
    let all: usize = threads.iter().map(|one| one.jobs).sum();
    let uses = |one: &&PoolUser| one.jobs * JOBS_ONCE_IN > all;
    threads.iter().filter(uses).copied().collect()
}

/// What the traces of a recording have for a replay.
struct Found {
    models: Vec<Served>,
    coverage: Coverage,
    jobs: Jobs,
}

fn found(recording: &Recording, components: &mut Components) -> Result<Found, BindingError> {
    let mut models = Vec::new();
    let mut jobs = Jobs::new();
    let mut covered = Vec::new();
    for trace in &recording.traces {
        let reader = open(trace)?;
        let strings = names(&reader);
        let warmup_end_ns = trace_info(recording, trace, &reader).warmup_end_ns;
        let mut capture = Capture::new(warmup_end_ns);
        for record in reader {
            capture.push(record.map_err(|error| trace.failure(error))?);
        }
        let text = |id| bobtail_breakdown::Strings::get(&strings, id);
        let log = capture.finish();
        let log = log.map_err(|refusal| refused(&trace.path, &refusal.to_string()))?;
        covered.push(Coverage::of(&log));
        let model = Model::of(&log, text, components);
        jobs.entry(trace.pid).or_default().push(PoolUser {
            jobs: log.jobs(),
            is_replayed: model.is_ok(),
        });
        match model {
            Ok(model) => models.push(Served {
                measured: recording.measured(trace.pid, trace.thread),
                model,
            }),
            // A thread that serves nothing.
            Err(Refusal::NoRequests) => {}
            Err(refusal) => return Err(refused(&trace.path, &refusal.to_string())),
        }
    }
    let coverage: Coverage = covered.into_iter().sum();
    let enough = coverage.check();
    enough.map_err(|refusal| refused(&recording.dir, &refusal.to_string()))?;
    if models.is_empty() {
        return Err(why_nothing(recording, &survey_all(recording, 1)?));
    }
    Ok(Found {
        models,
        coverage,
        jobs,
    })
}

/// The threads of a process share one pool, of which each trace sees its own jobs only.
fn check_pool(recording: &Recording, jobs: &Jobs) -> Result<(), BindingError> {
    let mut users = jobs.iter().map(|(pid, all)| (pid, users_of(all).len()));
    match users.find(|(_, users)| *users > 1) {
        Some((pid, users)) => Err(refused(
            &recording.dir,
            &format!("{users} threads of process {pid} share its pool, so `pool` has no answer"),
        )),
        None => Ok(()),
    }
}

/// Refuses a change of what was not measured: it would look like one that brings nothing.
fn check_measured(
    recording: &Recording,
    models: &[Served],
    scenarios: &[(String, Scenario)],
) -> Result<(), BindingError> {
    let everywhere = |is: fn(&Measured) -> bool| models.iter().all(|one| is(&one.measured));
    let measured = [
        everywhere(|one| one.gc),
        everywhere(|one| one.jit),
        everywhere(|one| one.ic),
        everywhere(|one| one.not_running),
    ];
    for (name, scenario) in scenarios {
        let changed = scenario.changes_alone();
        let lacking = (0..measured.len()).find(|&at| changed[at] && !measured[at]);
        let Some(at) = lacking else { continue };
        let mechanism = Measured::MECHANISMS[at];
        let unavailable = recording.unavailable();
        let known = unavailable.iter().find(|one| one.mechanism == mechanism);
        let why = known.map_or(String::new(), |one| format!(": {}", one.reason));
        return Err(refused(
            &recording.dir,
            &format!("`{name}` changes what was not measured ({mechanism}{why})"),
        ));
    }
    Ok(())
}

fn refused(path: &Path, reason: &str) -> BindingError {
    BindingError::NotReplayable {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}
