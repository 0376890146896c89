//! A recording folder: `run.json`, the agents' `process-*.json`, and the traces.
//!
//! The traces are what is recorded; the JSON beside them is told, so a recording whose recorder or
//! process died before writing it is still read.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bobtail_breakdown::report::{Outcome, Unavailable};
use bobtail_breakdown::{Heap, Measured, Taken, TakenInterval, Throttled};
use bobtail_sim::Disturbed;
use bobtail_trace::record::RequestId;
use bobtail_trace::{ReadAt, ReadError, TraceError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::error::BindingError;
use crate::trace_file::TraceFile;

/// `run.json` (`spec/run.schema.json`), as far as the analysis needs it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFile {
    pub command: Vec<String>,
    pub started_at: String,
    pub detail: String,
    pub warmup_ns: u64,
    pub outcome: Option<Outcome>,
    #[serde(default)]
    host: HostFacts,
}

/// Of the machine, as far as the analysis needs it.
#[derive(Debug, Default, Deserialize)]
struct HostFacts {
    #[serde(default)]
    stolen: Vec<TakenFacts>,
    disturbed: Option<Vec<WindowFacts>>,
}

/// A window of time, by `CLOCK_MONOTONIC`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WindowFacts {
    from_ns: u64,
    until_ns: u64,
}

/// An interval in which time was taken, by `CLOCK_MONOTONIC`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TakenFacts {
    from_ns: u64,
    until_ns: u64,
    taken_ns: u64,
}

impl TakenFacts {
    fn all(facts: &[Self]) -> Taken {
        Taken::of(facts.iter().map(|one| TakenInterval {
            from_ns: one.from_ns,
            until_ns: one.until_ns,
            taken_ns: one.taken_ns,
        }))
    }
}

/// `process-<pid>-<thread>.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessFile {
    pub pid: u32,
    pub thread: u32,
    #[serde(default)]
    pub mechanisms: Vec<Mechanism>,
    #[serde(default)]
    pub heap: Option<HeapFacts>,
    #[serde(default)]
    pub throttled: Option<ThrottledFacts>,
    #[serde(default)]
    v8_threads: Option<V8ThreadsFacts>,
}

impl ProcessFile {
    /// Whether a mechanism works in it; `None` when it does not say.
    fn has(&self, name: &str) -> Option<bool> {
        let of_name = self.mechanisms.iter().find(|one| one.name == name);
        of_name.map(|mechanism| mechanism.ok)
    }
}

/// Limits of the heap; flags are told, too, but the limits in force are what counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeapFacts {
    pub heap_size_limit_bytes: u64,
    pub semi_space_bytes: Option<u64>,
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
}

/// How often the quota of its control group was used up while it was recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThrottledFacts {
    pub periods: u64,
    pub throttled_ns: u64,
}

/// What V8's own threads took from the processors of a process.
#[derive(Debug, Deserialize)]
struct V8ThreadsFacts {
    taken: Vec<TakenFacts>,
}

/// What the probe's mechanisms for the work classes are called where the agent has no other word.
const PROBE_NAMES: [&str; 4] = ["gc", "v8.jit", "v8.ic", "not-running"];

/// One probe mechanism in one process.
#[derive(Debug, Deserialize)]
pub struct Mechanism {
    #[serde(deserialize_with = "mechanism_name")]
    pub name: String,
    pub ok: bool,
    pub reason: Option<String>,
}

/// `listening-<pid>.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListeningFile {
    at_ns: u64,
}

/// `refused-<pid>.json`.
#[derive(Debug, Deserialize)]
struct RefusedFile {
    loops: u64,
}

/// One trace of the folder.
#[derive(Debug)]
pub struct TracePath {
    pub pid: u32,
    pub thread: u32,
    pub path: PathBuf,
}

/// An opened recording folder.
#[derive(Debug)]
pub struct Recording {
    pub dir: PathBuf,
    pub run: RunFile,
    /// By pid and thread.
    pub processes: Vec<ProcessFile>,
    /// By pid and thread, so that the answer does not depend on the order of the folder.
    pub traces: Vec<TracePath>,
    /// Event loops that were not recorded because the recording had reached its bound.
    pub refused_loops: u64,
    /// When the first server listened, by `CLOCK_MONOTONIC`.
    pub listening_ns: Option<u64>,
}

const RUN_SCHEMA: &str = "bobtail-run/1";

