//! Places in the source of places in what ran.
//!
//! Reading source maps is the business of JavaScript, which has the libraries for them. So the
//! places of a recording are told first, and what JavaScript knows of them comes with the options
//! of the analysis.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use bobtail_breakdown::{CodeLocation, SAMPLED_REMEMBERED, Strings, code_location};
use bobtail_trace::TraceReader;
use bobtail_trace::record::{CodePlace, Record, StringId};
use serde::{Deserialize, Serialize};

use crate::analysis::{open, to_json};
use crate::error::BindingError;
use crate::options::parse;
use crate::recording::Recording;
use crate::surveyed::Surveyed;
use crate::trace_file::TraceFile;

/// A place in what ran.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ran {
    #[serde(flatten)]
    place: CodeLocation,
    /// When the first recording of it began, since 1970.
    recorded_ms: u64,
}

/// The places that were sampled, each once, as a JSON array: by a pass of its own, for analyses of
/// single requests, which have no first pass over every trace.
pub fn places(dir: &Path) -> Result<String, BindingError> {
    let recording = Recording::open(dir)?;
    let mut told = HashMap::new();
    for trace in &recording.traces {
        let mut reader = open(trace)?;
        let mut sampled = HashSet::new();
        for record in reader.by_ref() {
            let record = record.map_err(|error| trace.failure(error))?;
            if let Record::Location { place, .. } = record
                && sampled.len() < SAMPLED_REMEMBERED
            {
                sampled.insert(place);
            }
        }
        tell(&mut told, &reader, &sampled);
    }
    to_json(&ordered(told))
}

/// The same of a recording that was surveyed.
pub fn places_of(surveyed: &Surveyed) -> Result<String, BindingError> {
    let mut told = HashMap::new();
    for (trace, survey) in surveyed.recording.traces.iter().zip(&surveyed.surveys) {
        tell(&mut told, &open(trace)?, &survey.sampled);
    }
    to_json(&ordered(told))
}

/// Adds what was sampled in one trace.
fn tell(
    told: &mut HashMap<CodeLocation, u64>,
    reader: &TraceReader<TraceFile>,
    sampled: &HashSet<CodePlace>,
) {
    let recorded_ms = reader.header().start_realtime_ns / 1_000_000;
    for &place in sampled {
        if let Some(place) = code_location(place, reader.strings()) {
            let first_ms = told.entry(place).or_insert(recorded_ms);
            *first_ms = recorded_ms.min(*first_ms);
        }
    }
}

/// By file and place: what is told of the files must come in the same order each time.
fn ordered(told: HashMap<CodeLocation, u64>) -> Vec<Ran> {
    let rans = told
        .into_iter()
        .map(|(place, recorded_ms)| Ran { place, recorded_ms });
    let mut rans: Vec<Ran> = rans.collect();
    rans.sort_by(|a, b| key(&a.place).cmp(&key(&b.place)));
    rans
}

fn key(place: &CodeLocation) -> (&str, u32, u32, &str) {
    (&place.file, place.line, place.column, &place.function)
}

/// What is known of the places of the recordings that an analysis is about.
type Originals = HashMap<CodeLocation, CodeLocation>;

#[derive(Deserialize)]
struct Known {
    ran: CodeLocation,
    original: CodeLocation,
}

thread_local! {
    /// For the analysis on this thread, so that no stage has to hand them on.
    static ORIGINALS: RefCell<Rc<Originals>> = RefCell::default();
}

/// Runs an analysis that knows these: a JSON array of `{"ran", "original"}`.
pub fn knowing<T>(
    originals_json: Option<&str>,
    run: impl FnOnce() -> Result<T, BindingError>,
) -> Result<T, BindingError> {
    let known: Vec<Known> = parse(originals_json.unwrap_or("[]"))?;
    let originals = known.into_iter().map(|one| (one.ran, one.original));
    ORIGINALS.set(Rc::new(originals.collect()));
    let answer = run();
    ORIGINALS.take();
    answer
}

/// The names of a trace.
pub struct Names {
    strings: bobtail_trace::Strings,
    originals: Rc<Originals>,
}

impl Names {
    /// Of a trace of the recording that this thread analyses.
    pub fn new(strings: &bobtail_trace::Strings) -> Self {
        Self {
            strings: strings.clone(),
            originals: ORIGINALS.with_borrow(Rc::clone),
        }
    }
}

impl Strings for Names {
    fn get(&self, id: StringId) -> Option<&str> {
        self.strings.get(id)
    }

    fn original(&self, ran: &CodeLocation) -> Option<CodeLocation> {
        self.originals.get(ran).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_in_the_order_of_files() {
        let at = |n: u32| CodeLocation {
            function: String::new(),
            file: format!("/{}.js", n / 10),
            line: n % 10,
            column: 1,
        };
        let told = (0..100).rev().map(|n| (at(n), 7)).collect();
        let expected: Vec<Ran> = (0..100)
            .map(|n| Ran {
                place: at(n),
                recorded_ms: 7,
            })
            .collect();
        assert_eq!(ordered(told), expected);
    }
}