impl Recording {
    /// Reads what is in the folder; the traces themselves are opened later.
    pub fn open(dir: &Path) -> Result<Self, BindingError> {
        let mut traces = Vec::new();
        let mut processes = Vec::new();
        let mut refused_loops = 0;
        let mut listening_ns: Option<u64> = None;
        for name in names(dir)? {
            let path = dir.join(&name);
            if let Some((pid, thread)) = numbers(&name, "", ".trace") {
                let trace = TracePath { pid, thread, path };
                if trace.has_begun()? {
                    traces.push(trace);
                }
            } else if numbers(&name, "process-", ".json").is_some() {
                processes.push(read_json::<ProcessFile>(&path)?);
            } else if name.starts_with("refused-") && name.ends_with(".json") {
                refused_loops += read_json::<RefusedFile>(&path)?.loops;
            } else if name.starts_with("listening-") && name.ends_with(".json") {
                let at_ns = read_json::<ListeningFile>(&path)?.at_ns;
                listening_ns = Some(listening_ns.map_or(at_ns, |first| first.min(at_ns)));
            }
        }
        traces.sort_by_key(|trace| (trace.pid, trace.thread));
        processes.sort_by_key(|process| (process.pid, process.thread));
        let run = read_run(dir, traces.is_empty())?;
        if traces.is_empty() {
            return Err(BindingError::NothingRecorded {
                path: dir.to_owned(),
            });
        }
        Ok(Self {
            dir: dir.to_owned(),
            run,
            processes,
            traces,
            refused_loops,
            listening_ns,
        })
    }

    /// What was not measured, each mechanism once, in the order of the agents' lists.
    pub fn unavailable(&self) -> Vec<Unavailable> {
        let mut missing: Vec<Unavailable> = Vec::new();
        let failed = self
            .processes
            .iter()
            .flat_map(|process| &process.mechanisms);
        for mechanism in failed.filter(|mechanism| !mechanism.ok) {
            if missing.iter().all(|one| one.mechanism != mechanism.name) {
                missing.push(Unavailable {
                    mechanism: mechanism.name.clone(),
                    reason: self.reason(mechanism),
                });
            }
        }
        missing
    }

    /// Why a mechanism does not work, and in how many of the processes it does not.
    fn reason(&self, mechanism: &Mechanism) -> String {
        let lacking = self
            .processes
            .iter()
            .filter(|process| process.has(&mechanism.name) != Some(true))
            .count();
        let reason = mechanism.reason.clone().unwrap_or_default();
        if lacking == self.processes.len() {
            return reason;
        }
        format!(
            "in {lacking} of {} processes: {reason}",
            self.processes.len()
        )
    }

    /// What was measured of a process.
    pub fn measured(&self, pid: u32, thread: u32) -> Measured {
        let process = self.process(pid, thread);
        let has = |name: &str, unsaid: bool| process.and_then(|p| p.has(name)).unwrap_or(unsaid);
        let [gc, jit, ic, not_running] = Measured::MECHANISMS;
        Measured {
            gc: has(gc, true),
            jit: has(jit, false),
            ic: has(ic, false),
            not_running: has(not_running, false),
        }
    }

    /// The limits of a process's heap.
    pub fn heap(&self, pid: u32, thread: u32) -> Option<Heap> {
        let heap = self.process(pid, thread)?.heap.as_ref()?;
        Some(Heap {
            limit_bytes: heap.heap_size_limit_bytes,
            semi_space_bytes: heap.semi_space_bytes,
            memory_limit_bytes: heap.memory_limit_bytes,
        })
    }

    /// When the hypervisor took time from this machine; never when unknown.
    pub fn stolen(&self) -> Taken {
        TakenFacts::all(&self.run.host.stolen)
    }

    /// When what came is in no percentile of a replay: as it is told, else by what was stolen.
    pub fn disturbed(&self) -> Disturbed {
        let told = self.run.host.disturbed.as_ref();
        told.map_or_else(
            || Disturbed::by(&self.stolen()),
            |told| Disturbed::within(told.iter().map(|one| (one.from_ns, one.until_ns))),
        )
    }

    /// When V8's own threads took time from the processors of a process; never when unknown.
    pub fn taken_by_v8(&self, pid: u32, thread: u32) -> Taken {
        let process = self.process(pid, thread);
        let facts = process.and_then(|process| process.v8_threads.as_ref());
        facts.map_or_else(Taken::default, |facts| TakenFacts::all(&facts.taken))
    }

    /// What a CPU quota cost a process.
    pub fn throttled(&self, pid: u32, thread: u32) -> Option<Throttled> {
        let throttled = self.process(pid, thread)?.throttled.as_ref()?;
        Some(Throttled {
            periods: throttled.periods,
            throttled_ns: throttled.throttled_ns,
        })
    }

    fn process(&self, pid: u32, thread: u32) -> Option<&ProcessFile> {
        let number = |process: &ProcessFile| (process.pid, process.thread);
        let index = self.processes.binary_search_by_key(&(pid, thread), number);
        index.ok().map(|index| &self.processes[index])
    }
}

impl TracePath {
    /// What is wrong with it.
    pub fn failure(&self, error: TraceError) -> BindingError {
        BindingError::Trace {
            path: self.path.clone(),
            error,
        }
    }

    /// Whether it holds anything: a process that is killed, or finds the disk full, while it makes
    /// its trace leaves an empty one, which says nothing against the traces of the others.
    fn has_begun(&self) -> Result<bool, BindingError> {
        let mut magic = [0; 8];
        let error = |error: ReadError| BindingError::read(&self.path, io::Error::other(error));
        let got = self.open()?.read_at(0, &mut magic).map_err(error)?;
        Ok(magic[..got].iter().any(|&byte| byte != 0))
    }

    /// `<pid>-<thread>:<request>`.
    pub fn request_name(&self, request: RequestId) -> String {
        format!("{}-{}:{request}", self.pid, self.thread)
    }

    /// Opens the trace for reading.
    pub fn open(&self) -> Result<TraceFile, BindingError> {
        File::open(&self.path)
            .map(TraceFile)
            .map_err(|error| BindingError::read(&self.path, error))
    }
}

fn names(dir: &Path) -> Result<Vec<String>, BindingError> {
    let not_recording = |reason: &str| BindingError::NotRecording {
        path: dir.to_owned(),
        reason: reason.to_owned(),
    };
    let entries = fs::read_dir(dir).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => not_recording("no such folder"),
        io::ErrorKind::NotADirectory => not_recording("not a folder"),
        _ => BindingError::read(dir, error),
    })?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| BindingError::read(dir, error))?;
        // A name that is not UTF-8 is none of ours.
        if let Ok(name) = entry.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// `<prefix><pid>-<thread><suffix>`.
fn numbers(name: &str, prefix: &str, suffix: &str) -> Option<(u32, u32)> {
    let (pid, thread) = name
        .strip_prefix(prefix)?
        .strip_suffix(suffix)?
        .split_once('-')?;
    Some((pid.parse().ok()?, thread.parse().ok()?))
}

fn read_run(dir: &Path, must_exist: bool) -> Result<RunFile, BindingError> {
    let path = dir.join("run.json");
    if !path.exists() {
        return if must_exist {
            let reason = "it holds neither run.json nor a trace".to_owned();
            Err(BindingError::NotRecording {
                path: dir.to_owned(),
                reason,
            })
        } else {
            Ok(RunFile {
                detail: "full".to_owned(),
                ..RunFile::default()
            })
        };
    }
    // By itself first: of a newer file nothing else is known.
    let Schema { schema } = read_json(&path)?;
    if schema != RUN_SCHEMA {
        let reason = format!("schema {schema:?} is not {RUN_SCHEMA:?}");
        return Err(match is_newer(&schema) {
            true => BindingError::Newer { path, reason },
            false => BindingError::NotRecording { path, reason },
        });
    }
    read_json(&path)
}

/// What every version of a file has.
#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// A schema of this name with a higher number.
fn is_newer(schema: &str) -> bool {
    let version = |schema: &str| {
        let (name, version) = schema.split_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    match (version(schema), version(RUN_SCHEMA)) {
        (Some((name, theirs)), Some((ours_name, ours))) => name == ours_name && theirs > ours,
        _ => false,
    }
}

/// The word of reports for a name in a process file.
fn mechanism_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let known = PROBE_NAMES.iter().position(|probe| *probe == name);
    Ok(known.map_or(name, |index| Measured::MECHANISMS[index].to_owned()))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, BindingError> {
    let text = fs::read(path).map_err(|error| BindingError::read(path, error))?;
    serde_json::from_slice(&text).map_err(|error| BindingError::Json {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
